"""From files of topic traces to a workload folder: what ``fanwise ingest`` does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fanwise.pipeline.shared.ingestion import Source, as_traces, ingest_traces
from fanwise.pipeline.shared.options import MESSAGE_BYTES
from fanwise.pipeline.shared.period import Scope
from fanwise.pipeline.shared.times import Duration, Instant
from fanwise.pipeline.topic.build import TopicBuilder
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
    overwrite: bool = False,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    progress: Progress = SILENT,
) -> Report:
    """Read traces, write a workload, and report what was read, dropped and kept.

    Parameters
    ----------
    publications, subscriptions
        Paths, or :class:`~fanwise.pipeline.shared.readers.Trace` where the format has to be said.
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
    overwrite
        Replace an existing output.
    master, conf
        Of the Spark session; see :func:`~fanwise.pipeline.shared.session.spark_session`.
    progress
        Hears of tasks done.
    """
    traces = as_traces(publications, subscriptions)
    builder = TopicBuilder(
        scope=Scope.parse(start, end, window, period),
        message_bytes=message_bytes,
        keep_empty=keep_empty,
        mutual=mutual,
        max_bad_rows=max_bad_rows,
        progress=progress,
        places=[trace.path for trace in traces],
    )
    return ingest_traces(builder, traces, out, overwrite=overwrite, master=master, conf=conf)
