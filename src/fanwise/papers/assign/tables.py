"""The tables that people read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fanwise.formatting import ABSENT, number, percent
from fanwise.papers.assign.comparisons import bandwidth, over, size_of, told, told_candidates
from fanwise.papers.assign.instances import candidates_table
from fanwise.papers.assign.runs import fractional, is_feasible
from fanwise.papers.case import Case, grouped, pick
from fanwise.papers.course import Course
from fanwise.papers.curves import listing_along
from fanwise.planning.explanation import Listing


def tables(course: Course, cases: Sequence[Case]) -> Iterator[Listing]:
    """Yield the tables of the page."""
    sets = pick(cases, "7", "8", "9")
    yield _bandwidths(course, "I", pick(sets, "7"))
    yield _bandwidths(course, "II", pick(sets, "8", "9"))
    yield _candidates(course)
    for case in (*sets, *(case for case in cases if case.figure.startswith("11"))):
        yield _overall(course, case)
    yield listing_along(course.paper, "alphas", pick(cases, "13"))
    yield listing_along(course.paper, "times", pick(cases, "14"))
    for figure in ("15", "16", "18"):
        yield _knob(course, figure, cases)
    yield _placements(course, pick(cases, "placement"))
    yield _difficult(course, pick(cases, "difficult"))


def _bandwidths(course: Course, table: str, cases: Sequence[Case]) -> Listing:
    names = course.paper.entry("tables", table)["series"]

    def beside(case: Case, name: str) -> str:
        ours = fractional(case) if name == "fractional" else bandwidth(case, name)
        by_paper = told(course, case, name)
        return _short(ours) if by_paper is None else f"{_short(ours)} ({_short(by_paper)})"

    rows = []
    for case in cases:
        runs = [result["bandwidth"] for result in case.results["slp"]]
        spread = float(np.std(runs) / np.mean(runs)) if np.mean(runs) > 0 else 0.0
        rows.append([case.panel, *(beside(case, name) for name in names),
                     _short(bandwidth(case, "proven bound")), percent(spread)])  # fmt: skip
    labels = ["Fractional" if name == "fractional" else course.paper.series[name].label
              for name in names]  # fmt: skip
    return course.paper.table(table, rows, "", *labels, "proven bound", "deviation of SLP",
                              runs=len(cases[0].results["slp"]))  # fmt: skip


def _candidates(course: Course) -> Listing:
    def names(letter: str, ids: Sequence[int]) -> str:
        return ", ".join(f"{letter}{i}" for i in ids)

    by_paper = told_candidates(course)
    rows = [
        [names("I", interests), names("B", brokers), names("I", by_paper.get(brokers, ()))]
        for brokers, interests in candidates_table(3, 3).items()
    ]
    return course.paper.table("III", rows)


def _overall(course: Course, case: Case) -> Listing:
    rows = [
        [
            course.paper.series[name].label,
            _short(bandwidth(case, name)),
            f"{case.mean(name, 'rms_delay'):.3f}",
            f"{case.mean(name, 'load_stdev'):.4g}",
            f"{case.mean(name, 'lbf'):.3f}",
            number(round(case.mean(name, "late"))),
            number(round(case.mean(name, "overloaded"))),
            f"{case.mean(name, 'seconds'):.3g}",
        ]
        for name in case.kept["details"]
    ]
    figure, setting = case.figure[:2], case.figure[2:]
    return course.paper.table(
        "overall", rows, figure=figure, panel=f"{case.panel}, {setting}" if setting else case.panel,
        least=_short(case.kept["problem"].least[0]), **size_of(case),
    )  # fmt: skip


def _knob(course: Course, figure: str, cases: Sequence[Case]) -> Listing:
    """Return what SLP does against a knob; with super-subscriptions the candidates of Fig. 17."""
    entry, own = course.paper.entry("tables", figure), pick(cases, figure)
    rows: list[list[Any]] = []
    for panel, here in grouped(own, "panel").items():
        rows += (
            [f"{panel}, {quantity}", *(_short(case.mean("slp", quantity)) for case in here)]
            for quantity in entry["quantities"]
        )
        if figure == "16":
            counted = [number(case.mean("slp", "candidates"))
                       for case in pick(cases, "17", panel=panel)]  # fmt: skip
            rows.append([f"{panel}, candidates (Fig. 17)", *counted])
    columns = [course.paper.say(entry["along"], x=x) for x in grouped(own, "x")]
    return course.paper.table(figure, rows, "", *columns)


def _placements(course: Course, cases: Sequence[Case]) -> Listing:
    names = course.settings.shown["placements"]
    rows = [
        [case.panel, number(case.kept["problem"].lbf_max),
         *(f"{case.mean(name, 'lbf'):.3f} ({case.mean(name, 'overloaded'):.0f} over)"
           for name in names)]
        for case in cases
    ]  # fmt: skip
    labels = [course.paper.series[name].label for name in names]
    return course.paper.table("placements", rows, *labels)


def _difficult(course: Course, cases: Sequence[Case]) -> Listing:
    names = course.settings.shown["difficult"]
    rows = []
    for case in cases:
        problem = case.kept["problem"]
        needed = [
            _short(bandwidth(case, name)) + ("" if is_feasible(case, name) else ", breaks limits")
            for name in names
        ]
        rows.append([problem.workload.num_brokers, problem.alpha, problem.workload.num_subscribers,
                     *needed, _short(bandwidth(case, "proven bound")),
                     _short(over(case, "gr-star", "slp"))])  # fmt: skip
    labels = [course.paper.series[name].label for name in names]
    return course.paper.table("difficult", rows, *labels, "proven bound", "Gr* / SLP")


def _short(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.3g}"
