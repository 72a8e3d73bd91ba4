"""Writes what was built in memory: the folder appears whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from fanwise.pipeline.local.quarantine import write_quarantine
from fanwise.pipeline.local.topic import LocalWorkload, TopicTables
from fanwise.pipeline.shared.report import Window, ingest_entries
from fanwise.pipeline.shared.times import folder_name
from fanwise.workload.files import local_path
from fanwise.workload.folders import atomic_folder
from fanwise.workload.headers import json_text
from fanwise.workload.outputs import WINDOWS, WORKLOAD
from fanwise.workload.topic.files import header_entries


def write_workload(built: LocalWorkload, out: str | Path, *, overwrite: bool) -> None:
    """Write a workload, or one per window and ``windows.json``, and the quarantine if any."""
    kind = WORKLOAD if built.whole is not None else WINDOWS
    with atomic_folder(local_path(out), kind, overwrite=overwrite) as folder:
        write_quarantine(folder, built.bad)
        if built.whole is not None:
            _write_tables(folder, built.whole, built, None)
            return
        for window in built.report.windows:
            inside = folder / folder_name(window.start)
            inside.mkdir()
            _write_tables(inside, built.windows[window.start], built, window)
        listed = [window.as_dict() for window in built.report.windows]
        _write_json(folder / "windows.json", listed)


def _write_tables(
    folder: Path, tables: TopicTables, built: LocalWorkload, window: Window | None
) -> None:
    for name, table in tables.as_tables().items():
        pq.write_table(table, folder / f"{name}.parquet", compression="snappy")
    header = header_entries(
        period_seconds=built.report.period_seconds,
        topics=len(tables.topics),
        subscribers=len(tables.subscribers),
        pairs=len(tables.pair_topic),
        origin=ingest_entries(built.report, window),
    )
    (folder / "workload.json").write_text(json_text(header), encoding="utf-8")


def _write_json(file: Path, value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    file.write_text(text, encoding="utf-8")
