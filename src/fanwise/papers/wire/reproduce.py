"""The experiments of Zhao and Wu (SECON 2011), Sec. VI, done again.

Figs. 9 and 10 and Table I: how much cheaper than a random wiring the paper's algorithms are, on its
networks under two laws of link costs, and on sparse ones where who is attached where matters. Our
algorithms and a proven bound stand beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fanwise.formatting import ABSENT, percent
from fanwise.papers.case import Case, pick, rows_of
from fanwise.papers.course import Course
from fanwise.papers.curves import listing_along
from fanwise.papers.page import Reproduction
from fanwise.papers.paper import Comparison
from fanwise.papers.wire.pictures import HIGHEST, pictures
from fanwise.papers.wire.runs import (
    CORE_SHARE,
    DEEP,
    DENSE,
    IN_ORDER,
    LARGEST_LEAD,
    PAPERS,
    RANDOM,
    TIE,
    YARDSTICK,
    ahead,
    counts_at,
    run_all,
    warm_up,
)
from fanwise.planning.explanation import Listing

MIXING = PAPERS[-1]
HALF = 50.0
"""Of the networks of a point, in percent: an order that holds on more is said to hold."""


def reproduce(course: Course) -> Reproduction:
    """Run everything."""
    paper = course.paper
    with course.progress.step("compiling"):
        warm_up(course)
    cases = run_all(course)
    timed = timed_case(cases)
    figures, most = counts_at(course)
    regimes = "; ".join(f"{name}: {at['words']}" for name, at in course.settings.regimes.items())
    return course.finish(
        notes={
            "told_regimes": regimes[0].upper() + regimes[1:],
            "by_size": figures["9"],
            "by_ratio": figures["10"],
            "users_share": course.scale**0.25,
            "few": ", ".join(f"{paper.series[name].label} {count}" for name, count in most.items()),
            "bounded": most[DEEP],
        },
        rows=rows_of([*cases, timed], lambda case, series, _: told(course, case, series)),
        comparisons=compare(course, cases),
        tables=tables(course, cases),
        figures=course.drawn(pictures(course, cases)),
    )


def timed_case(cases: Sequence[Case]) -> Case:
    """Return Table I: seconds on the largest of the paper's networks."""
    largest = max(pick(cases, "9", regime=DENSE), key=lambda case: case.x)
    seconds = {name: [{"seconds": largest.mean(name, "seconds")}]
               for name in largest.results if name != "network"}  # fmt: skip
    return Case("I", largest.at, seconds, {"of": largest})


def told(course: Course, case: Case, series: str) -> str:
    """Return the paper's seconds of a series in Table I."""
    return str(course.paper.numbers["seconds"].get(series, "")) if case.figure == "I" else ""


