"""From files of topic traces to a workload folder: what ``fanwise ingest`` does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fanwise.pipeline.engine import AUTO, LOCAL, choose_engine, spark_runs
from fanwise.pipeline.local.ingestion import ingest_locally
from fanwise.pipeline.local.tables import NeedsSparkError
from fanwise.pipeline.local.topic import TopicOptions
from fanwise.pipeline.shared.options import MESSAGE_BYTES, Limit, check_message_bytes
from fanwise.pipeline.shared.period import Scope
from fanwise.pipeline.shared.reading import Source, as_traces, check_before
from fanwise.pipeline.shared.time_units import parse_unit
from fanwise.pipeline.shared.times import Duration, Instant
from fanwise.pipeline.topic.actions import Actions
from fanwise.pipeline.topic.columns import check_follows, check_publications, known_columns
from fanwise.pipeline.topic.report import Report
from fanwise.progress import SILENT, Progress


def ingest(
    publications: Source,
    subscriptions: Source,
    out: str | Path,
    *,
    start: Instant | None = None,
    end: Instant | None = None,
    window: Duration | None = None,
    period: Duration | None = None,
    message_bytes: float = MESSAGE_BYTES,
    keep_empty: bool = False,
    mutual: bool = False,
    max_bad_rows: int | str = 0,
    time_unit: str = "auto",
    event_id: str | None = None,
    subscription_log: bool = False,
    actions: Mapping[str, str] | None = None,
    allow_empty: bool = False,
    overwrite: bool = False,
    engine: str = AUTO,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    progress: Progress = SILENT,
) -> Report:
    """Read traces, write a workload, and report what was read, dropped and kept.

    Parameters
    ----------
    publications, subscriptions
        Paths, or :class:`~fanwise.pipeline.shared.trace.Trace` where the format has to be said.
    out
        Folder or address to write.
    start, end
        Events in [start, end) count: ISO 8601 or epoch seconds. Without them the period is that
        from the first to the last event.
    window
        Cut into windows of this length (``"1h"``), aligned to the epoch, one workload each.
    period
        Length of the period where it is not that of the events; needed for ready counts.
    message_bytes, keep_empty, mutual, max_bad_rows
        See :func:`~fanwise.pipeline.topic.build.build_workload`.
    time_unit
        Of epoch times: ``s``, ``ms``, ``us``, ``ns``, or ``auto``, which tells them apart by size.
    event_id
        A column of the publications; events with an id that was there already do not count.
    subscription_log
        The subscriptions are a log of changes: ``subscriber``, ``topic``, ``action`` and
        ``timestamp``.
    actions
        Words of that log besides the usual ones, as in ``{"on": "subscribe", "off":
        "unsubscribe"}``.
    allow_empty
        Write a workload without any pairs, and let renames match nothing.
    overwrite
        Replace an existing output.
    engine
        ``spark``, ``local`` (without Spark, in memory), or ``auto``: local where the traces are
        small and on this machine and nothing asks for Spark.
    master, conf
        Of the Spark session; see :func:`~fanwise.pipeline.shared.session.spark_session`.
    progress
        Hears of tasks done.
    """
    traces = as_traces(publications, subscriptions)
    log = Actions.parse(actions) if subscription_log else None
    options = TopicOptions(
        scope=Scope.parse(start, end, window, period),
        message_bytes=check_message_bytes(message_bytes),
        keep_empty=keep_empty,
        mutual=mutual,
        limit=Limit.parse(max_bad_rows),
        time_unit=parse_unit(time_unit),
        event_id=event_id,
        actions=log,
        allow_empty=allow_empty,
    )
    chosen = choose_engine(engine, traces, out, master, conf)
    named = dict(zip(("publications", "subscriptions"), traces, strict=True))
    known = known_columns(options)
    check_before(
        named,
        out,
        window=options.scope.window,
        overwrite=overwrite,
        check={
            "publications": lambda names, place: check_publications(
                names, place, has_window=options.scope.window is not None, event_id=event_id
            ),
            "subscriptions": lambda names, place: check_follows(
                names, place, is_log=log is not None
            ),
        },
        allow_empty=allow_empty,
        # A session that runs may know them; one to be started does if it is told.
        reads_lakes=bool(conf) or (chosen != LOCAL and spark_runs()),
    )
    if chosen == LOCAL:
        try:
            return ingest_locally(
                options,
                {name: (trace, known[name]) for name, trace in named.items()},
                out,
                overwrite=overwrite,
                progress=progress,
            )
        except NeedsSparkError:
            if engine == LOCAL:
                raise
    from fanwise.pipeline.shared.session import import_pyspark

    import_pyspark()  # says how to get it
    from fanwise.pipeline.topic.on_spark import ingest_on_spark

    return ingest_on_spark(
        options, traces, out, overwrite=overwrite, master=master, conf=conf, progress=progress
    )
