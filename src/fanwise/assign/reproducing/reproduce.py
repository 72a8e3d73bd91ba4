"""The experiments of Yu, Agarwal and Yang (ICDE 2011), Sec. VI, done again.

Tables I to III and Figs. 6 to 18: bandwidth, delays and loads of all algorithms on three sets of
workloads, in one level and in trees, the knobs of SLP, and the workload made against Gr*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from typing import TYPE_CHECKING

from fanwise.assign.problem import Assignment
from fanwise.assign.reproducing import instances
from fanwise.assign.reproducing.counting import count_candidates
from fanwise.assign.reproducing.instances import Instance
from fanwise.assign.reproducing.notes import notes
from fanwise.assign.reproducing.remarks import compare
from fanwise.assign.reproducing.rows import Row, case_rows, count_rows, listings
from fanwise.assign.reproducing.runs import (
    Case,
    Effort,
    find_case,
    run_all,
    run_alphas,
    run_case,
    run_knob,
)
from fanwise.assign.reproducing.settings import (
    BY_ALPHA,
    BY_PLACEMENT,
    CLOSER_LOOK,
    EVICTING,
    FEW,
    HARD,
    LOOSE,
    ONE_LEVEL,
    OVERALL,
    PLACEMENTS,
    SKEWS,
    SOURCE,
    TREE,
    TREES,
    WHOLE,
    Course,
)
from fanwise.planning.reproduction import Reproduction
from fanwise.progress import SILENT, Progress, Step

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL_DRAWN = 10**9
"""For ``pairs``, so that nothing but |S_b| limits the sample of Fig. 15."""


def reproduce(scale: float, *, seed: int = 0, progress: Progress = SILENT) -> Reproduction:
    """Run everything.

    Parameters
    ----------
    scale
        Share of the subscribers of the paper's instances; 1 is its size. Brokers are fewer by the
        root of it, and figures have fewer points below 1.
    seed
        Makes workloads and plans repeatable.
    """
    course = WHOLE if scale >= 1 else FEW
    with progress.step("compiling"):
        _warm_up()
    total = 6 + 9 + len(course.alphas) + len(course.sizes) + 2 * len(course.loads)
    total += 2 * len(course.clusters) + len(course.gammas) + len(PLACEMENTS) + len(course.hard)
    with progress.step("Assignments", total=total) as step:
        cases = _run_sets(scale, course, seed, step)
        look = next(case.problem for case in cases if case.panel == CLOSER_LOOK)
        one_level = Instance(ONE_LEVEL, look)
        in_trees = _run_trees(scale, seed, course, step)
        tree = Instance(TREE, find_case(in_trees, f"11{LOOSE}", CLOSER_LOOK).problem)
        cases += in_trees
        cases += _run_curves(scale, seed, course, one_level, step)
        cases += _run_knobs(one_level, tree, course, seed, step)
        cases += _run_hard(course, seed, step)
        counts = {
            at.name: count_candidates(at.problem, course.clusters, seed) for at in (one_level, tree)
        }
    rows = [*case_rows(cases), *count_rows(counts)]
    return Reproduction(
        title="assign: the paper's Tables I to III and Figs. 6 to 18",
        source=SOURCE,
        notes=notes(scale, course),
        comparisons=compare(cases, counts, scale),
        passages=listings(cases, counts),
        columns=[field.name for field in fields(Row)],
        rows=[astuple(row) for row in rows],
        figures=_draw(cases, counts),
    )


def _run_sets(scale: float, course: Course, seed: int, step: Step) -> list[Case]:
    """Figs. 6 to 10, Tables I and II."""
    effort = Effort(course.best_effort, course.runs, seed)
    figures = {"#2": "8", "#3": "9"}
    found: list[Case] = []
    for instance in instances.one_level(scale, seed):
        figure = figures.get(instance.name, "7")
        names = (*OVERALL, *EVICTING) if figure == "7" else OVERALL
        found += run_all(figure, [instance], names, effort, step, with_bound=True)
    return found


def _run_trees(scale: float, seed: int, course: Course, step: Step) -> list[Case]:
    """Figs. 11 and 12."""
    effort = Effort(course.best_effort, 1, seed)
    found: list[Case] = []
    for setting, instance in instances.trees(scale, seed):
        found += run_all(f"11{setting}", [instance], OVERALL, effort, step)
    return found


def _run_curves(
    scale: float, seed: int, course: Course, one_level: Instance, step: Step
) -> list[Case]:
    """Figs. 13 and 14, and brokers in other places."""
    effort = Effort(course.best_effort, 1, seed)
    found = list(run_alphas(one_level, course.alphas, BY_ALPHA, effort, step))
    for share in course.sizes:
        workload = instances.tree_workload(
            scale, SKEWS[CLOSER_LOOK], seed, share=share, **TREES[LOOSE]
        )
        instance = Instance(CLOSER_LOOK, Assignment(workload))
        size = float(workload.num_subscribers)
        found += run_all("14", [instance], ("slp",), effort, step, x=size)
    placed = instances.by_placement(scale, seed)
    found += run_all("placement", placed, BY_PLACEMENT, effort, step)
    return found


def _run_knobs(
    one_level: Instance, tree: Instance, course: Course, seed: int, step: Step
) -> list[Case]:
    """Figs. 15, 16 and 18; one relaxation for each broker where the sample grows."""
    effort = Effort(course.best_effort, 1, seed)
    found: list[Case] = []
    for instance in (one_level, tree):
        found += run_knob("15", instance, "balance", course.loads, effort, step,
                          pairs=ALL_DRAWN, rounds=1)  # fmt: skip
        found += run_knob("16", instance, "clusters", course.clusters, effort, step)
    found += run_knob("18", tree, "gamma", course.gammas, effort, step)
    return found


def _run_hard(course: Course, seed: int, step: Step) -> list[Case]:
    """The difficult workload, by brokers and by alpha."""
    effort = Effort(course.best_effort, 1, seed)
    made = (instances.hard_instance(n, alpha, course.hard_each) for n, alpha in course.hard)
    return list(run_all("difficult", made, HARD, effort, step, with_bound=True))


def _warm_up() -> None:
    """Compile every kernel, so that seconds are those of the work."""
    effort = Effort(0.1, 1, 0)
    run_case("", instances.hard_instance(2, 1, 2), (*OVERALL, *EVICTING), effort, with_bound=True)
    tree = instances.tree_workload(0.0, ("H", "H"), 0, share=0.2)
    run_case("", Instance("", Assignment(tree)), ("gr-star", "slp"), effort)


def _draw(
    cases: Sequence[Case], counts: Mapping[str, Mapping[int, int]]
) -> dict[str, tuple[str, Figure]]:
    from fanwise.assign.reproducing.drawing import draw

    return draw(cases, counts)
