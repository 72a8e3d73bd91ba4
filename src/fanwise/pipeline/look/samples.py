"""The first rows of a trace as text, however it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.errors import InputError
from fanwise.pipeline.local.reading import as_text
from fanwise.pipeline.local.values import is_number, parse_instant
from fanwise.pipeline.shared.csv_lines import header_names, is_blank, split_line
from fanwise.pipeline.shared.json_records import is_document, parse, records_of
from fanwise.pipeline.shared.local_files import (
    find_lake,
    lake_refused,
    lines_of,
    open_text,
    refuse_utf16,
    require_files,
)
from fanwise.pipeline.shared.trace import extension, file_name, format_of

ROWS = 1000
_HEAD = 2**20
_DELIMITERS = (",", "\t", ";", "|")
_DEPTH = 5


@dataclass
class Sample:
    """The first rows of a trace.

    Attributes
    ----------
    kind
        Its format.
    columns
        Cells as text by the names of columns; nested fields by dotted names.
    types
        Of columns that have types of their own.
    has_header
        Whether the columns of a CSV file have names.
    delimiter
        Between the columns of a CSV file, null where it is what its ending says.
    encoding
        Where it is not UTF-8.
    malformed
        Rows that could not be taken apart.
    files
        All files of the trace.
    remarks
        What is odd about the files.
    """

    kind: str
    files: Sequence[str]
    columns: dict[str, list[str | None]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    has_header: bool = True
    delimiter: str | None = None
    encoding: str | None = None
    malformed: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def num_rows(self) -> int:
        return len(next(iter(self.columns.values()), []))


def take_sample(path: str) -> Sample:
    """Return the first rows of what a local path stands for."""
    files = require_files(path)
    lake = find_lake(path, files)
    if lake is not None:
        raise lake_refused(path, lake)
    try:
        kind = format_of(path, files)
    except InputError:
        kind = _kind_of(_head(files[0]))
    if kind in ("parquet", "orc"):
        return _typed(kind, files)
    if kind == "avro":
        raise InputError(f"{path}: Avro is read by Spark alone; --look cannot tell.")
    sample = Sample(kind, files)
    text = _decoded(files[0], sample)
    if kind == "json":
        return _json(text, sample)
    lines = [line for line in text if not is_blank(line)][: ROWS + 1]
    if kind == "csv" and _is_edge_list(lines):
        sample.kind = kind = "edges"
    if kind == "edges":
        return _edges(lines, sample)
    return _csv(lines, sample)


def _head(file: str) -> bytes:
    try:
        with open_text(file) as stream:
            return stream.read(_HEAD)
    except (OSError, EOFError, ValueError, NotImplementedError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from None


def _kind_of(head: bytes) -> str:
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ORC"):
        return "orc"
    return "json" if head.lstrip()[:1] in (b"{", b"[") else "csv"


def _decoded(file: str, sample: Sample) -> list[str]:
    head = _head(file)
    refuse_utf16(file, head)
    head = head.removeprefix(b"\xef\xbb\xbf")
    if len(head) == _HEAD and not (sample.kind == "json" and is_document(head)):
        head = head[: head.rfind(b"\n") + 1] or head
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:
            sample.encoding = "cp1252" if any(0x80 <= byte < 0xA0 for byte in head) else "latin-1"
            at = head[max(0, error.start - 10) : error.start + 10].decode("latin-1")
            sample.remarks.append(f"is not UTF-8, as in {at!r}: --encoding {sample.encoding}")
    if sample.kind == "json" and is_document(head):
        return [head.decode(sample.encoding or "utf-8", errors="replace")]
    encoding = sample.encoding or "utf-8"
    return [line.decode(encoding, errors="replace") for line in lines_of(head)]


def _is_edge_list(lines: Sequence[str]) -> bool:
    """Whether a file is two columns apart by blanks, with remarks perhaps."""
    data = [line.split() for line in lines if not line.startswith("#")]
    if not data or not all(len(pair) == 2 for pair in data):
        return False
    return not any(mark in line for line in lines[:50] for mark in ",;|") and (
        lines[0].startswith("#") or not any("\t" in line for line in lines)
    )


def _edges(lines: Sequence[str], sample: Sample) -> Sample:
    pairs = [line.replace(",", " ").split() for line in lines if not line.lstrip().startswith("#")]
    good = [pair for pair in pairs if len(pair) == 2]
    sample.malformed = [" ".join(pair) for pair in pairs if len(pair) != 2]
    sample.columns = {
        "subscriber": [pair[0] for pair in good],
        "topic": [pair[1] for pair in good],
    }
    return sample


def _csv(lines: Sequence[str], sample: Sample) -> Sample:
    usual = "\t" if extension(file_name(sample.files[0])) == "tsv" else ","
    if not lines:
        sample.remarks.append("is empty")
        return sample
    delimiter = _sniff(lines, usual)
    if delimiter != usual:
        sample.delimiter = delimiter
    first = split_line(lines[0], delimiter)
    sample.has_header = _looks_like_names(first)
    names = (
        header_names(lines[0], delimiter)
        if sample.has_header
        else [f"column{index + 1}" for index in range(len(first))]
    )
    rows = [split_line(line, delimiter) for line in lines[1 if sample.has_header else 0 :]][:ROWS]
    good = [row for row in rows if len(row) == len(names)]
    sample.malformed = [delimiter.join(row) for row in rows if len(row) != len(names)]
    sample.columns = {
        name: [row[index] or None for row in good] for index, name in enumerate(names)
    }
    if not rows:
        sample.remarks.append("has a header and no rows")
    return sample


def _sniff(lines: Sequence[str], usual: str) -> str:
    """Return what is between columns: what most lines have the same number of."""

    def score(mark: str) -> tuple[float, int]:
        counts = [len(split_line(line, mark)) for line in lines[:100]]
        common = max(set(counts), key=counts.count)
        return (counts.count(common) / len(counts) if common > 1 else 0.0, mark == usual)

    best = max(_DELIMITERS, key=score)
    return best if score(best)[0] > 0 else usual


def _looks_like_names(fields: Sequence[str]) -> bool:
    """Whether a first line holds names: no numbers, no times, none of them twice."""
    if len(set(fields)) < len(fields) or not all(field.strip() for field in fields):
        return False
    return not any(is_number(text) or parse_instant(text) is not None for text in fields)


def _json(lines: Sequence[str], sample: Sample) -> Sample:
    records: list[Mapping[str, Any]] = []
    if len(lines) == 1 and is_document(lines[0].encode()):
        records = records_of(lines[0].encode(), None)
        sample.remarks.append("is one JSON array (read whole by one task; lines of JSON split)")
    for line in lines if not records else ():
        if is_blank(line) or len(records) >= ROWS:
            continue
        try:
            value, _ = parse(line.strip())
        except (ValueError, RecursionError):
            value = None
        found = value if isinstance(value, list) else [value]
        if all(isinstance(record, dict) for record in found):
            records += found
        else:
            sample.malformed.append(line)
    flat = [_flat(record) for record in records[:ROWS]]
    names = dict.fromkeys(name for record in flat for name in record)
    sample.columns = {name: [record.get(name) for record in flat] for name in names}
    return sample


def _flat(record: Mapping[str, Any], before: str = "", depth: int = 0) -> dict[str, str | None]:
    cells: dict[str, str | None] = {}
    for name, value in record.items():
        if isinstance(value, dict) and value and depth < _DEPTH:
            cells |= _flat(value, f"{before}{name}.", depth + 1)
        else:
            cells[before + name] = as_text(value)
    return cells


def _typed(kind: str, files: Sequence[str]) -> Sample:
    sample = Sample(kind, files)
    try:
        if kind == "parquet":
            batches = pq.ParquetFile(files[0]).iter_batches(ROWS)
            table = pa.Table.from_batches([next(iter(batches))])
        else:
            from pyarrow import orc

            stripe = orc.ORCFile(files[0]).read_stripe(0)
            table = pa.Table.from_batches([stripe]).slice(0, ROWS)
    except StopIteration:
        sample.remarks.append("has no rows")
        return sample
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{files[0]}: cannot be read: {str(error).splitlines()[0]}") from None
    while any(pa.types.is_struct(one.type) for one in table.schema):
        table = table.flatten()
    for name in table.column_names:
        column = table.column(name)
        sample.types[name] = str(column.type)
        sample.columns[name] = [
            None if value is None else str(value) for value in column.to_pylist()
        ]
    return sample
