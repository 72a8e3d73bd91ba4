"""What the parts of the service tell each other: windows, decisions, changes, the audit trail.

Times are microseconds since the epoch, as in the pipeline; names are those of the traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mode = Literal["dry-run", "approve", "auto"]
"""What may happen to a decision: nothing, what a person approves, what guardrails allow."""
State = Literal["pending", "in-force", "superseded", "rejected", "failed"]
ClosedBy = Literal["watermark", "idle"]
"""What closed a window: later events, or that none came for a while."""
Role = Literal["read", "approve", "admin"]
ROLES: tuple[Role, ...] = ("read", "approve", "admin")
"""Each may do what those before it may."""


@dataclass(frozen=True, order=True)
class Window:
    """A span of event time, half-open.

    Attributes
    ----------
    start, end
        Microseconds since the epoch.
    """

    start: int
    end: int

    @property
    def seconds(self) -> float:
        """Length of the window."""
        return (self.end - self.start) / 1e6


@dataclass(frozen=True, eq=False)
class ClosedWindow:
    """What was counted in a window, once it is closed and can no longer change.

    Attributes
    ----------
    topics, events, size
        Names of topics with events in code-point order, how many events each had, and the mean size
        of its messages in bytes (not a number where none is known).
    pairs
        ``subscriber`` and ``topic``, two string columns: who wants what in this window.
    late, bad
        Events that came after the close of earlier windows while this one was open, and rows that
        could not be read.
    """

    window: Window
    closed_by: ClosedBy
    topics: pa.Array
    events: npt.NDArray[np.int64]
    size: npt.NDArray[np.float64]
    pairs: pa.Table
    late: int = 0
    bad: int = 0

    @property
    def total(self) -> int:
        """Events of all topics."""
        return int(self.events.sum())


@dataclass(frozen=True)
class Change:
    """One topic that a decision switches, and why.

    Attributes
    ----------
    served
        Whether the topic is served from now on.
    cost, followers
        What serving it costs in the window, and how many follow it.
    reason
        In a sentence.
    """

    topic: str
    served: bool
    cost: float
    followers: int
    reason: str


@dataclass(frozen=True)
class Decision:
    """What to serve after a window, how good that is, and what became of it.

    Attributes
    ----------
    number
        Counts decisions from 1 on; given by the store.
    hash
        The plan's id.
    workload
        The fingerprint of the workload that was planned for.
    value, bound, gap
        Objective, proven bound, certified distance.
    changes
        How many topics are switched against the decision in force when it was made.
    previous
        Hash of that decision; None if there was none.
    forecast
        What was planned for: ``last``, or the name of a forecast.
    predicted, delivered
        Value that the forecast promised, and value of the same selection on what really came;
        ``delivered`` is known when the next window closes.
    facts
        Everything else that people may want: served, topics, subscribers, satisfied, used,
        capacity, tau, metric, effect on subscribers, price of the served part.
    seconds
        Time by part.
    why
        Why the state is what it is, in a sentence; empty where that goes without saying.
    in_force_at
        When it came in force last; None if it never was.
    """

    hash: str
    window: Window
    state: State
    value: float
    bound: float | None
    gap: float | None
    changes: int
    workload: str
    made_at: int
    number: int = 0
    previous: str | None = None
    forecast: str = "last"
    predicted: float | None = None
    delivered: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    why: str = ""
    in_force_at: int | None = None


@dataclass(frozen=True)
class AuditEntry:
    """Who did what, when.

    Attributes
    ----------
    who
        Label of a token, or ``service`` and ``policy`` for what nobody did by hand.
    what
        A verb: ``approve``, ``reject``, ``roll-back``, ``apply``, ``pin`` …
    about
        The hash of a decision, or what else it was done to.
    token
        Id of the token that was used; None where none was.
    """

    at: int
    who: str
    what: str
    about: str
    note: str = ""
    number: int = 0
    token: str | None = None
