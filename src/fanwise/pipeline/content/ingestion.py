"""From files of content traces to a workload folder: what ``fanwise ingest --content`` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fanwise.pipeline.content.build import ContentBuilder
from fanwise.pipeline.content.options import ContentOptions
from fanwise.pipeline.content.report import ContentReport
from fanwise.pipeline.engine import spark_runs
from fanwise.pipeline.shared.building import Reading
from fanwise.pipeline.shared.columns import require
from fanwise.pipeline.shared.ingestion import ingest_traces
from fanwise.pipeline.shared.options import Limit
from fanwise.pipeline.shared.period import Scope
from fanwise.pipeline.shared.reading import Source, as_traces, check_before
from fanwise.pipeline.shared.time_units import parse_unit
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
    time_unit: str = "auto",
    event_id: str | None = None,
    allow_empty: bool = False,
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
    start, end, window, period, max_bad_rows, time_unit, event_id, allow_empty
        As for :func:`fanwise.pipeline.ingest`.
    overwrite, master, conf, progress
        As for :func:`fanwise.pipeline.ingest`.
    """
    traces = as_traces(
        sources.publications, sources.subscriptions, sources.positions, sources.brokers
    )
    scope = Scope.parse(start, end, window, period)
    limit = Limit.parse(max_bad_rows)
    reading = Reading(time_unit=parse_unit(time_unit), allow_empty=allow_empty)

    def builder(reading: Reading) -> ContentBuilder:
        return ContentBuilder(
            options,
            scope=scope,
            max_bad_rows=limit,
            progress=progress,
            places=[trace.path for trace in traces],
            event_id=event_id,
            reading=reading,
        )

    named = dict(zip(ContentBuilder.traces, traces, strict=True))
    ids = () if event_id is None else (event_id,)
    needed = {"publications": ("publisher", "timestamp", *options.attributes, *ids)}
    check_before(
        named,
        out,
        window=scope.window,
        overwrite=overwrite,
        check={
            "publications": lambda names, place: require(names, needed["publications"], place),
            "subscriptions": lambda names, place: require(names, ("subscriber",), place),
        },
        allow_empty=allow_empty,
        reads_lakes=bool(conf) or spark_runs(),
    )
    known = dict(ContentBuilder.traces) | {
        "publications": (*ContentBuilder.traces["publications"], *ids)
    }
    return ingest_traces(
        builder,
        reading,
        list(known.values()),
        traces,
        out,
        overwrite=overwrite,
        master=master,
        conf=conf,
    )
