"""From files to a workload folder: the one driver of all ingests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from fanwise.pipeline.shared.building import Builder
from fanwise.pipeline.shared.frames import Frames, ReportT
from fanwise.pipeline.shared.jobs import run_on_spark
from fanwise.pipeline.shared.readers import Trace, read_trace
from fanwise.pipeline.shared.session import translated_errors
from fanwise.pipeline.shared.store import Store, is_local
from fanwise.pipeline.shared.writing import folder_kind, refuse_existing, write_frames
from fanwise.workload.files import local_path
from fanwise.workload.folders import refuse_existing as refuse_existing_folder

Source = str | Path | Trace
"""The path of a trace, or a :class:`Trace` where more than the path has to be said."""


def as_traces(*sources: Source) -> list[Trace]:
    """Return where each trace is and how it is written."""
    return [source if isinstance(source, Trace) else Trace(str(source)) for source in sources]


def ingest_traces(
    builder: Builder[Frames[ReportT]],
    traces: Sequence[Trace],
    out: str | Path,
    *,
    overwrite: bool,
    master: str | None,
    conf: Mapping[str, str] | None,
) -> ReportT:
    """Read traces, have ``builder`` make the tables of a workload, write them, return its report.

    Parameters
    ----------
    builder
        Made of options that are checked.
    traces
        In the order of ``builder.traces``.
    out
        Folder or address to write; one that cannot be written is refused before anything is read.
    overwrite
        Replace an existing output.
    master, conf
        Of the Spark session; see :func:`~fanwise.pipeline.shared.session.spark_session`.
    """
    kind = folder_kind(builder.scope.window)
    if is_local(out):  # before Spark takes its seconds to start
        refuse_existing_folder(
            local_path(out),
            kind,
            overwrite=overwrite,
            inputs=[trace.path for trace in traces if is_local(trace.path)],
        )

    def work(spark: SparkSession) -> ReportT:
        if not is_local(out):
            with translated_errors(str(out)):
                refuse_existing(Store(spark, str(out)), kind, overwrite=overwrite)
        with translated_errors("ingest"):
            frames = builder.build(
                *(
                    read_trace(spark, trace, columns)
                    for trace, columns in zip(traces, builder.traces.values(), strict=True)
                )
            )
        try:
            write_frames(frames, out, overwrite=overwrite, progress=builder.progress)
        finally:
            frames.release()
        return frames.report

    return run_on_spark(work, master=master, conf=conf, progress=builder.progress)
