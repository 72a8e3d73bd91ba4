"""Trace files written piece by piece, as CSV or Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from fanwise.arrays.csr import LongArray

FORMATS = ("csv", "parquet")
NO_TIME = int(np.iinfo(np.int64).min)
"""Stands for an empty cell in a column of times."""
ODD_TIME = NO_TIME + 1
"""Stands for a cell that is no time, which only text can hold."""

_TIME = pa.timestamp("s", tz="UTC")
_ODD_TEXT = "yesterday"


class TraceWriter:
    """Writes one trace; a context manager.

    Parameters
    ----------
    folder, name
        The file is ``folder/name.csv`` or ``folder/name.parquet``.
    columns
        Types by name. Times are timestamps, in CSV written as in ``2026-03-02T07:15:04Z``.
    """

    def __init__(
        self, folder: Path, name: str, columns: Mapping[str, pa.DataType], file_format: str
    ) -> None:
        self.path = folder / f"{name}.{file_format}"
        self.rows = 0
        self._is_text = file_format == "csv"
        self._schema = pa.schema(
            (column, pa.string() if self._is_text and kind == _TIME else kind)
            for column, kind in columns.items()
        )
        self._writer = self._open()

    def _open(self) -> pa.csv.CSVWriter | pa.parquet.ParquetWriter:
        if not self._is_text:
            return pa.parquet.ParquetWriter(self.path, self._schema)
        self._file = pa.OSFile(str(self.path), "wb")
        # Arrow would put the header's names in quotes. Values need none: names are plain words.
        self._file.write((",".join(self._schema.names) + "\n").encode())
        return pa.csv.CSVWriter(
            self._file,
            self._schema,
            write_options=pa.csv.WriteOptions(include_header=False, quoting_style="none"),
        )

    def times(self, seconds: LongArray) -> pa.Array:
        """Return a column of times from epoch seconds, NO_TIME and ODD_TIME."""
        if not self._is_text:
            return pa.array(seconds, mask=seconds <= ODD_TIME).cast(_TIME)
        # Many rows share a second: each is written out once.
        known, index = np.unique(seconds, return_inverse=True)
        texts: npt.NDArray[np.object_] = np.empty(len(known), dtype=object)
        special = int(np.searchsorted(known, ODD_TIME, side="right"))
        texts[:special] = [None if time == NO_TIME else _ODD_TEXT for time in known[:special]]
        texts[special:] = np.datetime_as_string(
            known[special:].astype("datetime64[s]"), timezone="UTC"
        )
        return pa.array(texts, type=pa.string()).take(pa.array(index))

    def write(self, *columns: pa.Array | npt.NDArray[np.generic]) -> None:
        """Append rows, given as one array for each column."""
        arrays = [
            column if isinstance(column, pa.Array) else pa.array(column, type=field.type)
            for column, field in zip(columns, self._schema, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self.rows += len(arrays[0])

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.close()
        if self._is_text:
            self._file.close()


def time_type() -> pa.DataType:
    """Return the type of a column of times."""
    return _TIME
