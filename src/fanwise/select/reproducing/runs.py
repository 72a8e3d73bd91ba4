"""The runs behind the paper's figures: values, bounds and running times."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fanwise.progress import Progress
from fanwise.select.bounds import paper_bound
from fanwise.select.coverage import Curve, coverage_curve
from fanwise.select.greedy import Trajectory, greedy, greedy_binary, greedy_fractional
from fanwise.select.greedy_naive import order_fractional
from fanwise.select.problem import METRICS, Metric, Selection
from fanwise.select.relaxing.capacity_bounds import capacity_bounds
from fanwise.select.reproducing.settings import (
    CAPACITY,
    FIRST_HOUR,
    HOUR_CAPACITIES,
    HOUR_TAU,
    HOURS,
    LAZY,
    REPEATS,
    SLOW,
    TAUS,
)
from fanwise.select.reproducing.windows import simulated_hours
from fanwise.wording import number
from fanwise.workload.generators.spotify import spotify
from fanwise.workload.topic import TopicWorkload


@dataclass(frozen=True)
class Quality:
    """One problem: what greedy reaches, and what nobody can exceed."""

    metric: Metric
    tau: int
    value: float
    paper_bound: float
    tight_bound: float
    subscribers: int
    curve: Curve
    everything: float

    @property
    def ratio(self) -> float:
        """The value over the paper's bound."""
        return share(self.value, self.paper_bound)

    @property
    def tight_ratio(self) -> float:
        """The value over our bound."""
        return share(self.value, self.tight_bound)


@dataclass(frozen=True)
class Seconds:
    """The mean running time of one algorithm on one problem.

    Attributes
    ----------
    pairs
        The size of the workload.
    is_smaller
        Whether that is a smaller workload than the others run on.
    """

    algorithm: str
    tau: int
    mean: float
    pairs: int
    is_smaller: bool = False

    @property
    def series(self) -> str:
        """The algorithm, and the size if it is not that of the others."""
        size = f", {number(self.pairs)} pairs" if self.is_smaller else ""
        return f"{self.algorithm}{size}"


@dataclass(frozen=True)
class Hour:
    """Greedy on one simulated hour; our bound is computed for the first hour only."""

    window: int
    metric: Metric
    capacity_percent: float
    seconds: float
    ratio: float
    tight_ratio: float | None


def share(value: float, bound: float) -> float:
    """Return value / bound; 1 where nothing can be had."""
    return value / bound if bound > 0 else 1.0


def warm_up() -> None:
    """Compile every kernel that is timed."""
    tiny = Selection(spotify(topics=40, subscribers=80, pairs=160), tau=27, capacity=CAPACITY)
    for run in timed_algorithms(tiny.workload, 27).values():
        run()


def measure_quality(workload: TopicWorkload, progress: Progress) -> list[Quality]:
    """Figs. 2 to 4: values and bounds for both metrics and every tau."""
    found = []
    with progress.step("Coverage and bounds", total=len(METRICS) * len(TAUS)) as step:
        for metric in ("binary", "fractional"):
            for tau in TAUS:
                problem = _problem(workload, tau, metric)
                run = greedy(problem)
                found.append(
                    Quality(
                        metric=problem.metric,
                        tau=tau,
                        value=run.total,
                        paper_bound=_paper_bound(problem),
                        tight_bound=problem.bound(),
                        subscribers=int(np.count_nonzero(problem.demand > 0)),
                        curve=coverage_curve(problem, run),
                        everything=float(problem.cost.sum()),
                    )
                )
                step.advance()
    return found


def timed_algorithms(workload: TopicWorkload, tau: float) -> dict[str, Callable[[], Any]]:
    """Return the three algorithms of Fig. 5, each on one thread."""
    binary = _problem(workload, tau, "binary")
    fractional = _problem(workload, tau, "fractional")
    for problem in (binary, fractional):  # what the problem is, is not part of solving it
        _ = problem.weight, problem.cost, problem.workload.followers
    return {
        "GreedyB3M": lambda: greedy_binary(binary),
        LAZY: lambda: both_types(fractional),
        SLOW: lambda: [order_fractional(fractional, by_cost=by_cost) for by_cost in (False, True)],
    }


def both_types(problem: Selection) -> Trajectory:
    """Alg. 7 on one thread, as the paper ran it."""
    runs = [greedy_fractional(problem, by_cost=by_cost) for by_cost in (False, True)]
    return max(runs, key=lambda run: run.total)


def measure_seconds(
    workload: TopicWorkload, smaller: TopicWorkload, progress: Progress
) -> list[Seconds]:
    """Fig. 5: mean running times of three runs; Slow on ``smaller``, with lazy for comparison."""
    found: dict[tuple[str, int, bool], Seconds] = {}
    with progress.step("Running times", total=len(TAUS)) as step:
        for tau in TAUS:
            for at, names in ((workload, ("GreedyB3M", LAZY)), (smaller, (LAZY, SLOW))):
                algorithms = timed_algorithms(at, tau)
                is_smaller = at.num_pairs < workload.num_pairs
                for name in names:
                    if (name, tau, is_smaller) in found:
                        continue
                    step.note(f"{name}, tau {tau}")
                    mean = float(np.mean([_timed(algorithms[name])[0] for _ in range(REPEATS)]))
                    found[name, tau, is_smaller] = Seconds(
                        name, tau, mean, at.num_pairs, is_smaller
                    )
            step.advance()
    return list(found.values())


def measure_hours(workload: TopicWorkload, seed: int, progress: Progress) -> list[Hour]:
    """Figs. 6 and 7: ten hours, a range of capacities."""
    found = []
    hours = simulated_hours(workload, first_hour=FIRST_HOUR, count=HOURS, seed=seed)
    with progress.step("Single hours", total=HOURS) as step:
        for window, hour in enumerate(hours):
            for metric in ("binary", "fractional"):
                everything = Selection(hour, tau=HOUR_TAU, capacity="100%", metric=metric)
                limits = [percentage / 100 * everything.limit for percentage in HOUR_CAPACITIES]
                tight = [None] * len(limits) if window else _tight_bounds(everything, limits)
                for percentage, limit, bound in zip(HOUR_CAPACITIES, limits, tight, strict=True):
                    problem = Selection(hour, tau=HOUR_TAU, capacity=limit, metric=metric)
                    _ = problem.weight, problem.cost, hour.followers
                    solve = greedy_binary if metric == "binary" else both_types
                    seconds, run = _timed(lambda solve=solve, at=problem: solve(at))  # type: ignore[misc]
                    ratio = share(run.total, _paper_bound(problem))
                    ours = None if bound is None else share(run.total, bound)
                    found.append(Hour(window, problem.metric, percentage, seconds, ratio, ours))
            step.advance()
    return found


def _tight_bounds(problem: Selection, limits: list[float]) -> list[float]:
    bounds: list[float] = capacity_bounds(problem, limits)[0].tolist()
    return bounds


def _problem(workload: TopicWorkload, tau: float, metric: Metric) -> Selection:
    return Selection(workload, tau=tau, capacity=CAPACITY, metric=metric)


def _paper_bound(problem: Selection) -> float:
    # Theorem V.4 adds 1 for a fraction; nobody can exceed the number of subscribers.
    everybody, bound = float(problem.weight.sum()), paper_bound(problem)
    return everybody if bound is None else min(bound, everybody)


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = run()
    return time.perf_counter() - started, result
