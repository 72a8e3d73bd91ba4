"""Reads the tables of a workload folder as DataFrames."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from fanwise.errors import WorkloadError
from fanwise.pipeline.shared.store import Store, input_uri
from fanwise.workload.files import local_path, part_files, require_columns
from fanwise.workload.remote import Address, address_of
from fanwise.workload.topic.files import read_header


def _schema_of(part: Path) -> T.StructType | None:
    """Return the columns of a file, for which Spark would start a job; None where it has to."""
    try:
        return from_arrow_schema(pq.read_schema(part))
    except Exception:  # damaged, or of types that Spark does not have: Spark will say it
        return None


_IDS = ("subscriber", "topic")


def open_folder(spark: SparkSession, path: str | Path) -> tuple[Path, dict[str, Any]]:
    """Return a topic workload's folder, for :func:`read_table`, and its ``workload.json``.

    At an address other than this machine's both are read through Hadoop, and nothing else is
    brought here.
    """
    address = address_of(path)
    if address is None:
        folder = local_path(path)
        return folder, read_header(folder)
    store = Store(spark, address)
    if not store.exists("workload.json"):
        raise WorkloadError(f"{address}: has no workload.json; give the folder that has it.")
    with tempfile.TemporaryDirectory() as copy:
        (Path(copy) / "workload.json").write_bytes(store.read("workload.json"))
        try:
            header = read_header(Path(copy))
        except WorkloadError as error:
            raise WorkloadError(str(error).replace(copy, address)) from None
    return cast("Path", Address(address)), header


def read_table(spark: SparkSession, file: Path, needed: Sequence[str]) -> DataFrame:
    """Return a table with at least the columns ``needed``, ids among them as int32.

    Raises
    ------
    WorkloadError
        The file is not there, or lacks a column.
    """
    if isinstance(file, Address):
        frame = spark.read.parquet(str(file))
    else:
        parts = part_files(file)  # says what is missing
        schema = _schema_of(parts[0])
        reader = spark.read if schema is None else spark.read.schema(schema)
        frame = reader.parquet(input_uri(str(file)))
    require_columns(file, needed, frame.columns)
    return frame.withColumns({name: F.col(name).cast("int") for name in needed if name in _IDS})