def compare(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    """Put every statement of the paper next to what we measured."""
    regimes = course.settings.regimes
    for regime in regimes:
        yield from _compare_sizes(course, pick(cases, "9", regime=regime))
    yield from _compare_order(course, cases)
    yield from _compare_random(course, cases)
    for regime in regimes:
        yield from _compare_ratios(course, pick(cases, "10", regime=regime))
    timed = timed_case(cases)
    for name in timed.results:
        yield course.paper.compare(
            "seconds", timed.mean(name, "seconds"), label=_label(course, name),
            told=told(course, timed, name), **_size(timed.kept["of"]),
        )  # fmt: skip
    for regime in regimes:
        yield from _compare_ours(course, pick(cases, "9", regime=regime)[-1])


def _compare_sizes(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    first, largest = cases[0], cases[-1]
    trials = [trial for case in cases for trial in case.kept["trials"]]
    ranking = sorted(PAPERS, key=lambda name: -largest.mean(name, "CRR"))
    words = (f"{_label(course, name)} {largest.mean(name, 'CRR'):.2f}" for name in ranking)
    access, core = largest.kept["split"][YARDSTICK]
    yield course.paper.compare(
        "ranking", 100 * sum(trial.is_ranked_as_told for trial in trials) / len(trials),
        ranking=" > ".join(words), is_papers=tuple(ranking) == PAPERS[::-1],
        first=ranking[0], access=access / ((access + core) or 1.0),
        **_size(largest),
    )  # fmt: skip
    for name in PAPERS:
        yield course.paper.compare(
            "crr", largest.mean(name, "CRR"), name=name, label=_label(course, name),
            first=first.mean(name, "CRR"), fewest=_size(first)["users"], **_size(largest),
        )  # fmt: skip


def _compare_order(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    """Say from which share of the core on the paper's order holds, and where it cannot."""
    points = [case.results["network"][0] for case in cases]
    held = [at[CORE_SHARE] for at in points if at[IN_ORDER] > HALF]
    regimes = {case.at["regime"] for case, at in zip(cases, points, strict=True)
               if at[IN_ORDER] > HALF}  # fmt: skip
    others = [at[CORE_SHARE] for at in points if at[IN_ORDER] <= HALF]
    yield course.paper.compare(
        "order", min(held, default=100.0), count=len(held), points=len(points),
        regimes="; ".join(sorted(regimes)), broken=max(others, default=0.0),
    )  # fmt: skip
    for case in (pick(cases, "9", regime=regime)[-1] for regime in course.settings.regimes):
        network = case.results["network"][0]
        if LARGEST_LEAD in network:
            yield course.paper.compare(
                "lead", network[LARGEST_LEAD], share=network[CORE_SHARE] / 100, **_size(case)
            )


def _compare_random(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    sizes = pick(cases, "9", regime=DENSE)
    users = np.log([_size(case)["users"] for case in sizes])
    costs = np.log([case.mean(RANDOM, "access") + case.mean(RANDOM, "core") for case in sizes])
    yield course.paper.compare("growth", float(np.polyfit(users, costs, 1)[0]))
    trials = [trial for case in cases for trial in case.kept["trials"]]
    worse = {name: sum(trial.crr(name) < 1 - TIE for trial in trials) for name in PAPERS}
    name = max(worse, key=lambda key: worse[key])
    share = 100 * worse[name] / max(1, len(trials))
    yield course.paper.compare("worse", share, label=_label(course, name))


def _compare_ratios(course: Course, cases: Sequence[Case]) -> Iterator[Comparison]:
    regime = cases[0].at["regime"]
    crrs = [case.mean(MIXING, "CRR") for case in cases]
    yield course.paper.compare(
        "flat", max(crrs) / min(crrs), regime=regime, most=max(crrs), least=min(crrs),
        at=cases[int(np.argmax(crrs))].x,
    )  # fmt: skip
    cheap, dear = cases[0], cases[-1]
    for name in PAPERS[:-1]:
        yield course.paper.compare(
            "meets", cheap.ratio(name, MIXING, "CRR"), regime=regime, label=_label(course, name),
            cheap=cheap.x, dear=dear.x, far=dear.ratio(name, MIXING, "CRR"),
        )  # fmt: skip


def _compare_ours(course: Course, case: Case) -> Iterator[Comparison]:
    paper, size = course.paper, _size(case)
    best = max(PAPERS, key=lambda name: case.mean(name, "CRR"))
    for name in case.results:
        if name not in ("network", RANDOM, *PAPERS):
            yield paper.compare(
                "ours", case.mean(name, "CRR"), label=_label(course, name),
                other=_label(course, best), ahead=ahead(case, name, best),
                of_mixing=ahead(case, name, MIXING), **size,
            )  # fmt: skip
    network = case.results["network"][0]
    if "highest CRR" in network:
        yield paper.compare("highest", network["highest CRR"], **size)
    if "core with Steiner trees over core" in network:
        saved = 1 - network["core with Steiner trees over core"]
        yield paper.compare("steiner", 100 * saved if saved > TIE else 0.0, **size)


def tables(course: Course, cases: Sequence[Case]) -> Iterator[Listing]:
    """Yield the tables of the page: Table I first."""
    paper, timed = course.paper, timed_case(cases)
    rows: list[list[Any]] = [
        [_label(course, name), f"{timed.mean(name, 'seconds'):.3g}",
         told(course, timed, name) or ABSENT]
        for name in timed.results
    ]  # fmt: skip
    yield paper.table("seconds", rows, **_size(timed.kept["of"]))
    for regime in course.settings.regimes:
        case = pick(cases, "9", regime=regime)[-1]
        rows = []
        for name, (access, core) in case.kept["split"].items():
            cells = [percent(part) for part in (access + core, access, core)]
            rows.append([_label(course, name), *cells, f"{case.mean(name, 'overloaded'):.3g}"])
        yield paper.table("split", rows, **_size(case))
    for figure in ("9", "10", "audience"):
        for regime in course.settings.regimes:
            own = pick(cases, figure, regime=regime)
            if own:
                highest = [case.results["network"][0].get("highest CRR") for case in own]
                last = [HIGHEST, *(ABSENT if at is None else f"{at:.3f}" for at in highest)]
                yield listing_along(paper, figure, own, [last], regime=regime,
                                    **_networks(course, own[0]))  # fmt: skip


def _networks(course: Course, case: Case) -> dict[str, Any]:
    """Return how many networks means are of, and what has fewer."""
    count = len(case.kept["trials"])
    counts = {_label(course, name): found for name, found in case.kept["counts"].items()}
    counts[HIGHEST] = case.kept["bounded"]
    some = [f"{name} of {found}" for name, found in counts.items() if found < count]
    return {"count": count, "some": f"; {', '.join(some)}" if some else ""}


def _size(case: Case) -> dict[str, Any]:
    network = case.results["network"][0]
    return {
        "regime": case.at["regime"],
        "users": int(network["users"]),
        "brokers": int(network["brokers"]),
        "reach": network["reach under packing"],
    }


def _label(course: Course, name: str) -> str:
    return course.paper.series[name].label
