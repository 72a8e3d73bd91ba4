"""Columns that a trace must have."""

from __future__ import annotations

from collections.abc import Sequence

from fanwise.errors import InputError


def require(names: Sequence[str], needed: Sequence[str], place: str) -> None:
    """Raise unless all columns are there, naming the missing together with the present ones."""
    known = {name.lower() for name in names}
    missing = [name for name in needed if name.lower() not in known]
    if missing:
        raise InputError(
            f"{place}: no column {', '.join(map(repr, missing))}; "
            f"it has {', '.join(map(repr, names)) or 'none'}; name them by a header, "
            "--columns or --rename."
        )
