"""Rows that could not be read, set aside on disk with the reason, for people to look at.

There are two files at most, each of a limited size: the one that is written, and the one before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LARGEST = 5 * 10**6
"""Bytes of a file."""
MOST_ROWS = 100
"""Rows of one micro-batch that are kept; all are counted."""
MOST_SHOWN = 500
"""Characters of a text that are kept."""


class Aside:
    """Writes rows as JSON lines."""

    def __init__(self, path: Path, largest: int = LARGEST) -> None:
        self.path, self._largest = path, largest

    def write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows.

        Raises
        ------
        OSError
            Where the disk is full or fails.
        """
        text = "".join(json.dumps(_shorten(row)) + "\n" for row in rows)
        if not text:
            return
        if self.path.exists() and self.path.stat().st_size + len(text) > self._largest:
            self.path.replace(self.path.with_name(f"{self.path.stem}-before{self.path.suffix}"))
        with open(self.path, "a", encoding="ascii") as file:
            file.write(text)


def _shorten(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value[:MOST_SHOWN] if isinstance(value, str) else value
        for name, value in row.items()
        if value is not None
    }
