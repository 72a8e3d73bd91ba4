"""From DataFrames of content traces to the tables of a content workload.

Everything that grows with the data stays in Spark. The driver sees totals, the brokers, the cells
and, to cut cells of equal depth, at most :data:`SAMPLE` events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fanwise.errors import InputError, ParameterError
from fanwise.pipeline.content import checks, transforms
from fanwise.pipeline.content.brokers import read_brokers
from fanwise.pipeline.content.cells import Cells, cut, widened
from fanwise.pipeline.content.frames import ContentFrames
from fanwise.pipeline.content.options import ContentOptions
from fanwise.pipeline.content.report import ContentReport, ContentWindow
from fanwise.pipeline.content.tables import (
    broker_table,
    cell_table,
    net_columns,
    side_columns,
    silent_cells,
)
from fanwise.pipeline.shared import empty
from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared.building import Builder, Reading
from fanwise.pipeline.shared.doubles import mark_doubles
from fanwise.pipeline.shared.job_progress import track_jobs
from fanwise.pipeline.shared.options import Limit
from fanwise.pipeline.shared.outliers import Outliers
from fanwise.pipeline.shared.period import Period, Scope, settle
from fanwise.pipeline.shared.time_spans import FORMS, look_for_outliers
from fanwise.pipeline.shared.time_units import names_of
from fanwise.pipeline.shared.windows import WINDOW, add_up
from fanwise.progress import SILENT, Progress

SAMPLE = 250_000
MOST_BROADCAST = 1_000_000


def build_content_workload(
    publications: DataFrame,
    subscriptions: DataFrame,
    positions: DataFrame,
    brokers: DataFrame,
    options: ContentOptions,
    *,
    scope: Scope | None = None,
    max_bad_rows: int | str = 0,
    progress: Progress = SILENT,
    places: Sequence[str] = ("publications", "subscriptions", "positions", "brokers"),
) -> ContentFrames:
    """Make the tables of a content workload.

    Runs Spark jobs and keeps intermediate results in Spark's storage until ``release()``.

    Parameters
    ----------
    publications
        One row per event: ``publisher``, ``timestamp``, the attributes, optional ``bytes``.
    subscriptions
        ``subscriber`` and the sides of its rectangle; see
        :func:`~fanwise.pipeline.content.checks.check_rectangles`.
    positions
        ``name`` (or ``subscriber``) and ``net_0``, … of every subscriber and, with channels, of
        every publisher.
    brokers
        See :func:`~fanwise.pipeline.content.brokers.read_brokers`.
    options
        What shapes the workload.
    scope
        The part of the events that counts, and windows.
    max_bad_rows
        How many bad rows may be left out, or what share of all, as in "0.1%".
    progress
        Hears of tasks done.
    places
        How messages name the four tables.

    Raises
    ------
    InputError
        Missing columns, too many bad rows, a bad broker, or no events.
    """
    builder = ContentBuilder(
        options, scope=scope, max_bad_rows=max_bad_rows, progress=progress, places=places
    )
    return builder.build(publications, subscriptions, positions, brokers)


class ContentBuilder(Builder[ContentFrames]):
    """Builds a content workload; see :func:`build_content_workload`."""

    traces: ClassVar[Mapping[str, Sequence[str]]] = {
        "publications": ("publisher", "timestamp", "bytes"),
        "subscriptions": ("subscriber",),
        "positions": (),
        "brokers": (),
    }

    def __init__(
        self,
        options: ContentOptions,
        *,
        scope: Scope | None,
        max_bad_rows: int | str | Limit,
        progress: Progress,
        places: Sequence[str],
        event_id: str | None = None,
        reading: Reading | None = None,
    ) -> None:
        super().__init__(
            scope=scope,
            max_bad_rows=max_bad_rows,
            progress=progress,
            places=places,
            reading=reading,
        )
        self.event_id = event_id
        self.outliers: Outliers | None = None
        self.event_doubles: int | None = None
        self.options = options
        self.dims = len(options.attributes)
        self.duplicates: dict[str, int] = {}

    def _build(self, *frames: DataFrame) -> ContentFrames:
        publications, subscriptions, positions, broker_rows = frames
        spark = publications.sparkSession
        # All columns first, before any table is read to its end.
        num_axes = self.count_axes(positions, broker_rows)
        positions = checks.check_positions(
            positions,
            num_axes,
            place=self.places["positions"],
            is_doubted="positions" in self.how.doubts,
        ).transform(transforms.remember_order)
        publications = self.check_events(publications)
        subscriptions = checks.check_rectangles(
            subscriptions,
            self.options.attributes,
            place=self.places["subscriptions"],
            is_doubted="subscriptions" in self.how.doubts,
        ).transform(transforms.remember_order)
        with self.reading(spark, "brokers"):
            brokers = read_brokers(broker_rows, self.places["brokers"])
        with self.reading(spark, "positions"):
            located = self.locate(positions, num_axes)
            publisher = self.publisher(located, num_axes)
        with self.reading(spark, "publications"):
            slim, events, totals = self.measure(publications, located)
        period = settle(self.scope, totals["first"], totals["last"], self.places["publications"])
        with self.reading(spark, "subscriptions"):
            boxes = self.rectangles(subscriptions, located)
        self.refuse_bad_traces()
        if not self.how.allow_empty:
            empty.refuse_no_subscriptions(self.rows["subscriptions"], self.places["subscriptions"])
        with track_jobs(spark, self.progress, "cutting cells"):
            cells, channels = self.cut(events, totals)
            found = self.store(events.transform(transforms.find_cells(self.dims, cells, channels)))
            windows = _count_windows(found, period)
            num_cells = int(found.select("cell").distinct().count())
            slim.unpersist()  # all that follows needs the cells alone
        with track_jobs(spark, self.progress, "numbering subscribers"):
            publishers = None
            if channels is not None:
                publishers = self.store(found.select(F.col("publisher").alias("name")).distinct())
            everyone = boxes.transform(transforms.users(publishers, located))
            users, num_users = self.number(everyone, "subscribers")
            num_publishers = None if publishers is None else publishers.count()
        density = found.transform(
            transforms.densities(cell_table(spark, cells, "cell"), period.window)
        )
        silent = [window.start for window in windows if not window.events]
        if silent:
            density = density.unionByName(silent_cells(spark, cells, silent))
        header: dict[str, Any] = {} if publisher is None else {"publisher": publisher}
        header |= {
            "period_seconds": period.seconds,
            "attributes": list(self.options.attributes),
            "message_bytes": totals["bytes"],
        }
        if totals["bytes"] is None:
            header["message_bytes"] = self.options.message_bytes
        sides = side_columns(self.dims)
        return ContentFrames(
            subscribers=users.select(
                F.col("id").alias("subscriber"), "name", *net_columns(num_axes), *sides
            ),
            brokers=broker_table(spark, brokers),
            density=density,
            channels=None if channels is None else cell_table(spark, channels, "channel"),
            rates=None
            if channels is None
            else found.transform(transforms.rates(users, period.window)),
            bad=self.bad_rows(),
            report=ContentReport(
                publications=self.rows["publications"],
                subscriptions=self.rows["subscriptions"],
                positions=self.rows["positions"],
                duplicates=self.duplicates,
                publishers=num_publishers,
                subscribers=num_users,
                brokers=len(brokers),
                cells=num_cells,
                channels=None if channels is None else len(channels),
                period_seconds=period.seconds,
                start=period.start,
                end=self.scope.end if self.scope.end is not None else totals["last"],
                window=period.window,
                windows=windows,
                time_units=tuple(names_of(totals[FORMS])),
                outliers=self.outliers,
                event_doubles=self.event_doubles,
            ),
            header=header,
            _stored=self.stored,
        )

    def count_axes(self, positions: DataFrame, brokers: DataFrame) -> int:
        """Return the dimensions of the network space, which all its points must have."""
        place, others = self.places["positions"], self.places["brokers"]
        num_axes = checks.count_axes(positions, place)
        num_others = checks.count_axes(brokers, others)
        if num_axes != num_others:
            raise InputError(
                f"{place}: has {num_axes} of the coordinates net_0, …, but {others} has "
                f"{num_others}; give both the same."
            )
        point = self.options.publisher
        if point is not None and len(point) != num_axes:
            wanted = f"{num_axes} coordinates, as positions and brokers have"
            raise ParameterError("publisher", wanted, list(point))
        return num_axes

    def check_events(self, publications: DataFrame) -> DataFrame:
        """Return publications with a verdict on each row."""
        checked = checks.check_content_events(
            publications,
            self.options.attributes,
            start=self.scope.start,
            end=self.scope.end,
            space=self.options.space,
            place=self.places["publications"],
            unit=self.how.time_unit,
            event_id=self.event_id,
            is_doubted="publications" in self.how.doubts,
        )
        return checked if self.event_id is None else checked.transform(mark_doubles)

    def locate(self, checked: DataFrame, num_axes: int) -> DataFrame:
        """Return ``name``, ``net_0``, … once a name."""
        points = [f"_net_{axis}" for axis in range(num_axes)]
        checked = checked.transform(transforms.keep_first(points, "another position of the name"))
        slim = self.store(checked.select(S.VERDICT, S.NAME, *points))
        self.count_rows("positions", checked, slim)
        return slim.transform(transforms.positions(num_axes))

    def publisher(self, located: DataFrame, num_axes: int) -> list[float] | None:
        """Return the point where events enter, or None where no option says it."""
        if self.options.root is not None:
            row = located.where(F.col("name") == self.options.root).first()
            if row is None:
                raise InputError(
                    f"{self.places['positions']}: no position of {self.options.root!r}, which "
                    "--root names; add its row, or pass --publisher with the coordinates."
                )
            return [row[name] for name in net_columns(num_axes)]
        point = self.options.publisher
        return None if point is None else [float(value) for value in point]

    def measure(
        self, checked: DataFrame, located: DataFrame
    ) -> tuple[DataFrame, DataFrame, dict[str, Any]]:
        """Return what Spark stores of events, the events judged, and totals of the fine ones."""
        place = self.places["publications"]
        slim = self.store(checked.transform(transforms.slim_events(self.dims, self.scope.window)))
        events = slim
        if self.options.num_channels is not None:
            # Seldom any, so that events need not be joined with all positions.
            lost = self.store(
                transforms.publishers_of(slim).join(located, "name", "left_anti").select("name")
            )
            num_lost = lost.count()
            if num_lost:
                small = F.broadcast(lost) if num_lost < MOST_BROADCAST else lost
                mark = transforms.mark_lost_publishers(small)
                events, checked = slim.transform(mark), checked.transform(mark)
        by_verdict = self.add_up(events)
        self.outliers = look_for_outliers(events, self.scope, by_verdict, place)
        if self.outliers is not None:
            bulk = self.outliers.bulk
            counts_so_far = F.col(S.VERDICT).isin(S.FINE, S.DUPLICATE)
            is_far = counts_so_far & ~F.col(S.INSTANT).between(bulk.first, bulk.last)
            far = {S.VERDICT: S.rejudge(is_far, S.OUTSIDE)}
            events, checked = events.withColumns(far), checked.withColumns(far)
            by_verdict = self.add_up(events)
        counts = {code: row["rows"] for code, row in by_verdict.items()}
        rows = self.note_rows("publications", checked, counts)
        if self.event_id is not None:
            self.event_doubles = counts.get(S.DUPLICATE, 0)
        self.refuse_bad_trace("publications")
        if not rows.fine:
            raise InputError(
                f"{place}: no event of {rows.rows} rows counts ({rows.num_bad} bad, "
                f"{rows.outside} outside the period), and without any there is no density; check "
                "--from, --to and --space."
            )
        return slim, events, by_verdict[S.FINE]

    def add_up(self, events: DataFrame) -> dict[int, dict[str, Any]]:
        """Return of the events of each verdict how many there are, when and where."""
        found = events.transform(transforms.measure_events(self.dims)).collect()
        return {row["verdict"]: row.asDict() for row in found}

    def rectangles(self, checked: DataFrame, located: DataFrame) -> DataFrame:
        """Return ``name`` and its rectangle, once a name."""
        sides = [f"_{side}_{axis}" for axis in range(self.dims) for side in ("lo", "hi")]
        checked = checked.transform(transforms.mark_lost_subscribers(located)).transform(
            transforms.keep_first(sides, "another rectangle of the subscriber")
        )
        slim = self.store(checked.select(S.VERDICT, S.NAME, *sides))
        self.count_rows("subscriptions", checked, slim)
        return slim.transform(transforms.rectangles(self.dims))

    def count_rows(self, trace: str, checked: DataFrame, slim: DataFrame) -> None:
        """Note the rows of a trace, and refuse too many bad ones."""
        found = slim.transform(transforms.count_verdicts).collect()
        by_verdict = {row["verdict"]: row["rows"] for row in found}
        self.note_rows(trace, checked, by_verdict)
        self.duplicates[trace] = by_verdict.get(S.DUPLICATE, 0)
        self.refuse_bad_trace(trace)

    def cut(self, events: DataFrame, totals: Mapping[str, Any]) -> tuple[Cells, Cells | None]:
        """Return the cells of the density, and the channels if there are to be any."""
        options = self.options
        ends = options.space or [
            (totals[f"lo_{axis}"], totals[f"hi_{axis}"]) for axis in range(self.dims)
        ]
        lo, hi = widened(ends)
        ways = [options.cells_by]
        if options.num_channels is not None:
            ways.append(options.channels_by)
        points = np.empty((0, self.dims))
        if "depth" in ways:
            share = min(1.0, SAMPLE / totals["rows"])
            drawn = events.transform(transforms.sample_events(self.dims, share)).toArrow()
            points = np.column_stack([column.to_numpy() for column in drawn.columns])

        cells = cut(lo, hi, options.num_cells, options.cells_by, points)
        if options.num_channels is None:
            return cells, None
        return cells, cut(lo, hi, options.num_channels, options.channels_by, points)


def _count_windows(found: DataFrame, period: Period) -> tuple[ContentWindow, ...]:
    if period.window is None:
        return ()
    counts = add_up(found, [], period.window, F.count("*").alias("events"))
    events = {row[WINDOW]: row["events"] for row in counts.collect()}
    return tuple(
        ContentWindow(start, start + period.window, events.get(start, 0))
        for start in period.window_starts
    )
