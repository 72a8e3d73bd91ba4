"""JSON records: which fields they have, nested ones by dotted names, and arrays of records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fanwise.pipeline.shared.trace import Trace, chosen_columns

SAMPLE = 1000
"""Records looked at to see which columns there are."""
Way = tuple[str, ...]
"""The names from a record to a field inside it."""

# Numbers stay as they are written.
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


def parse(text: str) -> tuple[Any, int]:
    """Return the value at the beginning of a text, and where it ends; raises ValueError."""
    value, end = _DECODER.raw_decode(text)
    return value, end


def is_document(head: bytes) -> bool:
    """Whether JSON is one array over several lines, and not a record a line."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text.startswith(b"["):
        return False
    try:
        json.loads(text.splitlines()[0])
    except ValueError:
        return True
    return False  # all of the line: lines of records, or the only one


def records_of(head: bytes, encoding: str | None) -> list[Mapping[str, Any]]:
    """Return the first records of an array, as far as the beginning of its file shows them."""
    text = head.decode(encoding or "utf-8", errors="replace").lstrip("\ufeff \t\r\n[")
    found: list[Mapping[str, Any]] = []
    while text and len(found) < SAMPLE:
        try:
            value, end = parse(text)
        except (ValueError, RecursionError):
            break
        if isinstance(value, dict):
            found.append(value)
        text = text[end:].lstrip(" \t\r\n,")
    return found


def way_of(path: str, names: Mapping[str, Any]) -> Way:
    """Return the way to a field: a name that is there as it stands, else through nested ones."""
    return (path,) if path in names or "." not in path else tuple(path.split("."))


def reach(row: Mapping[str, Any], way: Way) -> Any:
    """Return a field of a record, None where the way leads nowhere."""
    inside: Any = row
    for name in way:
        if not isinstance(inside, dict):
            return None
        inside = inside.get(name)
    return inside


def is_there(row: Mapping[str, Any], path: str) -> bool:
    """Whether a record has a field, be it null."""
    *before, last = way_of(path, row)
    inside = reach(row, tuple(before)) if before else row
    return isinstance(inside, dict) and last in inside


def json_fields(
    sample: Sequence[Mapping[str, Any]], trace: Trace, known: Sequence[str]
) -> tuple[dict[Way, str], set[str]]:
    """Return the fields to take of JSON records, with what each is called.

    Beyond the sample any known column may turn up; but ``events`` beside ``timestamp``, or the
    other way round, would change what a row means.

    Parameters
    ----------
    sample
        Some records.
    trace
        Whose ``columns`` and ``rename`` say what is wanted.
    known
        Columns that such a trace can have.

    Returns
    -------
    fields, found
        The second has the old names of renames that the sample has.
    """
    renames = trace.renames
    present: dict[str, None] = {}
    for row in sample:
        present |= dict.fromkeys(row)
    found = {old for old in renames if any(is_there(row, old) for row in sample)}
    if trace.columns is not None:
        chosen = {way_of(old, present): new for old, new in chosen_columns(trace).items()}
        return chosen, found | {old for old in renames if old in trace.columns}
    taken = {renames[old] for old in found}
    fields: dict[Way, str] = {
        (name,): name for name in present if name not in renames and name not in taken
    }
    fields |= {way_of(old, present): renames[old] for old in renames if old in found}
    # A field that others are taken out of is not taken whole as well.
    opened = {(way[0],) for way in fields if len(way) > 1}
    fields = {way: new for way, new in fields.items() if way not in opened}
    settled = {"timestamp", "events"} if {"timestamp", "events"} & {*fields.values()} else set()
    old_names = {new: old for old, new in renames.items()}
    for name in known if present else ():
        if name not in settled and name not in fields.values():
            old = old_names.get(name, name)
            fields[way_of(old, present)] = name
    return fields, found
