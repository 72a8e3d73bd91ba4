"""From files to a workload folder on Spark: the one driver of all ingests."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from pyspark.sql import SparkSession

from fanwise.errors import FanwiseError
from fanwise.pipeline.shared.building import Builder, Reading
from fanwise.pipeline.shared.empty import refuse_renames
from fanwise.pipeline.shared.frames import Frames, ReportT
from fanwise.pipeline.shared.jobs import run_on_spark
from fanwise.pipeline.shared.readers import READ_SETTINGS, open_trace
from fanwise.pipeline.shared.session import reason, settings, translated_errors
from fanwise.pipeline.shared.store import Store, is_local
from fanwise.pipeline.shared.trace import Trace
from fanwise.pipeline.shared.writing import folder_kind, refuse_existing, write_frames

MOST_UNREADABLE = 20
"""Files that are left out, each for a new start; with more of them something else is wrong."""


def ingest_traces(
    make_builder: Callable[[Reading], Builder[Frames[ReportT]]],
    reading: Reading,
    known: Sequence[Sequence[str]],
    traces: Sequence[Trace],
    out: str | Path,
    *,
    overwrite: bool,
    master: str | None,
    conf: Mapping[str, str] | None,
) -> ReportT:
    """Read traces, have a builder make the tables of a workload, write them, return its report.

    A file that cannot be read is left out, as one bad row, where bad rows may be: Spark says which
    only when it gets there, so that everything is read again without it.

    Parameters
    ----------
    make_builder
        Makes a builder that reads rows in a way; its other options are checked.
    reading
        How rows are taken.
    known
        The columns that each trace can have.
    traces
        In the order of the builder's ``traces``.
    out
        Folder or address to write; what is there already has been looked at.
    overwrite
        Replace an existing output.
    master, conf
        Of the Spark session; see :func:`~fanwise.pipeline.shared.session.spark_session`.
    """
    first = make_builder(reading)
    kind = folder_kind(first.scope.window)

    def work(spark: SparkSession) -> ReportT:
        if not is_local(out):
            with translated_errors(str(out)):
                refuse_existing(Store(spark, str(out)), kind, overwrite=overwrite)
        with settings(spark, READ_SETTINGS):
            how = reading
            while True:
                try:
                    return once(spark, how)
                except FanwiseError as error:
                    further = _without_unreadable(error, how, names, traces, first)
                    if further is None:
                        raise
                    how = further

    names = list(first.traces)

    def once(spark: SparkSession, how: Reading) -> ReportT:
        with translated_errors("ingest"):
            opened = [
                open_trace(spark, trace, columns, how.unreadable.get(name, ()))
                for name, trace, columns in zip(names, traces, known, strict=True)
            ]
            if not how.allow_empty:
                refuse_renames(traces, [one.unmatched for one in opened])
            doubts = [
                name
                for name, trace, one in zip(names, traces, opened, strict=True)
                if trace.doubts_text(one.kind)
            ]
            builder = make_builder(replace(how, doubts=doubts))
            frames = builder.build(*(one.frame for one in opened))
        try:
            write_frames(frames, out, overwrite=overwrite, progress=builder.progress)
        finally:
            frames.release()
        return frames.report

    return run_on_spark(work, master=master, conf=conf, progress=first.progress)


def _without_unreadable(
    error: FanwiseError,
    how: Reading,
    names: Sequence[str],
    traces: Sequence[Trace],
    builder: Builder[Frames[ReportT]],
) -> Reading | None:
    """Return how to go on without the file that an error names, None where it must not be."""
    file = unreadable_file(error)
    lost = sum(map(len, how.unreadable.values()))
    limit = builder.limit
    may = (limit.share is not None and limit.share > 0) or lost < limit.number
    if file is None or not may or lost >= MOST_UNREADABLE:
        return None
    for name, trace in zip(names, traces, strict=True):
        inside = trace.path.removeprefix("file:").rstrip("/").lstrip("/")
        if builder.places[name] and _is_in(file, inside):
            files = dict(how.unreadable.get(name, {}))
            if file in files:  # it was left out, and is read all the same
                return None
            files[file] = reason(error.__cause__ or error)
            return replace(how, unreadable={**how.unreadable, name: files})
    return None


def unreadable_file(error: BaseException) -> str | None:
    """Return the address of the file that Spark could not read, None for another error."""
    messages = []
    cause = error.__cause__
    while cause is not None:
        messages.append(str(cause))
        java = getattr(cause, "java_exception", None) or getattr(cause, "_origin", None)
        while java is not None and len(messages) < 20:
            messages.append(str(java.getMessage() or ""))
            java = java.getCause()
        cause = cause.__cause__
    found = re.search(r"(?:reading file|read footer for file:?) (\S+)", " ".join(messages))
    return unquote(found[1].rstrip(".")) if found else None


def _is_in(file: str, path: str) -> bool:
    """Whether an address is that of a path or inside it; globs match by what is before them."""
    plain = re.split(r"[*?\[{]", path, maxsplit=1)[0]
    return plain in file
