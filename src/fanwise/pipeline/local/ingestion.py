"""From files of small topic traces to a workload folder, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fanwise.pipeline.local.reading import read_trace
from fanwise.pipeline.local.tables import LocalTrace
from fanwise.pipeline.local.topic import LocalBuilder, TopicOptions
from fanwise.pipeline.local.writing import write_workload
from fanwise.pipeline.shared.empty import refuse_renames
from fanwise.pipeline.shared.options import Limit
from fanwise.pipeline.shared.trace import Trace
from fanwise.pipeline.topic.report import Report
from fanwise.progress import Progress


def ingest_locally(
    options: TopicOptions,
    traces: Mapping[str, tuple[Trace, Sequence[str]]],
    out: str | Path,
    *,
    overwrite: bool,
    progress: Progress,
) -> Report:
    """Read publications and subscriptions, write a workload, return the report.

    Parameters
    ----------
    options
        What shapes the workload.
    traces
        By name: publications, then subscriptions, each with the columns it can have.
    out
        Folder to write.
    overwrite
        Replace an existing output.
    progress
        Hears which trace is read.
    """
    spare = _spare(options.limit)
    read: list[LocalTrace] = []
    for name, (trace, known) in traces.items():
        with progress.step(f"reading {name}"):
            read.append(read_trace(trace, known, spare=spare))
    sources = [trace for trace, _ in traces.values()]
    if not options.allow_empty:
        refuse_renames(sources, [one.unmatched for one in read])
    builder = LocalBuilder(
        options,
        [trace.path for trace in sources],
        [trace.doubts_text(one.kind) for trace, one in zip(sources, read, strict=True)],
    )
    with progress.step("building"):
        built = builder.build(*read)
    with progress.step("writing"):
        write_workload(built, out, overwrite=overwrite)
    return built.report


def _spare(limit: Limit) -> Callable[[], bool]:
    """Return a test of whether one file more may be set aside."""
    asked = 0

    def spare() -> bool:
        nonlocal asked
        asked += 1
        return (limit.share is not None and limit.share > 0) or asked <= limit.number

    return spare
