"""What is checked of an ingest's inputs and output before Spark takes its seconds to start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fanwise.errors import InputError
from fanwise.pipeline.shared.csv_lines import header_names
from fanwise.pipeline.shared.empty import refuse_renames
from fanwise.pipeline.shared.headers import check_headers
from fanwise.pipeline.shared.local_files import (
    find_lake,
    first_line,
    head_of,
    lake_refused,
    local_name,
    refuse_utf16,
    require_files,
)
from fanwise.pipeline.shared.store import is_local
from fanwise.pipeline.shared.trace import (
    Trace,
    check_columns,
    file_name,
    format_of,
)
from fanwise.workload.files import local_path
from fanwise.workload.folders import refuse_existing
from fanwise.workload.outputs import WINDOWS, WORKLOAD

Source = str | Path | Trace
"""The path of a trace, or a :class:`Trace` where more than the path has to be said."""
MOST_HEADERS = 200
"""Files whose headers are looked at; those of more files are looked at by Spark."""


def as_traces(*sources: Source) -> list[Trace]:
    """Return where each trace is and how it is written."""
    return [source if isinstance(source, Trace) else Trace(str(source)) for source in sources]


def check_before(
    traces: Mapping[str, Trace],
    out: str | Path,
    *,
    window: int | None,
    overwrite: bool,
    check: Mapping[str, Callable[[Sequence[str], str], Any]],
    allow_empty: bool,
    reads_lakes: bool,
) -> None:
    """Raise what can be known without reading a trace to its end.

    Parameters
    ----------
    traces
        By name.
    out
        Where to write.
    window
        Length of the windows, null without.
    overwrite
        Replace an existing output.
    check
        Of each trace, what its columns must be.
    allow_empty
        Let renames match nothing.
    reads_lakes
        Whether Spark may know how to read the tables of a lake.
    """
    here = {name: trace for name, trace in traces.items() if is_local(trace.path)}
    if is_local(out):
        refuse_existing(
            local_path(out),
            WORKLOAD if window is None else WINDOWS,
            overwrite=overwrite,
            inputs=[local_name(trace.path) for trace in here.values()],
        )
    unmatched: dict[str, list[str]] = {}
    for name, trace in here.items():
        files = require_files(trace.path)
        lake = find_lake(trace.path, files)
        if lake is not None and not reads_lakes:
            raise lake_refused(trace.path, lake)
        if lake is not None:
            continue
        kind = trace.format or format_of(trace.path, files)
        check_columns(trace, kind)
        names = column_names(trace, kind, files)
        if names is None:
            continue
        renamed, lost = _renamed(names, trace)
        unmatched[name] = lost
        if name in check:
            check[name](renamed, trace.path)
    if not allow_empty and len(unmatched) == len(traces):
        refuse_renames(list(traces.values()), list(unmatched.values()))


def column_names(trace: Trace, kind: str, files: Sequence[str]) -> list[str] | None:
    """Return the columns of a trace of this machine, None where only reading it tells."""
    if kind == "csv":
        return _csv_columns(trace, files)
    if kind == "edges":
        return ["subscriber", "topic"]
    return None


def _csv_columns(trace: Trace, files: Sequence[str]) -> list[str] | None:
    if trace.columns is not None:
        return list(trace.columns)
    headers: dict[str, list[str]] = {}
    for file in files[:MOST_HEADERS]:
        head = head_of(file)
        if trace.encoding is None:
            refuse_utf16(file, head)
        line = first_line(head, trace.encoding)
        if line is not None:
            headers[file] = header_names(line, trace.separator(file_name(file)))
        elif not head and _size(file):
            return None  # compressed in a way that Python does not know, or broken
    if not headers:
        raise InputError(f"{trace.path}: is empty; it needs a header line, or --columns.")
    check_headers(headers, trace.renames)
    return list(dict.fromkeys(name for names in headers.values() for name in names))


def _size(file: str) -> int:
    return Path(file).stat().st_size


def _renamed(names: Sequence[str], trace: Trace) -> tuple[list[str], list[str]]:
    """Return columns by their new names, and the renames that match none."""
    result = list(names)
    lost = []
    for old, new in trace.renames.items():
        at = next((index for index, name in enumerate(result) if name.lower() == old.lower()), None)
        if at is None:
            lost.append(old)
            continue
        result = [
            new if index == at else name
            for index, name in enumerate(result)
            if index == at or name.lower() != new.lower()
        ]
    return result, lost
