"""Headers of CSV files that belong together: columns may be added, but not what every row needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fanwise.errors import InputError
from fanwise.pipeline.shared.trace import file_name

NEEDED = ("topic", "timestamp", "events", "subscriber", "publisher", "name", "broker", "action")
"""Columns that say what a row means: a file without one that others have is another table."""


def check_headers(headers: Mapping[str, Sequence[str]], renames: Mapping[str, str]) -> None:
    """Raise if a file lacks a column that others have and no row can do without.

    Parameters
    ----------
    headers
        The columns of each file.
    renames
        New names of columns.
    """
    new_names = {old.lower(): new.lower() for old, new in renames.items()}
    known = {
        file: {new_names.get(name.lower(), name.lower()) for name in names}
        for file, names in headers.items()
    }
    for needed in NEEDED:
        having = [file for file, names in known.items() if needed in names]
        lacking = [file for file, names in known.items() if needed not in names]
        if having and lacking:
            shown = ", ".join(map(repr, headers[lacking[0]]))
            raise InputError(
                f"{lacking[0]}: its header has no column {needed!r}, which {file_name(having[0])} "
                f"beside it has; it has {shown}. Files of one trace may have more columns or "
                "others, but each needs that one: is its header missing?"
            )
