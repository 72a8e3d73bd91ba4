"""The runs behind Tables I and II and Figs. 7 to 18: every algorithm on the same problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.assign.measuring import delays
from fanwise.assign.problem import Assignment, read_tables
from fanwise.assign.slp_steps.candidates import filter_boxes, super_subscriptions
from fanwise.assign.slp_steps.coreset import MOST_BOXES, MOST_LEVELS
from fanwise.papers.assign import instances
from fanwise.papers.assign.instances import LOOSE, Instance
from fanwise.papers.case import Case, pick
from fanwise.papers.course import Course
from fanwise.progress import Step

MOST_MARKS = 3000
"""Subscribers whose delays are kept, for scatter plots."""
PER_BROKER = 10
"""Subscribers of the sample for each broker where candidates are counted, as in the paper."""
ALL_DRAWN = 1e6
"""For ``seconds``, so that nothing but |S_b| limits the sample of Fig. 15."""
ONE_LEVEL, TREE = "one level", "tree"
FIGURES = {"#2": "8", "#3": "9"}
"""Of workload sets #2 and #3; set #1 has Fig. 7."""
LIMITS = ("lbf", "lbf_max", "max_delay", "alpha")
METRICS = ("rms_delay", "load_stdev", "lbf", "late", "overloaded")
FACTS = ("fractional", "relaxations", "grown", "repairs")
"""What else SLP tells."""


@dataclass(frozen=True, eq=False)
class Details:
    """What pictures and remarks need of one plan beside its numbers.

    Attributes
    ----------
    loads
        Of the leaves that may serve anybody, as factors of their share.
    marks
        Shortest latency and delay of some subscribers, a row each.
    fractional_of
        Whose relaxation the fractional value is of.
    """

    loads: FloatArray
    marks: FloatArray
    fractional_of: str = ""


def solve(
    course: Course, problem: Assignment, name: str, seed: int, **knobs: Any
) -> tuple[dict[str, float], Details]:
    """Make one plan and measure it."""
    series = course.paper.series[name]
    if series.algorithm == "best":
        knobs = {**knobs, "effort": course.settings.best_effort}
    outcome, seconds = course.solve(problem, series, seed=seed, **knobs)
    measured = problem.measure(outcome.tables)
    found = {"bandwidth": measured.objective}
    found |= {name: float(measured.metrics[name]) for name in METRICS}
    found |= {"seconds": seconds, "feasible": float(measured.is_feasible)}
    told = outcome.metrics
    found |= {fact: float(told[fact]) for fact in FACTS if told.get(fact) is not None}
    assigned, _ = read_tables(problem.arrays, outcome.tables)
    loads, marks = _load_factors(problem, assigned), _delay_marks(problem, assigned)
    return found, Details(loads, marks, str(told.get("fractional_of", "")))


def _load_factors(problem: Assignment, assigned: Any) -> FloatArray:
    arrays = problem.arrays
    leaves = arrays.leaves[arrays.share[arrays.leaves] > 0]
    loads = np.bincount(assigned, minlength=arrays.num_brokers)[leaves]
    factors: FloatArray = loads / (arrays.share[leaves] * len(assigned))
    return factors


