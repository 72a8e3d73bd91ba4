"""The experiments of Setty et al. (report 436, 2014), Sec. IV and appendix D, done again.

Figs. 2 to 7: what each rung of the ladder costs and how long it takes, for two traces, two types of
machine and three thresholds. Figs. 8 to 12: what the Twitter trace looks like. Synthetic workloads
with the statistics that the paper tells stand in for its traces
(:mod:`fanwise.workload.generators.spotify`, :mod:`fanwise.workload.generators.twitter`). What the
printed units give and what the paper's percentages imply are two regimes, told apart everywhere:
see :mod:`fanwise.papers.provision.runs`. The scale is the share of the size of the paper's Spotify
trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fanwise.formatting import money, percent
from fanwise.papers.case import Case, grouped, pick, rows_of, share
from fanwise.papers.course import Course
from fanwise.papers.page import Reproduction
from fanwise.papers.provision.comparisons import compare, paper_saving
from fanwise.papers.provision.pictures import BOUNDS, pictures
from fanwise.papers.provision.runs import (
    FIRST_RUNG,
    LAST_RUNG,
    LITERAL,
    NAIVE,
    REGIMES,
    Sample,
    cost_cases,
    make_sample,
    seconds_cases,
    warm_up,
)
from fanwise.papers.provision.traces import (
    compare_statistics,
    statistics_figures,
    statistics_rows,
)
from fanwise.planning.explanation import Listing
from fanwise.provision.plots import LADDER
from fanwise.workload.topic.statistics import workload_statistics


def reproduce(course: Course) -> Reproduction:
    """Run everything."""
    settings, progress, paper = course.settings, course.progress, course.paper
    warm_up()
    samples = [make_sample(course, trace) for trace in settings.traces]
    costs: list[Case] = []
    seconds: list[Case] = []
    points = len(samples) * len(settings.taus)
    total = points * len(REGIMES) * len(settings.instances)
    with progress.step("Costs and bounds", total=total) as step:
        for sample in samples:
            costs += cost_cases(course, sample, step)
    with progress.step("Running times", total=points) as step:
        for sample in samples:
            seconds += seconds_cases(course, sample, step)
    (twitter,) = (sample for sample in samples if sample.trace == "Twitter")
    statistics = workload_statistics(twitter.workload, progress=progress)

    def told(case: Case, series: str, quantity: str) -> str:
        is_told = series == FIRST_RUNG and quantity == "saved of naive"
        return paper_saving(course, case) if is_told else ""

    return course.finish(
        notes=_notes(course, samples, costs),
        rows=[*rows_of([*costs, *seconds], told), *statistics_rows(statistics)],
        comparisons=[
            *compare(course, samples, costs, seconds),
            *compare_statistics(course, statistics, twitter.share),
        ],
        tables=tables(course, costs, seconds),
        figures={
            **dict(pictures(course, costs, seconds)),
            **statistics_figures(paper, statistics),
        },
    )


def _notes(course: Course, samples: Sequence[Sample], costs: Sequence[Case]) -> dict[str, Any]:
    say = course.paper.phrase
    sizes = (
        say(
            "sample", trace=sample.trace, topics=sample.workload.num_topics, share=sample.share,
            subscribers=sample.workload.num_subscribers, pairs=sample.workload.num_pairs,
        )
        for sample in samples
    )  # fmt: skip
    anchors = (
        say(
            "anchored", trace=sample.trace, divisor=round(sample.divisor),
            words=course.settings.traces[sample.trace]["anchor"]["words"],
        )
        for sample in samples
    )  # fmt: skip
    return {"sizes": "; ".join(sizes), "anchors": " ".join(anchors), **literal_facts(costs)}


def literal_facts(costs: Sequence[Case]) -> dict[str, float]:
    """Return how many machines the last rung rents with literal units, and what traffic costs."""
    own = pick(costs, regime=LITERAL)
    return {
        "most_literal": int(max(case.mean(LAST_RUNG, "machines") for case in own)),
        "literal_traffic": min(
            share(case.kept["traffic_usd"], case.mean(LAST_RUNG, "usd")) for case in own
        ),
    }


def tables(course: Course, costs: Sequence[Case], seconds: Sequence[Case]) -> Iterator[Listing]:
    """Yield the tables of the page, the paper's contradictions first."""
    paper = course.paper
    facts = literal_facts(costs)
    told = paper.entry("tables", "contradictions")["rows"]
    yield paper.table(
        "contradictions", [[paper.say(cell, **facts) for cell in row] for row in told]
    )
    for own in grouped(costs, "trace", "regime", "instance").values():
        rows = [[paper.series[name].label, *(_describe(case, name) for case in own)]
                for name in LADDER]  # fmt: skip
        rows += [[name, *(money(case.mean(name, "usd")) for case in own)] for name in BOUNDS]
        yield paper.table("ladder", rows, *(f"tau {case.at['tau']}" for case in own), **own[0].at)
    found: dict[tuple[str, ...], list[str]] = {}
    for case in seconds:
        for name in case.results:
            stage = case.kept["stage"]
            machines = "any" if stage == "select" else case.at["instance"]
            cells = found.setdefault((case.at["trace"], stage, name.upper(), machines), [])
            cells.append(f"{case.mean(name, 'seconds'):.4g}")
    columns = [f"tau {tau}" for tau in course.settings.taus]
    yield paper.table("seconds", [[*at, *cells] for at, cells in found.items()], *columns)


def _describe(case: Case, name: str) -> str:
    saved = "" if name == NAIVE else f" ({percent(case.mean(name, 'saved of naive'))})"
    gigabytes = (case.mean(name, "in_bytes") + case.mean(name, "out_bytes")) / 1e9
    machines = int(case.mean(name, "machines"))
    return f"{money(case.mean(name, 'usd'))}{saved}, {machines:,}, {gigabytes:,.4g}"
