"""The experiments of Setty et al. (INFOCOM 2014), Sec. VI, Figs. 2 to 7, done again.

Their trace is not public: a synthetic workload with the statistics that they tell stands in for it
(:mod:`fanwise.workload.generators.spotify`), and simulated hours of it for their stream
(:mod:`fanwise.select.reproducing.windows`). Settings are the paper's: cost = rate x followers, a
capacity of 10% of the cost of everything, tau from 1% to 100% of the mean rate; for the hours tau
20 and capacities from 1% to 50%.
"""

from __future__ import annotations

from dataclasses import astuple, fields

from fanwise.planning.reproduction import Reproduction
from fanwise.progress import SILENT, Progress
from fanwise.select.reproducing.remarks import compare, notes
from fanwise.select.reproducing.rows import Row, hour_rows, listings, quality_rows, seconds_rows
from fanwise.select.reproducing.runs import (
    measure_hours,
    measure_quality,
    measure_seconds,
    warm_up,
)
from fanwise.select.reproducing.settings import SLOW_SCALE, SOURCE
from fanwise.workload.generators.spotify import spotify


def reproduce(scale: float, *, seed: int = 0, progress: Progress = SILENT) -> Reproduction:
    """Run everything.

    Parameters
    ----------
    scale
        Share of the size of the paper's trace; 1 is all of it.
    seed
        Makes the workload repeatable; running times are what they are.
    """
    from fanwise.select.reproducing import plots as plots

    workload = spotify(scale=scale, seed=seed, progress=progress)
    smaller = workload
    if scale > SLOW_SCALE:
        smaller = spotify(scale=SLOW_SCALE, seed=seed, progress=progress)
    warm_up()
    qualities = measure_quality(workload, progress)
    seconds = measure_seconds(workload, smaller, progress)
    hours = measure_hours(workload, seed, progress)
    rows = [*quality_rows(qualities), *seconds_rows(seconds), *hour_rows(hours)]
    return Reproduction(
        title="select: the paper's Figs. 2 to 7",
        source=SOURCE,
        notes=notes(workload, smaller, scale),
        comparisons=compare(qualities, seconds, hours, scale),
        passages=listings(qualities, seconds, hours),
        columns=[field.name for field in fields(Row)],
        rows=[astuple(row) for row in rows],
        figures={
            "fig2-coverage-binary": (
                "Fig. 2: GreedyB3M and the bounds", plots.coverage(qualities, "binary")),
            "fig3-coverage-fractional": (
                "Fig. 3: ModifiedGreedyFB3M and the bounds",
                plots.coverage(qualities, "fractional")),
            "fig4-ratios": ("Fig. 4: approximation ratios against tau", plots.ratios(qualities)),
            "fig5-seconds": ("Fig. 5: running times against tau", plots.running_times(seconds)),
            "fig6-hourly-seconds": (
                "Fig. 6: running times on single hours", plots.hourly_seconds(hours)),
            "fig7-hourly-ratios": (
                "Fig. 7: approximation ratios on single hours", plots.hourly_ratios(hours)),
        },
    )  # fmt: skip
