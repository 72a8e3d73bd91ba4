"""The experiments of Zhao and Wu (SECON 2011), Sec. VI, done again.

Figs. 9 and 10 and Table I: how much cheaper than a random wiring the paper's algorithms are, on its
networks under two laws of link costs, and on sparse ones where who is attached where matters. Our
algorithms and a proven bound stand beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import TYPE_CHECKING

from fanwise.planning.reproduction import Reproduction
from fanwise.progress import SILENT, Progress
from fanwise.wire.reproducing.remarks import compare, notes
from fanwise.wire.reproducing.rows import Row, case_rows, listings, table_rows, timed_case
from fanwise.wire.reproducing.runs import (
    Case,
    Effort,
    algorithm_names,
    effort_at,
    run_audiences,
    run_ratios,
    run_sizes,
    warm_up,
)
from fanwise.wire.reproducing.settings import AUDIENCES, FEW_AUDIENCES, REGIMES, SOURCE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def reproduce(scale: float, *, seed: int = 0, progress: Progress = SILENT) -> Reproduction:
    """Run everything.

    Parameters
    ----------
    scale
        Share of the paper's work; 1 is its size. Below it networks are smaller and fewer, and
        figures have fewer points.
    seed
        Makes networks and wirings repeatable.
    """
    with progress.step("compiling"):
        warm_up()
    effort = effort_at(scale, seed)
    cases = _run_all(scale, effort, progress)
    rows = [*case_rows(cases), *table_rows(timed_case(cases))]
    return Reproduction(
        title="wire: the paper's Figs. 9 and 10 and Table I",
        source=SOURCE,
        notes=notes(scale, effort, algorithm_names()),
        comparisons=compare(cases),
        passages=listings(cases),
        columns=[field.name for field in fields(Row)],
        rows=[astuple(row) for row in rows],
        figures=_draw(cases),
    )


def _run_all(scale: float, effort: Effort, progress: Progress) -> list[Case]:
    is_whole = scale >= 1
    audiences = AUDIENCES if is_whole else FEW_AUDIENCES
    total = len(audiences) + sum(
        len(regime.sizes if is_whole else regime.few_sizes)
        + len(regime.ratios if is_whole else regime.few_ratios)
        for regime in REGIMES.values()
    )
    cases: list[Case] = []
    with progress.step("Wirings", total=total) as step:
        for regime in REGIMES.values():
            cases += run_sizes(regime, scale, effort, step)
            cases += run_ratios(regime, scale, effort, step)
        cases += run_audiences(audiences, scale, effort, step)
    return cases


def _draw(cases: Sequence[Case]) -> dict[str, tuple[str, Figure]]:
    from fanwise.wire.reproducing import plots

    def panels(figure: str) -> dict[str, list[Case]]:
        found = {
            regime: [case for case in cases if (case.figure, case.regime) == (figure, regime)]
            for regime in REGIMES
        }
        return {regime: own for regime, own in found.items() if own}

    largest = {
        f"{regime},\n{own[-1].num_users:,} users": own[-1] for regime, own in panels("9").items()
    }
    return {
        "fig9-sizes": (
            "Fig. 9: cost reduction ratio against the size of the network",
            plots.ratios(panels("9"), "users"),
        ),
        "fig10-ratios": (
            "Fig. 10: cost reduction ratio against the mean cost of a core link over that of an "
            "access link",
            plots.ratios(panels("10"), "core-to-access ratio", is_log=True),
        ),
        "cost-split": (
            "Not in the paper: where the cost is, on the largest networks of Fig. 9",
            plots.splits(largest),
        ),
        "audience": (
            "Not in the paper: cost reduction ratio against the mean number of subscribers for "
            "each broker and channel, core links 50 times as dear as access links",
            plots.ratios(panels("audience"), "subscribers of a broker and channel"),
        ),
    }
