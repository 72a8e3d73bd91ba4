"""What an ingest of content traces read, set aside and kept, in numbers that add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanwise.pipeline.shared.report import IngestReport, Rows, Window


@dataclass(frozen=True)
class ContentWindow(Window):
    """One window, and the events in it."""

    events: int


@dataclass(frozen=True, kw_only=True)
class ContentReport(IngestReport):
    """The report of an ingest of content traces.

    Attributes
    ----------
    positions
        Rows read.
    duplicates
        Of subscriptions and of positions: rows that say what another row of the name says.
    publishers, subscribers
        Who publishes (null without channels, when nobody asks), and all users: who publishes or
        wants something.
    cells, channels
        Cells with events (with windows: in any of them), and channels; null without.
    """

    positions: Rows
    duplicates: Mapping[str, int]
    publishers: int | None
    subscribers: int
    brokers: int
    cells: int
    channels: int | None
    windows: tuple[ContentWindow, ...] = ()

    @property
    def rows_read(self) -> Mapping[str, Rows]:
        return {
            "publications": self.publications,
            "subscriptions": self.subscriptions,
            "positions": self.positions,
        }

    @property
    def with_rectangle(self) -> int:
        """Users who want something."""
        return self.subscriptions.fine - self.duplicates["subscriptions"]

    @property
    def with_position(self) -> int:
        """Names with a position."""
        return self.positions.fine - self.duplicates["positions"]

    def as_dict(self) -> dict[str, Any]:
        return {
            **self._period_entries(),
            "publications": {
                "rows": self.publications.rows,
                "bad": dict(self.publications.bad),
                "outside": self.publications.outside,
                "events": self.publications.fine - (self.event_doubles or 0),
                **self._double_entries(),
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
                "unused": self.with_position - self.subscribers,
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
            **self._window_entries(),
        }
