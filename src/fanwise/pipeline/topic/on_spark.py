"""The ingest of topic traces on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fanwise.pipeline.local.topic import TopicOptions
from fanwise.pipeline.shared.building import Reading
from fanwise.pipeline.shared.ingestion import ingest_traces
from fanwise.pipeline.shared.trace import Trace
from fanwise.pipeline.topic.build import TopicBuilder
from fanwise.pipeline.topic.columns import known_columns
from fanwise.pipeline.topic.report import Report
from fanwise.progress import Progress


def ingest_on_spark(
    options: TopicOptions,
    traces: Sequence[Trace],
    out: str | Path,
    *,
    overwrite: bool,
    master: str | None,
    conf: Mapping[str, str] | None,
    progress: Progress,
) -> Report:
    """Read traces, write a workload, return the report; see :func:`fanwise.pipeline.ingest`."""

    def builder(reading: Reading) -> TopicBuilder:
        return TopicBuilder(
            scope=options.scope,
            message_bytes=options.message_bytes,
            keep_empty=options.keep_empty,
            mutual=options.mutual,
            max_bad_rows=options.limit,
            progress=progress,
            places=[trace.path for trace in traces],
            event_id=options.event_id,
            actions=options.actions,
            reading=reading,
        )

    reading = Reading(time_unit=options.time_unit, allow_empty=options.allow_empty)
    return ingest_traces(
        builder,
        reading,
        list(known_columns(options).values()),
        traces,
        out,
        overwrite=overwrite,
        master=master,
        conf=conf,
    )
