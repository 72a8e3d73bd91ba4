"""Reads the tables of a workload folder as DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fanwise.pipeline.shared.store import input_uri
from fanwise.workload.files import part_files, require_columns

_IDS = ("subscriber", "topic")


def read_table(spark: SparkSession, file: Path, needed: Sequence[str]) -> DataFrame:
    """Return a table with at least the columns ``needed``, ids among them as int32.

    Raises
    ------
    WorkloadError
        The file is not there, or lacks a column.
    """
    part_files(file)  # says what is missing
    frame = spark.read.parquet(input_uri(str(file)))
    require_columns(file, needed, frame.columns)
    return frame.withColumns({name: F.col(name).cast("int") for name in needed if name in _IDS})
