"""Brings a database to the schema that this version knows."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from fanwise.service.store.errors import StoreError

FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x66616E77
"""Whoever starts on the same PostgreSQL database at the same time waits here."""


def make_config(connection: Connection) -> Config:
    """Return what Alembic has to know of our steps and of a connection."""
    config = Config()
    # Its files have % for other things.
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def upgrade(connection: Connection, place: str) -> None:
    """Run the steps that are missing, within the transaction that is open.

    Parameters
    ----------
    place
        What to call the database in messages.

    Raises
    ------
    StoreError
        If a newer version has changed the schema.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    config = make_config(connection)
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and found not in known:
        raise StoreError(
            f"{place}: has schema {found}, which a newer fanwise made; this one knows up to "
            f"{max(known)}: upgrade fanwise, or restore a backup."
        )
    command.upgrade(config, "head")
