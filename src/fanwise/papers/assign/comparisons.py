"""Our numbers next to the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fanwise.papers.assign.instances import LOOSE, TIGHT, TIGHTER, candidates_table
from fanwise.papers.assign.runs import fractional, is_feasible
from fanwise.papers.case import Case, grouped, pick
from fanwise.papers.course import Course
from fanwise.papers.paper import Comparison


def compare(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    """Put every number that the paper gives, and what it says in words, next to ours."""
    first = pick(cases, "7")
    for case in pick(cases, "7", "8", "9"):
        yield from _compare_table(course, case)
    yield _compare_candidates(course)
    yield from _compare_first(course, first)
    yield from _compare_closer(course, pick(first, panel=course.settings.closer_look)[0])
    for case in pick(cases, "8", "9"):
        over = 100 * (case.mean("gr", "lbf") / case.kept["problem"].lbf_max - 1)
        yield course.paper.compare("over", over, figure=case.figure, panel=case.panel,
                                   by_paper=course.paper.numbers["over"][case.panel])  # fmt: skip
    yield from _compare_trees(course, cases)
    yield from _compare_alphas(course, pick(cases, "13"))
    yield from _compare_times(course, pick(cases, "14"))
    yield from _compare_knobs(course, cases)
    yield from _compare_others(course, cases)


def bandwidth(case: Case, name: str) -> float:
    """Return what an algorithm needs, mean over its runs."""
    return case.mean(name, "bandwidth")


def over(case: Case, one: str, other: str) -> float:
    """Return the bandwidth of one algorithm over that of another."""
    return case.ratio(one, other, "bandwidth")


def told(course: Course, case: Case, name: str) -> float | None:
    """Return what Tables I and II say of an algorithm, or of the fractional value."""
    if case.figure not in ("7", "8", "9"):
        return None
    found: float | None = course.paper.numbers["tables"].get(case.panel, {}).get(name)
    return found


def size_of(case: Case) -> dict[str, Any]:
    """Return subscribers, brokers and limits of a case."""
    problem = case.kept["problem"]
    return {
        "subscribers": problem.workload.num_subscribers, "brokers": problem.workload.num_brokers,
        "lbf": problem.lbf, "lbf_max": problem.lbf_max, "max_delay": problem.max_delay,
    }  # fmt: skip


def label_of(course: Course, name: str) -> str:
    """Return what people call an algorithm, or the fractional value."""
    return "fractional value" if name == "fractional" else course.paper.series[name].label


def _compare_table(course: Course, case: Case) -> Iterator[Comparison]:
    paper = course.paper

    def broken(*names: str) -> str:
        return " and ".join(label_of(course, name) for name in names if not is_feasible(case, name))

    at = {
        "table": "Table I" if case.figure == "7" else "Table II", "panel": case.panel,
        "fractional_of": case.kept["details"]["slp"][0].fractional_of, "scale": course.scale,
        "gr_star": bandwidth(case, "gr-star"), **size_of(case),
    }  # fmt: skip
    value = fractional(case)
    for name in ("fractional", "slp", "gr-star", "gr", "gr-no-latency"):
        by_paper = told(course, case, name)
        if by_paper is not None:
            is_plan = name != "fractional"
            yield paper.compare(
                "table", bandwidth(case, name) if is_plan else value or 0.0, **at, name=name,
                label=label_of(course, name), by_paper=by_paper,
                broken=broken(name) if is_plan else "",
            )  # fmt: skip
    for one, other in (("slp", "gr-star"), ("gr", "gr-star")):
        first, second = told(course, case, one), told(course, case, other)
        if first is not None and second is not None:
            yield paper.compare("ratio", over(case, one, other), **at, label=label_of(course, one),
                                other=label_of(course, other), by_paper=first / second)  # fmt: skip
    if value:
        by_paper = (told(course, case, "slp") or 0.0) / (told(course, case, "fractional") or 1.0)
        yield paper.compare("slp_by_fractional", bandwidth(case, "slp") / value, **at,
                            by_paper=by_paper)  # fmt: skip
    yield paper.compare("best", over(case, "best", "gr-star"), **at,
                        broken=broken("best", "gr-star"))  # fmt: skip


def told_candidates(course: Course) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Return the paper's Table III: interests by candidate brokers."""
    found = course.paper.numbers["candidates"]
    return {tuple(brokers): tuple(interests) for brokers, interests in found}


def _compare_candidates(course: Course) -> Comparison:
    by_paper = told_candidates(course)
    agreed = sum(
        len(set(interests) & set(by_paper.get(brokers, ())))
        for brokers, interests in candidates_table(3, 3).items()
    )
    total = sum(map(len, by_paper.values()))
    return course.paper.compare("candidates", float(agreed), total=total)


