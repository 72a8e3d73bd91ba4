"""Writes the tables of a build: to a local folder whole or not at all, elsewhere the JSON last."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fanwise.errors import OutputExistsError
from fanwise.pipeline.build import WorkloadFrames
from fanwise.pipeline.report import Report, Window
from fanwise.pipeline.session import translated_errors
from fanwise.pipeline.store import Store, is_local, local_uri
from fanwise.pipeline.times import folder_name
from fanwise.pipeline.transforms import WINDOW
from fanwise.pipeline.watching import watch
from fanwise.progress import SILENT, Progress
from fanwise.workload.files import header_text, local_path
from fanwise.workload.folders import atomic_folder
from fanwise.workload.outputs import WINDOWS, WORKLOAD, FolderKind

TABLES = ("topics", "subscribers", "interests")
QUARANTINE = "quarantine"
_UNSORTED = "_tables"  # where tables of all windows stand before they are told apart


def write_frames(
    frames: WorkloadFrames,
    out: str | Path,
    *,
    overwrite: bool = False,
    progress: Progress = SILENT,
) -> None:
    """Write a workload, or one per window and ``windows.json``, and the quarantine if there is one.

    Parameters
    ----------
    frames
        From :func:`fanwise.pipeline.build_workload`.
    out
        A folder, or an address that Spark can write to. A local folder appears whole or not at all;
        elsewhere ``workload.json`` (``windows.json``) is written last, and makes it whole.
    overwrite
        Replace what is there.
    progress
        Hears of tasks done.
    """
    spark = frames.topics.sparkSession
    write_out(
        spark,
        out,
        partial(write_tables, frames=frames),
        kind_of(frames.report.window),
        overwrite=overwrite,
        progress=progress,
    )


def write_out(
    spark: SparkSession,
    out: str | Path,
    write: Callable[[Store], None],
    kind: FolderKind,
    *,
    overwrite: bool,
    progress: Progress,
) -> None:
    """Have ``write`` fill a folder that appears whole or not at all; see :func:`write_frames`."""
    if is_local(out):
        with (
            atomic_folder(local_path(out), kind, overwrite=overwrite) as staging,
            _removed_when_killed(spark, staging),
            watch(spark, progress, "writing"),
            translated_errors(str(out)),
        ):
            write(Store(spark, local_uri(staging)))
            _remove_marks(staging)
        return
    with watch(spark, progress, "writing"), translated_errors(str(out)):
        _write_elsewhere(Store(spark, str(out)), write, kind, overwrite=overwrite)


def write_remote(store: Store, frames: WorkloadFrames, *, overwrite: bool) -> None:
    """Write where folders cannot appear at once; what fails is removed again."""
    kind = kind_of(frames.report.window)
    _write_elsewhere(store, partial(write_tables, frames=frames), kind, overwrite=overwrite)


def _write_elsewhere(
    store: Store, write: Callable[[Store], None], kind: FolderKind, *, overwrite: bool
) -> None:
    """Write to its place, or beside what is there, which stays until the new one is whole."""
    refuse_existing(store, kind, overwrite=overwrite)
    if not store.exists():
        with _deleted_on_failure(store):
            write(store)
        return
    mark = f"fanwise-{uuid.uuid4().hex[:8]}"
    new = store.beside(f"{mark}-new")
    with _deleted_on_failure(new):
        write(new)
        refuse_existing(store, kind, overwrite=overwrite)
        old = store.beside(f"{mark}-old")
        store.move_to(old)
        try:
            new.move_to(store)
        except BaseException:
            old.move_to(store)
            raise
    old.delete()


@contextmanager
def _deleted_on_failure(store: Store) -> Iterator[None]:
    try:
        yield
    except BaseException:
        store.delete()
        raise


def kind_of(window: Any) -> FolderKind:
    """Return what an ingest writes: a workload, or one for each window."""
    return WORKLOAD if window is None else WINDOWS


def refuse_existing(store: Store, kind: FolderKind, *, overwrite: bool) -> None:
    """Raise if something is there already and is not to be replaced."""
    if not store.exists():
        return
    if not overwrite:
        raise OutputExistsError(
            f"{store.uri()}: exists already; choose another name or pass --overwrite."
        )
    flaw = kind.find_flaw(store) if store.is_folder() else "is a file, not a folder"
    if flaw is not None:
        raise OutputExistsError(
            f"{store.uri()}: {flaw}; --overwrite replaces {kind.what} and nothing else, "
            "so choose another name."
        )


def write_tables(store: Store, frames: WorkloadFrames) -> None:
    """Write everything, the JSON file that makes it valid last."""
    report = frames.report
    tables = {name: getattr(frames, name) for name in TABLES}
    if report.num_bad:
        write_quarantine(store, frames.bad)
    if report.window is None:
        for name, frame in tables.items():
            write_table(store, name, frame)
        store.write_text("workload.json", _header(report))
        return
    write_by_window(store, tables, [window.start for window in report.windows])
    for window in report.windows:
        store.write_text(f"{folder_name(window.start)}/workload.json", _header(report, window))
    write_json(store, "windows.json", [window.as_dict() for window in report.windows])


def write_table(store: Store, name: str, frame: DataFrame) -> None:
    """Write ``name.parquet``, a folder of part files."""
    _writer(frame).parquet(store.uri(f"{name}.parquet"))


def write_quarantine(store: Store, bad: DataFrame) -> None:
    """Write bad rows: a handful out of many tasks, so few files."""
    _writer(bad.hint("rebalance")).json(store.uri(QUARANTINE))


def write_json(store: Store, name: str, value: Any) -> None:
    """Write a JSON file that people can read."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    store.write_text(name, text)


