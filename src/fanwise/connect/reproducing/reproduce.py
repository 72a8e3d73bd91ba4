"""The experiments of Chen, Tock and Jacobsen (ICDCS 2016), Sec. IX, done again.

Table I and Figs. 3 to 9: how much of every topic overlays connect under budgets of links, on social
and on generated workloads. See :mod:`fanwise.connect.reproducing.instances` for where the social
ones come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any

from fanwise.connect.reproducing.instances import Social, social_instances
from fanwise.connect.reproducing.remarks import compare, notes
from fanwise.connect.reproducing.rows import (
    Row,
    case_rows,
    complete_rows,
    gossip_rows,
    listings,
    statistics_rows,
)
from fanwise.connect.reproducing.runs import (
    Case,
    Complete,
    Effort,
    connect_completely,
    law_instances,
    run_gossip,
    run_ranges,
    run_ratios,
    run_sizes,
    run_table,
    run_topics,
    warm_up,
)
from fanwise.connect.reproducing.settings import (
    BEST_SECONDS,
    FEW_BEST_SECONDS,
    FEW_RANGES,
    FEW_RATIOS,
    FEW_SIZES,
    FEW_TOPICS,
    LAWS,
    RANGES,
    RATIOS,
    SIZES,
    SOURCE,
    TOPICS,
)
from fanwise.planning.reproduction import Reproduction
from fanwise.progress import SILENT, Progress
from fanwise.workload.statistics import Statistics, workload_statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GOSSIP_ON = "TW 1K"
RATIO_FIGURES = {"4": "FB 1K", "5": "TW 1K"}


def reproduce(scale: float, *, seed: int = 0, progress: Progress = SILENT) -> Reproduction:
    """Run everything.

    Parameters
    ----------
    scale
        Share of the pairs of nodes of the paper's instances; 1 is its size. Below it figures have
        fewer points.
    seed
        Makes samples, generated workloads and all overlays but those of ``best`` repeatable.
    """
    with progress.step("compiling"):
        warm_up()
    is_whole = scale >= 1
    effort = Effort(BEST_SECONDS if is_whole else FEW_BEST_SECONDS, seed)
    social = list(social_instances(scale, seed, progress))
    made = dict(law_instances(scale, seed))
    completes = {name.name: connect_completely(name.name, name.workload) for name in social}
    completes |= {law: connect_completely(law, workload) for law, workload in made.items()}
    cases = _run_all(scale, social, made, completes, effort, progress)
    (on,) = (instance for instance in social if instance.name == GOSSIP_ON)
    talks = run_gossip(on, completes[GOSSIP_ON]["minmax-oda"], effort, progress)
    graphs = {
        f"{graph.name} ({graph.words})": workload_statistics(graph.workload)
        for graph in dict.fromkeys(instance.graph for instance in social)
    }
    samples = {instance.title: workload_statistics(instance.workload) for instance in social}
    rows = [
        *statistics_rows({**graphs, **samples}),
        *case_rows(cases),
        *complete_rows(completes),
        *gossip_rows(GOSSIP_ON, talks),
    ]
    return Reproduction(
        title="connect: the paper's Table I and Figs. 3 to 9",
        source=SOURCE,
        notes=notes(social, completes, scale, effort),
        comparisons=compare(social, completes, cases, scale),
        passages=listings(social, completes, cases),
        columns=[field.name for field in fields(Row)],
        rows=[astuple(row) for row in rows],
        figures=_draw(social, completes, cases, talks, graphs, samples),
    )


def _run_all(
    scale: float,
    social: Sequence[Social],
    made: Mapping[str, Any],
    completes: Mapping[str, Mapping[str, Complete]],
    effort: Effort,
    progress: Progress,
) -> list[Case]:
    is_whole = scale >= 1
    ratios = RATIOS if is_whole else FEW_RATIOS
    sizes, counts = (SIZES, TOPICS) if is_whole else (FEW_SIZES, FEW_TOPICS)
    ranges = RANGES if is_whole else FEW_RANGES
    by_name = {instance.name: instance for instance in social}
    total = len(social) + (len(RATIO_FIGURES) + len(made)) * len(ratios)
    total += len(LAWS) * (len(sizes) + len(counts) + len(ranges))
    cases: list[Case] = []
    with progress.step("Overlays", total=total) as step:
        cases += run_table(social, completes, effort, step)
        for figure, name in RATIO_FIGURES.items():
            complete = completes[name]["minmax-oda"]
            cases += run_ratios(
                figure, name, by_name[name].workload, complete, ratios, effort, step
            )
        cases += run_sizes(scale, sizes, effort, step)
        cases += run_topics(scale, counts, effort, step)
        cases += run_ranges(scale, ranges, effort, step)
        for law, workload in made.items():
            complete = completes[law]["minmax-oda"]
            cases += run_ratios("9", law, workload, complete, ratios, effort, step)
    return cases


def _draw(
    social: Sequence[Social],
    completes: Mapping[str, Mapping[str, Complete]],
    cases: Sequence[Case],
    talks: Sequence[Mapping[str, Any]],
    graphs: Mapping[str, Statistics],
    samples: Mapping[str, Statistics],
) -> dict[str, tuple[str, Figure]]:
    from fanwise.connect.reproducing import plots as plots

    title = {instance.name: instance.title for instance in social}
    figures = {
        "fig3-follows": (
            "Fig. 3: followers and followings (CCDF)", plots.follows(graphs, samples)
        )
    }  # fmt: skip
    for figure, name in RATIO_FIGURES.items():
        own = {title[name]: [case for case in cases if case.figure == figure]}
        figures[f"fig{figure}-{name.lower().replace(' ', '-')}"] = (
            f"Fig. {figure}: support against the budget ratio, {title[name]}",
            plots.supports(own, "budget ratio"),
        )
    for figure, name, x_label in (
        ("6", "nodes", "nodes"),
        ("7", "topics", "topics"),
        ("8", "sizes", "middle subscription size"),
        ("9", "ratios", "budget ratio"),
    ):
        panels = {
            law: [case for case in cases if (case.figure, case.panel) == (figure, law)]
            for law in LAWS
        }
        figures[f"fig{figure}-{name}"] = (
            f"Fig. {figure}: support against {x_label}",
            plots.supports(panels, x_label),
        )
    (at,) = (case for case in cases if (case.figure, case.panel) == ("I", GOSSIP_ON))
    figures["first-links"] = (
        "The 80-20 rule: support of the first links of complete overlays, from one run each",
        plots.pareto(completes),
    )
    figures["gossip"] = (
        f"Not in the paper: gossip on {title[GOSSIP_ON]}, degree {at.max_degree}",
        plots.gossip(talks, at),
    )
    return figures
