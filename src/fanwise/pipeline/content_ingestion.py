"""From files of content traces to a workload folder: what ``fanwise ingest --content`` does."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from fanwise.pipeline.apart import Jobs, run_apart
from fanwise.pipeline.content_build import build_content_workload
from fanwise.pipeline.content_options import ContentOptions
from fanwise.pipeline.content_report import ContentReport
from fanwise.pipeline.content_writing import write_content_frames
from fanwise.pipeline.ingestion import Duration, Instant
from fanwise.pipeline.period import Scope
from fanwise.pipeline.quarantine import Limit
from fanwise.pipeline.readers import Trace, read_trace
from fanwise.pipeline.session import active_session, spark_session, translated_errors
from fanwise.pipeline.store import Store, is_local
from fanwise.pipeline.times import parse_duration, parse_instant
from fanwise.pipeline.writing import kind_of, refuse_existing
from fanwise.progress import SILENT, Progress
from fanwise.workload.files import local_path
from fanwise.workload.folders import refuse_existing as refuse_existing_folder

Source = str | Path | Trace
# What may turn up in JSON lines beyond those looked at first, without changing what a table means.
KNOWN_COLUMNS = (("publisher", "timestamp", "bytes"), ("subscriber",), (), ())


@dataclass(frozen=True)
class ContentSources:
    """Paths, or :class:`~fanwise.pipeline.readers.Trace` where the format has to be said."""

    publications: Source
    subscriptions: Source
    positions: Source
    brokers: Source

    def traces(self) -> list[Trace]:
        found = (self.publications, self.subscriptions, self.positions, self.brokers)
        return [trace if isinstance(trace, Trace) else Trace(str(trace)) for trace in found]


def ingest_content(
    sources: ContentSources,
    out: str | Path,
    options: ContentOptions,
    *,
    start: Instant | None = None,
    end: Instant | None = None,
    window: Duration | None = None,
    period: Duration | None = None,
    max_bad_rows: int | str = 0,
    overwrite: bool = False,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    progress: Progress = SILENT,
) -> ContentReport:
    """Read content traces, write a content workload, and report what was read and kept.

    Parameters
    ----------
    sources
        The four tables; see :func:`~fanwise.pipeline.content_build.build_content_workload`.
    out
        Folder or address to write.
    options
        What shapes the workload.
    start, end, window, period, max_bad_rows, overwrite, master, conf, progress
        As for :func:`fanwise.pipeline.ingest`.
    """
    traces = sources.traces()
    scope = Scope(
        start=None if start is None else parse_instant(start, "from"),
        end=None if end is None else parse_instant(end, "to"),
        window=None if window is None else parse_duration(window, "window"),
        period=None if period is None else parse_duration(period, "period"),
    )
    Limit.parse(max_bad_rows)
    if is_local(out):  # before Spark takes its seconds to start
        refuse_existing_folder(
            local_path(out),
            kind_of(window),
            overwrite=overwrite,
            inputs=[trace.path for trace in traces if is_local(trace.path)],
        )
    active = active_session()

    def work(jobs: Jobs) -> ContentReport:
        with ExitStack() as stack:
            with progress.step("starting Spark"):
                spark = stack.enter_context(spark_session(master, conf, active))
            jobs.attach(spark)
            stack.callback(jobs.detach)
            if not is_local(out):
                with translated_errors(str(out)):
                    refuse_existing(Store(spark, str(out)), kind_of(window), overwrite=overwrite)
            with translated_errors("ingest"):
                publications, subscriptions, positions, brokers = (
                    read_trace(spark, trace, known)
                    for trace, known in zip(traces, KNOWN_COLUMNS, strict=True)
                )
                frames = build_content_workload(
                    publications,
                    subscriptions,
                    positions,
                    brokers,
                    options,
                    scope=scope,
                    max_bad_rows=max_bad_rows,
                    progress=progress,
                    places=[trace.path for trace in traces],
                )
            try:
                write_content_frames(frames, out, overwrite=overwrite, progress=progress)
            finally:
                frames.release()
            return frames.report

    return run_apart(work)
