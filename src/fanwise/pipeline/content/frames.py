"""The tables that a build of content traces returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from fanwise.pipeline.content.report import ContentReport
from fanwise.pipeline.shared.frames import Frames, ingest_entries
from fanwise.pipeline.shared.report import Window
from fanwise.workload.headers import CONTENT_FORMAT, VERSION


@dataclass(frozen=True, kw_only=True)
class ContentFrames(Frames[ContentReport]):
    """The tables of a content workload, or with windows of all of them together.

    With windows ``density`` and ``rates`` have a column ``window``, its start in microseconds since
    the epoch; the other tables hold for all windows. ``channels`` and ``rates`` may be None.
    ``header`` is what ``workload.json`` says beyond counts, dimensions and the report.
    """

    subscribers: DataFrame
    brokers: DataFrame
    density: DataFrame
    channels: DataFrame | None
    rates: DataFrame | None
    header: Mapping[str, Any]

    def window_tables(self) -> Mapping[str, DataFrame]:
        return _those_there(density=self.density, rates=self.rates)

    def common_tables(self) -> Mapping[str, DataFrame]:
        return _those_there(
            subscribers=self.subscribers, brokers=self.brokers, channels=self.channels
        )

    def workload_json(self, window: Window | None = None) -> dict[str, Any]:
        return {
            "format": CONTENT_FORMAT,
            "version": VERSION,
            "event_dims": len(self.header["attributes"]),
            "network_dims": sum(name.startswith("net_") for name in self.brokers.columns),
            "subscribers": self.report.subscribers,
            "brokers": self.report.brokers,
            **self.header,
            **ingest_entries(self.report, window),
        }


def _those_there(**tables: DataFrame | None) -> dict[str, DataFrame]:
    return {name: table for name, table in tables.items() if table is not None}
