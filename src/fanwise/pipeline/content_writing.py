"""Writes the tables of a content build, with the care of :mod:`fanwise.pipeline.writing`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from fanwise.pipeline.content_frames import ContentFrames
from fanwise.pipeline.content_report import ContentWindow
from fanwise.pipeline.store import Store
from fanwise.pipeline.times import folder_name
from fanwise.pipeline.writing import (
    kind_of,
    write_by_window,
    write_json,
    write_out,
    write_quarantine,
    write_table,
)
from fanwise.progress import SILENT, Progress
from fanwise.workload.headers import CONTENT_FORMAT, VERSION

_SHARED = "_shared"  # where tables stand that all windows have a copy of


def write_content_frames(
    frames: ContentFrames,
    out: str | Path,
    *,
    overwrite: bool = False,
    progress: Progress = SILENT,
) -> None:
    """Write a content workload, or one per window; see :func:`fanwise.pipeline.write_frames`."""
    write_out(
        frames.subscribers.sparkSession,
        out,
        partial(write_content_tables, frames=frames),
        kind_of(frames.report.window),
        overwrite=overwrite,
        progress=progress,
    )


def write_content_tables(store: Store, frames: ContentFrames) -> None:
    """Write everything, the JSON file that makes it valid last."""
    report = frames.report
    if report.num_bad:
        write_quarantine(store, frames.bad)
    shared = {"subscribers": frames.subscribers, "brokers": frames.brokers}
    own = {"density": frames.density}
    if frames.channels is not None and frames.rates is not None:
        shared["channels"] = frames.channels
        own["rates"] = frames.rates
    if report.window is None:
        for name, frame in (shared | own).items():
            write_table(store, name, frame)
        write_json(store, "workload.json", _header(frames))
        return
    write_by_window(store, own, [window.start for window in report.windows])
    for name, frame in shared.items():
        write_table(store, f"{_SHARED}/{name}", frame)
    for window in report.windows:
        folder = folder_name(window.start)
        for name in shared:
            store.copy(f"{_SHARED}/{name}.parquet", f"{folder}/{name}.parquet")
        write_json(store, f"{folder}/workload.json", _header(frames, window))
    store.delete(_SHARED)
    write_json(store, "windows.json", [window.as_dict() for window in report.windows])


def _header(frames: ContentFrames, window: ContentWindow | None = None) -> dict[str, Any]:
    report = frames.report
    header: dict[str, Any] = {
        "format": CONTENT_FORMAT,
        "version": VERSION,
        "event_dims": len(frames.header["attributes"]),
        "network_dims": sum(name.startswith("net_") for name in frames.brokers.columns),
        "subscribers": report.subscribers,
        "brokers": report.brokers,
        **frames.header,
    }
    if window is not None:
        header |= {name: window.as_dict()[name] for name in ("start", "end")}
    return {**header, "ingest": report.as_dict()}
