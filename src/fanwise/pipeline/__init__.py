"""Spark: from raw traces to workloads.

:func:`ingest` goes from files to a workload folder. :func:`build_workload` does the same on
DataFrames of a session of one's own, and :func:`write_frames` writes what it returns.
:func:`sample` takes a breadth-first sample of a follow graph.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanwise.pipeline.build import WorkloadFrames, build_workload
    from fanwise.pipeline.ingestion import ingest
    from fanwise.pipeline.sampling import sample
    from fanwise.pipeline.session import spark_session
    from fanwise.pipeline.writing import write_frames

_HOMES = {
    "WorkloadFrames": "fanwise.pipeline.build",
    "build_workload": "fanwise.pipeline.build",
    "ingest": "fanwise.pipeline.ingestion",
    "sample": "fanwise.pipeline.sampling",
    "spark_session": "fanwise.pipeline.session",
    "write_frames": "fanwise.pipeline.writing",
}

__all__ = ["WorkloadFrames", "build_workload", "ingest", "sample", "spark_session", "write_frames"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fanwise.pipeline' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
