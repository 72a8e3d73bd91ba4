"""Our numbers next to the paper's: the scaled regime alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fanwise.papers.case import Case, grouped, pick
from fanwise.papers.course import Course
from fanwise.papers.paper import Comparison
from fanwise.papers.provision.example import example_traffic
from fanwise.papers.provision.runs import (
    FIRST_RUNG,
    LAST_RUNG,
    NAIVE,
    OURS,
    SCALED,
    Sample,
)
from fanwise.provision.plots import LADDER

TRAFFIC = ("in_bytes", "out_bytes")


def compare(
    course: Course, samples: Sequence[Sample], costs: Sequence[Case], seconds: Sequence[Case]
) -> Iterator[Comparison]:
    """Put our numbers next to the paper's."""
    yield _compare_example(course)
    for sample in samples:
        own = pick(costs, trace=sample.trace, regime=SCALED)
        yield from _compare_anchor(course, own, sample)
        yield from _compare_stage_1(course, own, sample)
        yield from _compare_rungs(course, own, sample)
    for sample in samples:
        yield from _compare_seconds(course, pick(seconds, trace=sample.trace), sample)


def saving(case: Case, algorithm: str, before: str, *quantities: str) -> float:
    """Return the percentage that an algorithm saves of what another takes, by default of cost."""
    least, most = (
        sum(case.mean(name, quantity) for quantity in quantities or ("usd",))
        for name in (algorithm, before)
    )
    return 100 * (1 - least / most) if most else 0.0


def paper_saving(course: Course, case: Case) -> str:
    """Return what the paper says that GSP saves of RSP; nothing where the regime is another."""
    at = case.at
    if at["regime"] != SCALED:
        return ""
    by_tau = course.paper.numbers["gsp_saves"][at["trace"]][at["instance"]]
    return str(by_tau[list(course.settings.taus).index(at["tau"])])


def change(least: Mapping[str, float], most: Mapping[str, float], *quantities: str) -> float:
    """Return by how many percent more of quantities a packing has than another."""
    one, other = (sum(found[name] for name in quantities) for found in (least, most))
    return 100 * (one / other - 1) if other else 0.0


def _compare_example(course: Course) -> Comparison:
    """Fig. 1: what packing by topic saves of packing by pair."""
    moved = example_traffic()
    return course.paper.compare(
        "example", moved[FIRST_RUNG] - moved[LAST_RUNG],
        by_paper=course.paper.numbers["example_saves"], first=moved[FIRST_RUNG],
        last=moved[LAST_RUNG],
    )  # fmt: skip


def _compare_anchor(course: Course, cases: Sequence[Case], sample: Sample) -> Iterator[Comparison]:
    setup = course.settings.traces[sample.trace]
    anchor = setup["anchor"]
    (case,) = pick(cases, instance=anchor["instance"], tau=anchor["tau"])
    machines = int(case.mean(anchor["algorithm"], "machines"))
    yield course.paper.compare("anchor", machines, figure=setup["figures"][0], trace=sample.trace,
                               **anchor)  # fmt: skip


def _compare_stage_1(course: Course, cases: Sequence[Case], sample: Sample) -> Iterator[Comparison]:
    """What GSP saves of RSP, both with FFBP."""
    single = float(np.mean(np.diff(sample.workload.interests.indptr) == 1))
    saved = {
        instance: [saving(case, FIRST_RUNG, NAIVE) for case in own]
        for instance, own in grouped(cases, "instance").items()
    }
    for case in cases:
        values: dict[str, Any] = {**case.at, "figure": case.figure, "share": sample.share}
        by_tau = saved[case.at["instance"]]
        yield course.paper.compare(
            "gsp_cost", saving(case, FIRST_RUNG, NAIVE), **values,
            by_paper=float(paper_saving(course, case).rstrip("%")), single=single,
            is_falling=all(one > other for one, other in pairwise(by_tau)),
            small_share=course.settings.small_share,
        )  # fmt: skip
        if case is cases[0] and sample.trace == "Spotify":
            machines = saving(case, FIRST_RUNG, NAIVE, "machines")
            traffic = saving(case, FIRST_RUNG, NAIVE, "in_bytes", "out_bytes")
            told = course.paper.numbers["gsp_saves_of"]
            yield course.paper.compare(
                "gsp_machines", machines, **values, by_paper=told["machines"]
            )
            yield course.paper.compare(
                "gsp_bandwidth", traffic, **values, machines=machines, by_paper=told["bandwidth"]
            )


