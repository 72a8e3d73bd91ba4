"""The best answer and the best bound so far: what every improving algorithm keeps.

A family's ``best`` offers answers and proves bounds; the search keeps the better ones, tells
whoever watches, counts work, and says when to stop and why (see :mod:`fanwise.planning.stopping`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Generic, TypeVar

import pyarrow as pa

from fanwise.planning.family import Sense
from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Bound, Outcome, Run, Stopped
from fanwise.planning.stopping import FirstOf, Standing
from fanwise.progress import Step

Answer = TypeVar("Answer")
Rank = tuple[float, float, float]

WORTH_TELLING = 1e-5
"""A bound that moves by less than this share of itself is no progress."""


class Search(Generic[Answer]):
    """The best answer and bound so far, and when to stop.

    Attributes
    ----------
    run, step
        Whose limits hold, and who hears of progress.
    bound
        The best bound so far, with its proof where it has one; None while nothing is proven.
    metrics
        What the search has to tell in the end.
    work
        What was done so far, in the search's own unit.
    is_settled
        Whether nothing is left to try.
    is_interrupted
        Whether somebody interrupted the search.
    """

    def __init__(
        self,
        run: Run,
        step: Step,
        sense: Sense,
        limits: FirstOf,
        *,
        unit: str = "value",
        find_bound: Callable[[], Bound | None] | None = None,
    ) -> None:
        """Begin without an answer.

        Parameters
        ----------
        unit
            What the objective is called in notes.
        find_bound
            Asked once for a bound where one is needed to judge the gap and none is proven yet.
        """
        self.run, self.step, self.limits = run, step, limits
        self.bound: Bound | None = None
        self.metrics: dict[str, float] = {}
        self.work = 0.0
        self.is_settled = self.is_interrupted = False
        self._ended: Stopped | None = None
        self._lacks_time = False
        self._sign = -1.0 if sense == "max" else 1.0
        self._unit, self._find_bound = unit, find_bound
        self._answer: Answer | None = None
        self._rank: Rank = (math.inf, math.inf, math.inf)
        self._progress_at = 0.0

    @property
    def has_answer(self) -> bool:
        return self._answer is not None

    @property
    def answer(self) -> Answer:
        """The best answer so far; there must be one."""
        if self._answer is None:
            raise RuntimeError("no answer was offered")
        return self._answer

    @property
    def value(self) -> float:
        """Objective of the best answer; without one the worst there is."""
        return self._sign * self._rank[1]

    @property
    def broken(self) -> float:
        """By how much the best answer breaks limits."""
        return self._rank[0]

    @property
    def is_feasible(self) -> bool:
        """Whether there is an answer that breaks no limit."""
        return self.broken == 0

    def offer(
        self, answer: Answer, value: float, *, broken: float = 0.0, cost: float = 0.0
    ) -> bool:
        """Take an answer if it is better; say whether it is.

        Parameters
        ----------
        value
            Its objective.
        broken
            By how much it breaks limits: less is better, whatever the objective.
        cost
            Decides between answers that are otherwise alike: less is better.
        """
        rank = (broken, self._sign * value, cost)
        if rank >= self._rank:
            return False
        self._answer, self._rank = answer, rank
        self._progress_at = self.work
        self.tell()
        return True

    def prove(self, bound: Bound) -> bool:
        """Take a bound if it is tighter; say whether it is by more than a hair."""
        before = self.bound
        if before is not None and self._sign * bound.value <= self._sign * before.value:
            return False
        self.bound = bound
        is_progress = before is None or (
            abs(bound.value - before.value) > WORTH_TELLING * abs(before.value)
        )
        if is_progress:
            self._progress_at = self.work
        self.tell()
        return is_progress

    @property
    def gap(self) -> float | None:
        """Certified gap of the best answer; None without a bound, or where limits are broken."""
        if self.bound is None or not self.has_answer:
            return None
        return certified_gap(self.value, self._outer_bound, is_feasible=self.is_feasible)

    @property
    def _outer_bound(self) -> float | None:
        """The bound, which by rounding alone may lie on the wrong side of an answer."""
        if self.bound is None:
            return None
        return self._sign * min(self._sign * self.bound.value, self._sign * self.value)

    def spend(self, work: float) -> None:
        """Count work that was done."""
        self.work += work

    @property
    def standing(self) -> Standing:
        """How far the search has come."""
        if self.bound is None and self._find_bound is not None and self._needs_bound:
            with self.run.timed("bound"):
                found = self._find_bound()
            self._find_bound = None
            if found is not None:
                self.prove(found)
        return Standing(self.run.elapsed(), self.work, self.work - self._progress_at, self.gap)

    @property
    def _needs_bound(self) -> bool:
        return self.run.gap is not None and self.has_answer and self.is_feasible

    def is_over(self) -> bool:
        """Whether to stop: nothing is left to try, or a limit is reached."""
        is_ended = self.is_settled or self.is_interrupted or self._ended is not None
        return is_ended or self.limits.why(self.standing) is not None

    def end(self, why: Stopped) -> None:
        """End the search for a reason that its limits do not know, such as that of a solver."""
        self._ended = why
        self.is_interrupted |= why == "interrupted"

    def has_time_for(self, seconds: float) -> bool:
        """Whether a step that should take so many seconds still fits into the time.

        The search goes on, with shorter steps if there are any; but if nothing else ends it, it was
        the time.
        """
        has_time = seconds <= self.run.time_left()
        self._lacks_time |= not has_time
        return has_time

    def share_used(self) -> float:
        """Return how much of the scarcest limit is used up, from 0 to 1."""
        return self.limits.share_used(self.standing)

    @property
    def stopped(self) -> Stopped:
        """Why the search ended, once it has."""
        if self.is_interrupted:
            return "interrupted"
        if self.is_settled:
            return "exhausted"
        why = self._ended or self.limits.why(self.standing)
        return why or ("limit" if self._lacks_time else "exhausted")

    @contextmanager
    def until_interrupted(self) -> Iterator[None]:
        """Run a block; an interrupt ends it, and the best answer so far is kept if there is one."""
        try:
            yield
        except KeyboardInterrupt:
            if not self.has_answer:
                raise
            self.is_interrupted = True

    def count(self, metric: str, amount: float = 1) -> None:
        """Add to one of the numbers that the search tells in the end."""
        self.metrics[metric] = self.metrics.get(metric, 0) + amount

    def tell(self) -> None:
        """Note for whoever watches how good the best answer is."""
        if not self.has_answer:
            return
        parts = [f"{self._unit} {self.value:,.6g}"]
        if self.bound is not None:
            parts.append(f"bound {self.bound.value:,.6g}")
        if self.gap is not None:
            parts.append(f"gap {100 * self.gap:.3f}%")
        self.step.note("  ".join(parts))

    def outcome(self, tables: Mapping[str, pa.Table], bound: Bound | None = None) -> Outcome:
        """Return the tables of the best answer with all that the search has to tell of them.

        Parameters
        ----------
        bound
            The one to claim, where it is not simply the best so far.
        """
        claimed = self.bound if bound is None else bound
        return Outcome(
            tables,
            bound=None if claimed is None else claimed.value,
            metrics=self.metrics,
            is_interrupted=self.is_interrupted,
            proof=None if claimed is None else claimed.proof,
            stopped=self.stopped,
        )
