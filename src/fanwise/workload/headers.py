"""``workload.json``, which says what kind of workload a folder holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fanwise.errors import WorkloadError
from fanwise.workload.json_numbers import find_odd_number

TOPIC_FORMAT = "fanwise.workload"
CONTENT_FORMAT = "fanwise.content"
VERSION = 1
KINDS = {
    TOPIC_FORMAT: ("a topic workload", "select, provision and connect"),
    CONTENT_FORMAT: ("a content workload", "assign and wire"),
}
"""What each format is, and which commands plan on it."""


def read_any_header(folder: Path, wanted: str) -> dict[str, Any]:
    """Read ``workload.json`` and check that it is of one format, in a version we know."""
    file = folder / "workload.json"
    if not folder.is_dir():
        raise WorkloadError(f"{folder}: no such folder; give the folder that has workload.json.")
    header = read_json(file, "a workload")
    found = header.get("format")
    if found != wanted:
        kind, _ = KINDS[wanted]
        message = f"{file}: format is {found!r}, not {wanted!r}: not {kind}"
        if isinstance(found, str) and found in KINDS:
            other, commands = KINDS[found]
            message += f", which is needed here, but {other} for {commands}"
        raise WorkloadError(f"{message}.")
    version: Any = header.get("version")
    if not is_count(version) or version < 1:
        raise WorkloadError(f"{file}: version must be a whole number >= 1, got {version!r}.")
    if version > VERSION:
        raise WorkloadError(
            f"{file}: version {version} is newer than {VERSION}, the newest this fanwise reads; "
            "upgrade fanwise."
        )
    return header


def read_json(file: Path, what: str) -> dict[str, Any]:
    """Read one JSON object, with a message that names the file."""
    try:
        header = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise WorkloadError(f"{file}: not there, so {file.parent} is not {what} folder.") from None
    except (OSError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise WorkloadError(f"{file}: not readable as JSON ({reason}).") from None
    if not isinstance(header, dict):
        raise WorkloadError(f"{file}: must be a JSON object, got {type(header).__name__}.")
    odd = find_odd_number(header)
    if odd is not None:
        raise WorkloadError(f"{file}: {odd}.")
    return header


def is_count(value: Any) -> bool:
    """Whether a JSON value is a whole number >= 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def check_count(folder: Path, entry: str, said: int, table: str, found: int) -> None:
    """Refuse a table that has not the rows that ``workload.json`` says."""
    if found != said:
        raise WorkloadError(
            f"{folder / 'workload.json'}: {entry} = {said}, but {table} has {found} rows; "
            "one of them is cut or stale."
        )


def json_text(header: Mapping[str, Any]) -> str:
    """Return the text of ``workload.json``."""
    return json.dumps(header, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
