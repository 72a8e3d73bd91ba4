"""Files of a folder source, read whole by the names of their columns.

Spark reads CSV by position and stops at a file that it cannot read. Here each file stands for
itself: its columns are found by its own header, and a file that cannot be read is one bad row with
the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

ROWS = 50_000
"""Of one batch that is passed on."""


def read_files(
    batches: Iterable[pa.RecordBatch], kind: str, columns: Sequence[str], malformed: str
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files as text.

    Parameters
    ----------
    batches
        ``path`` of files, and ``content`` of those that are not on this machine.
    kind
        ``csv`` or ``parquet``.
    columns
        Which to take; those that a file does not have are null.
    malformed
        Column that says what is wrong with a row; null for rows that can be read.
    """
    schema = pa.schema([(name, pa.string()) for name in (*columns, malformed)])
    for batch in batches:
        names = batch.schema.names
        contents = batch.column("content") if "content" in names else [None] * len(batch)
        for path, content in zip(batch.column("path").to_pylist(), contents, strict=True):
            source = _local(path) if content is None else pa.py_buffer(content.as_py())
            yield from _read_file(path, source, kind, schema)


def _read_file(path: str, source: Any, kind: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    wrong: list[str] = []
    try:
        reader = _csv(source, wrong) if kind == "csv" else _parquet(source)
        for batch in reader:
            yield _as_text(batch, schema)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        wrong.append(f"{path}: cannot be read: {reason}")
    if wrong:
        empty = [pa.nulls(len(wrong), pa.string())] * (len(schema) - 1)
        yield pa.RecordBatch.from_arrays([*empty, pa.array(wrong, pa.string())], schema=schema)


def _csv(source: Any, wrong: list[str]) -> Iterator[pa.RecordBatch]:
    def note(row: Any) -> str:
        wrong.append(row.text or "")
        return "skip"

    with pa.input_stream(source) as stream:
        names = _header(stream)
    if not names:
        return
    texts = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True,
        null_values=[""], quoted_strings_can_be_null=False,
    )  # fmt: skip
    parsing = pa.csv.ParseOptions(invalid_row_handler=note, newlines_in_values=True)
    yield from pa.csv.open_csv(
        source if isinstance(source, str) else pa.BufferReader(source),
        read_options=pa.csv.ReadOptions(use_threads=False),
        parse_options=parsing,
        convert_options=texts,
    )


def _header(stream: Any) -> list[str]:
    """Return the names in the first line; there are none in an empty file."""
    line, more = b"", True
    while more and b"\n" not in line:
        more = stream.read(4096)
        line += more
    first = line.partition(b"\n")[0].strip()
    if not first:
        return []
    table = pa.csv.read_csv(
        pa.BufferReader(first + b"\n"), read_options=pa.csv.ReadOptions(use_threads=False)
    )
    return list(table.column_names)


def _parquet(source: Any) -> Iterator[pa.RecordBatch]:
    file = pa.parquet.ParquetFile(source if isinstance(source, str) else pa.BufferReader(source))
    with file:
        yield from file.iter_batches(batch_size=ROWS, use_threads=False)


def _as_text(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    known = {name.lower(): place for place, name in enumerate(batch.schema.names)}
    arrays = [
        _text(batch.column(known[name])) if name in known else pa.nulls(len(batch), pa.string())
        for name in schema.names
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _text(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type):  # without an exponent
        return pa.array([None if one is None else f"{one!r}" for one in array.to_pylist()])
    if pa.types.is_timestamp(array.type):
        micros = pc.cast(pc.cast(array, pa.timestamp("us"), safe=False), pa.int64())
        return pa.array(
            [None if one is None else _seconds(one) for one in micros.to_pylist()], pa.string()
        )
    return pc.cast(array, pa.string())


def _seconds(micros: int) -> str:
    sign, whole = ("-", -micros) if micros < 0 else ("", micros)
    return f"{sign}{whole // 10**6}.{whole % 10**6:06d}"


def _local(path: str) -> str:
    """Return the path of a file of this machine, which Spark writes as a URI."""
    return unquote(urlparse(path).path) if path.startswith("file:") else path


def reading(kind: str, columns: Sequence[str], malformed: str) -> Any:
    """Return :func:`read_files` for files of a kind."""
    return partial(read_files, kind=kind, columns=tuple(columns), malformed=malformed)
