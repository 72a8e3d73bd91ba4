"""Value and bound against capacity, from one greedy run.

With less capacity, greedy makes the same choices up to the first topic that no longer fits; after
it, it goes on with others that do. What the common choices reach is therefore exact where nothing
else fits, in particular at every capacity that the run itself passed through, and otherwise a lower
bound on what greedy reaches. The fractional metric has two runs (by gain, and by gain per cost);
the larger counts at each capacity.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fanwise.planning.sweep import METRICS, Point, Sweep, varied
from fanwise.progress import SILENT, Progress
from fanwise.select.greedy import Trajectory, greedy_binary, greedy_fractional, is_better
from fanwise.select.problem import Selection, parse_capacity
from fanwise.workload.topic import RELATIVE_TOLERANCE

DEFAULT_PERCENTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100)


def capacity_curve(
    problem: Selection, capacities: Sequence[float | str], *, progress: Progress = SILENT
) -> Sweep:
    """Return a point for each capacity, from one greedy run at the largest.

    Parameters
    ----------
    problem
        Its own capacity plays no part.
    capacities
        Cost units or percentages, in any order.
    """
    if not capacities:
        return Sweep(())
    everything = float(problem.cost.sum())
    largest = max(capacities, key=lambda capacity: parse_capacity(capacity, everything)[0])
    with progress.step("greedy selection"):
        runs = greedy_runs(replace(problem, capacity=largest))
    points: list[Point] = []
    with progress.step("bounds", total=len(capacities)) as step:
        for capacity in capacities:
            step.note(f"capacity {capacity}")
            try:
                points.append(point_of_runs(replace(problem, capacity=capacity), runs))
            except KeyboardInterrupt:
                if not points:
                    raise
                return Sweep(tuple(points), is_interrupted=True)
            step.advance()
    return Sweep(tighten_bounds(points))


def greedy_runs(problem: Selection) -> tuple[Trajectory, ...]:
    """Return the runs that greedy takes the better of: one, or two for the fractional metric."""
    if problem.metric == "binary":
        return (greedy_binary(problem),)
    return tuple(greedy_fractional(problem, by_cost=by_cost) for by_cost in (False, True))


def point_of_runs(problem: Selection, runs: Sequence[Trajectory]) -> Point:
    """Return what runs at a larger capacity tell about this one."""
    started = time.perf_counter()
    best, value, is_exact = np.zeros(problem.workload.num_topics, dtype=bool), 0.0, True
    for run in runs:
        served = prefix_within(problem, run)
        reached = problem.value(served)
        is_exact &= not has_room(problem, served)
        if is_better(reached, value):
            best, value = served, reached
    measured = problem.measure({"topics": problem.table(best)})
    return Point(
        parameters=varied(problem.parameters(), {"capacity": problem.capacity}),
        value=value,
        bound=problem.bound(),
        feasible=measured.is_feasible,
        is_exact=is_exact,
        algorithm="greedy",
        metrics={name: measured.metrics[name] for name in METRICS["select"]},
        seconds=round(time.perf_counter() - started, 6),
    )


def prefix_within(problem: Selection, run: Trajectory) -> npt.NDArray[np.bool_]:
    """Return the topics that a run served before its cost passed the capacity."""
    served = np.zeros(problem.workload.num_topics, dtype=bool)
    limit = problem.limit * (1 + RELATIVE_TOLERANCE)
    served[run.order[: int(np.searchsorted(run.used, limit, side="right"))]] = True
    return served


def has_room(problem: Selection, served: npt.NDArray[np.bool_]) -> bool:
    """Whether some topic that is not served still fits and helps somebody."""
    from fanwise.arrays.csr import sum_rows

    room = problem.limit * (1 + RELATIVE_TOLERANCE) - float(problem.cost[served].sum())
    fits = ~served & (problem.cost <= room)
    if not fits.any():
        return False
    is_short = problem.demand - problem.delivered(served) > RELATIVE_TOLERANCE * problem.demand
    wanting = np.where(is_short & (problem.weight > 0), 1.0, 0.0)
    return bool(np.any(sum_rows(*problem.workload.followers, wanting)[fits] > 0))


def tighten_bounds(points: Sequence[Point]) -> tuple[Point, ...]:
    """Lower each bound to that of any larger capacity: less capacity never reaches more."""
    least = float("inf")
    tightened = list(points)
    for index in sorted(
        range(len(points)), key=lambda i: points[i].parameters["capacity"], reverse=True
    ):
        bound = tightened[index].bound
        least = least if bound is None else min(least, bound)
        if least != float("inf"):
            tightened[index] = replace(tightened[index], bound=least)
    return tuple(tightened)
