"""When a search stops: small criteria, and the first of several that is met.

A criterion looks at how far a search has come and says whether that is enough. By default searches
stop by work, a count of steps that is the same on every machine, so that the same seed gives the
same plan everywhere. A limit in seconds is the choice of whoever asks.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from fanwise.planning.problem import Run, Stopped


@dataclass(frozen=True)
class Standing:
    """How far a search has come.

    Attributes
    ----------
    seconds
        Since the run began.
    work, idle
        Work done so far, and since the last progress; each search counts in its own unit.
    gap
        Certified distance of the best answer to the bound; None while there is none.
    """

    seconds: float = 0.0
    work: float = 0.0
    idle: float = 0.0
    gap: float | None = None


class Criterion(ABC):
    """Says whether a search has come far enough, and why it stops there."""

    reason: ClassVar[Stopped]

    @abstractmethod
    def share_used(self, standing: Standing) -> float:
        """Return how much of what the criterion allows is used up; 1 or more ends the search."""

    def is_met(self, standing: Standing) -> bool:
        """Whether the search should stop."""
        return self.share_used(standing) >= 1.0


@dataclass(frozen=True)
class TimeLimit(Criterion):
    """Stops after seconds of wall-clock time since the run began."""

    seconds: float
    reason = "limit"

    def share_used(self, standing: Standing) -> float:
        return _share(standing.seconds, self.seconds)


@dataclass(frozen=True)
class WorkLimit(Criterion):
    """Stops after an amount of work."""

    work: float
    reason = "work"

    def share_used(self, standing: Standing) -> float:
        return _share(standing.work, self.work)


@dataclass(frozen=True)
class NoProgress(Criterion):
    """Stops after an amount of work without progress on answer or bound."""

    work: float
    reason = "work"

    def share_used(self, standing: Standing) -> float:
        return _share(standing.idle, self.work)


@dataclass(frozen=True)
class GapReached(Criterion):
    """Stops once the answer is certified to be this close to the optimum."""

    gap: float
    reason = "gap"

    def share_used(self, standing: Standing) -> float:
        return 1.0 if standing.gap is not None and standing.gap <= self.gap else 0.0


@dataclass(frozen=True)
class FirstOf:
    """Several criteria, of which the first that is met ends the search."""

    criteria: tuple[Criterion, ...]

    def why(self, standing: Standing) -> Stopped | None:
        """Return why the search should stop, or None if it should go on."""
        return next((one.reason for one in self.criteria if one.is_met(standing)), None)

    def share_used(self, standing: Standing) -> float:
        """Return how much of the scarcest limit is used up, at most 1."""
        return min(max((one.share_used(standing) for one in self.criteria), default=0.0), 1.0)


def limits_of(
    run: Run,
    *,
    gap: float | None = None,
    work: float | None = None,
    idle: float | None = None,
    reserve: float = 0.0,
) -> FirstOf:
    """Return what ends a search, and note in the run every limit that is in force.

    Parameters
    ----------
    run
        Its gap and time limit hold where somebody gave them.
    gap
        The target where the run has none; None to go on at any gap.
    work, idle
        Most work in all, and most without progress; None for no such limit.
    reserve
        Seconds of a time limit that are kept for what comes after the search, such as a bound.
    """
    gap = gap if run.gap is None else run.gap
    found: list[Criterion] = []
    # The gap comes first: whoever reaches it as time runs out has what was asked for.
    for name, limit, criterion in (
        ("gap", gap, GapReached),
        ("time_limit", run.time_limit, TimeLimit),
        ("work", work, WorkLimit),
        ("idle_work", idle, NoProgress),
    ):
        if limit is not None:
            run.default_limits(**{name: limit})
            kept = reserve if criterion is TimeLimit else 0.0
            found.append(criterion(max(0.0, limit - kept)))
    return FirstOf(tuple(found))


def _share(used: float, allowed: float) -> float:
    if math.isinf(allowed):
        return 0.0
    return used / allowed if allowed > 0 else 1.0
