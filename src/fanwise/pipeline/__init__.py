"""Spark: from raw traces to workloads.

:func:`ingest` goes from files to a workload folder. :func:`build_workload` does the same on
DataFrames of a session of one's own, and :func:`write_frames` writes what it returns.
:func:`sample` takes a breadth-first sample of a follow graph.

:func:`ingest_content` goes from files of content-based traces to a content workload;
:func:`build_content_workload` and :func:`write_content_frames` are its two halves.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanwise.pipeline.build import WorkloadFrames, build_workload
    from fanwise.pipeline.content_build import build_content_workload
    from fanwise.pipeline.content_frames import ContentFrames
    from fanwise.pipeline.content_ingestion import ContentSources, ingest_content
    from fanwise.pipeline.content_options import ContentOptions
    from fanwise.pipeline.content_writing import write_content_frames
    from fanwise.pipeline.ingestion import ingest
    from fanwise.pipeline.sampling import sample
    from fanwise.pipeline.session import spark_session
    from fanwise.pipeline.writing import write_frames

_HOMES = {
    "ContentFrames": "fanwise.pipeline.content_frames",
    "ContentOptions": "fanwise.pipeline.content_options",
    "ContentSources": "fanwise.pipeline.content_ingestion",
    "WorkloadFrames": "fanwise.pipeline.build",
    "build_content_workload": "fanwise.pipeline.content_build",
    "build_workload": "fanwise.pipeline.build",
    "ingest": "fanwise.pipeline.ingestion",
    "ingest_content": "fanwise.pipeline.content_ingestion",
    "sample": "fanwise.pipeline.sampling",
    "spark_session": "fanwise.pipeline.session",
    "write_content_frames": "fanwise.pipeline.content_writing",
    "write_frames": "fanwise.pipeline.writing",
}

__all__ = [
    "ContentFrames",
    "ContentOptions",
    "ContentSources",
    "WorkloadFrames",
    "build_content_workload",
    "build_workload",
    "ingest",
    "ingest_content",
    "sample",
    "spark_session",
    "write_content_frames",
    "write_frames",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fanwise.pipeline' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
