"""What a content ingest read, set aside and kept, in numbers that add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanwise.pipeline.report import Rows
from fanwise.pipeline.times import SECOND, folder_name, iso


@dataclass(frozen=True)
class ContentWindow:
    """One window [start, end) in microseconds since the epoch, and the events in it."""

    start: int
    end: int
    events: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "start": iso(self.start),
            "end": iso(self.end),
            "folder": folder_name(self.start),
            "events": self.events,
        }


@dataclass(frozen=True)
class ContentReport:
    """The report of a content ingest.

    Attributes
    ----------
    publications, subscriptions, positions
        Rows read.
    duplicates
        Of subscriptions and of positions: rows that say what another row of the name says.
    publishers, subscribers
        Who publishes (null without channels, when nobody asks), and all users: who publishes or
        wants something.
    cells, channels
        Cells with events (with windows: in any of them), and channels; null without.
    start, end
        The period in microseconds since the epoch: as asked for, else the first and last event.
    """

    publications: Rows
    subscriptions: Rows
    positions: Rows
    duplicates: Mapping[str, int]
    publishers: int | None
    subscribers: int
    brokers: int
    cells: int
    channels: int | None
    period_seconds: float
    start: int | None
    end: int | None
    window: int | None = None
    windows: tuple[ContentWindow, ...] = ()

    @property
    def with_rectangle(self) -> int:
        """Users who want something."""
        return self.subscriptions.fine - self.duplicates["subscriptions"]

    @property
    def placed(self) -> int:
        """Names with a position."""
        return self.positions.fine - self.duplicates["positions"]

    @property
    def num_bad(self) -> int:
        return sum(rows.num_bad for rows in (self.publications, self.subscriptions, self.positions))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, the same for the same traces: no paths, no times of day."""
        seconds = self.period_seconds
        result: dict[str, Any] = {
            "period_seconds": int(seconds) if float(seconds).is_integer() else seconds,
            "from": None if self.start is None else iso(self.start),
            "to": None if self.end is None else iso(self.end),
            "publications": {
                "rows": self.publications.rows,
                "bad": dict(self.publications.bad),
                "outside": self.publications.outside,
                "events": self.publications.fine,
            },
            "subscriptions": {
                "rows": self.subscriptions.rows,
                "bad": dict(self.subscriptions.bad),
                "duplicates": self.duplicates["subscriptions"],
            },
            "positions": {
                "rows": self.positions.rows,
                "bad": dict(self.positions.bad),
                "duplicates": self.duplicates["positions"],
                "unused": self.placed - self.subscribers,
            },
            "subscribers": {
                "with_rectangle": self.with_rectangle,
                "publishers": self.publishers,
                "without_rectangle": self.subscribers - self.with_rectangle,
                "kept": self.subscribers,
            },
            "brokers": self.brokers,
            "cells": self.cells,
            "channels": self.channels,
        }
        if self.window is not None:
            result["window_seconds"] = self.window // SECOND
        return result
