"""A file that says who subscribes to what at the beginning."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from fanwise.errors import InputError

NAMES = ("subscriber", "topic")


def read_snapshot(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a CSV, JSON lines or Parquet file with ``subscriber`` and ``topic``.

    Raises
    ------
    InputError
        In one line: what is wrong with the file.
    """
    try:
        table = _read(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None
    missing = [name for name in NAMES if name not in table.column_names]
    if missing:
        raise InputError(
            f"{path}: no column {missing[0]!r}; it has {', '.join(table.column_names)}."
        )
    columns = [table.column(name).cast(pa.string()).to_pylist() for name in NAMES]
    for row, (subscriber, topic) in enumerate(zip(*columns, strict=True), start=1):
        if not subscriber or not topic:
            raise InputError(f"{path}: row {row} has no {'topic' if subscriber else 'subscriber'}.")
        yield subscriber, topic


def _read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path)
    if path.suffix in (".jsonl", ".json"):
        return pa.json.read_json(path)
    texts = pa.csv.ConvertOptions(column_types=dict.fromkeys(NAMES, pa.string()))
    return pa.csv.read_csv(path, convert_options=texts)
