"""Problem, run and outcome: what is decided, how it is run, what an algorithm returns."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, cast

import numpy as np
import pyarrow as pa

from fanwise.errors import ParameterError
from fanwise.planning.families import find_family
from fanwise.planning.family import resolve_settings
from fanwise.planning.proof import Proof
from fanwise.progress import SILENT, Progress
from fanwise.workload.json_numbers import find_odd_number
from fanwise.workload.validation import LARGEST

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.planning.sweep import Sweep
    from fanwise.workload.topic import TopicWorkload


Stopped = Literal["gap", "limit", "work", "exhausted", "interrupted"]
"""Why a run ended: the gap asked for was reached, the time was over, its own limit on work was
reached, there was nothing left to try, or somebody interrupted it."""


GRACE_TIMES, GRACE_SECONDS = 1.1, 1.0
"""A time limit is kept within so many times itself, and so many seconds."""


class Bound(NamedTuple):
    """A proven bound on the optimum, and what it follows from."""

    value: float
    proof: Proof | None = None


@dataclass
class Run:
    """One run of an algorithm: its seed, limits, progress and stopwatch.

    Attributes
    ----------
    seed
        Makes every random choice repeatable; take generators from :meth:`random`.
    time_limit, gap
        When an improving algorithm stops: seconds since the start, certified gap.
    settings
        The algorithm's knobs, checked and complete.
    wants_proof
        Whether the bound's certificate is to be kept. The bound itself is the same either way.
    seconds
        Time spent by part.
    limits_in_force
        Every limit that could end the run, also those that nobody asked for: algorithms add
        their defaults by :meth:`default_limits`.
    left_out
        Algorithms of the paper that the time limit cut off, or left no time for.
    """

    seed: int = 0
    time_limit: float | None = None
    gap: float | None = None
    progress: Progress = SILENT
    settings: Mapping[str, Any] = field(default_factory=dict)
    wants_proof: bool = True
    seconds: dict[str, float] = field(default_factory=dict)
    limits_in_force: dict[str, float] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        for name in ("time_limit", "gap"):
            if getattr(self, name) is not None:
                self.limits_in_force[name] = float(getattr(self, name))

    def default_limits(self, **limits: float) -> None:
        """Note the limits that an algorithm keeps where it was given none, by name.

        Names other than ``time_limit`` and ``gap`` are limits on work, such as ``rounds``.
        """
        for name, value in limits.items():
            self.limits_in_force.setdefault(name, float(value))

    def random(self) -> np.random.Generator:
        """Return a fresh generator for this run's seed."""
        return np.random.default_rng(self.seed)

    def elapsed(self) -> float:
        return time.perf_counter() - self.started

    def is_over(self) -> bool:
        """Whether the time limit has passed."""
        return self.time_limit is not None and self.elapsed() >= self.time_limit

    def time_left(self) -> float:
        """Return the seconds up to the time limit; without one there is no end of them."""
        return math.inf if self.time_limit is None else max(0.0, self.time_limit - self.elapsed())

    def part(self, share: float) -> Run:
        """Return a run that may take a share of the time that is left, and is this one otherwise.

        What limits it keeps is noted nowhere: they follow from those of this run.
        """
        if self.time_limit is None:
            return replace(self, limits_in_force={})
        limit = self.elapsed() + share * self.time_left()
        return replace(self, time_limit=limit, limits_in_force={})

    def with_grace(self, kept: float = 0.0) -> Run:
        """Return a run for what must come first, which may use what a limit is kept within.

        What limits it keeps is noted nowhere: they follow from those of this run.

        Parameters
        ----------
        kept
            Seconds of it that what comes afterwards is expected to take.
        """
        if self.time_limit is None:
            return replace(self, limits_in_force={})
        latest = GRACE_TIMES * self.time_limit + GRACE_SECONDS - kept
        return replace(self, time_limit=max(latest, 0.0), limits_in_force={})

    def leave_out(self, name: str) -> None:
        """Note that there was no time for an algorithm of the paper, or for all of it."""
        if name not in self.left_out:
            self.left_out.append(name)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add the time of the block to ``seconds[part]``."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Outcome:
    """What an algorithm returns.

    Attributes
    ----------
    tables
        The plan's tables.
    bound
        A proven bound the algorithm found on the way, or None to use the problem's own.
    metrics
        What the algorithm has to tell beyond what the problem measures.
    is_interrupted
        Whether Ctrl-C ended it early, with the best plan so far.
    proof
        What the bound follows from.
    stopped
        Why the algorithm ended; None for one that simply came to its end.
    """

    tables: Mapping[str, pa.Table]
    bound: float | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    is_interrupted: bool = False
    proof: Proof | None = None
    stopped: Stopped | None = None


