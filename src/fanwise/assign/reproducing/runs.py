"""The runs behind the paper's tables and figures: every algorithm on the same problem."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.assign.measuring import delays
from fanwise.assign.problem import Assignment, read_tables
from fanwise.assign.reproducing.instances import Instance
from fanwise.assign.reproducing.settings import SERIES
from fanwise.planning.families import ASSIGN
from fanwise.planning.family import resolve_settings
from fanwise.planning.problem import Run
from fanwise.progress import Step

MOST_MARKS = 3000
"""Subscribers whose delays are kept, for scatter plots."""


@dataclass(frozen=True)
class Effort:
    """How hard to try: the effort of ``best``, runs of random algorithms, the first run's seed."""

    best_effort: float
    runs: int
    seed: int


@dataclass(frozen=True, eq=False)
class Result:
    """One plan, measured.

    Attributes
    ----------
    loads
        Of the leaves that may serve anybody, as factors of their share.
    marks
        Shortest latency and delay of some subscribers, a row each.
    facts
        What else the algorithm tells: the fractional value, repairs.
    """

    bandwidth: float
    rms_delay: float
    load_stdev: float
    lbf: float
    late: int
    overloaded: int
    is_feasible: bool
    seconds: float
    loads: FloatArray
    marks: FloatArray
    facts: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Case:
    """One problem with every algorithm, random ones several times.

    Attributes
    ----------
    figure
        The paper's number of the figure or table, or a word for one of ours.
    panel
        The workload.
    x
        What the figure varies, if anything.
    bound
        A proven lower bound on the bandwidth of feasible plans, where it was asked for.
    """

    figure: str
    panel: str
    x: float | None
    problem: Assignment
    results: Mapping[str, Sequence[Result]]
    bound: float | None = None

    def mean(self, name: str, quantity: str = "bandwidth") -> float:
        """Return the mean of a quantity over the runs of an algorithm."""
        return float(np.mean([getattr(result, quantity) for result in self.results[name]]))

    def spread(self, name: str) -> float:
        """Return the standard deviation of bandwidth over runs, as a share of the mean."""
        found = [result.bandwidth for result in self.results[name]]
        return float(np.std(found) / np.mean(found)) if np.mean(found) > 0 else 0.0

    def is_feasible(self, name: str) -> bool:
        """Whether every run kept all limits."""
        return all(result.is_feasible for result in self.results[name])

    @property
    def fractional(self) -> float | None:
        """The mean fractional value that SLP came across; None without one."""
        found = [result.facts.get("fractional") for result in self.results.get("slp", ())]
        kept = [value for value in found if value is not None]
        return float(np.mean(kept)) if kept else None


def find_case(cases: Sequence[Case], figure: str, panel: str) -> Case:
    """Return the first case of a figure with this workload."""
    return next(case for case in cases if (case.figure, case.panel) == (figure, panel))


def solve(problem: Assignment, name: str, effort: Effort, seed: int, **knobs: Any) -> Result:
    """Make one plan and measure it."""
    series = SERIES[name]
    entries = ASSIGN.algorithms(series.algorithm)
    if series.algorithm == "best":
        knobs = {**knobs, "effort": effort.best_effort}
    run = Run(seed=seed, settings=resolve_settings(entries, {**series.settings, **knobs}))
    started = time.perf_counter()
    outcome = entries[0].load()(problem, run)
    seconds = time.perf_counter() - started
    measured = problem.measure(outcome.tables)
    told = measured.metrics
    assigned, _ = read_tables(problem.ground, outcome.tables)
    return Result(
        bandwidth=measured.objective,
        rms_delay=told["rms_delay"],
        load_stdev=told["load_stdev"],
        lbf=told["lbf"],
        late=told["late"],
        overloaded=told["overloaded"],
        is_feasible=measured.is_feasible,
        seconds=seconds,
        loads=_load_factors(problem, assigned),
        marks=_delay_marks(problem, assigned),
        facts=dict(outcome.metrics),
    )


def _load_factors(problem: Assignment, assigned: Any) -> FloatArray:
    ground = problem.ground
    leaves = ground.leaves[ground.share[ground.leaves] > 0]
    loads = np.bincount(assigned, minlength=ground.num_brokers)[leaves]
    factors: FloatArray = loads / (ground.share[leaves] * len(assigned))
    return factors


def _delay_marks(problem: Assignment, assigned: Any) -> FloatArray:
    delay = delays(problem, assigned)
    rows = np.flatnonzero(~np.isnan(delay))
    rows = rows[:: -(-len(rows) // MOST_MARKS)] if len(rows) else rows
    return np.column_stack([problem.shortest[rows], delay[rows]])


def run_case(
    figure: str,
    instance: Instance,
    names: Iterable[str],
    effort: Effort,
    *,
    x: float | None = None,
    with_bound: bool = False,
    **knobs: Any,
) -> Case:
    """Run algorithms on one problem; knobs go to all of them."""
    problem = instance.problem
    results = {
        name: [
            solve(problem, name, effort, effort.seed + k, **knobs)
            for k in range(effort.runs if SERIES[name].is_random else 1)
        ]
        for name in names
    }
    bound = problem.bound() if with_bound else None
    return Case(figure, instance.name, x, problem, results, bound)


def run_all(
    figure: str,
    instances: Iterable[Instance],
    names: Sequence[str],
    effort: Effort,
    step: Step,
    **options: Any,
) -> Iterator[Case]:
    """Run algorithms on several problems."""
    for instance in instances:
        step.note(f"Fig. {figure}, {instance.title}")
        yield run_case(figure, instance, names, effort, **options)
        step.advance()


def run_alphas(
    instance: Instance, alphas: Sequence[int], names: Sequence[str], effort: Effort, step: Step
) -> Iterator[Case]:
    """Fig. 13: bandwidth against the complexity of filters."""
    for alpha in alphas:
        step.note(f"Fig. 13, alpha {alpha}")
        other = Instance(instance.name, replace(instance.problem, alpha=alpha))
        yield run_case("13", other, names, effort, x=float(alpha))
        step.advance()


def run_knob(
    figure: str,
    instance: Instance,
    knob: str,
    values: Sequence[float],
    effort: Effort,
    step: Step,
    **knobs: Any,
) -> Iterator[Case]:
    """Figs. 15, 16 and 18: SLP against one of its knobs."""
    for value in values:
        step.note(f"Fig. {figure}, {instance.name}, {knob} {value:g}")
        yield run_case(figure, instance, ("slp",), effort, x=value, **{**knobs, knob: value})
        step.advance()
