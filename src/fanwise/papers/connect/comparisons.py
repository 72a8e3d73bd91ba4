"""Our numbers next to the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.papers.case import Case, pick
from fanwise.papers.connect.instances import Social
from fanwise.papers.connect.runs import Completes
from fanwise.papers.course import Course
from fanwise.papers.paper import Comparison

TIE = RELATIVE_TOLERANCE
MOST_NAMED = 4
SAME_BUDGET = 1.5
"""How many times another budget may be for support to be called the same."""


def compare(
    course: Course, social: Sequence[Social], completes: Completes, cases: Sequence[Case]
) -> Iterator[Comparison]:
    """Put every number that the paper gives next to ours."""
    by_name = {instance.name: instance for instance in social}
    yield from _compare_table(course, by_name, pick(cases, "I"))
    yield _compare_growth(course, pick(cases, "I"))
    yield _compare_ranking(course, cases)
    for figure, panel in course.settings.ratio_figures.items():
        yield from _compare_ratios(course, pick(cases, figure, panel=panel))
    graph = by_name["FB 1K"].graph.words
    yield from _compare_facebook(course, pick(cases, "4", panel="FB 1K"), completes, graph)
    for law in course.paper.numbers["by_law"]:
        yield from _compare_sizes(course, pick(cases, "6", panel=law))
    for law in course.paper.numbers["by_law"]:
        yield from _compare_topics(course, pick(cases, "7", panel=law))
    for law in course.paper.numbers["by_law"]:
        yield from _compare_ranges(course, pick(cases, "8", panel=law))


def support(case: Case, name: str) -> float:
    """Return the share of all that could be connected."""
    return case.mean(name, "support")


def ahead(case: Case, one: str, other: str) -> float:
    """Return by how many points of support one is ahead of another."""
    return 100 * (support(case, one) - support(case, other))


def is_like(budget: float, other: float) -> bool:
    """Whether support under one budget says something of that under the other."""
    return 1 / SAME_BUDGET <= max(1, budget) / other <= SAME_BUDGET


def told_support(course: Course, case: Case, name: str) -> float | None:
    """Return what Table I says of an algorithm on an instance."""
    told: float | None = course.paper.numbers["table"].get(case.panel, {}).get(name)
    return told


def _compare_table(
    course: Course, social: Mapping[str, Social], cases: Sequence[Case]
) -> Iterator[Comparison]:
    for case in cases:
        for name, series in course.paper.series.items():
            told = told_support(course, case, name)
            if told is not None:
                instance, budget = social[case.panel], case.results["budget"][0]
                told_budget = course.paper.numbers["facebook"]["budget"]
                is_told = case.panel == "FB 1K" and series.budget == "degree"
                yield course.paper.compare(
                    "table", support(case, name), panel=case.panel, name=name, label=series.label,
                    by_paper=told, scale=course.scale, graph=instance.graph.words,
                    beta=course.settings.beta, budget=told_budget,
                    is_same_budget=not is_told or is_like(budget["max_degree"], told_budget),
                    nodes=instance.workload.num_subscribers, **budget,
                )  # fmt: skip


def _compare_growth(course: Course, cases: Sequence[Case]) -> Comparison:
    """Compare how GPM's lead over random links grows with Facebook's instances."""
    told = course.paper.numbers["growth"]
    first, last = (
        ahead(case, "gpm", "random-maximum")
        for panel in ("FB 1K", "FB 10K")
        for case in pick(cases, panel=panel)
    )
    return course.paper.compare(
        "growth", last - first, first=first, last=last, told_first=told["first"],
        told_last=told["last"], by_paper=round(told["last"] - told["first"], 1), scale=course.scale,
    )  # fmt: skip


def _compare_ranking(course: Course, cases: Sequence[Case]) -> Comparison:
    broken = [
        case for case in cases
        if any(support(case, one) < support(case, other) - TIE
               for one, other in pairwise(course.settings.ranking))
    ]  # fmt: skip
    named = [f"Fig. {case.figure} {case.panel} at {case.x:g}" for case in broken[:MOST_NAMED]]
    return course.paper.compare(
        "ranking", 100 * (1 - len(broken) / max(1, len(cases))), broken=len(broken),
        total=len(cases), where=", ".join(named),
    )  # fmt: skip


def _compare_ratios(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    at = {"figure": cases[0].figure, "panel": cases[0].panel}
    behind = _mean([ahead(case, "gpm", "spidercast") for case in cases])
    yield course.paper.compare("behind", behind, **at,
                               by_paper=course.paper.numbers["behind"][at["panel"]])  # fmt: skip
    apart = _mean([abs(ahead(case, "random-average", "random-maximum")) for case in cases])
    yield course.paper.compare("random_apart", apart, **at)
    (case,) = pick(cases, x=course.settings.beta)
    edges = {f"{name}_edges": int(case.mean(name, "edges")) for name in ("best", "gpm")}
    yield course.paper.compare("best_ahead", ahead(case, "best", "gpm"), **at, **edges)


def _compare_facebook(
    course: Course, cases: Sequence[Case], completes: Completes, graph: str
) -> Iterator[Comparison]:
    paper, ratio, beta = course.paper, course.settings.early_ratio, course.settings.beta
    told = paper.numbers["facebook"]
    degree = float(completes["FB 1K"]["minmax-oda"].max_degree)
    yield paper.compare(
        "degree", degree, graph=graph, by_paper=told["degree"],
        by_ours=told["degree"] / max(1.0, degree), by_theirs=degree / told["degree"],
    )  # fmt: skip
    (early,), (at,) = (pick(cases, x=x) for x in (ratio, beta))
    budget = early.results["budget"][0]["max_degree"]
    yield paper.compare(
        "early", support(early, "gpm"), degree=budget, graph=graph, ratio=ratio,
        told=told["early"], told_degree=told["early_degree"],
        is_same_budget=is_like(budget, told["early_degree"]),
    )  # fmt: skip
    most = int(at.mean("gpa", "max_degree"))
    yield paper.compare("hot_spots", at.mean("gpa", "mean_degree"), beta=beta, most=most,
                        by_paper=told["hot_spots"])  # fmt: skip


def _compare_sizes(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    law, largest = cases[0].panel, cases[-1]
    told = course.paper.numbers["by_law"][law]
    lead = _mean([ahead(case, "gpm", "random-maximum") for case in cases])
    yield course.paper.compare("ahead_by_size", lead, law=law, by_paper=told["ahead_by_size"])
    yield course.paper.compare(
        "largest", support(largest, "gpm"), law=law, nodes=largest.kept["nodes"],
        by_paper=told["at_10k"], scale=course.scale,
    )  # fmt: skip
    yield course.paper.compare("rise_by_size", _rise(cases), law=law, by_paper="rises")
    yield course.paper.compare("random_by_size", _rise(cases, "random-maximum"), law=law)


def _compare_topics(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    law = cases[0].panel
    told = course.paper.numbers["by_law"][law]["ahead_by_topics"]
    lead = _mean([ahead(case, "gpm", "random-maximum") for case in cases])
    yield course.paper.compare("ahead_by_topics", lead, law=law, by_paper=told)
    first, last = (support(case, "gpm") for case in (cases[0], cases[-1]))
    yield course.paper.compare("fall_by_topics", -_rise(cases), law=law, first=first, last=last,
                               scale=course.scale)  # fmt: skip


def _compare_ranges(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    law = cases[0].panel
    told = course.paper.numbers["by_law"][law]["by_range"]
    yield course.paper.compare("by_range", _rise(cases), law=law, by_paper=told)
    first, last = (ahead(case, "gpm", "random-maximum") for case in (cases[0], cases[-1]))
    yield course.paper.compare("lead_by_range", first - last, law=law)


def _rise(cases: Sequence[Case], name: str = "gpm") -> float:
    """Return by how many points support is higher at the last case than at the first."""
    return 100 * (support(cases[-1], name) - support(cases[0], name))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