def _delay_marks(problem: Assignment, assigned: Any) -> FloatArray:
    delay = delays(problem, assigned)
    rows = np.flatnonzero(~np.isnan(delay))
    rows = rows[:: -(-len(rows) // MOST_MARKS)] if len(rows) else rows
    return np.column_stack([problem.shortest[rows], delay[rows]])


def run_case(
    course: Course,
    figure: str,
    instance: Instance,
    names: Iterable[str],
    *,
    runs: int = 1,
    x: float | None = None,
    with_bound: bool = False,
    **knobs: Any,
) -> Case:
    """Run algorithms on one problem, random ones several times; knobs go to all of them."""
    problem = instance.problem
    limits = {
        name: float(getattr(problem, name)) for name in ("lbf", "lbf_max", "max_delay", "alpha")
    }
    results: dict[str, list[dict[str, float]]] = {"limits": [limits]}
    details: dict[str, list[Details]] = {}
    if with_bound:
        results["proven bound"] = []  # its place in the table
    for name in names:
        count = runs if course.paper.series[name].is_random else 1
        made = [solve(course, problem, name, course.seed + k, **knobs) for k in range(count)]
        results[name] = [found for found, _ in made]
        details[name] = [detail for _, detail in made]
    if with_bound:
        results["proven bound"] = [{"bandwidth": problem.bound()}]
    return Case(figure, {"panel": instance.name, "x": x}, results,
                {"problem": problem, "details": details})  # fmt: skip


def is_feasible(case: Case, name: str) -> bool:
    """Whether every run kept all limits."""
    return case.mean(name, "feasible") == 1


def fractional(case: Case) -> float | None:
    """Return the mean fractional value that SLP came across; None without one."""
    found = [result["fractional"] for result in case.results["slp"] if "fractional" in result]
    return float(np.mean(found)) if found else None


def run_cases(
    course: Course, figure: str, made: Iterable[Instance], names: Sequence[str], step: Step,
    **options: Any,
) -> Iterator[Case]:  # fmt: skip
    """Run algorithms on several problems."""
    for instance in made:
        step.note(f"Fig. {figure}, {instance.title}")
        yield run_case(course, figure, instance, names, **options)
        step.advance()


def run_sets(course: Course, step: Step) -> Iterator[Case]:
    """Figs. 6 to 10, Tables I and II; Fig. 7 has the variants of Gr that evict as well."""
    for instance in instances.one_level(course):
        figure = FIGURES.get(instance.name, "7")
        names = list(course.paper.series) if figure == "7" else course.settings.shown["overall"]
        yield from run_cases(course, figure, [instance], names, step, with_bound=True,
                             runs=course.settings.runs)  # fmt: skip


def run_trees(course: Course, step: Step) -> Iterator[Case]:
    """Figs. 11 and 12."""
    for setting, instance in instances.trees(course):
        names = course.settings.shown["overall"]
        yield from run_cases(course, f"11{setting}", [instance], names, step)


def run_curves(course: Course, problem: Assignment, step: Step) -> Iterator[Case]:
    """Figs. 13 and 14, and brokers in other positions."""
    settings = course.settings
    closer = settings.closer_look
    for alpha in settings.alphas:
        instance = Instance(ONE_LEVEL, replace(problem, alpha=alpha))
        yield from run_cases(course, "13", [instance], settings.shown["alphas"], step,
                             x=float(alpha))  # fmt: skip
    for share in settings.sizes:
        workload = instances.tree_workload(course, closer, share=share, **settings.trees[LOOSE])
        instance = Instance(closer, Assignment(workload))
        yield from run_cases(course, "14", [instance], ("slp",), step,
                             x=float(workload.num_subscribers))  # fmt: skip
    placed = instances.by_placement(course)
    yield from run_cases(course, "placement", placed, settings.shown["placements"], step)


def run_knobs(course: Course, panels: Sequence[Instance], step: Step) -> Iterator[Case]:
    """Figs. 15, 16 and 18; one relaxation for each broker where the sample grows."""
    settings = course.settings
    *_, tree = panels
    for instance in panels:
        yield from run_knob(course, "15", instance, "balance", settings.loads, step,
                            seconds=ALL_DRAWN, rounds=1)  # fmt: skip
        yield from run_knob(course, "16", instance, "clusters", settings.clusters, step)
    yield from run_knob(course, "18", tree, "gamma", settings.gammas, step)


def run_knob(
    course: Course, figure: str, instance: Instance, knob: str, values: Sequence[float], step: Step,
    **knobs: Any,
) -> Iterator[Case]:  # fmt: skip
    """Run SLP against one of its knobs."""
    for value in values:
        step.note(f"Fig. {figure}, {instance.name}, {knob} {value:g}")
        yield run_case(course, figure, instance, ("slp",), x=value, **{**knobs, knob: value})
        step.advance()


def run_difficult(course: Course, step: Step) -> Iterator[Case]:
    """The difficult workload, by brokers and by alpha."""
    settings = course.settings
    made = (
        instances.difficult_instance(brokers, alpha, settings.difficult_each)
        for brokers, alpha in settings.difficult
    )
    yield from run_cases(course, "difficult", made, settings.shown["difficult"], step,
                         with_bound=True)  # fmt: skip


def count_cases(course: Course, panels: Sequence[Instance]) -> Iterator[Case]:
    """Fig. 17: how many candidate rectangles SLP's relaxation has to choose from."""
    for instance in panels:
        found = count_candidates(instance.problem, course.settings.clusters, course.seed)
        for multiple, count in found.items():
            at = {"panel": instance.name, "x": float(multiple)}
            yield Case("17", at, {"slp": [{"candidates": count}]})


def count_candidates(problem: Assignment, clusters: Sequence[int], seed: int) -> dict[int, int]:
    """Return the candidates below the publisher, by super-subscriptions per broker.

    They are those of the first relaxation: for the children of the publisher, over a random
    sample.
    """
    arrays = problem.arrays
    children = int(np.count_nonzero(arrays.parent < 0))
    rng = np.random.default_rng(seed)
    some = np.flatnonzero(~problem.workload.wants_nothing)
    some = rng.choice(some, min(PER_BROKER * children, len(some)), replace=False)
    lo, hi = arrays.lo[some], arrays.hi[some]
    found = {}
    for multiple in clusters:
        count = min(multiple * children, len(some))
        boxes = super_subscriptions(lo, hi, problem.workload.positions[some], count, rng)
        found[multiple] = len(filter_boxes(lo, hi, *boxes, MOST_BOXES, MOST_LEVELS)[0])
    return found


def run_all(course: Course) -> list[Case]:
    """Run everything."""
    settings = course.settings
    total = 6 + 9 + len(settings.alphas) + len(settings.sizes) + len(settings.placements)
    total += 2 * (len(settings.loads) + len(settings.clusters)) + len(settings.gammas)
    with course.progress.step("Assignments", total=total + len(settings.difficult)) as step:
        cases = list(run_sets(course, step))
        (closer,) = pick(cases, "7", panel=settings.closer_look)
        cases += run_trees(course, step)
        (tree,) = pick(cases, f"11{LOOSE}", panel=settings.closer_look)
        panels = [Instance(ONE_LEVEL, closer.kept["problem"]), Instance(TREE, tree.kept["problem"])]
        cases += run_curves(course, closer.kept["problem"], step)
        cases += run_knobs(course, panels, step)
        cases += run_difficult(course, step)
        cases += count_cases(course, panels)
    return cases


def warm_up(course: Course) -> None:
    """Compile every kernel, so that seconds are those of the work."""
    quick = Course.of("assign", 0.0, best_effort=0.1)
    smallest = instances.difficult_instance(2, 1, 2)
    run_case(quick, "", smallest, list(course.paper.series), with_bound=True)
    workload = instances.tree_workload(quick, course.settings.closer_look, share=0.2)
    run_case(quick, "", Instance("", Assignment(workload)), ("gr-star", "slp"))
