"""Rows of a frame on the driver, partition after partition, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

AT_ONCE = 4
"""Partitions that travel together: more keep more cores busy, and more memory."""


def in_order(frame: DataFrame, columns: tuple[str, ...]) -> Iterator[Any]:
    """Yield rows in the order of the frame's partitions; the driver holds few of them at a time.

    One job per few partitions, started by the calling thread, so that an interrupt can cancel it.
    """
    rows = frame.select(*columns).rdd
    count = rows.getNumPartitions()
    for start in range(0, count, AT_ONCE):
        chosen = range(start, min(start + AT_ONCE, count))
        yield from rows.context.runJob(rows, list, chosen)
