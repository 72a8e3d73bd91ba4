"""From files to a workload folder: what ``fanwise ingest`` does."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from fanwise.errors import ParameterError
from fanwise.pipeline.apart import Jobs, run_apart
from fanwise.pipeline.build import MESSAGE_BYTES, build_workload
from fanwise.pipeline.period import Scope
from fanwise.pipeline.quarantine import Limit
from fanwise.pipeline.readers import (
    PUBLICATION_COLUMNS,
    SUBSCRIPTION_COLUMNS,
    Trace,
    read_trace,
)
from fanwise.pipeline.report import Report
from fanwise.pipeline.session import active_session, spark_session, translated_errors
from fanwise.pipeline.store import Store, is_local
from fanwise.pipeline.times import parse_duration, parse_instant
from fanwise.pipeline.writing import kind_of, refuse_existing, write_frames
from fanwise.progress import SILENT, Progress
from fanwise.workload.files import local_path
from fanwise.workload.folders import refuse_existing as refuse_existing_folder

Instant = str | float | datetime
Duration = str | float


def ingest(
    publications: str | Path | Trace,
    subscriptions: str | Path | Trace,
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
        Paths, or :class:`~fanwise.pipeline.readers.Trace` where the format has to be said.
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
        See :func:`~fanwise.pipeline.build.build_workload`.
    overwrite
        Replace an existing output.
    master, conf
        Of the Spark session; see :func:`~fanwise.pipeline.session.spark_session`.
    progress
        Hears of tasks done.
    """
    sources = [
        trace if isinstance(trace, Trace) else Trace(str(trace))
        for trace in (publications, subscriptions)
    ]
    scope = Scope(
        start=None if start is None else parse_instant(start, "from"),
        end=None if end is None else parse_instant(end, "to"),
        window=None if window is None else parse_duration(window, "window"),
        period=None if period is None else parse_duration(period, "period"),
    )
    Limit.parse(max_bad_rows)
    if not 0 <= message_bytes < float("inf"):
        raise ParameterError("message-bytes", "a finite number >= 0", message_bytes)
    if is_local(out):  # before Spark takes its seconds to start
        refuse_existing_folder(
            local_path(out),
            kind_of(window),
            overwrite=overwrite,
            inputs=[source.path for source in sources if is_local(source.path)],
        )
    active = active_session()

    def work(jobs: Jobs) -> Report:
        with ExitStack() as stack:
            with progress.step("starting Spark"):
                spark = stack.enter_context(spark_session(master, conf, active))
            jobs.attach(spark)
            stack.callback(jobs.detach)
            if not is_local(out):
                with translated_errors(str(out)):
                    refuse_existing(Store(spark, str(out)), kind_of(window), overwrite=overwrite)
            with translated_errors("ingest"):
                frames = build_workload(
                    read_trace(spark, sources[0], PUBLICATION_COLUMNS),
                    read_trace(spark, sources[1], SUBSCRIPTION_COLUMNS),
                    scope=scope,
                    message_bytes=message_bytes,
                    keep_empty=keep_empty,
                    mutual=mutual,
                    max_bad_rows=max_bad_rows,
                    progress=progress,
                    places=(sources[0].path, sources[1].path),
                )
            try:
                write_frames(frames, out, overwrite=overwrite, progress=progress)
            finally:
                frames.release()
            return frames.report

    return run_apart(work)
