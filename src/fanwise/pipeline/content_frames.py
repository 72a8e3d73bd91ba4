"""The tables that a content build returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from fanwise.pipeline.content_report import ContentReport


@dataclass(frozen=True)
class ContentFrames:
    """The tables of a content workload, or with windows of all of them together.

    With windows ``density`` and ``rates`` have a column ``window``, its start in microseconds since
    the epoch; the other tables hold for all windows. ``channels`` and ``rates`` may be None.
    """

    subscribers: DataFrame
    brokers: DataFrame
    density: DataFrame
    channels: DataFrame | None
    rates: DataFrame | None
    bad: DataFrame
    report: ContentReport
    header: Mapping[str, Any]
    _stored: list[DataFrame] = field(default_factory=list, repr=False)

    def release(self) -> None:
        """Free what Spark stored to make the tables; they must not be used afterwards."""
        for frame in self._stored:
            frame.unpersist()
        self._stored.clear()
