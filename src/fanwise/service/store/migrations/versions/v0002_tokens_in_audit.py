"""Entries of the audit trail know which token was used: labels may be the same."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; of older entries it is not known."""
    op.add_column("audit", sa.Column("token", sa.String(32)))