def _compare_rungs(course: Course, cases: Sequence[Case], sample: Sample) -> Iterator[Comparison]:
    """What each rung saves of the one before, what all of them save, how near the bounds are."""
    paper, trace = course.paper, sample.trace
    at = {"figure": course.settings.traces[trace]["figures"][0], "trace": trace}
    for before, after in pairwise(LADDER[1:-1]):
        saved = [saving(case, after, before) for case in cases]
        told = paper.numbers["rung_saves"][trace][after]
        yield paper.compare(
            "rung", max(saved), **at, rung=after, label=paper.series[after].label,
            by_paper=told["words"], told=told["most"], least=round(min(saved), 1) + 0.0,
        )  # fmt: skip
    yield from _compare_trade(course, cases, at)
    together = max(saving(case, LAST_RUNG, FIRST_RUNG) for case in cases)
    by_topic = max(
        100 * (1 - case.mean(LAST_RUNG, "usd") / case.kept["by_topic"]["usd"]) for case in cases
    )
    yield paper.compare("together", together, **at, by_topic=by_topic)
    yield paper.compare("by_topic", by_topic, **at, together=together)
    best = max(cases, key=lambda case: saving(case, LAST_RUNG, NAIVE))
    told = paper.numbers["saves"][trace]
    spread = max(saving(case, LADDER[2], FIRST_RUNG) for case in cases)
    yield paper.compare("saving", saving(best, LAST_RUNG, NAIVE), **at, by_paper=told["percent"],
                        spread=spread)  # fmt: skip
    dollars = (best.mean(NAIVE, "usd") - best.mean(LAST_RUNG, "usd")) / sample.share
    yield paper.compare(
        "dollars", round(dollars), **{**best.at, **at}, by_paper=told["dollars"],
        times=dollars / told["about"],
    )  # fmt: skip
    over = {
        (name, bound): [100 * (case.ratio(name, bound, "usd") - 1) for case in cases]
        for name, bound in ((LAST_RUNG, "paper's bound"), (LAST_RUNG, "our bound"),
                            (OURS, "our bound"))
    }  # fmt: skip
    above = sorted(over[LAST_RUNG, "paper's bound"])
    yield paper.compare("over_papers_bound", above[0], **at, most=above[-1],
                        told=paper.numbers["over_bound"],
                        many=sum(one <= paper.numbers["over_bound"] for one in above),
                        total=len(above))  # fmt: skip
    for name, label in ((LAST_RUNG, "GSP+CBP"), (OURS, "best+best")):
        yield paper.compare("over_our_bound", max(over[name, "our bound"]), **at, label=label)


def _compare_trade(
    course: Course, cases: Sequence[Case], at: Mapping[str, str]
) -> Iterator[Comparison]:
    """Machines against bandwidth: rung (b) where the paper tells both, and rung (d)."""
    paper = course.paper
    told = paper.numbers["by_topic"][at["trace"]]
    first, by_topic, ordered, free = LADDER[1:5]
    named = [case for case in cases if [case.at["instance"], case.at["tau"]] in told["cases"]]
    for name, quantities in (("machines", ("machines",)), ("bandwidth", TRAFFIC)):
        found = [
            [change(case.results[by_topic][0], other, *quantities)
             for other in (case.results[first][0], case.kept["by_topic"])]
            for case in named
        ]  # fmt: skip
        ours, kindest = (float(np.mean(column)) for column in zip(*found, strict=True))
        low, high = told[name]
        yield paper.compare(f"group_{name}", ours, **at, low=low, high=high, kindest=kindest,
                            where=told["where"], by_paper=told[f"{name}_words"])  # fmt: skip
    for name, quantities in (("machines", ("machines",)), ("bandwidth", TRAFFIC)):
        changes = [
            change(case.results[free][0], case.results[ordered][0], *quantities) for case in cases
        ]
        extreme = min(changes) if name == "machines" else max(changes)
        yield paper.compare(f"most_free_{name}", extreme, **at, least=min(changes))


def _compare_seconds(course: Course, cases: Sequence[Case], sample: Sample) -> Iterator[Comparison]:
    paper, trace, taus = course.paper, sample.trace, course.settings.taus
    _, first, second = course.settings.traces[trace]["figures"]
    small = course.settings.instances[0]
    took = {
        (name, case.at["instance"], case.at["tau"]): case.mean(name, "seconds")
        for case in cases
        for name in case.results
    }
    most = {
        name: max(seconds for (own, _, _), seconds in took.items() if own == name)
        for name in ("rsp", "gsp", "cbp")
    }
    at = {"trace": trace, "share": sample.share}
    if trace == "Spotify":
        later = max(took["gsp", small, tau] - took["rsp", small, tau] for tau in taus)
        yield paper.compare("gsp_longer", later, figure=first, **at)
        yield paper.compare("spotify_total", most["gsp"] + most["cbp"], figure=second, **at)
    else:
        for name, told in paper.numbers["twitter_select"].items():
            yield paper.compare("select_seconds", most[name], figure=first, label=name.upper(),
                                by_paper=told, **at)  # fmt: skip
        for name, told in paper.numbers["twitter_totals"].items():
            total = sum(took[part, small, taus[-1]] for part in name.split("+"))
            yield paper.compare("total_seconds", total, figure=second, label=name.upper(),
                                by_paper=told, instance=small, tau=taus[-1], **at)  # fmt: skip
    ratios = [
        seconds / took["cbp", instance, tau]
        for (name, instance, tau), seconds in took.items()
        if name == "ffbp"
    ]
    yield paper.compare("pack_ratio", max(ratios), figure=second, **at,
                        by_paper=paper.numbers["pack_ratio"][trace])  # fmt: skip
