"""Reads traces without Spark: CSV, JSON, Parquet, ORC and edge lists, file by file.

What comes out is what Spark's readers give: text formats give columns of text, and a row that
cannot be taken apart is kept as its raw text.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fanwise.errors import InputError
from fanwise.pipeline.local.tables import LocalTrace, NeedsSparkError, Part, joined
from fanwise.pipeline.shared.csv_lines import header_names, is_blank, split_line
from fanwise.pipeline.shared.headers import check_headers
from fanwise.pipeline.shared.json_records import (
    SAMPLE,
    is_document,
    is_there,
    json_fields,
    parse,
    reach,
)
from fanwise.pipeline.shared.local_files import (
    find_lake,
    lake_refused,
    lines_of,
    open_text,
    partition_folders,
    refuse_utf16,
    require_files,
)
from fanwise.pipeline.shared.trace import (
    Trace,
    check_columns,
    chosen_columns,
    file_name,
    format_of,
)

_EDGE = re.compile(r"\s*,\s*|\s+")
_EDGE_BLANK = " \t\r\f\v"
_BROKEN = (EOFError, OSError, zlib.error, pa.ArrowInvalid, pa.ArrowException)


def read_trace(
    trace: Trace, known: Sequence[str], *, spare: Callable[[], bool] = lambda: False
) -> LocalTrace:
    """Read a trace of this machine.

    Parameters
    ----------
    trace
        Where and how.
    known
        Columns that such a trace can have, which may turn up late in JSON lines.
    spare
        Asked whenever a file cannot be read: whether it may be set aside.
    """
    files = require_files(trace.path)
    lake = find_lake(trace.path, files)
    if lake is not None:
        raise lake_refused(trace.path, lake)
    if partition_folders(trace.path, files):
        raise NeedsSparkError(
            f"{trace.path}: has folders that are columns (name=value), which Spark alone reads; "
            "pass --engine spark."
        )
    kind = trace.format or format_of(trace.path, files)
    check_columns(trace, kind)
    readers: dict[str, Callable[[], LocalTrace]] = {
        "csv": lambda: _read_csv(trace, files, spare),
        "json": lambda: _read_json(trace, files, known, spare),
        "edges": lambda: _read_edges(trace, files, spare),
        "parquet": lambda: _read_typed(trace, "parquet", files, spare),
        "orc": lambda: _read_typed(trace, "orc", files, spare),
    }
    if kind not in readers:
        raise NeedsSparkError(f"{trace.path}: {kind} is read by Spark alone; pass --engine spark.")
    return readers[kind]()


def _each_file(
    kind: str,
    files: Sequence[str],
    read: Callable[[str], Part | None],
    spare: Callable[[], bool],
) -> LocalTrace:
    """Read files one by one, and set aside those that break off where that is let pass."""
    parts: list[Part | None] = []
    unreadable: dict[str, str] = {}
    for file in files:
        try:
            parts.append(read(file))
        except NotImplementedError as error:
            raise NeedsSparkError(
                f"{file}: {error} files are read by Spark alone; pass --engine spark."
            ) from None
        except _BROKEN as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            if not spare():
                raise InputError(f"{file}: cannot be read: {reason}") from None
            unreadable[file] = reason
            parts.append(None)
    result = joined(kind, files, parts)
    result.unreadable = unreadable
    return result


def _lines(file: str, encoding: str | None) -> list[str]:
    """Return the lines of a file that have something on them, or raise what is wrong with it."""
    with open_text(file) as stream:
        data = stream.read()
    if encoding is None:
        refuse_utf16(file, data[:2])
    data = data.removeprefix(b"\xef\xbb\xbf")
    text = [line.decode(encoding or "utf-8", errors="replace") for line in lines_of(data)]
    return [line for line in text if not is_blank(line)]


def _read_csv(trace: Trace, files: Sequence[str], spare: Callable[[], bool]) -> LocalTrace:
    headers: dict[str, list[str]] = {}

    def read(file: str) -> Part | None:
        lines = _lines(file, trace.encoding)
        separator = trace.separator(file_name(file))
        if trace.columns is not None:
            names = list(trace.columns)
        elif lines:
            names = header_names(lines.pop(0), separator)
            headers[file] = names
        else:
            return None
        return _split(lines, names, separator)

    result = _each_file("csv", files, read, spare)
    if trace.columns is None:
        if not headers and not result.unreadable:
            raise InputError(f"{trace.path}: is empty; it needs a header line, or --columns.")
        check_headers(headers, trace.renames)
    return _renamed(result, trace)


def _split(lines: list[str], names: Sequence[str], separator: str) -> Part:
    """Take lines apart; those with another number of fields are malformed."""
    width = len(names)
    raw = pa.array(lines, pa.string())
    quoted = np.array(['"' in line for line in lines], np.bool_)
    fields: list[pa.Array] = []
    if not quoted.any():
        parts = pc.split_pattern(raw, separator)
        lengths = pc.list_value_length(parts).to_numpy(zero_copy_only=False)
        good = lengths == width
        cells = pc.list_flatten(pc.filter(parts, pa.array(good)))
        where = np.full(len(lines), -1, np.int64)
        where[good] = np.arange(int(good.sum())) * width
        for column in range(width):
            at = pa.array(where + column, mask=~good)
            fields.append(cells.take(at))
    else:
        rows = [split_line(line, separator) for line in lines]
        good = np.array([len(row) == width for row in rows], np.bool_)
        blank: list[str | None] = [None] * width
        shown = [row if is_good else blank for row, is_good in zip(rows, good, strict=True)]
        fields = [pa.array([row[column] for row in shown], pa.string()) for column in range(width)]
    columns = {name: _nulled(column) for name, column in zip(names, fields, strict=True)}
    malformed = pc.if_else(pa.array(good), pa.scalar(None, pa.string()), raw)
    return Part(columns, malformed, len(lines))


def _nulled(column: pa.Array) -> pa.Array:
    empty = pc.fill_null(pc.equal(column, ""), False)
    return pc.if_else(empty, pa.scalar(None, pa.string()), column)


def _read_json(
    trace: Trace, files: Sequence[str], known: Sequence[str], spare: Callable[[], bool]
) -> LocalTrace:
    records: dict[str, list[tuple[Any, str | None]]] = {}

    def read(file: str) -> Part | None:
        records[file] = _json_records(file, trace.encoding)
        return Part({}, None, len(records[file]))

    _each = _each_file("json", files, read, spare)
    sample = [row for rows in records.values() for row, _ in rows if row is not None][:SAMPLE]
    fields, found = json_fields(sample, trace, known)

    def take(file: str) -> Part | None:
        if file not in records:
            return None
        rows = records[file]
        columns = {
            new: pa.array(
                [None if row is None else as_text(reach(row, way)) for row, _ in rows], pa.string()
            )
            for way, new in fields.items()
        }
        malformed = pa.array([text for _, text in rows], pa.string())
        return Part(columns, malformed, len(rows))

    result = joined("json", files, [take(file) for file in files])
    result.unreadable = _each.unreadable
    every = (row for rows in records.values() for row, _ in rows if row is not None)
    missing = [old for old in trace.renames if old not in found]
    for row in every if missing else ():
        missing = [old for old in missing if not is_there(row, old)]
        if not missing:
            break
    result.unmatched = missing
    return result


def as_text(value: Any) -> str | None:
    """Return the text of a JSON value; numbers are texts already."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _json_records(file: str, encoding: str | None) -> list[tuple[Any, str | None]]:
    """Return the records of a file, each with its raw text where it is none."""
    with open_text(file) as stream:
        data = stream.read()
    if encoding is None:
        refuse_utf16(file, data[:2])
    data = data.removeprefix(b"\xef\xbb\xbf")
    texts = [data] if is_document(data) else lines_of(data)
    records: list[tuple[Any, str | None]] = []
    for raw in texts:
        text = raw.decode(encoding or "utf-8", errors="surrogateescape").strip()
        if not text:
            continue
        value = _parsed(text, file)
        rows = value if isinstance(value, list) else [value]
        if all(isinstance(row, dict) for row in rows):
            records += [(row, None) for row in rows]
        else:
            records.append((None, raw.decode(encoding or "utf-8", errors="replace")))
    return records


