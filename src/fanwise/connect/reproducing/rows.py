"""Every measured number as a row, and the tables that people read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanwise.connect.reproducing.instances import Social
from fanwise.connect.reproducing.runs import Case, Complete
from fanwise.connect.reproducing.settings import BETA, PAPER_TABLE, SERIES
from fanwise.planning.explanation import Listing
from fanwise.wording import number, percent
from fanwise.workload.statistics import Statistics

CURVE_POINTS = 60


@dataclass(frozen=True)
class Row:
    """One number; the paper's beside it where it gives one."""

    figure: str
    panel: str
    x: float | None
    series: str
    quantity: str
    ours: float
    paper: str = ""


def case_rows(cases: Sequence[Case]) -> Iterator[Row]:
    """Table I and Figs. 4 to 9."""
    for case in cases:
        at = (case.figure, case.panel, case.x)
        yield Row(*at, "budget", "max_edges", float(case.max_edges))
        yield Row(*at, "budget", "max_degree", float(case.max_degree))
        for name, result in case.results.items():
            told = PAPER_TABLE.get(case.panel, {}).get(name) if case.figure == "I" else None
            paper = "" if told is None else f"{told:g}"
            yield Row(*at, name, "support", result.support, paper)
            yield Row(*at, name, "edges", float(result.edges))
            yield Row(*at, name, "max_degree", float(result.max_degree))
            yield Row(*at, name, "mean_degree", result.mean_degree)
            yield Row(*at, name, "seconds", result.seconds)
            if result.bound is not None:
                yield Row(*at, name, "bound on support", result.bound)


def complete_rows(completes: Mapping[str, Mapping[str, Complete]]) -> Iterator[Row]:
    """The complete overlays, and what their first links support."""
    for by_name in completes.values():
        for complete in by_name.values():
            at = ("complete", complete.panel)
            yield Row(*at, None, complete.algorithm, "edges", float(complete.edges))
            yield Row(*at, None, complete.algorithm, "max_degree", float(complete.max_degree))
            for k in range(CURVE_POINTS + 1):
                share = k / CURVE_POINTS
                support = complete.curve.after(share)
                yield Row(*at, share, complete.algorithm, "support of the first links", support)


def statistics_rows(statistics: Mapping[str, Statistics]) -> Iterator[Row]:
    """Fig. 3: followers and followings, thinned."""
    for name, found in statistics.items():
        for series, sample in (("followers", found.followers), ("followings", found.followings)):
            thin = sample.ccdf.thin(CURVE_POINTS)
            for x, p in zip(thin.x.tolist(), thin.p.tolist(), strict=True):
                yield Row("3", name, float(x), series, "P[X > x]", p)


def gossip_rows(panel: str, found: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Our own figure: support by view and rounds."""
    for at in found:
        series = f"view {at['view']}"
        rounds = float(at["rounds"])
        yield Row("gossip", panel, rounds, series, "support", at["support"])
        yield Row("gossip", panel, rounds, series, "messages", float(at["messages"]))


def listings(
    social: Sequence[Social],
    completes: Mapping[str, Mapping[str, Complete]],
    cases: Sequence[Case],
) -> list[Listing]:
    """Return the tables of the page: Table I first."""
    table = {case.panel: case for case in cases if case.figure == "I"}
    names = [instance.name for instance in social]
    rows = [
        [series.label, *(_beside(table[panel], name) for panel in names)]
        for name, series in SERIES.items()
    ]
    rows.append(["proven bound, GPM's budget", *(_bound(table[panel], "best") for panel in names)])
    rows.append(
        ["proven bound, GPA's budget", *(_bound(table[panel], "best-edges") for panel in names)]
    )
    found = [
        Listing(
            f"Table I: support at a budget ratio of {BETA:g}, the paper's in brackets",
            ["", *names],
            rows,
            "Of instances that the paper does not have there is no number to compare.",
        ),
        Listing(
            "Instances of Table I, and the complete overlays that ratios are of",
            ["", "nodes", "topics", "interests", "graph", "links of GM", "links of MinMaxODA",
             "degree of MinMaxODA", "budget"],
            [_describe(instance, completes[instance.name], table[instance.name])
             for instance in social],
        ),
        Listing(
            "The 80-20 rule: what the first fifth of the links supports, and links for 80%",
            ["", "GM, first 20%", "GM, for 80%", "MinMaxODA, first 20%", "MinMaxODA, for 80%"],
            [_pareto(panel, by_name) for panel, by_name in completes.items()],
            "In the order chosen, of the links of a complete overlay, from one run each.",
        ),
    ]  # fmt: skip
    for figure, x_name in (("4", "ratio"), ("5", "ratio"), ("9", "ratio"), ("6", "|V|"),
                           ("7", "|T|"), ("8", "middle size")):  # fmt: skip
        found += _by_panel([case for case in cases if case.figure == figure], x_name)
    return found


def _by_panel(cases: Sequence[Case], x_name: str) -> Iterator[Listing]:
    for panel in dict.fromkeys(case.panel for case in cases):
        own = [case for case in cases if case.panel == panel]
        rows = [
            [SERIES[name].label, *(f"{case.results[name].support:.3f}" for case in own)]
            for name in own[0].results
        ]
        columns = ["", *(f"{x_name} {number(float(case.x))}" for case in own)]
        yield Listing(f"Fig. {own[0].figure}, {panel}: support", columns, rows)


def _beside(case: Case, name: str) -> str:
    told = PAPER_TABLE.get(case.panel, {}).get(name)
    ours = f"{case.results[name].support:.3f}"
    return ours if told is None else f"{ours} ({told:g})"


def _bound(case: Case, name: str) -> str:
    bound = case.results[name].bound
    return "" if bound is None else f"{min(bound, 1.0):.3f}"


def _describe(instance: Social, completes: Mapping[str, Complete], case: Case) -> list[Any]:
    workload = instance.workload
    return [
        instance.name,
        workload.num_subscribers,
        workload.num_topics,
        workload.num_pairs,
        instance.graph.words,
        completes["gm"].edges,
        completes["minmax-oda"].edges,
        completes["minmax-oda"].max_degree,
        f"{case.max_edges:,} links or degree {case.max_degree:,}",
    ]


def _pareto(panel: str, completes: Mapping[str, Complete]) -> list[str]:
    cells = [panel]
    for name in ("gm", "minmax-oda"):
        curve = completes[name].curve
        needed = curve.edges_for(0.8)
        share = 0.0 if needed is None else needed / max(1, completes[name].edges)
        cells += [percent(curve.after(0.2)), percent(share)]
    return cells
