"""From files of content traces to a workload folder: what ``fanwise ingest --content`` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fanwise.pipeline.content.build import ContentBuilder
from fanwise.pipeline.content.options import ContentOptions
from fanwise.pipeline.content.report import ContentReport
from fanwise.pipeline.shared.ingestion import Source, as_traces, ingest_traces
from fanwise.pipeline.shared.period import Scope
from fanwise.pipeline.shared.times import Duration, Instant
from fanwise.progress import SILENT, Progress


@dataclass(frozen=True)
class ContentSources:
    """Paths, or :class:`~fanwise.pipeline.shared.readers.Trace` where the format has to be said."""

    publications: Source
    subscriptions: Source
    positions: Source
    brokers: Source


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
        The four tables; see :func:`~fanwise.pipeline.content.build.build_content_workload`.
    out
        Folder or address to write.
    options
        What shapes the workload.
    start, end, window, period, max_bad_rows, overwrite, master, conf, progress
        As for :func:`fanwise.pipeline.ingest`.
    """
    traces = as_traces(
        sources.publications, sources.subscriptions, sources.positions, sources.brokers
    )
    builder = ContentBuilder(
        options,
        scope=Scope.parse(start, end, window, period),
        max_bad_rows=max_bad_rows,
        progress=progress,
        places=[trace.path for trace in traces],
    )
    return ingest_traces(builder, traces, out, overwrite=overwrite, master=master, conf=conf)
