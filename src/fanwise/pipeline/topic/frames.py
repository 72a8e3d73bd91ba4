"""The tables that a build of topic traces returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from fanwise.pipeline.shared.frames import Frames, ingest_entries
from fanwise.pipeline.shared.report import Window
from fanwise.pipeline.topic.report import Report
from fanwise.workload.topic.files import header_entries


@dataclass(frozen=True, kw_only=True)
class WorkloadFrames(Frames[Report]):
    """The tables of a topic workload, or with windows of all of them together.

    Attributes
    ----------
    topics
        ``topic``, ``name``, ``rate``, ``bytes``; with windows also ``window``, its start in
        microseconds since the epoch. So have the others.
    subscribers
        ``subscriber``, ``name``.
    interests
        ``subscriber``, ``topic``.
    """

    topics: DataFrame
    subscribers: DataFrame
    interests: DataFrame

    def window_tables(self) -> Mapping[str, DataFrame]:
        return {
            "topics": self.topics,
            "subscribers": self.subscribers,
            "interests": self.interests,
        }

    def workload_json(self, window: Window | None = None) -> dict[str, Any]:
        kept: Any = self.report if window is None else window  # counts of both go by these names
        return header_entries(
            period_seconds=self.report.period_seconds,
            topics=kept.topics,
            subscribers=kept.subscribers,
            pairs=kept.pairs,
            origin=ingest_entries(self.report, window),
        )
