"""What the service tells of its input: the stream of itself, and all of it together."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Input:
    """Input since the state folder was begun, and how it flows now.

    Attributes
    ----------
    events, late, bad
        Counted.
    reasons
        Rows that could not be read, by reason.
    gaps, lost_sessions
        Times that the receiver was away for so long that changes of subscriptions may have been
        missed, and that the broker had forgotten its session.
    duplicates, redelivered
        Events dropped by their ids, and messages that the broker sent again, since the receiver
        started.
    lag
        Seconds between the newest event that was counted and now; None before the first. It grows
        while counting is behind, and while nothing is published.
    idle
        Seconds since the last batch with input ended.
    backlog
        Bytes that wait to be counted.
    last
        Latest event time in microseconds since the epoch; None before the first event.
    """

    events: int = 0
    late: int = 0
    bad: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    gaps: int = 0
    lost_sessions: int = 0
    duplicates: int = 0
    redelivered: int = 0
    received: int = 0
    lag: float | None = None
    idle: float = 0.0
    backlog: int = 0
    batch: int = -1
    batch_seconds: float = 0.0
    rows_per_second: float = 0.0
    subscriptions: int = 0
    last: int | None = None


@dataclass
class StreamStatus:
    """What the stream tells of itself.

    Attributes
    ----------
    events, late, bad
        Since it started.
    batch_seconds
        Of the last micro-batch.
    rows_per_second
        Input of the last micro-batch over its time.
    reasons
        Rows that could not be read, by reason.
    trouble
        What is wrong, in a sentence; empty if nothing is.
    """

    batch: int = -1
    events: int = 0
    late: int = 0
    bad: int = 0
    changes: int = 0
    batch_seconds: float = 0.0
    rows_per_second: float = 0.0
    last_input: float = field(default_factory=time.monotonic)
    reasons: dict[str, int] = field(default_factory=dict)
    trouble: str = ""