def _parsed(text: str, file: str) -> Any:
    """Return what is at the beginning of a text, None where it is no JSON."""
    if any(0xDC80 <= ord(letter) <= 0xDCFF for letter in text) if not text.isascii() else False:
        return None  # bytes that are no UTF-8
    try:
        return parse(text)[0]
    except (ValueError, RecursionError):
        if text.startswith(("{'", "[{'")):
            raise NeedsSparkError(
                f"{file}: JSON with single quotes is read by Spark alone; pass --engine spark."
            ) from None
        return None


def _read_edges(trace: Trace, files: Sequence[str], spare: Callable[[], bool]) -> LocalTrace:
    def read(file: str) -> Part:
        lines = [line.strip(_EDGE_BLANK) for line in _lines(file, trace.encoding)]
        lines = [line for line in lines if line and not line.startswith("#")]
        ends = [_EDGE.split(line) for line in lines]
        good = [len(pair) == 2 and all(pair) for pair in ends]
        columns = {
            name: pa.array([pair[side] if len(pair) > side else None for pair in ends], pa.string())
            for side, name in enumerate(("subscriber", "topic"))
        }
        malformed = [None if is_good else line for line, is_good in zip(lines, good, strict=True)]
        return Part(columns, pa.array(malformed, pa.string()), len(lines))

    return _renamed(_each_file("edges", files, read, spare), trace)


