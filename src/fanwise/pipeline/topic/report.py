"""What an ingest of topic traces read, dropped, merged and kept, in numbers that add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanwise.pipeline.shared import report as shared
from fanwise.pipeline.shared.report import IngestReport, Rows
from fanwise.pipeline.topic.actions import LogCounts


@dataclass(frozen=True)
class Window(shared.Window):
    """One window, and what its workload has."""

    topics: int
    subscribers: int
    pairs: int


@dataclass(frozen=True, kw_only=True)
class Report(IngestReport):
    """The report of an ingest of topic traces.

    Attributes
    ----------
    events
        Events of the fine publications: one a row, or their ``events`` added up.
    duplicates
        Subscriptions beyond the first of their pair.
    pairs_seen, topics_published, topics_followed, subscribers_seen
        Distinct, before anything is dropped.
    topics, subscribers, pairs
        Kept; with windows, in at least one of them.
    log
        Of a change log of subscriptions, what its rows did; ``subscriptions`` are then the spans
        that came of it. Null otherwise.
    """

    events: int
    duplicates: int
    pairs_seen: int
    topics_published: int
    topics_followed: int
    subscribers_seen: int
    topics: int
    subscribers: int
    pairs: int
    windows: tuple[Window, ...] = ()
    log: LogCounts | None = None

    @property
    def rows_read(self) -> Mapping[str, Rows]:
        return {"publications": self.publications, "subscriptions": self.subscriptions}

    def as_dict(self) -> dict[str, Any]:
        dropped = {"dropped": self.pairs_seen - self.pairs} if self.window is None else {}
        return {
            **self._period_entries(),
            "publications": {
                "rows": self.publications.rows,
                "bad": dict(self.publications.bad),
                "outside": self.publications.outside,
                "events": self.events,
                **self._double_entries(),
            },
            "subscriptions": {
                "rows": self.subscriptions.rows,
                "bad": dict(self.subscriptions.bad),
                "outside": self.subscriptions.outside,
                "duplicates": self.duplicates,
                "pairs": self.pairs_seen,
            },
            **({} if self.log is None else {"subscription_log": self.log.as_dict()}),
            "topics": {
                "published": self.topics_published,
                "followed": self.topics_followed,
                "without_events": self.topics_followed - self.topics,
                "without_followers": self.topics_published - self.topics,
                "kept": self.topics,
            },
            "subscribers": {
                "seen": self.subscribers_seen,
                "without_interests": self.subscribers_seen - self.subscribers,
                "kept": self.subscribers,
            },
            **self._window_entries(),
            "pairs": {**dropped, "kept": self.pairs},
        }
