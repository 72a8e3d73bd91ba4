"""All pictures of ``reproduce``, with their captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from fanwise.assign.reproducing import curves, plots
from fanwise.assign.reproducing.runs import Case, find_case
from fanwise.assign.reproducing.settings import (
    CLOSER_LOOK,
    LOADS_OF,
    LOOSE,
    ONE_LEVEL,
    OVERALL,
    SCATTERED,
    TIGHT,
    TIGHTER,
    TREE,
)


def draw(
    cases: Sequence[Case], counts: Mapping[str, Mapping[int, int]]
) -> dict[str, tuple[str, Figure]]:
    """Return caption and picture by file name."""
    by_figure = {
        figure: [case for case in cases if case.figure == figure]
        for figure in dict.fromkeys(case.figure for case in cases)
    }
    first = [
        Case(case.figure, case.panel, case.x, case.problem,
             {name: case.results[name] for name in OVERALL if name in case.results})
        for case in by_figure["7"]
    ]  # fmt: skip
    look = find_case(first, "7", CLOSER_LOOK)
    tight, loose = by_figure[f"11{TIGHT}"], by_figure[f"11{LOOSE}"]
    in_trees = ("slp", "gr-star", "best")
    settings = {"tight": tight, "near the least factor": by_figure[f"11{TIGHTER}"], "loose": loose}
    loads = {
        title: _only(find_case(found, found[0].figure, LOADS_OF), ("slp", "gr-star", "gr", "best"))
        for title, found in settings.items()
    }
    panels = {
        figure: {
            panel: [case for case in by_figure[figure] if case.panel == panel]
            for panel in (ONE_LEVEL, TREE)
        }
        for figure in ("15", "16")
    }
    fixed = by_figure["difficult"][0].problem.alpha
    some = max(case.problem.workload.num_brokers for case in by_figure["difficult"]
               if case.problem.alpha != fixed)  # fmt: skip
    by_alpha = sorted(
        (case for case in by_figure["difficult"] if case.problem.workload.num_brokers == some),
        key=lambda case: case.problem.alpha,
    )
    by_brokers = [case for case in by_figure["difficult"] if case.problem.alpha == fixed]
    return {
        "fig6-subscriptions": (
            f"Fig. 6: subscriptions by continent, {CLOSER_LOOK}",
            plots.subscriptions(look.problem.workload),
        ),
        "fig7-overall": ("Fig. 7: overall comparison, set #1, mean of four workloads",
                         plots.triangles(first)),
        "fig8-overall": ("Fig. 8: overall comparison, set #2", plots.triangles(by_figure["8"])),
        "fig9-overall": ("Fig. 9: overall comparison, set #3", plots.triangles(by_figure["9"])),
        "fig10a-bandwidth": ("Fig. 10(a): bandwidth, set #1",
                             plots.bandwidths({"": first}, OVERALL)),
        "fig10b-delays": (
            f"Fig. 10(b): delay against the shortest latency, {CLOSER_LOOK}",
            plots.delays(look, SCATTERED),
        ),
        "fig10c-loads": (f"Fig. 10(c): broker loads, {CLOSER_LOOK}",
                         plots.load_boxes({"": look})),
        "fig10d-loads": (
            f"Fig. 10(d): broker loads (CDF), {CLOSER_LOOK}",
            plots.load_cdf(look, ("slp", "gr-star", "gr", "closest-no-balance", "best")),
        ),
        "fig11a-tight": ("Fig. 11(a): trees, tight latency, mean of four workloads",
                         plots.triangles(tight)),
        "fig11b-loose": ("Fig. 11(b): trees, loose latency, mean of four workloads",
                         plots.triangles(loose)),
        "fig12a-bandwidth": (
            "Fig. 12(a): bandwidth in trees, tight and loose",
            plots.bandwidths({"tight": tight, "loose": loose}, in_trees),
        ),
        "fig12b-loads": (f"Fig. 12(b): broker loads in trees, {LOADS_OF}",
                         plots.load_boxes(loads)),
        "fig13-alpha": (f"Fig. 13: bandwidth against filter complexity, {CLOSER_LOOK}",
                        curves.by_algorithm(by_figure["13"], "alpha")),
        "fig14-time": (
            "Fig. 14: running time of SLP in trees",
            curves.of_slp({TREE: by_figure["14"]}, ("seconds",), "subscribers", is_log=True),
        ),
        "fig15-balance": ("Fig. 15: load-balance factor against |S_b|",
                          curves.of_slp(panels["15"], ("lbf",), "|S_b| / brokers")),
        "fig16-clusters": (
            "Fig. 16: bandwidth of SLP against super-subscriptions",
            curves.of_slp(panels["16"], ("bandwidth",), "super-subscriptions per broker"),
        ),
        "fig17-candidates": ("Fig. 17: candidate rectangles", curves.counts(counts)),
        "fig18-gamma": (
            "Fig. 18: delay and load-balance factor of SLP against the threshold",
            curves.of_slp({TREE: by_figure["18"]}, ("rms_delay", "lbf"), "threshold gamma"),
        ),
        "difficult": (
            f"Not in our copy of the paper: the difficult workload, by brokers (alpha {fixed}) and "
            f"by alpha ({some} brokers)",
            curves.hard(by_brokers, by_alpha),
        ),
    }  # fmt: skip


def _only(case: Case, names: Sequence[str]) -> Case:
    return Case(case.figure, case.panel, case.x, case.problem,
                {name: case.results[name] for name in names if name in case.results})  # fmt: skip