@dataclass(frozen=True)
class Measurement:
    """A plan's tables measured: objective, whether every limit holds, metrics."""

    objective: float
    is_feasible: bool
    metrics: Mapping[str, Any]


class Problem(ABC):
    """A question about a workload; subclasses are frozen dataclasses, checked when made."""

    family: ClassVar[str]
    workload: TopicWorkload | Any

    @classmethod
    @abstractmethod
    def example(cls, workload: TopicWorkload) -> Problem:
        """Return a typical problem on a workload, for warming kernels and trying things out."""

    @classmethod
    def examples(cls, workload: TopicWorkload) -> tuple[Problem, ...]:
        """Return typical problems that between them use every kernel."""
        return (cls.example(workload),)

    @property
    def num_pairs(self) -> int:
        """How large the question is: pairs of a subscriber and a topic."""
        return int(self.workload.num_pairs)

    def posed_for(self, algorithm: str) -> Problem:
        """Return the question with the limits that an algorithm takes, where they differ."""
        return self

    def limited_for(self, algorithm: str, *, progress: Progress = SILENT) -> Problem:
        """Return the question as an algorithm solves it, refusing what it cannot take.

        The question itself by default. Work that this takes counts as no part of the run.
        """
        return self

    def changed(self, change: Mapping[str, Any]) -> Problem:
        """Return the question with other parameters, checked anew; others follow if they must."""
        other: Problem = replace(cast(Any, self), **change)
        return other

    @classmethod
    def state_from(cls, workload: TopicWorkload | Any, recorded: Mapping[str, Any]) -> Self:
        """Return the question that a plan with these parameters answers.

        What a plan does not record, or records as None, is left to the problem's defaults.
        """
        given = {
            name: recorded[name]
            for one in find_family(cls.family).parameters
            for name in one.recorded or ()
            if name in one.sets and recorded.get(name) is not None
        }
        question: Self = cast(Any, cls)(workload, **given | cls.restored(recorded))
        return question

    @classmethod
    def restored(cls, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments that are not what a plan records under their name; none by default."""
        return {}

    def parameters(self) -> dict[str, Any]:
        """Return every option that shapes a plan, resolved, as JSON values."""
        resolved, found = self.resolved(), {}
        for one in find_family(self.family).parameters:
            for name in one.recorded or ():
                value = resolved[name] if name in resolved else getattr(self, name)
                if one.is_recorded_always or value is not None:
                    found[name] = value
        return found

    def resolved(self) -> dict[str, Any]:
        """Return what plans record that is not the attribute of that name; none by default."""
        return {}

    @abstractmethod
    def measure(self, tables: Mapping[str, pa.Table]) -> Measurement:
        """Objective, feasibility and metrics of a plan's tables."""

    @abstractmethod
    def bound(self) -> float | None:
        """Return a proven bound on the optimum: upper when maximising, lower when minimising."""

    def bound_within(self, outcome: Outcome, run: Run) -> float | None:
        """Return a proven bound, given what an algorithm found and the limits of its run.

        By default that does not help. A bound that takes long should heed the limits.
        """
        return self.bound()

    def prove(self, outcome: Outcome, run: Run) -> Bound | None:
        """Return a proven bound with its certificate, given what an algorithm found.

        Called for every outcome that brings no proof of its own. Where it brings a bound, that
        bound is the one to return, with a proof if the family can make one. A bound that takes
        long should heed the limits of the run.
        """
        value = self.bound_within(outcome, run) if outcome.bound is None else outcome.bound
        return None if value is None else Bound(value)

    def judge(self, objective: float, bound: float | None) -> dict[str, Any]:
        """Return metrics that follow from the objective of a plan and the bound; none by default.

        They say the same of plans of all engines.
        """
        return {}

    def trivial_bound(self) -> float | None:
        """Return the bound that says nothing, all there is or nothing at all; None if unknown."""
        return None

    def emptiness(self) -> str | None:
        """Say in a sentence why there is nothing to decide, or None where there is something."""
        return None

    def run(self, algorithms: tuple[Callable[..., Any], ...], run: Run) -> Outcome:
        """Run the algorithm of each stage; families with several stages chain them."""
        (algorithm,) = algorithms
        outcome: Outcome = algorithm(self, run)
        return outcome

    def solve(
        self,
        algorithm: str | None = None,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        gap: float | None = None,
        progress: Progress = SILENT,
        proof: bool = True,
        **settings: Any,
    ) -> Plan:
        """Make a plan.

        Parameters
        ----------
        algorithm
            A name from the family's table; None for its default.
        seed
            The same seed gives the same plan, whatever the number of threads.
        time_limit, gap
            Where improving and exact algorithms stop.
        progress
            Hears about long work.
        proof
            Whether the plan carries the certificate of its bound.
        settings
            Tuning knobs of the algorithm.

        Returns
        -------
        Plan
            With its objective, proven bound and certified gap. A plan that breaks a limit says
            ``feasible=False``.

        Raises
        ------
        InfeasibleError
            When no plan at all exists.
        """
        from fanwise.planning.assembling import make_plan

        _check_limits(seed, time_limit, gap)
        family = find_family(self.family)
        algorithm = algorithm or family.default
        entries = family.algorithms(algorithm)
        problem = self.limited_for(algorithm, progress=progress)
        _check_sizes(problem.parameters())
        run = Run(
            seed=seed,
            time_limit=time_limit,
            gap=gap,
            progress=progress,
            settings=resolve_settings(entries, settings),
            wants_proof=proof,
        )
        functions = tuple(entry.load() for entry in entries)
        with run.timed("solve"):
            outcome = problem.run(functions, run)
        if outcome.proof is None:
            with run.timed("bound"):
                try:
                    proved = problem.prove(outcome, run)
                except KeyboardInterrupt:  # the plan is there: it is kept, as far as it is proven
                    proved = None if outcome.bound is None else Bound(outcome.bound)
                    outcome = replace(outcome, is_interrupted=True)
        else:
            proved = None if outcome.bound is None else Bound(outcome.bound, outcome.proof)
        return make_plan(problem, algorithm, outcome, proved, run)

    def sweep(
        self,
        algorithm: str | None = None,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        progress: Progress = SILENT,
        **axes: Iterable[Any],
    ) -> Sweep:
        """Solve the question again with other parameters.

        Parameters
        ----------
        algorithm
            A name from the family's table; None for its default.
        seed, time_limit, progress
            As in :meth:`solve`, for each point.
        axes
            Values to try by parameter: ``capacity=["5%", "10%"]``. Of several parameters, every
            combination.

        Returns
        -------
        Sweep
            A point for each; every one is a run of its own.
        """
        from fanwise.planning.sweep import changes_along, sweep

        changes = changes_along(self, axes)
        return sweep(self, changes, algorithm, seed=seed, time_limit=time_limit, progress=progress)


def _check_sizes(parameters: Mapping[str, Any]) -> None:
    """Refuse numbers that no file could hold or that would overflow."""
    for name, value in parameters.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and not -LARGEST <= value <= LARGEST:
            raise ParameterError(name, f"within {LARGEST:g} of 0", value)
        if isinstance(value, int) and find_odd_number(value) is not None:
            raise ParameterError(name, "a whole number below 2^63", value)


def _check_limits(seed: int, time_limit: float | None, gap: float | None) -> None:
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise ParameterError("seed", "a whole number >= 0 and below 2^63", seed)
    for name, value in (("time_limit", time_limit), ("gap", gap)):
        if value is not None and not 0 <= value <= LARGEST:
            raise ParameterError(name, "a number >= 0", value)