def write_by_window(store: Store, tables: dict[str, DataFrame], starts: Sequence[int]) -> None:
    """Write tables with a column ``window`` as one table in the folder of each window."""
    for name, frame in tables.items():
        by_window = frame.hint("rebalance", WINDOW)
        _writer(by_window).partitionBy(WINDOW).parquet(store.uri(f"{_UNSORTED}/{name}"))
        empty = frame.drop(WINDOW).limit(0).coalesce(1)
        _writer(empty).parquet(store.uri(f"{_UNSORTED}/empty/{name}"))
    for start in starts:
        folder = folder_name(start)
        store.make_folder(folder)
        for name in tables:
            found = f"{_UNSORTED}/{name}/{WINDOW}={start}"
            if store.exists(found):
                store.move(found, f"{folder}/{name}.parquet")
            else:
                store.copy(f"{_UNSORTED}/empty/{name}", f"{folder}/{name}.parquet")
    store.delete(_UNSORTED)


def _writer(frame: DataFrame) -> Any:
    return frame.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")


def _header(report: Report, window: Window | None = None) -> str:
    kept = report if window is None else window
    origin: dict[str, Any] = {"ingest": report.as_dict()}
    if window is not None:
        origin = {"start": window.as_dict()["start"], "end": window.as_dict()["end"], **origin}
    return header_text(
        period_seconds=report.period_seconds,
        topics=kept.topics,
        subscribers=kept.subscribers,
        pairs=kept.pairs,
        origin=origin,
    )


def _remove_marks(folder: Path) -> None:
    """Remove what Hadoop adds beside the files it writes: checksums."""
    for file in folder.rglob(".*.crc"):
        file.unlink()


@contextmanager
def _removed_when_killed(spark: SparkSession, folder: Path) -> Iterator[None]:
    """Let nothing of ``folder`` survive, even if this process is killed without a chance.

    Spark's JVM ends when we do, and removes the folder as it does its own temporary ones. When we
    live on, jobs are stopped first: a task that still writes would make the folder anew.
    """
    jvm: Any = spark._jvm
    hooks = jvm.org.apache.spark.util.ShutdownHookManager
    directory = jvm.java.io.File(str(folder))
    tag = f"fanwise-{uuid.uuid4().hex}"
    hooks.registerShutdownDeleteDir(directory)
    spark.sparkContext.addJobTag(tag)
    try:
        yield
    except BaseException:
        _stop_jobs(spark, tag)
        raise  # the hook stays, for tasks that end later still
    finally:
        with suppress(Exception):  # Spark may be gone
            spark.sparkContext.removeJobTag(tag)
    hooks.removeShutdownDeleteDir(directory)


def _stop_jobs(spark: SparkSession, tag: str) -> None:
    try:
        spark.sparkContext.cancelJobsWithTag(tag)
        tracker = spark.sparkContext.statusTracker()
        deadline = time.monotonic() + 5
        while tracker.getActiveJobsIds() and time.monotonic() < deadline:
            time.sleep(0.05)
    except Exception:  # Spark is gone, and so are its tasks
        return
