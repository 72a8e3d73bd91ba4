"""Writes the tables of a build: to a local folder whole or not at all, elsewhere the JSON last."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fanwise.errors import OutputExistsError
from fanwise.pipeline.shared.frames import Frames
from fanwise.pipeline.shared.job_progress import track_jobs
from fanwise.pipeline.shared.session import translated_errors
from fanwise.pipeline.shared.store import Store, is_local, local_uri
from fanwise.pipeline.shared.times import folder_name
from fanwise.pipeline.shared.windows import WINDOW
from fanwise.progress import SILENT, Progress
from fanwise.workload.files import local_path
from fanwise.workload.folders import atomic_folder
from fanwise.workload.outputs import WINDOWS, WORKLOAD, FolderKind

QUARANTINE = "quarantine"
_UNSORTED = "_tables"  # where tables of all windows stand before they are told apart
_COMMON = "_shared"  # where tables stand that all windows have a copy of


def write_frames(
    frames: Frames[Any],
    out: str | Path,
    *,
    overwrite: bool = False,
    progress: Progress = SILENT,
) -> None:
    """Write a workload, or one per window and ``windows.json``, and the quarantine if there is one.

    Parameters
    ----------
    frames
        From :func:`fanwise.pipeline.build_workload` or
        :func:`fanwise.pipeline.build_content_workload`.
    out
        A folder, or an address that Spark can write to. A local folder appears whole or not at all;
        elsewhere ``workload.json`` (``windows.json``) is written last, and makes it whole.
    overwrite
        Replace what is there.
    progress
        Hears of tasks done.
    """
    spark = frames.bad.sparkSession
    if is_local(out):
        kind = folder_kind(frames.report.window)
        with (
            atomic_folder(local_path(out), kind, overwrite=overwrite) as staging,
            _removed_when_killed(spark, staging),
            track_jobs(spark, progress, "writing"),
            translated_errors(str(out)),
        ):
            _write_tables(Store(spark, local_uri(staging)), frames)
            _remove_checksums(staging)
        return
    with track_jobs(spark, progress, "writing"), translated_errors(str(out)):
        write_remote(Store(spark, str(out)), frames, overwrite=overwrite)


def write_remote(store: Store, frames: Frames[Any], *, overwrite: bool) -> None:
    """Write where folders cannot appear at once; what fails is removed again.

    What is to be replaced stays until the new tables are whole beside it.
    """
    kind = folder_kind(frames.report.window)
    refuse_existing(store, kind, overwrite=overwrite)
    if not store.exists():
        with _deleted_on_failure(store):
            _write_tables(store, frames)
        return
    mark = f"fanwise-{uuid.uuid4().hex[:8]}"
    new = store.beside(f"{mark}-new")
    with _deleted_on_failure(new):
        _write_tables(new, frames)
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


def folder_kind(window: int | None) -> FolderKind:
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


def _write_tables(store: Store, frames: Frames[Any]) -> None:
    """Write everything, the JSON file that makes it valid last."""
    report = frames.report
    if report.num_bad:  # a handful out of many tasks, so few files
        _writer(frames.bad.hint("rebalance")).json(store.uri(QUARANTINE))
    tables, common = frames.window_tables(), frames.common_tables()
    if report.window is None:
        for name, frame in {**common, **tables}.items():
            _write_table(store, name, frame)
        _write_json(store, "workload.json", frames.workload_json())
        return
    _write_by_window(store, tables, [window.start for window in report.windows])
    for name, frame in common.items():
        _write_table(store, f"{_COMMON}/{name}", frame)
    for window in report.windows:
        folder = folder_name(window.start)
        for name in common:
            store.copy(f"{_COMMON}/{name}.parquet", f"{folder}/{name}.parquet")
        _write_json(store, f"{folder}/workload.json", frames.workload_json(window))
    store.delete(_COMMON)
    _write_json(store, "windows.json", [window.as_dict() for window in report.windows])


def _write_table(store: Store, name: str, frame: DataFrame) -> None:
    """Write ``name.parquet``, a folder of part files."""
    _writer(frame).parquet(store.uri(f"{name}.parquet"))


def _write_json(store: Store, name: str, value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    store.write_text(name, text)


def _write_by_window(store: Store, tables: Mapping[str, DataFrame], starts: Sequence[int]) -> None:
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


def _remove_checksums(folder: Path) -> None:
    """Remove the checksums that Hadoop adds beside the files it writes."""
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
