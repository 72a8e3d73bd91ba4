"""Dense ids in code-point order of names, without sorting everything in one place.

Names are range-partitioned and sorted inside each partition; the driver sees only how many rows
each partition has. Spark compares strings by their UTF-8 bytes, which is code-point order.
"""

from __future__ import annotations

from itertools import accumulate

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fanwise.errors import InputError
from fanwise.pipeline.shared.windows import WINDOW, window_columns

MOST_IDS = 2**31 - 1
_POSITION = "_position"
# monotonically_increasing_id is (partition << 33) + row in the partition.
_ROW_BITS = 33


def sort_by_name(frame: DataFrame, name: str) -> DataFrame:
    """Range-partition and sort by (window and) name, with each row's position; kept in storage.

    The caller unpersists what is returned.
    """
    keys = [*window_columns(frame), name]
    ordered = (
        frame.repartitionByRange(*keys)
        .sortWithinPartitions(*keys)
        .withColumn(_POSITION, F.monotonically_increasing_id())
    )
    return ordered.persist(StorageLevel.MEMORY_AND_DISK)


def number_rows(ordered: DataFrame, column: str, what: str) -> tuple[DataFrame, int]:
    """Give the rows of :func:`sort_by_name` ids 0, 1, … (from 0 in each window).

    Returns
    -------
    frame, count
        The frame with the int32 column ``column``, and its number of rows.
    """
    partition = F.shiftright(_POSITION, _ROW_BITS)
    counts = {
        row["partition"]: row["count"]
        for row in ordered.groupBy(partition.alias("partition")).count().collect()
    }
    sizes = [counts.get(index, 0) for index in range(max(counts, default=-1) + 1)]
    total = sum(sizes)
    if total > MOST_IDS and WINDOW not in ordered.columns:
        raise InputError(f"{total} {what} are more than int32 ids can count; take a part of them.")
    offsets = F.array(*(F.lit(offset).cast("bigint") for offset in accumulate([0, *sizes])))
    row = F.col(_POSITION).bitwiseAND(F.lit(2**_ROW_BITS - 1))
    index = F.get(offsets, partition.cast("int")) + row
    numbered = ordered.withColumn("_index", index).drop(_POSITION)
    if WINDOW in ordered.columns:
        # The broadcast has one row per window, and their number is limited.
        first = numbered.groupBy(WINDOW).agg(F.min("_index").alias("_first"))
        numbered = numbered.join(F.broadcast(first), WINDOW)
        numbered = numbered.withColumn("_index", F.col("_index") - F.col("_first")).drop("_first")
    return numbered.withColumn(column, F.col("_index").cast("int")).drop("_index"), total
