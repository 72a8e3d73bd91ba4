"""What every build returns: tables that Spark holds, ready to be written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pyspark.sql import DataFrame

from fanwise.pipeline.shared.report import IngestReport, Window, ingest_entries

__all__ = ["Frames", "ReportT", "ingest_entries"]

ReportT = TypeVar("ReportT", bound=IngestReport)


@dataclass(frozen=True, kw_only=True)
class Frames(ABC, Generic[ReportT]):
    """The tables of a workload, or with windows of all of them together.

    Attributes
    ----------
    bad
        ``trace``, ``file``, ``reason``, ``row`` of the bad rows, read again when asked for.
    report
        What was read, dropped and kept.
    """

    bad: DataFrame
    report: ReportT
    _stored: list[DataFrame] = field(default_factory=list, repr=False)

    @abstractmethod
    def window_tables(self) -> Mapping[str, DataFrame]:
        """Return the tables that each window has its own of: with a column ``window``, if any."""

    def common_tables(self) -> Mapping[str, DataFrame]:
        """Return the tables that are the same in all windows."""
        return {}

    @abstractmethod
    def workload_json(self, window: Window | None = None) -> dict[str, Any]:
        """Return the entries of ``workload.json``: of the whole, or of one window."""

    def release(self) -> None:
        """Free what Spark stored to make the tables; they must not be used afterwards."""
        for frame in self._stored:
            frame.unpersist()
        self._stored.clear()
