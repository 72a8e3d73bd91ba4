"""Tables of the store, the same in SQLite and PostgreSQL.

Times are microseconds since the epoch. What may be long (served topics, reasons of changes) is
kept compressed beside the decisions, so that lists of decisions are read without it.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    text,
)

from fanwise.service.store.packing import AnyText, JsonText, PackedJson

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
Big = BigInteger().with_variant(Integer(), "sqlite")
"""SQLite counts rows in its own type alone, which is as large."""

counters = Table(
    "counters",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", Big, nullable=False),
)
"""``decision`` and ``epoch`` were given last; ``pruned`` is the start of the newest window whose
decision retention has removed. The row ``decision`` is also the lock of everything that writes."""

decisions = Table(
    "decisions",
    metadata,
    Column("number", Big, primary_key=True, autoincrement=False),
    Column("hash", String(128), nullable=False),
    Column("window_start", Big, nullable=False),
    Column("window_end", Big, nullable=False),
    Column("state", String(16), nullable=False),
    Column("value", Double, nullable=False),
    Column("bound", Double),
    Column("gap", Double),
    Column("changes", Big, nullable=False),
    Column("workload", String(128), nullable=False),
    Column("made_at", Big, nullable=False),
    Column("previous", String(128)),
    Column("forecast", String(64), nullable=False),
    Column("predicted", Double),
    Column("delivered", Double),
    Column("facts", JsonText, nullable=False),
    Column("seconds", JsonText, nullable=False),
    Column("why", AnyText, nullable=False),
    # When it came in force last; empty if it never was.
    Column("in_force_at", Big),
    UniqueConstraint("window_start", "window_end"),
    Index("ix_decisions_hash", "hash", "number"),
    Index("ix_decisions_made_at", "made_at"),
    Index(
        "uq_decisions_in_force",
        "state",
        unique=True,
        sqlite_where=text("state = 'in-force'"),
        postgresql_where=text("state = 'in-force'"),
    ),
)

changes = Table(
    "changes",
    metadata,
    Column(
        "number",
        Big,
        ForeignKey(decisions.c.number, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("packed", PackedJson, nullable=False),
)

selections = Table(
    "selections",
    metadata,
    Column("hash", String(128), primary_key=True),
    Column("packed", PackedJson, nullable=False),
)
"""Topics that decisions serve, by hash."""

windows = Table(
    "windows",
    metadata,
    Column("start", Big, primary_key=True, autoincrement=False),
    Column("end", Big, primary_key=True, autoincrement=False),
    Column("events", Big, nullable=False),
    Column("late", Big, nullable=False),
    Column("bad", Big, nullable=False),
    Column("closed_by", String(16), nullable=False),
    Column("closed_at", Big, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("number", Big, primary_key=True),
    Column("at", Big, nullable=False),
    Column("who", AnyText, nullable=False),
    Column("what", String(32), nullable=False),
    Column("about", AnyText, nullable=False),
    Column("note", AnyText, nullable=False),
    # Of whoever did it, beside the label.
    Column("token", String(32)),
    Index("ix_audit_at", "at"),
    # Numbers of entries that retention has removed do not come again.
    sqlite_autoincrement=True,
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("label", AnyText, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("created_at", Big, nullable=False),
    Column("revoked_at", Big),
)

pins = Table(
    "pins",
    metadata,
    # Names of topics may be longer than what PostgreSQL can index.
    Column("digest", String(64), primary_key=True),
    Column("topic", AnyText, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("who", AnyText, nullable=False),
    Column("at", Big, nullable=False),
)

applications = Table(
    "applications",
    metadata,
    Column("epoch", Big, primary_key=True, autoincrement=False),
    Column("number", Big, ForeignKey(decisions.c.number, ondelete="SET NULL")),
    Column("hash", String(128)),
    Column("kind", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("opened_at", Big, nullable=False),
    Column("closed_at", Big),
    Column("who", AnyText, nullable=False),
    Column("why", AnyText, nullable=False),
    Index("ix_applications_state", "state"),
    Index("ix_applications_number", "number"),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Big, primary_key=True),
    Column("epoch", Big, ForeignKey(applications.c.epoch, ondelete="CASCADE"), nullable=False),
    Column("hash", String(128)),
    Column("output", String(64), nullable=False),
    Column("key", String(256), nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created_at", Big, nullable=False),
    Column("next_attempt", Big, nullable=False),
    Column("error", AnyText, nullable=False),
    UniqueConstraint("key"),
    Index("ix_deliveries_epoch", "epoch"),
    Index("ix_deliveries_state", "state", "output"),
    sqlite_autoincrement=True,
)
"""The outbox."""

outputs = Table(
    "outputs",
    metadata,
    Column("name", String(64), primary_key=True),
    # Digest of where it leads: an output that leads elsewhere knows nothing.
    Column("target", String(64), nullable=False),
    Column("hash", String(128)),
    Column("epoch", Big),
    Column("is_sure", Boolean, nullable=False),
)
