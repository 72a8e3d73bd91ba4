"""The period of a workload, and the windows it is cut into."""

from __future__ import annotations

from dataclasses import dataclass

from fanwise.errors import InputError, ParameterError
from fanwise.pipeline.shared.times import (
    SECOND,
    Duration,
    Instant,
    floor_to,
    parse_duration,
    parse_instant,
)

MOST_WINDOWS = 10_000
UNTOLD_SECONDS = 86400.0
"""The period of ready counts when no option tells it: a day."""


@dataclass(frozen=True)
class Scope:
    """What part of the traces counts; all in microseconds, instants since the epoch.

    Attributes
    ----------
    start, end
        Events in [start, end) count; null: from the first, to the last.
    window
        Length of the windows to cut into, or null for one workload.
    period
        Length of the period where it is not ``end - start``.
    """

    start: int | None = None
    end: int | None = None
    window: int | None = None
    period: int | None = None

    def __post_init__(self) -> None:
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise ParameterError("to", "later than --from", "the same instant or an earlier one")
        if self.window is not None and (self.window <= 0 or self.window % SECOND):
            raise ParameterError("window", "a whole number of seconds", self.window / SECOND)
        if self.window is not None and self.period is not None:
            raise ParameterError("period", "left out with --window, which is the period", "both")

    @classmethod
    def parse(
        cls,
        start: Instant | None,
        end: Instant | None,
        window: Duration | None,
        period: Duration | None,
    ) -> Scope:
        """Read instants and lengths of time as options give them."""
        return cls(
            start=None if start is None else parse_instant(start, "from"),
            end=None if end is None else parse_instant(end, "to"),
            window=None if window is None else parse_duration(window, "window"),
            period=None if period is None else parse_duration(period, "period"),
        )


@dataclass(frozen=True)
class Period:
    """The period [start, end) that the traces turned out to have; null where nothing says."""

    start: int | None
    end: int | None
    seconds: float
    window: int | None = None

    @property
    def window_starts(self) -> range:
        """The starts of all windows that the period touches."""
        if self.window is None or self.start is None or self.end is None:
            return range(0)
        return range(floor_to(self.start, self.window), self.end, self.window)

    @property
    def covered(self) -> tuple[int | None, int | None]:
        """What a subscription has to overlap: the period, with windows all of their length."""
        starts = self.window_starts
        if not starts:
            return self.start, self.end
        return starts[0], starts[-1] + starts.step


def settle(scope: Scope, first: int | None, last: int | None, place: str) -> Period:
    """Work out the period from the options and from the first and last event.

    Without --from the period starts with the first event, without --to it ends with the last; its
    length is the time between, at least one second. --period overrides the length alone. Where
    nothing tells (ready counts, no options) it is a day.

    Parameters
    ----------
    scope
        What the options say.
    first, last
        Of the events that count; null if there are none, or if they are ready counts.
    place
        How messages name the publications.
    """
    start = scope.start if scope.start is not None else first
    # Half-open: the last event itself is inside.
    end = scope.end if scope.end is not None else (None if last is None else last + 1)
    if start is not None and end is not None and end <= start:
        end = start + 1
    if scope.window is not None:
        if start is None or end is None:
            raise InputError(
                f"{place}: no events to make windows from; pass --from and --to for empty ones."
            )
        period = Period(start, end, scope.window / SECOND, scope.window)
        if len(period.window_starts) > MOST_WINDOWS:
            raise InputError(
                f"{place}: {len(period.window_starts)} windows of {scope.window // SECOND} s "
                f"between first and last event, more than {MOST_WINDOWS}; pass a longer --window, "
                "or --from and --to."
            )
        return period
    if scope.period is not None:
        return Period(start, end, scope.period / SECOND)
    if start is None or end is None:
        return Period(start, end, UNTOLD_SECONDS)
    length = end - start - (0 if scope.end is not None else 1)
    return Period(start, end, max(length, SECOND) / SECOND)
