"""What an ingest read, dropped, merged and kept, in numbers that add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fanwise.pipeline.times import SECOND, folder_name, iso


@dataclass(frozen=True)
class Rows:
    """The rows of one trace: rows = bad + outside + fine."""

    rows: int
    outside: int
    fine: int
    bad: Mapping[str, int] = field(default_factory=dict)

    @property
    def num_bad(self) -> int:
        return sum(self.bad.values())


@dataclass(frozen=True)
class Window:
    """One window [start, end) in microseconds since the epoch, and what its workload has."""

    start: int
    end: int
    topics: int
    subscribers: int
    pairs: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "start": iso(self.start),
            "end": iso(self.end),
            "folder": folder_name(self.start),
            "topics": self.topics,
            "subscribers": self.subscribers,
            "pairs": self.pairs,
        }


@dataclass(frozen=True)
class Report:
    """The report of an ingest.

    Attributes
    ----------
    publications, subscriptions
        Rows read.
    events
        Events of the fine publications: one a row, or their ``events`` added up.
    duplicates
        Subscriptions beyond the first of their pair.
    pairs_seen, topics_published, topics_followed, subscribers_seen
        Distinct, before anything is dropped.
    topics, subscribers, pairs
        Kept; with windows, in at least one of them.
    start, end
        The period in microseconds since the epoch: as asked for, else the first and the last event;
        null where ready counts came without.
    """

    publications: Rows
    subscriptions: Rows
    events: int
    duplicates: int
    pairs_seen: int
    topics_published: int
    topics_followed: int
    subscribers_seen: int
    topics: int
    subscribers: int
    pairs: int
    period_seconds: float
    start: int | None
    end: int | None
    window: int | None = None
    windows: tuple[Window, ...] = ()

    @property
    def num_bad(self) -> int:
        return self.publications.num_bad + self.subscriptions.num_bad

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, the same for the same traces: no paths, no times of day."""
        result: dict[str, Any] = {
            "period_seconds": _plain(self.period_seconds),
            "from": None if self.start is None else iso(self.start),
            "to": None if self.end is None else iso(self.end),
            "publications": {
                "rows": self.publications.rows,
                "bad": dict(self.publications.bad),
                "outside": self.publications.outside,
                "events": self.events,
            },
            "subscriptions": {
                "rows": self.subscriptions.rows,
                "bad": dict(self.subscriptions.bad),
                "outside": self.subscriptions.outside,
                "duplicates": self.duplicates,
                "pairs": self.pairs_seen,
            },
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
        }
        if self.window is None:
            result["pairs"] = {"dropped": self.pairs_seen - self.pairs, "kept": self.pairs}
        else:
            result["window_seconds"] = _plain(self.window / SECOND)
            result["pairs"] = {"kept": self.pairs}
        return result


def _plain(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value
