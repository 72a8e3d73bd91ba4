"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make all tables, and the counters at zero."""
    counters = op.create_table(
        "counters",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("value", _BIG, nullable=False),
    )
    _create_decisions()
    _create_traffic_and_people()
    _create_outbox()
    op.bulk_insert(
        counters,
        [
            {"name": "decision", "value": 0},
            {"name": "epoch", "value": 0},
            {"name": "pruned", "value": -(2**62)},
        ],
    )


def _create_decisions() -> None:
    op.create_table(
        "decisions",
        sa.Column("number", _BIG, primary_key=True, autoincrement=False),
        sa.Column("hash", sa.String(128), nullable=False),
        sa.Column("window_start", _BIG, nullable=False),
        sa.Column("window_end", _BIG, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("bound", sa.Double),
        sa.Column("gap", sa.Double),
        sa.Column("changes", _BIG, nullable=False),
        sa.Column("workload", sa.String(128), nullable=False),
        sa.Column("made_at", _BIG, nullable=False),
        sa.Column("previous", sa.String(128)),
        sa.Column("forecast", sa.String(64), nullable=False),
        sa.Column("predicted", sa.Double),
        sa.Column("delivered", sa.Double),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("seconds", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("in_force_at", _BIG),
        sa.UniqueConstraint(
            "window_start", "window_end", name="uq_decisions_window_start_window_end"
        ),
    )
    op.create_index("ix_decisions_hash", "decisions", ["hash", "number"])
    op.create_index("ix_decisions_made_at", "decisions", ["made_at"])
    op.create_index(
        "uq_decisions_in_force",
        "decisions",
        ["state"],
        unique=True,
        sqlite_where=sa.text("state = 'in-force'"),
        postgresql_where=sa.text("state = 'in-force'"),
    )
    op.create_table(
        "changes",
        sa.Column(
            "number",
            _BIG,
            sa.ForeignKey("decisions.number", name="fk_changes_number", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("packed", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "selections",
        sa.Column("hash", sa.String(128), primary_key=True),
        sa.Column("packed", sa.LargeBinary, nullable=False),
    )


def _create_traffic_and_people() -> None:
    op.create_table(
        "windows",
        sa.Column("start", _BIG, primary_key=True, autoincrement=False),
        sa.Column("end", _BIG, primary_key=True, autoincrement=False),
        sa.Column("events", _BIG, nullable=False),
        sa.Column("late", _BIG, nullable=False),
        sa.Column("bad", _BIG, nullable=False),
        sa.Column("closed_by", sa.String(16), nullable=False),
        sa.Column("closed_at", _BIG, nullable=False),
    )
    op.create_table(
        "audit",
        sa.Column("number", _BIG, primary_key=True),
        sa.Column("at", _BIG, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("what", sa.String(32), nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        # Numbers of entries that retention has removed do not come again.
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_at", "audit", ["at"])
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("created_at", _BIG, nullable=False),
        sa.Column("revoked_at", _BIG),
    )
    op.create_table(
        "pins",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("topic", sa.Text, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("at", _BIG, nullable=False),
    )


def _create_outbox() -> None:
    op.create_table(
        "applications",
        sa.Column("epoch", _BIG, primary_key=True, autoincrement=False),
        sa.Column(
            "number",
            _BIG,
            sa.ForeignKey("decisions.number", name="fk_applications_number", ondelete="SET NULL"),
        ),
        sa.Column("hash", sa.String(128)),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("opened_at", _BIG, nullable=False),
        sa.Column("closed_at", _BIG),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
    )
    op.create_index("ix_applications_state", "applications", ["state"])
    op.create_index("ix_applications_number", "applications", ["number"])
    op.create_table(
        "deliveries",
        sa.Column("id", _BIG, primary_key=True),
        sa.Column(
            "epoch",
            _BIG,
            sa.ForeignKey("applications.epoch", name="fk_deliveries_epoch", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("hash", sa.String(128)),
        sa.Column("output", sa.String(64), nullable=False),
        sa.Column("key", sa.String(256), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("created_at", _BIG, nullable=False),
        sa.Column("next_attempt", _BIG, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.UniqueConstraint("key", name="uq_deliveries_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_deliveries_epoch", "deliveries", ["epoch"])
    op.create_index("ix_deliveries_state", "deliveries", ["state", "output"])
    op.create_table(
        "outputs",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("target", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(128)),
        sa.Column("epoch", _BIG),
        sa.Column("is_sure", sa.Boolean, nullable=False),
    )
