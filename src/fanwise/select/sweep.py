"""Value and bound against capacity, from one greedy run and one relaxation.

With less capacity, greedy makes the same choices up to the first topic that no longer fits; after
it, it goes on with others that do. What the common choices reach is therefore exact where nothing
else fits, in particular at every capacity that the run itself passed through, and otherwise a lower
bound on what greedy reaches. The fractional metric has two runs (by gain, and by gain per cost);
the larger counts at each capacity. Bounds: see :mod:`fanwise.select.relaxing.capacity_bounds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, most_within
from fanwise.errors import ParameterError
from fanwise.planning.sweep import Point, Sweep
from fanwise.progress import SILENT, Progress
from fanwise.select.greedy import Trajectory, greedy_binary, greedy_fractional, is_better
from fanwise.select.problem import Selection, parse_capacity
from fanwise.select.relaxing.capacity_bounds import capacity_bounds, served_within


def capacity_curve(
    problem: Selection, capacities: Sequence[float | str], *, progress: Progress = SILENT
) -> Sweep:
    """Return a point for each capacity, from one greedy run at the largest and one relaxation.

    Ctrl-C while bounds are improved keeps what is proven so far.

    Parameters
    ----------
    problem
        Its own capacity plays no part.
    capacities
        Cost units or percentages, in any order.
    """
    if not capacities:
        return Sweep(())
    for name in ("max_changes", "change_price"):
        if getattr(problem, name) is not None:
            raise ParameterError(name, "left out of a curve from one run", getattr(problem, name))
    everything = float(problem.cost.sum())
    settings = [parse_capacity(capacity, everything) for capacity in capacities]
    limits = [limit for limit, _ in settings]
    _ = replace(problem, capacity=min(limits))  # refuses less than the pinned topics cost
    largest = replace(problem, capacity=max(limits))
    with progress.step("greedy selection"):
        runs = greedy_runs(largest)
    bounds, is_interrupted = capacity_bounds(
        largest, limits, run=runs[0] if problem.metric == "binary" else None, progress=progress
    )
    points = [
        replace(
            point_of_runs(largest, runs, limit),
            parameters={"capacity": limit, "capacity_percent": percent},
            bound=bound,
        )
        for (limit, percent), bound in zip(settings, bounds.tolist(), strict=True)
    ]
    return Sweep(tighten_bounds(points), is_interrupted=is_interrupted)


def greedy_runs(problem: Selection) -> tuple[Trajectory, ...]:
    """Return the runs that greedy takes the better of: one, or two for the fractional metric."""
    if problem.metric == "binary":
        return (greedy_binary(problem),)
    return tuple(greedy_fractional(problem, by_cost=by_cost) for by_cost in (False, True))


def point_of_runs(problem: Selection, runs: Sequence[Trajectory], limit: float) -> Point:
    """Return what runs at a larger capacity tell about this one; without a bound."""
    best, value, is_exact = problem.is_pinned, -1.0, True
    for run in runs:
        served = served_within(problem, run, limit)
        reached = problem.value(served)
        is_exact &= not has_room(problem, served, limit)
        if is_better(reached, value):
            best, value = served, reached
    return Point(
        parameters={"capacity": limit},
        value=value,
        bound=None,
        feasible=True,
        is_exact=is_exact,
        algorithm="greedy",
        metrics={
            "used": float(problem.cost[best].sum()),
            "served": int(np.count_nonzero(best)),
            "satisfied": problem.num_satisfied(best),
        },
    )


def has_room(problem: Selection, served: npt.NDArray[np.bool_], limit: float) -> bool:
    """Whether some topic that is not served still fits and helps somebody."""
    from fanwise.arrays.csr import sum_rows

    room = most_within(limit) - float(problem.cost[served].sum())
    fits = ~(served | problem.is_excluded) & (problem.cost <= room)
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
