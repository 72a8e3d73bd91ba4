"""Run by Alembic for every upgrade, on the connection that it was given."""

from __future__ import annotations

from alembic import context

from fanwise.service.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,  # also in SQLite, where a transaction is open already
)
context.run_migrations()
