"""The experiments of Chen, Tock and Jacobsen (ICDCS 2016), Sec. IX, done again.

Table I and Figs. 3 to 9: how much of every topic overlays connect under budgets of links, on social
and on generated workloads. See :mod:`fanwise.papers.connect.instances` for where the social ones
come from, and for what the scale is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fanwise.formatting import percent
from fanwise.papers.case import Case, Row, grouped, pick, rows_of
from fanwise.papers.connect import pictures
from fanwise.papers.connect.comparisons import compare, support, told_support
from fanwise.papers.connect.instances import VARIABLE, Social, social_instances
from fanwise.papers.connect.runs import (
    LAWS,
    Completes,
    connect_completely,
    law_instances,
    run_all,
    run_gossip,
    warm_up,
)
from fanwise.papers.course import Course
from fanwise.papers.curves import listing_along
from fanwise.papers.page import Reproduction
from fanwise.planning.explanation import Listing
from fanwise.workload.topic.statistics import Statistics, workload_statistics

CURVE_POINTS = 60
ALONG = {"4": "ratio", "5": "ratio", "9": "ratio", "6": "|V|", "7": "|T|", "8": "middle size"}
"""What figures vary, in the order of their tables."""


def reproduce(course: Course) -> Reproduction:
    """Run everything."""
    settings = course.settings
    with course.progress.step("compiling"):
        warm_up(course)
    social, made = list(social_instances(course)), law_instances(course)
    completes = {at.name: connect_completely(at.workload) for at in social}
    completes |= {law: connect_completely(workload) for law, workload in made.items()}
    cases = run_all(course, social, made, completes)
    (on,) = (instance for instance in social if instance.name == settings.gossip_on)
    talks = run_gossip(course, on.workload, completes[on.name]["minmax-oda"])
    graphs = {
        f"{graph.name} ({graph.words})": workload_statistics(graph.workload)
        for graph in dict.fromkeys(instance.graph for instance in social)
    }
    samples = {instance.title: workload_statistics(instance.workload) for instance in social}
    titles = {instance.name: instance.title for instance in social}
    (table,) = pick(cases, "I", panel=on.name)
    return course.finish(
        notes={
            "variable": VARIABLE,
            "real": "; ".join(at.title for at in social if at.graph.is_real),
            "made": "; ".join(at.title for at in social if not at.graph.is_real),
            "nodes_share": math.sqrt(course.scale),
            "degrees": ", ".join(
                f"{completes[law]['minmax-oda'].max_degree} ({law})" for law in LAWS
            ),
        },
        rows=[
            *_statistics_rows({**graphs, **samples}),
            *rows_of(cases, lambda case, series, quantity: _told(course, case, series, quantity)),
            *_complete_rows(completes),
            *_gossip_rows(on.name, talks),
        ],
        comparisons=compare(course, social, completes, cases),
        tables=tables(course, social, completes, cases),
        figures=course.drawn(
            {
                "fig3-follows": pictures.follows(graphs, samples),
                **pictures.support_figures(course, cases, titles),
                "first-links": pictures.first_links(completes),
                "gossip": pictures.gossip(course, talks, table),
            },
            gossip=titles[on.name],
            gossip_degree=table.results["budget"][0]["max_degree"],
            **{f"fig{figure}": titles[name] for figure, name in settings.ratio_figures.items()},
        ),
    )


def _told(course: Course, case: Case, series: str, quantity: str) -> str:
    if case.figure != "I" or quantity != "support":
        return ""
    told = told_support(course, case, series)
    return "" if told is None else f"{told:g}"


def _complete_rows(completes: Completes) -> Iterator[Row]:
    """The complete overlays, and what their first links support."""
    for panel, by_name in completes.items():
        for name, complete in by_name.items():
            at = {"panel": panel}
            yield Row("complete", at, name, "edges", float(complete.edges))
            yield Row("complete", at, name, "max_degree", float(complete.max_degree))
            for k in range(CURVE_POINTS + 1):
                share = k / CURVE_POINTS
                yield Row("complete", {**at, "x": share}, name, "support of the first links",
                          complete.curve.after(share))  # fmt: skip


def _statistics_rows(statistics: Mapping[str, Statistics]) -> Iterator[Row]:
    """Fig. 3: followers and followings, thinned."""
    for name, found in statistics.items():
        for series in ("followers", "followings"):
            thin = getattr(found, series).ccdf.thin(CURVE_POINTS)
            for x, p in zip(thin.x.tolist(), thin.p.tolist(), strict=True):
                yield Row("3", {"panel": name, "x": float(x)}, series, "P[X > x]", p)


def _gossip_rows(panel: str, found: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Our own figure: support by view and rounds."""
    for one in found:
        at = {"panel": panel, "x": float(one["rounds"])}
        for quantity in ("support", "messages"):
            yield Row("gossip", at, f"view {one['view']}", quantity, float(one[quantity]))


def tables(
    course: Course, social: Sequence[Social], completes: Completes, cases: Sequence[Case]
) -> Iterator[Listing]:
    """Yield the tables of the page: Table I first."""
    paper = course.paper
    table = {case.panel: case for case in pick(cases, "I")}
    names = [instance.name for instance in social]
    rows = [
        [series.label, *(_beside(course, table[panel], name) for panel in names)]
        for name, series in paper.series.items()
    ]
    rows += [
        [f"proven bound, {words} budget", *(_bound(table[panel], name) for panel in names)]
        for name, words in (("best", "GPM's"), ("best-edges", "GPA's"))
    ]
    yield paper.table("table", rows, *names, **vars(course.settings))
    yield paper.table("instances", [_describe(at, completes, table[at.name]) for at in social])
    yield paper.table("first-links", [_first_links(panel, completes[panel]) for panel in completes])
    for figure, along in ALONG.items():
        for panel, own in grouped(pick(cases, figure), "panel").items():
            yield listing_along(paper, "support", own, figure=figure, panel=panel, along=along)


def _beside(course: Course, case: Case, name: str) -> str:
    told, ours = told_support(course, case, name), f"{support(case, name):.3f}"
    return ours if told is None else f"{ours} ({told:g})"


def _bound(case: Case, name: str) -> str:
    bound = case.results[name][0].get("bound on support")
    return "" if bound is None else f"{min(bound, 1.0):.3f}"


def _describe(instance: Social, completes: Completes, case: Case) -> list[Any]:
    workload, found = instance.workload, completes[instance.name]
    budget = case.results["budget"][0]
    return [
        instance.name,
        workload.num_subscribers,
        workload.num_topics,
        workload.num_pairs,
        instance.graph.words,
        found["gm"].edges,
        found["minmax-oda"].edges,
        found["minmax-oda"].max_degree,
        f"{budget['max_edges']:,} links or degree {budget['max_degree']:,}",
    ]


def _first_links(panel: str, completes: Mapping[str, Any]) -> list[str]:
    cells = [panel]
    for complete in completes.values():
        needed = complete.curve.edges_for(0.8)
        share = 0.0 if needed is None else needed / max(1, complete.edges)
        cells += [percent(complete.curve.after(0.2)), percent(share)]
    return cells