def _read_typed(
    trace: Trace, kind: str, files: Sequence[str], spare: Callable[[], bool]
) -> LocalTrace:
    def read(file: str) -> Part:
        if kind == "orc":
            from pyarrow import orc

            table = orc.read_table(file)
        else:
            table = pq.read_table(file, partitioning=None)
        return Part(
            {name: _plain(column) for name, column in _flattened(table, trace).items()},
            None,
            table.num_rows,
        )

    result = _each_file(kind, files, read, spare)
    if trace.columns is not None:
        chosen = chosen_columns(trace)
        missing = [old for old in chosen if old not in result.columns]
        if missing:
            raise InputError(f"{trace.path}: no column {', '.join(map(repr, missing))}.")
        result.columns = {new: result.columns[old] for old, new in chosen.items()}
        result.unmatched = [old for old in trace.rename if old not in chosen]
        return result
    return _renamed(result, trace)


def _flattened(table: pa.Table, trace: Trace) -> dict[str, pa.ChunkedArray]:
    """Return columns, with the nested fields that somebody asked for beside them."""
    columns = {name: table.column(name) for name in table.column_names}
    for path in (*(trace.columns or ()), *trace.renames):
        if path in columns or "." not in path:
            continue
        name, *inside = path.split(".")
        column = columns.get(name)
        for field in inside:
            if (
                column is None
                or not pa.types.is_struct(column.type)
                or column.type.get_field_index(field) < 0
            ):
                column = None
            else:
                column = pc.struct_field(column, [field])
        if column is not None:
            columns[path] = column
    return columns


def _plain(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.nulls(0, array.type)
    return array


def _renamed(result: LocalTrace, trace: Trace) -> LocalTrace:
    for old, new in trace.renames.items():
        own = next((name for name in result.columns if name.lower() == old.lower()), None)
        if own is None:
            result.unmatched.append(old)
            continue
        result.columns = {
            new if name == own else name: column
            for name, column in result.columns.items()
            if name == own or name.lower() != new.lower()
        }
    return result
