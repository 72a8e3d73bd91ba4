"""The experiments of Setty et al. (INFOCOM 2014), Sec. VI, Figs. 2 to 7, done again.

Their trace is not public: a synthetic workload with the statistics that they tell stands in for it
(:mod:`fanwise.workload.generators.spotify`), and simulated hours of it for their stream
(:mod:`fanwise.papers.select.hours`). The scale is the share of the size of their trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from fanwise.papers.case import Case, grouped, pick, rows_of, share
from fanwise.papers.course import Course
from fanwise.papers.page import Reproduction
from fanwise.papers.paper import Comparison
from fanwise.papers.select.pictures import pictures
from fanwise.papers.select.runs import (
    LAZY,
    SLOW,
    hour_cases,
    quality_cases,
    seconds_cases,
    warm_up,
)
from fanwise.planning.explanation import Listing
from fanwise.select.problem import METRICS
from fanwise.workload.generators.spotify import spotify

BY_PAPERS, BY_OURS = "greedy / paper bound", "greedy / our bound"


def reproduce(course: Course) -> Reproduction:
    """Run everything."""
    scale, slow_scale = course.scale, course.settings.slow_scale
    workload = spotify(scale=scale, seed=course.seed, progress=course.progress)
    smaller = workload
    if scale > slow_scale:
        smaller = spotify(scale=slow_scale, seed=course.seed, progress=course.progress)
    warm_up(course)
    cases = [
        *quality_cases(course, workload),
        *seconds_cases(course, workload, smaller),
        *hour_cases(course, workload),
    ]
    ratios, seconds = (course.paper.numbers[name] for name in ("ratios", "seconds"))

    def told(case: Case, series: str, quantity: str) -> str:
        if case.figure == "4" and series == BY_PAPERS:
            return str(ratios[case.at["metric"]].get(f"{case.at['tau']:g}", ""))
        return str(seconds.get(series, "")) if case.figure == "5" else ""

    return course.finish(
        notes={
            "topics": workload.num_topics,
            "subscribers": workload.num_subscribers,
            "pairs": workload.num_pairs,
            "lazy": LAZY,
            "slow": SLOW,
            "is_smaller": smaller is not workload,
            "smaller_pairs": smaller.num_pairs,
            "bound_share": bound_share(_at_capacity(course, cases)),
        },
        rows=rows_of(cases, told),
        comparisons=compare(course, cases),
        tables=tables(course, cases),
        figures=course.drawn(pictures(course, cases)),
    )


def compare(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    """Put our numbers next to the paper's."""
    yield from _compare_qualities(course, cases)
    yield from _compare_seconds(course, pick(cases, "5"))
    yield from compare_hours(course, cases)


