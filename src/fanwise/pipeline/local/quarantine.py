"""Rows set aside, written as Spark writes them: one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fanwise.pipeline.local.topic import BadRow


def shown_row(bad: BadRow) -> str:
    """Return a row as text: as it was, or its cells as JSON."""
    if isinstance(bad.row, str):
        return bad.row
    return json.dumps(bad.row, ensure_ascii=False, separators=(",", ":"), default=_as_text)


def write_quarantine(folder: Path, rows: Sequence[BadRow]) -> None:
    """Write ``quarantine/`` if there is anything to set aside."""
    if not rows:
        return
    (folder / "quarantine").mkdir()
    with (folder / "quarantine" / "part-00000.json").open("w", encoding="utf-8") as file:
        for bad in rows:
            entry = {
                "trace": bad.trace,
                "file": "file://" + quote(str(Path(bad.file).absolute())),
                "reason": bad.reason,
                "row": shown_row(bad),
            }
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _as_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return value.isoformat() if isinstance(value, date | datetime) else str(value)
