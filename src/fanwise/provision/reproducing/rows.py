"""Every measured number as a row, and the tables that people read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fanwise.planning.explanation import Listing
from fanwise.provision.reproducing.runs import Case, Rung, Seconds
from fanwise.provision.reproducing.settings import (
    CONTRADICTIONS,
    FIRST_RUNG,
    LADDER,
    NAIVE,
    PAPER_GSP_SAVES,
    SCALED,
    TAUS,
)
from fanwise.wording import money, percent


@dataclass(frozen=True)
class Row:
    """One number; the paper's beside it where it gives one."""

    figure: str
    trace: str
    regime: str
    instance: str
    tau: int | None
    series: str
    quantity: str
    ours: float
    paper: str = ""


def cost_rows(cases: Sequence[Case]) -> Iterator[Row]:
    """Figs. 2 and 3."""
    for case in cases:
        at = (_cost_figure(case), case.trace.name, case.regime, case.instance, case.tau)
        for name, rung in case.rungs.items():
            yield Row(*at, name, "usd", rung.cost)
            yield Row(*at, name, "machines", float(rung.machines))
            yield Row(*at, name, "in_bytes", rung.in_bytes)
            yield Row(*at, name, "out_bytes", rung.out_bytes)
            yield Row(
                *at, name, "saved of naive", case.saving(name, NAIVE), paper_saving(case, name)
            )
        yield Row(*at, "our bound", "usd", case.bound)
        yield Row(*at, "paper's bound", "usd", case.paper_bound)


def seconds_rows(seconds: Sequence[Seconds]) -> Iterator[Row]:
    """Figs. 4 to 7."""
    for row in seconds:
        figure = row.trace.figures[1 if row.stage == "select" else 2]
        yield Row(figure, row.trace.name, SCALED, row.instance, row.tau, row.algorithm, "seconds",
                  row.shortest)  # fmt: skip


def paper_saving(case: Case, algorithm: str) -> str:
    """Return what the paper says of GSP beside RSP; nothing where the regime is another."""
    if case.regime != SCALED or algorithm != FIRST_RUNG:
        return ""
    return PAPER_GSP_SAVES[case.trace.name, case.instance][TAUS.index(case.tau)]


def listings(cases: Sequence[Case], seconds: Sequence[Seconds]) -> list[Listing]:
    """Return the tables of the page, the paper's contradictions first."""
    tables = [
        Listing(
            "Where the paper contradicts itself",
            ["about", "it says", "but"],
            CONTRADICTIONS,
            "Listed, not smoothed: each comparison says which reading it uses.",
        )
    ]
    panels = dict.fromkeys((case.trace.name, case.regime, case.instance) for case in cases)
    for trace, regime, instance in panels:
        some = [
            case
            for case in cases
            if (case.trace.name, case.regime, case.instance) == (trace, regime, instance)
        ]
        columns = ["", *(f"tau {case.tau}" for case in some)]
        rows = [[label, *(_describe(case, case.rungs[name]) for case in some)]
                for name, label in LADDER.items()]  # fmt: skip
        rows.append(["our bound", *(money(case.bound) for case in some)])
        rows.append(["paper's bound", *(money(case.paper_bound) for case in some)])
        tables.append(Listing(
            f"{trace}, {instance}, {regime} units: cost (saved of naive), machines, GB",
            columns, rows,
        ))  # fmt: skip
    tables.append(Listing(
        "Running times in seconds, the shortest of three",
        ["trace", "stage", "algorithm", "machines", *(f"tau {tau}" for tau in TAUS)],
        _seconds_by_tau(seconds),
        "Stage 2 gets GSP's pairs, as in the paper.",
    ))  # fmt: skip
    return tables


def _describe(case: Case, rung: Rung) -> str:
    saved = 1 - rung.cost / case.rungs[NAIVE].cost if case.rungs[NAIVE].cost else 0.0
    share = "" if rung is case.rungs[NAIVE] else f" ({percent(saved)})"
    return f"{money(rung.cost)}{share}, {rung.machines:,}, {rung.gigabytes:,.4g}"


def _seconds_by_tau(seconds: Sequence[Seconds]) -> list[list[str]]:
    series = dict.fromkeys((row.trace.name, row.stage, row.algorithm, row.instance)
                           for row in seconds)  # fmt: skip
    return [
        [trace, stage, algorithm.upper(), "any" if stage == "select" else instance,
         *(f"{row.shortest:.4g}" for row in seconds
           if (row.trace.name, row.stage, row.algorithm, row.instance)
           == (trace, stage, algorithm, instance))]
        for trace, stage, algorithm, instance in series
    ]  # fmt: skip


def _cost_figure(case: Case) -> str:
    return case.trace.figures[0] + ("a" if case.instance == "c3.large" else "b")