def _compare_qualities(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    paper, tau = course.paper, course.settings.taus[0]
    base = pick(cases, "2", tau=tau, capacity_percent=course.settings.capacity_percent)[0]
    for name, series in (("satisfied", "greedy"), ("bound", "paper bound")):
        ours = share(base.mean(series, "value"), base.kept["subscribers"])
        told = paper.numbers["at_first_tau"][name]
        yield paper.compare(name, ours, tau=tau, by_paper=told, off=abs(ours - told),
                            share=course.scale)  # fmt: skip
    yield from compare_ratios(course, pick(cases, "4"))


def compare_ratios(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    """Fig. 4: ratios where the paper gives them, and how they go with tau."""
    paper, taus = course.paper, course.settings.named_taus
    found = {
        (metric, tau): pick(cases, "4", metric=metric, tau=float(tau))[0]
        for metric in METRICS
        for tau in taus
    }
    for metric, by_tau in paper.numbers["ratios"].items():
        for tau, told in by_tau.items():
            at = found[metric, int(tau)]
            ours = at.mean(BY_PAPERS, "ratio")
            stars = [star for of, star in paper.numbers["stars"][metric] if of == int(tau)]
            yield paper.compare("ratio", ours, metric=metric, tau=int(tau), told=told,
                                off=min(abs(ours - star) for star in stars),
                                tight=at.mean(BY_OURS, "ratio"))  # fmt: skip
    ratio = {at: case.mean(BY_PAPERS, "ratio") for at, case in found.items()}
    for metric in METRICS:
        for before, after in pairwise(taus):
            told = paper.numbers["changes"][metric][f"{after}"]
            yield paper.compare(
                "ratio_change", ratio[metric, after] - ratio[metric, before], metric=metric,
                before=before, after=after, told=told["words"], rises=told["rises"],
            )  # fmt: skip
    for tau in taus:
        ahead = ratio["fractional", tau] - ratio["binary", tau]
        told = paper.numbers["fractional_ahead"].get(f"{tau}", "above 0")
        yield paper.compare("ratio_ahead", ahead, tau=tau, told=told)
    lowest = min(cases, key=lambda case: case.mean(BY_PAPERS, "ratio"))
    yield paper.compare("lowest_ratio", lowest.mean(BY_PAPERS, "ratio"),
                        metric=lowest.at["metric"], tau=int(lowest.at["tau"]))  # fmt: skip
    for (metric, tau), at in found.items():
        yield paper.compare("tight_ratio", at.mean(BY_OURS, "ratio"), metric=metric, tau=tau)


def _compare_seconds(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    slow_share = min(course.scale, course.settings.slow_scale)
    for name, algorithm, size in (
        ("lazy_seconds", LAZY, course.scale),
        ("slow_seconds", SLOW, slow_share),
    ):
        own = [case for case in cases if case.kept["algorithm"] == algorithm]
        longest = max(own, key=_seconds)
        yield course.paper.compare(name, _seconds(longest), tau=int(longest.at["tau"]), share=size,
                                   slow_tau=course.settings.slow_tau)  # fmt: skip
    beside = {
        case.kept["algorithm"]: _seconds(case)
        for case in pick(cases, tau=float(course.settings.slow_tau))
        if case.kept["pairs"] == longest.kept["pairs"]
    }
    yield course.paper.compare(
        "slow_by_lazy", beside[SLOW] / beside[LAZY], share=slow_share, tau=course.settings.slow_tau,
        by_paper=course.paper.numbers["slow_by_lazy"], most_followed=longest.kept["most_followed"],
    )  # fmt: skip


def compare_hours(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    """Figs. 6 and 7: running times and ratios on single hours."""
    paper, timed, rated = course.paper, pick(cases, "6"), pick(cases, "7")
    longest = max(case.mean("greedy", "seconds") for case in timed)
    yield paper.compare("hour_seconds", longest, share=course.scale)
    spent = {m: _mean(pick(timed, metric=m), "greedy", "seconds") for m in METRICS}
    yield paper.compare("binary_by_fractional", spent["binary"] / spent["fractional"])
    lowest = min(rated, key=lambda case: case.mean(BY_PAPERS, "ratio"))
    tightest = min(case.mean(BY_OURS, "ratio") for case in rated if BY_OURS in case.results)
    yield paper.compare(
        "lowest_hour", lowest.mean(BY_PAPERS, "ratio"), metric=lowest.at["metric"],
        capacity=lowest.at["capacity_percent"], scarcest=course.settings.hour_capacities[0],
        tightest=tightest,
    )  # fmt: skip
    ratio = {m: _mean(pick(rated, metric=m), BY_PAPERS, "ratio") for m in METRICS}
    each = {
        metric: {
            (case.at["window"], case.at["capacity_percent"]): case.mean(BY_PAPERS, "ratio")
            for case in pick(rated, metric=metric)
        }
        for metric in METRICS
    }
    both = each["binary"].keys() & each["fractional"].keys()
    num_ahead = sum(each["fractional"][at] >= each["binary"][at] for at in both)
    yield paper.compare("fractional_ahead", ratio["fractional"] - ratio["binary"],
                        cases=share(num_ahead, len(both)))  # fmt: skip
    least, *_, most = course.settings.hour_capacities
    few, many = (
        _mean(pick(rated, capacity_percent=capacity), BY_PAPERS, "ratio")
        for capacity in (least, most)
    )
    yield paper.compare("rise", many - few, least=least, most=most)


def tables(course: Course, cases: Sequence[Case]) -> Iterator[Listing]:
    """Yield what was measured as tables for people."""
    paper = course.paper
    rows = []
    for values, ratios in zip(_at_capacity(course, cases), pick(cases, "4"), strict=True):
        known = [values.mean(series, "value") for series in values.results]
        near = [ratios.mean(series, "ratio") for series in (BY_PAPERS, BY_OURS)]
        rows.append([values.at["metric"], int(values.at["tau"]), *known, f"{near[0]:.3f}",
                     f"{near[1]:.4f}"])  # fmt: skip
    yield paper.table("values", rows, **vars(course.settings))
    by_tau = {
        int(tau): {name: _seconds(case) for case in own for name in case.results}
        for tau, own in grouped(pick(cases, "5"), "tau").items()
    }
    series = list(by_tau[course.settings.taus[0]])
    yield paper.table(
        "seconds",
        [[tau, *(f"{found[name]:.4f}" for name in series)] for tau, found in by_tau.items()],
        *series,
        **vars(course.settings),
    )
    hours = []
    for capacity in course.settings.hour_capacities:
        own = pick(cases, "6", "7", capacity_percent=float(capacity))
        spent, rated = (
            [_mean(pick(own, figure, metric=metric), name, quantity) for metric in METRICS]
            for figure, name, quantity in (("6", "greedy", "seconds"), ("7", BY_PAPERS, "ratio"))
        )
        hours.append([f"{capacity}%", *(f"{1000 * at:.2f}" for at in spent),
                      *(f"{at:.3f}" for at in rated)])  # fmt: skip
    yield paper.table("hours", hours, **vars(course.settings))


def _at_capacity(course: Course, cases: Sequence[Case]) -> list[Case]:
    """Return values and bounds at the capacity that both were made for."""
    return pick(cases, "2", "3", capacity_percent=course.settings.capacity_percent)


def bound_share(cases: Sequence[Case]) -> float:
    """Return how much of the way from greedy to the paper's bound lies beyond our bound."""
    ways = [
        [case.mean("paper bound", "value") - case.mean(other, "value") for case in cases]
        for other in ("our bound", "greedy")
    ]
    return share(sum(ways[0]), sum(ways[1]))


def _seconds(case: Case) -> float:
    (series,) = case.results
    return case.mean(series, "seconds")


def _mean(cases: Sequence[Case], series: str, quantity: str) -> float:
    return float(np.mean([case.mean(series, quantity) for case in cases]))
