"""The experiments of Setty et al. (report 436, 2014), Sec. IV and appendix D, done again.

Figs. 2 to 7: what each rung of the ladder costs and how long it takes, for two traces, two types of
machine and three thresholds. Figs. 8 to 12: what the Twitter trace looks like. Synthetic workloads
with the statistics that the paper tells stand in for its traces
(:mod:`fanwise.workload.generators.spotify`, :mod:`fanwise.workload.generators.twitter`). What the
printed units give and what the paper's percentages imply are two regimes, told apart everywhere:
see :mod:`fanwise.provision.reproducing.runs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import TYPE_CHECKING

from fanwise.planning.reproduction import Reproduction
from fanwise.progress import SILENT, Progress
from fanwise.provision.reproducing.remarks import compare, notes
from fanwise.provision.reproducing.rows import Row, cost_rows, listings, seconds_rows
from fanwise.provision.reproducing.runs import (
    Case,
    Seconds,
    make_sample,
    measure_costs,
    measure_seconds,
    warm_up,
)
from fanwise.provision.reproducing.settings import (
    INSTANCES,
    REGIMES,
    SCALED,
    SOURCE,
    TAUS,
    TRACES,
    TWITTER,
)
from fanwise.provision.reproducing.traces import (
    compare_statistics,
    draw_statistics,
    statistics_rows,
)
from fanwise.workload.statistics import workload_statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def reproduce(scale: float, *, seed: int = 0, progress: Progress = SILENT) -> Reproduction:
    """Run everything.

    Parameters
    ----------
    scale
        Share of the size of the paper's Spotify trace; 1 is all of it. Of the Twitter trace, which
        does not fit memory, a twentieth of that share.
    seed
        Makes the workloads and the naive plans repeatable; running times are what they are.
    """
    warm_up()
    samples = [make_sample(trace, scale, seed, progress) for trace in TRACES]
    cases: list[Case] = []
    seconds: list[Seconds] = []
    total = len(TRACES) * len(REGIMES) * len(INSTANCES) * len(TAUS)
    with progress.step("Costs and bounds", total=total) as step:
        for sample in samples:
            cases += measure_costs(sample, seed, step)
    with progress.step("Running times", total=len(TRACES) * len(TAUS)) as step:
        for sample in samples:
            seconds += measure_seconds(sample, seed, step)
    (twitter,) = (sample for sample in samples if sample.trace is TWITTER)
    statistics = workload_statistics(twitter.workload, progress=progress)
    rows = [*cost_rows(cases), *seconds_rows(seconds), *statistics_rows(statistics)]
    return Reproduction(
        title="provision: the paper's Figs. 2 to 12",
        source=SOURCE,
        notes=notes(samples),
        comparisons=[
            *compare(samples, cases, seconds),
            *compare_statistics(statistics, twitter.share),
        ],
        passages=listings(cases, seconds),
        columns=[field.name for field in fields(Row)],
        rows=[astuple(row) for row in rows],
        figures={**_draw(cases, seconds), **draw_statistics(statistics)},
    )


def _draw(cases: Sequence[Case], seconds: Sequence[Seconds]) -> dict[str, tuple[str, Figure]]:
    from fanwise.provision.reproducing import plots as plots

    figures: dict[str, tuple[str, Figure]] = {}
    for regime in reversed(REGIMES):
        for trace in TRACES:
            for instance, letter in zip(INSTANCES, "ab", strict=True):
                some = [
                    case
                    for case in cases
                    if (case.trace, case.regime, case.instance) == (trace, regime, instance)
                ]
                name = f"fig{trace.figures[0]}{letter}-{trace.name.lower()}-{regime}"
                caption = (
                    f"Fig. {trace.figures[0]}{letter}: {trace.name}, {instance}, {regime} units"
                )
                figures[name] = (caption, plots.ladder(some))
    for trace in TRACES:
        own = [row for row in seconds if row.trace is trace]
        _, first, second = trace.figures
        figures[f"fig{first}-{trace.name.lower()}-select-seconds"] = (
            f"Fig. {first}: running times of stage 1, {trace.name}",
            plots.select_seconds(own),
        )
        figures[f"fig{second}-{trace.name.lower()}-pack-seconds"] = (
            f"Fig. {second}: running times of stage 2, {trace.name}",
            plots.pack_seconds(own),
        )
    figures["distance-to-bound"] = (
        "Not in the paper: how far plans are above our bound, scaled regime",
        plots.distances([case for case in cases if case.regime == SCALED]),
    )
    return figures
