"""Tables of lakes (Delta, Iceberg, Hudi): read through their format, or refused; never as files."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from fanwise.pipeline.shared.local_files import lake_refused
from fanwise.pipeline.shared.peeking import folders_of, is_there, literally, some_of

Lake = tuple[str, str, str]
DELTA = ("a Delta table", "delta", "io.delta:delta-spark")
HUDI = ("a Hudi table", "hudi", "org.apache.hudi:hudi-spark")
ICEBERG = ("an Iceberg table", "iceberg", "org.apache.iceberg:iceberg-spark-runtime")


def is_lake_read(spark: SparkSession, path: str, uri: str, files: Sequence[str]) -> bool:
    """Return whether a path is a table of a lake."""
    return _find(spark, uri, files) is not None


def read_lake(spark: SparkSession, path: str, uri: str, files: Sequence[str]) -> DataFrame:
    """Read a table of a lake through its format.

    Raises
    ------
    InputError
        This Spark does not know the format, or the path is not the table's own folder.
    """
    found = _find(spark, uri, files)
    assert found is not None
    folder, lake = found
    if folder.rstrip("/").rsplit("/", 1)[-1] != uri.rstrip("/").rsplit("/", 1)[-1]:
        raise lake_refused(path, lake)
    try:
        return spark.read.format(lake[1]).load(uri)
    except Exception:
        raise lake_refused(path, lake) from None


def _find(spark: SparkSession, uri: str, files: Sequence[str]) -> tuple[str, Lake] | None:
    marks = {"_delta_log": DELTA, ".hoodie": HUDI, "metadata/*.metadata.json": ICEBERG}
    for folder in folders_of(uri, [*map(literally, some_of(files))]):
        for mark, lake in marks.items():
            if is_there(spark, f"{folder}/{mark}"):
                return folder, lake
    return None
