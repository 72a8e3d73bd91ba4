"""Spark: from raw traces to workloads.

:func:`ingest` goes from files to a workload folder. :func:`build_workload` does the same on
DataFrames of a session of one's own, and :func:`write_frames` writes what it returns.
:func:`sample` takes a breadth-first sample of a follow graph.

:func:`ingest_content` goes from files of content-based traces to a content workload;
:func:`build_content_workload` and :func:`write_content_frames` are its two halves.

``shared`` holds what all of them use, ``topic`` and ``content`` what is special to each kind of
trace. Checks and transforms are pure functions from DataFrame to DataFrame, a builder chains them,
and one driver reads, builds and writes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanwise.pipeline.content.build import build_content_workload
    from fanwise.pipeline.content.frames import ContentFrames
    from fanwise.pipeline.content.ingestion import ContentSources, ingest_content
    from fanwise.pipeline.content.options import ContentOptions
    from fanwise.pipeline.shared.session import spark_session
    from fanwise.pipeline.shared.writing import write_frames
    from fanwise.pipeline.shared.writing import write_frames as write_content_frames
    from fanwise.pipeline.topic.build import build_workload
    from fanwise.pipeline.topic.frames import WorkloadFrames
    from fanwise.pipeline.topic.ingestion import ingest
    from fanwise.pipeline.topic.sampling import sample

_HOMES = {
    "ContentFrames": "content.frames:ContentFrames",
    "ContentOptions": "content.options:ContentOptions",
    "ContentSources": "content.ingestion:ContentSources",
    "WorkloadFrames": "topic.frames:WorkloadFrames",
    "build_content_workload": "content.build:build_content_workload",
    "build_workload": "topic.build:build_workload",
    "ingest": "topic.ingestion:ingest",
    "ingest_content": "content.ingestion:ingest_content",
    "sample": "topic.sampling:sample",
    "spark_session": "shared.session:spark_session",
    "write_content_frames": "shared.writing:write_frames",
    "write_frames": "shared.writing:write_frames",
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
    module, attribute = _HOMES[name].split(":")
    return getattr(importlib.import_module(f"fanwise.pipeline.{module}"), attribute)
