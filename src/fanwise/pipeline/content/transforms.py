"""Pure steps from checked content traces to the tables of a workload: DataFrame in, DataFrame out.

With windows, events carry their time and tables ``window``; see
:mod:`fanwise.pipeline.shared.windows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from operator import and_

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.window import Window

from fanwise.pipeline.content.cells import Cells
from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared.time_spans import far_apart
from fanwise.pipeline.shared.windows import Transform, add_times, add_up, window_columns

CELL = "cell"
CHANNEL = "channel"
_HASHES = 2**31


def slim_events(num_axes: int, window: int | None) -> Transform:
    """Keep what counts of checked events: verdict, publisher, instant, attributes and size.

    With windows also the time, by which they are cut.
    """

    def transform(checked: DataFrame) -> DataFrame:
        columns = [
            F.col(S.VERDICT),
            F.col(S.PUBLISHER),
            F.col(S.INSTANT),
            F.col(S.UNIT),
            F.col(S.BYTES),
            *(F.col(f"_at_{axis}") for axis in range(num_axes)),
        ]
        if window is None:
            return checked.select(*columns)
        return checked.transform(add_times).select(*columns, S.TIME)

    return transform


def publishers_of(events: DataFrame) -> DataFrame:
    """Return each publisher of a fine event once, as ``name``."""
    fine = events.where(S.is_fine())
    return fine.select(F.col(S.PUBLISHER).alias("name")).distinct()


def mark_lost_publishers(lost: DataFrame) -> Transform:
    """Turn fine events whose publisher is among the ``name`` of ``lost`` into bad rows."""
    return _mark_no_position(S.PUBLISHER, lost, Column.isNotNull)


def mark_lost_subscribers(located: DataFrame) -> Transform:
    """Turn fine rows whose ``_name`` is not among the ``name`` of ``located`` into bad ones."""
    return _mark_no_position(S.NAME, located, Column.isNull)


def _mark_no_position(
    column: str, names: DataFrame, is_lost: Callable[[Column], Column]
) -> Transform:
    """Look up a column among ``names``; ``is_lost`` tells by what was found, null for nothing."""

    def transform(checked: DataFrame) -> DataFrame:
        listed = names.select(F.col("name").alias("_listed"))
        joined = checked.join(listed, F.col(column) == F.col("_listed"), "left")
        is_bad = S.is_fine() & is_lost(F.col("_listed"))
        return joined.withColumn(S.VERDICT, S.rejudge(is_bad, S.verdict("no position"))).drop(
            "_listed"
        )

    return transform


def remember_order(checked: DataFrame) -> DataFrame:
    """Number the rows, ascending in each file; :func:`keep_first` goes by that after a shuffle.

    Not on streaming DataFrames, which have no order to remember.
    """
    return checked.withColumn(S.ROW, F.monotonically_increasing_id())


def keep_first(columns: Sequence[str], reason: str) -> Transform:
    """Let the first fine row of each ``_name`` stand, by file and row, on any number of cores.

    Others that say the same in ``columns`` become duplicates, others that say something else bad.
    """

    def transform(checked: DataFrame) -> DataFrame:
        is_fine = S.is_fine()
        # Other rows may lack a name; by their numbers they spread over all partitions.
        of_name = Window.partitionBy(
            F.when(is_fine, F.col(S.NAME)), F.when(~is_fine, F.col(S.ROW))
        ).orderBy(S.FILE, S.ROW)
        ranked = checked.withColumns(
            {
                "_rank": F.row_number().over(of_name),
                **{f"_first{name}": F.first(name).over(of_name) for name in columns},
            }
        )
        same = reduce(and_, (F.col(name) == F.col(f"_first{name}") for name in columns))
        other = F.when(same, S.DUPLICATE).otherwise(S.verdict(reason))
        return ranked.withColumn(S.VERDICT, S.rejudge(is_fine & (F.col("_rank") > 1), other)).drop(
            "_rank", *(f"_first{name}" for name in columns)
        )

    return transform


def count_verdicts(checked: DataFrame) -> DataFrame:
    """Return ``verdict``, ``rows``."""
    return checked.groupBy(F.col(S.VERDICT).alias("verdict")).agg(F.count("*").alias("rows"))


def measure_events(num_axes: int) -> Transform:
    """Return per verdict the rows, and of the events their first and last, extent and size."""

    def transform(events: DataFrame) -> DataFrame:
        return events.groupBy(F.col(S.VERDICT).alias("verdict")).agg(
            F.count("*").alias("rows"),
            F.min(S.INSTANT).alias("first"),
            F.max(S.INSTANT).alias("last"),
            F.avg(S.BYTES).alias("bytes"),
            *(total.alias(name) for name, total in far_apart(events).items()),
            *(F.min(f"_at_{axis}").alias(f"lo_{axis}") for axis in range(num_axes)),
            *(F.max(f"_at_{axis}").alias(f"hi_{axis}") for axis in range(num_axes)),
        )

    return transform


def sample_events(num_axes: int, share: float) -> Transform:
    """Return the attributes of a share of the fine events, the same however they are spread."""

    def transform(events: DataFrame) -> DataFrame:
        at = [f"_at_{axis}" for axis in range(num_axes)]
        fine = events.where(S.is_fine())
        if share < 1:
            drawn = F.pmod(F.xxhash64(S.PUBLISHER, S.INSTANT, *at), F.lit(_HASHES))
            fine = fine.where(drawn < int(share * _HASHES))
        return fine.select(*at)

    return transform


def find_cells(num_axes: int, cells: Cells, channels: Cells | None) -> Transform:
    """Return ``publisher``, ``cell``, ``channel`` (and the time) of each fine event."""

    def transform(events: DataFrame) -> DataFrame:
        times = [S.TIME] if S.TIME in events.columns else []
        at = [f"_at_{axis}" for axis in range(num_axes)]
        fine = events.where(S.is_fine()).select(*times, F.col(S.PUBLISHER).alias("publisher"), *at)
        kept = [field for field in fine.schema.fields if field.name not in at]
        schema = T.StructType(
            [*kept, *(T.StructField(name, T.IntegerType()) for name in (CELL, CHANNEL))]
        )
        return fine.mapInArrow(
            partial(_find_in_batches, at=at, cells=cells, channels=channels), schema
        )

    return transform


def _find_in_batches(
    batches: Iterable[pa.RecordBatch], at: Sequence[str], cells: Cells, channels: Cells | None
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        points = np.column_stack([batch.column(name).to_numpy() for name in at])
        found = {CELL: cells, CHANNEL: cells if channels is None else channels}
        columns = {name: batch.column(name) for name in batch.schema.names if name not in at} | {
            name: pa.array(tree.find(points)) for name, tree in found.items()
        }
        yield pa.RecordBatch.from_pydict(columns)


def densities(cells: DataFrame, window: int | None) -> Transform:
    """Turn events with their cells into cells with their sides and events, those with any.

    ``cells`` is the small table of ``cell`` and its sides.
    """

    def transform(found: DataFrame) -> DataFrame:
        counts = add_up(found, [CELL], window, _num_events())
        sides = [name for name in cells.columns if name != CELL]
        return counts.join(F.broadcast(cells), CELL).select(*window_columns(counts), *sides, "rate")

    return transform


def rates(users: DataFrame, window: int | None) -> Transform:
    """Turn events with their cells into ``subscriber``, ``channel``, ``rate`` (and ``window``)."""

    def transform(found: DataFrame) -> DataFrame:
        counts = add_up(found, ["publisher", CHANNEL], window, _num_events())
        ids = users.select(F.col("name").alias("publisher"), F.col("id").alias("subscriber"))
        return counts.join(ids, "publisher").select(
            *window_columns(counts), "subscriber", CHANNEL, "rate"
        )

    return transform


def _num_events() -> Column:
    return F.count("*").cast("double").alias("rate")


def rectangles(num_axes: int) -> Transform:
    """Turn checked subscriptions into ``name``, ``lo_0``, ``hi_0``, …, one row a name."""

    def transform(checked: DataFrame) -> DataFrame:
        sides = [(side, axis) for axis in range(num_axes) for side in ("lo", "hi")]
        return checked.where(S.is_fine()).select(
            F.col(S.NAME).alias("name"),
            *(F.col(f"_{side}_{axis}").alias(f"{side}_{axis}") for side, axis in sides),
        )

    return transform


def positions(num_axes: int) -> Transform:
    """Turn checked positions into ``name``, ``net_0``, …, one row a name."""

    def transform(checked: DataFrame) -> DataFrame:
        return checked.where(S.is_fine()).select(
            F.col(S.NAME).alias("name"),
            *(F.col(f"_net_{axis}").alias(f"net_{axis}") for axis in range(num_axes)),
        )

    return transform


def users(publishers: DataFrame | None, located: DataFrame) -> Transform:
    """Add to rectangles the publishers without one, and to each its position."""

    def transform(boxes: DataFrame) -> DataFrame:
        everyone = boxes if publishers is None else boxes.join(publishers, "name", "full_outer")
        return everyone.join(located, "name")

    return transform
