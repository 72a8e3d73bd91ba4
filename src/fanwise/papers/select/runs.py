"""The runs behind Figs. 2 to 7: values, bounds and running times.

Settings are the paper's: cost = rate x followers, a capacity of 10% of the cost of everything, tau
from 1% to 100% of the mean rate; for the hours tau 20 and capacities from 1% to 50%.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from fanwise.papers.case import Case, share
from fanwise.papers.course import Course, timed
from fanwise.papers.select.hours import simulated_hours
from fanwise.select.greedy import Trajectory, greedy, greedy_binary, greedy_fractional
from fanwise.select.greedy_curve import greedy_curve
from fanwise.select.greedy_naive import order_fractional
from fanwise.select.problem import METRICS, Metric, Selection
from fanwise.select.relaxing.capacity_bounds import capacity_bounds
from fanwise.workload.generators.spotify import spotify
from fanwise.workload.topic import TopicWorkload

LAZY, SLOW = "ModifiedGreedyFB3M", "ModifiedGreedyFB3MSlow"
"""The paper's names for its fractional algorithm with and without laziness."""
FIGURES: Mapping[Metric, str] = {"binary": "2", "fractional": "3"}
"""Where values and bounds are drawn."""


def setting_of(
    metric: str, tau: float, capacity: float, window: int | None = None
) -> dict[str, Any]:
    """Return where in a figure a case is."""
    return {
        "metric": metric, "tau": float(tau), "capacity_percent": capacity, "window": window,
    }  # fmt: skip


def quality_cases(course: Course, workload: TopicWorkload) -> Iterator[Case]:
    """Figs. 2 to 4: values and bounds for both metrics and every tau."""
    taus, capacity_percent = course.settings.taus, course.settings.capacity_percent
    with course.progress.step("Coverage and bounds", total=len(METRICS) * len(taus)) as step:
        for metric, figure in FIGURES.items():
            for tau in taus:
                problem = _problem(course, workload, tau, metric)
                run = greedy(problem)
                curve, everything = greedy_curve(problem, run), float(problem.cost.sum())
                known = {"greedy": run.total, "paper bound": _paper_bound(problem),
                         "our bound": problem.bound()}  # fmt: skip
                at = setting_of(metric, tau, capacity_percent)
                yield Case(
                    figure, at, {series: [{"value": value}] for series, value in known.items()},
                    {"curve": curve, "everything": everything,
                     "subscribers": int(np.count_nonzero(problem.demand > 0))},
                )  # fmt: skip
                yield Case("4", at, {
                    f"greedy / {bound}": [{"ratio": share(run.total, known[bound])}]
                    for bound in ("paper bound", "our bound")
                })  # fmt: skip
                used = 100 * curve.used / everything
                for capacity in range(1, int(capacity_percent)):
                    last = int(np.searchsorted(used, capacity, side="right")) - 1
                    reached = {"greedy": [{"value": float(curve.value[last])}]}
                    yield Case(figure, setting_of(metric, tau, float(capacity)), reached)
                step.advance()


def seconds_cases(
    course: Course, workload: TopicWorkload, smaller: TopicWorkload
) -> Iterator[Case]:
    """Fig. 5: mean running times; Slow on ``smaller``, with lazy there for comparison."""
    settings = course.settings
    on_smaller = (SLOW,) if smaller is workload else (LAZY, SLOW)
    with course.progress.step("Running times", total=len(settings.taus)) as step:
        for tau in settings.taus:
            for at, names in ((workload, ("GreedyB3M", LAZY)), (smaller, on_smaller)):
                algorithms = timed_algorithms(course, at, tau)
                most_followed = int(np.diff(at.interests.indptr).max(initial=0))
                for name in names:
                    step.note(f"{name}, tau {tau}")
                    seconds, _ = timed(algorithms[name], settings.repeats)
                    size = f", {at.num_pairs:,} pairs" if at is not workload else ""
                    metric = "binary" if name == "GreedyB3M" else "fractional"
                    yield Case(
                        "5", setting_of(metric, tau, settings.capacity_percent),
                        {f"{name}{size}": [{"seconds": float(np.mean(seconds))}]},
                        {"algorithm": name, "pairs": at.num_pairs, "most_followed": most_followed},
                    )  # fmt: skip
            step.advance()


def hour_cases(course: Course, workload: TopicWorkload) -> Iterator[Case]:
    """Figs. 6 and 7: single hours, a range of capacities; our bound for the first hour only."""
    settings = course.settings
    tau, capacities = settings.hour_tau, settings.hour_capacities
    hours = simulated_hours(
        workload, first_hour=settings.first_hour, count=settings.hours, seed=course.seed
    )
    with course.progress.step("Single hours", total=settings.hours) as step:
        for window, hour in enumerate(hours):
            for metric in FIGURES:
                solve = greedy_binary if metric == "binary" else both_types
                everything = Selection(hour, tau=tau, capacity="100%", metric=metric)
                limits = [capacity / 100 * everything.limit for capacity in capacities]
                bounds = [] if window else capacity_bounds(everything, limits)[0].tolist()
                for k, limit in enumerate(limits):
                    problem = Selection(hour, tau=tau, capacity=limit, metric=metric)
                    _ = problem.weight, problem.cost, hour.followers
                    (seconds,), run = timed(lambda solve=solve, at=problem: solve(at))  # type: ignore[misc]
                    at = setting_of(metric, tau, capacities[k], window)
                    ratios = {"greedy / paper bound": share(run.total, _paper_bound(problem))}
                    if bounds:
                        ratios["greedy / our bound"] = share(run.total, bounds[k])
                    yield Case("6", at, {"greedy": [{"seconds": seconds}]})
                    yield Case(
                        "7", at, {name: [{"ratio": ratio}] for name, ratio in ratios.items()}
                    )
            step.advance()


def timed_algorithms(
    course: Course, workload: TopicWorkload, tau: float
) -> dict[str, Callable[[], Any]]:
    """Return the three algorithms of Fig. 5, each on one thread."""
    binary = _problem(course, workload, tau, "binary")
    fractional = _problem(course, workload, tau, "fractional")
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


def warm_up(course: Course) -> None:
    """Compile every kernel that is timed."""
    tiny = spotify(topics=40, subscribers=80, pairs=160)
    for run in timed_algorithms(course, tiny, 27).values():
        run()


def _problem(course: Course, workload: TopicWorkload, tau: float, metric: Metric) -> Selection:
    return Selection(
        workload, tau=tau, capacity=f"{course.settings.capacity_percent:g}%", metric=metric
    )


def _paper_bound(problem: Selection) -> float:
    # Theorem V.4 adds 1 for a fraction; nobody can exceed the number of subscribers.
    everybody, bound = float(problem.weight.sum()), problem.paper_bound
    return everybody if bound is None else min(bound, everybody)
