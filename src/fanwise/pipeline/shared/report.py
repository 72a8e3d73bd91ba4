"""What every ingest reports: rows read by verdict, the period, and its windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fanwise.pipeline.shared.outliers import Outliers
from fanwise.pipeline.shared.times import SECOND, folder_name, iso


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
    """One window [start, end) in microseconds since the epoch; subclasses say what is in it."""

    start: int
    end: int

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of ``windows.json``."""
        counts = asdict(self)
        instants = {name: iso(counts.pop(name)) for name in ("start", "end")}
        return {**instants, "folder": folder_name(self.start), **counts}


@dataclass(frozen=True, kw_only=True)
class IngestReport(ABC):
    """What an ingest read, set aside and kept, in numbers that add up.

    Attributes
    ----------
    publications, subscriptions
        Rows read.
    period_seconds
        Length of the period; with windows, of one of them.
    start, end
        The period in microseconds since the epoch: as asked for, else the first and the last event;
        null where ready counts came without.
    window
        Length of the windows in microseconds, null without.
    windows
        What each window has.
    time_units
        In which forms the times of events came: ``ISO 8601``, ``timestamp`` (of a column that has
        such a type), or epoch times in ``s``, ``ms``, ``us``, ``ns``.
    outliers
        Events left out because they are far in time from all others; they count as outside.
    event_doubles
        Events whose id was there already; null unless ids were asked for.
    """

    publications: Rows
    subscriptions: Rows
    period_seconds: float
    start: int | None
    end: int | None
    window: int | None = None
    windows: Sequence[Window] = ()
    time_units: Sequence[str] = ()
    outliers: Outliers | None = None
    event_doubles: int | None = None

    @property
    @abstractmethod
    def rows_read(self) -> Mapping[str, Rows]:
        """The rows of each trace, by its name."""

    @property
    def num_bad(self) -> int:
        return sum(rows.num_bad for rows in self.rows_read.values())

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Return plain values, the same for the same traces: no paths, no times of day."""

    def as_dict_with_windows(self) -> dict[str, Any]:
        """Return the same and, where there are windows, the list of them."""
        listed = [window.as_dict() for window in self.windows]
        return {**self.as_dict(), **({} if self.window is None else {"windows": listed})}

    def _period_entries(self) -> dict[str, Any]:
        return {
            "period_seconds": plain_number(self.period_seconds),
            "from": None if self.start is None else iso(self.start),
            "to": None if self.end is None else iso(self.end),
            "time_units": list(self.time_units),
            **({} if self.outliers is None else {"time_outliers": self.outliers.as_dict()}),
        }

    def _double_entries(self) -> dict[str, Any]:
        return {} if self.event_doubles is None else {"duplicates": self.event_doubles}

    def _window_entries(self) -> dict[str, Any]:
        return {} if self.window is None else {"window_seconds": self.window // SECOND}


def plain_number(value: float) -> float | int:
    """Return a whole number as an integer, so that JSON shows it without a fraction."""
    return int(value) if float(value).is_integer() else value


def ingest_entries(report: IngestReport, window: Window | None) -> dict[str, Any]:
    """Return what headers say of their origin: the instants of a window, and the ingest."""
    entries: dict[str, Any] = {}
    if window is not None:
        entries = {name: window.as_dict()[name] for name in ("start", "end")}
    return {**entries, "ingest": report.as_dict()}