def _compare_first(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    numbers = course.paper.numbers
    for name, by_paper in numbers["keeps"].items():
        kept = sum(is_feasible(case, name) for case in cases)
        factors = ", ".join(f"{case.mean(name, 'lbf'):.3g}" for case in cases)
        yield course.paper.compare(
            "keeps", float(kept), label=label_of(course, name), by_paper=by_paper, factors=factors,
            allowed=cases[0].kept["problem"].lbf_max,
            evicts="evict" in course.paper.series[name].settings,
        )  # fmt: skip
    for name, by_paper in numbers["beside"].items():
        ratio = float(np.mean([over(case, name, "gr-star") for case in cases]))
        yield course.paper.compare("beside", ratio, label=label_of(course, name),
                                   by_paper=by_paper)  # fmt: skip


def _compare_closer(course: Course, case: Case) -> Iterator[Comparison]:
    paper, details = course.paper, case.kept["details"]
    for name in ("slp", "gr-star"):
        worst = max(float(detail.marks[:, 1].max()) for detail in details[name])
        yield paper.compare("largest_delay", worst, label=label_of(course, name), **size_of(case))
    marks = details["gr-no-latency"][0].marks
    worst = int(marks[:, 1].argmax())
    yield paper.compare(
        "delay", case.results["gr-no-latency"][0]["rms_delay"], most=marks[worst, 1],
        at=marks[worst, 0], up_to=marks[:, 0].max(),
    )  # fmt: skip
    least = case.kept["problem"].least[0] or 0.0
    yield paper.compare("overloaded", _overloaded(case, "gr"), least=least, **size_of(case))
    yield paper.compare("lbf", case.mean("slp", "lbf"), **size_of(case))


def _overloaded(case: Case, name: str) -> float:
    """Return the percentage of brokers that the first run of an algorithm overloads."""
    loads = case.kept["details"][name][0].loads
    return 100 * case.results[name][0]["overloaded"] / len(loads)


def _compare_trees(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    paper, settings = course.paper, course.settings
    tight, loose = pick(cases, f"11{TIGHT}"), pick(cases, f"11{LOOSE}")
    tighter = pick(cases, f"11{TIGHTER}")[0]
    yield paper.compare("least", least_factor(tight), by_paper=settings.least_tight,
                        **settings.trees[TIGHT])  # fmt: skip
    for name, by_paper in paper.numbers["keeps_tight"].items():
        yield paper.compare(
            "keeps_tight", float(sum(is_feasible(case, name) for case in tight)),
            label=label_of(course, name), by_paper=by_paper, panel=tighter.panel,
            does="keeps" if is_feasible(tighter, name) else "breaks", **size_of(tighter),
        )  # fmt: skip
    yield paper.compare("tree_overloaded", _overloaded(tighter, "gr-star"), panel=tighter.panel)
    for name in ("gr", "gr-star"):
        ratio = float(np.mean([over(case, name, "slp") for case in loose]))
        yield paper.compare("loose", ratio, label=label_of(course, name))
    behind = [bandwidth(case, "slp") > bandwidth(case, "gr-star") for case in (*tight, *loose)]
    yield paper.compare("behind", float(sum(behind)), total=len(behind),
                        by_paper=paper.numbers["behind"])  # fmt: skip


def least_factor(cases: Sequence[Case]) -> float:
    """Return the least possible load-balance factor, the largest of several problems."""
    return max(case.kept["problem"].least[0] or 0.0 for case in cases)


def _compare_alphas(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    first, last = cases[0], cases[-1]
    (three,) = pick(cases, x=3.0)
    for name in course.settings.shown["alphas"]:
        own = [bandwidth(case, name) for case in (first, three, last)]
        yield course.paper.compare(
            "alpha", own[0] / own[1], label=label_of(course, name), first=first.x, last=last.x,
            beyond=own[2] / own[1],
        )  # fmt: skip
    yield course.paper.compare("alpha_slp", over(first, "slp", "gr-star"), first=first.x,
                               at_three=over(three, "slp", "gr-star"))  # fmt: skip


def _compare_times(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    spent = [(case.x, case.mean("slp", "seconds")) for case in cases]
    powers = [np.log(later / sooner) / np.log(more / less)
              for (less, sooner), (more, later) in pairwise(spent)]  # fmt: skip
    yield course.paper.compare("seconds", spent[-1][1], power=float(max(powers)),
                               **size_of(cases[-1]))  # fmt: skip


def _compare_knobs(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    """Figs. 15 to 18: what the knobs of SLP do."""
    for figure, name, quantity in (
        ("15", "loads", "lbf"), ("16", "clusters", "bandwidth"), ("17", "counts", "candidates"),
    ):  # fmt: skip
        for panel, own in grouped(pick(cases, figure), "panel").items():
            few, many = (case.mean("slp", quantity) for case in (own[0], own[-1]))
            yield course.paper.compare(name, many / few, panel=panel, few=few, many=many,
                                       fewest=own[0].x, most=own[-1].x)  # fmt: skip
    own = pick(cases, "18")
    delays, factors = ([case.mean("slp", quantity) for case in own]
                       for quantity in ("rms_delay", "lbf"))  # fmt: skip
    yield course.paper.compare("gamma_delay", delays[-1] / delays[0])
    repairs = ", ".join(f"{case.results['slp'][0].get('repairs', 0):g}" for case in own)
    middle = factors[len(factors) // 2] / max(factors)
    yield course.paper.compare("gamma_lbf", middle, repairs=repairs)


def _compare_others(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    """Brokers that stand elsewhere, as in the text, and the difficult workload."""
    for case in pick(cases, "placement"):
        problem = case.kept["problem"]
        yield course.paper.compare(
            "placement", case.mean("closest-no-balance", "lbf") / problem.lbf_max,
            panel=case.panel, lbf_max=problem.lbf_max,
            **{f"by_{name}": int(case.results[name][0]["overloaded"]) for name in ("gr", "slp")},
        )  # fmt: skip
    for case in pick(cases, "difficult"):
        problem = case.kept["problem"]
        yield course.paper.compare(
            "difficult", over(case, "gr-star", "slp"), brokers=problem.workload.num_brokers,
            alpha=problem.alpha, bound=bandwidth(case, "proven bound"),
            **{name: bandwidth(case, name) for name in ("slp", "best")},
        )  # fmt: skip
