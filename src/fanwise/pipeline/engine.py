"""Which engine an ingest runs on: small traces of this machine need no Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from fanwise.errors import ParameterError
from fanwise.pipeline.shared.local_files import find_files, find_lake, partition_folders
from fanwise.pipeline.shared.store import is_local
from fanwise.pipeline.shared.trace import Trace, extension

AUTO, LOCAL, SPARK = "auto", "local", "spark"
ENGINES = (AUTO, LOCAL, SPARK)
MOST_ROWS = 1_000_000
"""Rows of all traces together, as their files' sizes tell, up to which no Spark is started."""

_ROW_BYTES = {"csv": 32, "tsv": 32, "json": 80, "jsonl": 80, "ndjson": 80, "parquet": 8, "orc": 8}
_PACKED = 5
"""How much smaller than its text a compressed file is, about."""
_LOCAL_PACKING = ("gz", "bz2", "zst")
_FOREIGN_PACKING = ("lz4", "snappy", "deflate")


def check_engine(engine: str) -> str:
    """Return the name of an engine, or refuse it."""
    if engine not in ENGINES:
        raise ParameterError("engine", f"one of {', '.join(ENGINES)}", engine)
    return engine


def choose_engine(
    engine: str,
    traces: Sequence[Trace],
    out: str | Path,
    master: str | None,
    conf: Mapping[str, str] | None,
) -> str:
    """Return ``local`` or ``spark``.

    What is asked for is what runs. Otherwise ``spark`` where a master or settings of Spark are
    given, where a session runs already, where anything is elsewhere than on this machine or is read
    by Spark alone, and where the traces are large.
    """
    if check_engine(engine) == LOCAL:
        for name, given in (("master", master), ("conf", conf)):
            if given:
                raise ParameterError(name, "left out with --engine local", given)
        places = [str(out), *(trace.path for trace in traces)]
        elsewhere = next((place for place in places if not is_local(place)), None)
        if elsewhere is not None:
            raise ParameterError("engine", f"spark, which reaches {elsewhere}", engine)
        return LOCAL
    if engine == SPARK or master or conf or spark_runs():
        return SPARK
    if not is_local(out) or not all(_is_small_file(trace) for trace in traces):
        return SPARK
    return LOCAL if estimate_rows(traces) <= MOST_ROWS else SPARK


def estimate_rows(traces: Sequence[Trace]) -> int:
    """Return about how many rows traces of this machine have, by the sizes of their files."""
    rows = 0
    for trace in traces:
        for file in find_files(trace.path):
            kind = extension(file) or trace.format or ""
            size = os.path.getsize(file)
            if file.lower().rsplit(".", 1)[-1] in _LOCAL_PACKING:
                size *= _PACKED
            rows += size // _ROW_BYTES.get(trace.format or kind, 16)
    return rows


def _is_small_file(trace: Trace) -> bool:
    """Whether a trace can be read without Spark."""
    if not is_local(trace.path):
        return False
    files = find_files(trace.path)
    endings = {file.lower().rsplit(".", 1)[-1] for file in files}
    if endings & {*_FOREIGN_PACKING, "avro"} or trace.format == "avro":
        return False
    return find_lake(trace.path, files) is None and not partition_folders(trace.path, files)


def spark_runs() -> bool:
    """Whether this thread has a session; asking must not load PySpark."""
    if "pyspark.sql" not in sys.modules:
        return False
    from fanwise.pipeline.shared.session import active_session

    return active_session() is not None
