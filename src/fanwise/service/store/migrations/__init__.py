"""Steps from each schema of the store to the next, run by Alembic at the start."""
