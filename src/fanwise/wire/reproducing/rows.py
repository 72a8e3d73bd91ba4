"""Every measured number as a row, and the tables that people read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fanwise.planning.explanation import Listing
from fanwise.wire.reproducing.runs import Case, Trial
from fanwise.wire.reproducing.settings import (
    DENSE,
    LABELS,
    PAPER_SECONDS,
    RANDOM,
    REGIMES,
    YARDSTICK,
)
from fanwise.wording import ABSENT, number, percent

X_NAMES = {"9": "users", "10": "core-to-access ratio", "audience": "subscribers"}
TITLES = {
    "9": "Fig. 9, {}: cost reduction ratio by users",
    "10": "Fig. 10, {}: cost reduction ratio by core-to-access link cost ratio",
    "audience": "Not in the paper, {}: cost reduction ratio by subscribers of a broker and channel",
}
HIGHEST = "no algorithm above"


@dataclass(frozen=True)
class Row:
    """One number; the paper's beside it where it gives one."""

    figure: str
    regime: str
    x: float
    series: str
    quantity: str
    ours: float
    paper: str = ""


def case_rows(cases: Sequence[Case]) -> Iterator[Row]:
    """Figs. 9 and 10, and our own."""
    for case in cases:
        at = (case.figure, case.regime, case.x)
        yield Row(*at, "network", "users", float(case.num_users))
        yield Row(*at, "network", "brokers", float(case.num_brokers))
        yield Row(*at, "network", "reach under packing", mean_reach(case))
        for name in (RANDOM, *case.names):
            yield from _series_rows(case, name)
        for quantity, values in (
            ("highest CRR", [case.highest_crr]),
            ("core with Steiner trees over core", [trial.steiner for trial in case.trials]),
        ):
            known = [value for value in values if value is not None]
            if known:
                yield Row(*at, "network", quantity, float(np.mean(known)))


def _series_rows(case: Case, name: str) -> Iterator[Row]:
    at = (case.figure, case.regime, case.x, name)
    results = case.results(name)
    crrs = np.array([trial.crr(name) for trial in case.having(name)])
    yield Row(*at, "instances", float(len(results)))
    yield Row(*at, "CRR", case.crr(name))
    if len(crrs) > 1:
        yield Row(*at, "standard error of CRR", float(crrs.std(ddof=1) / np.sqrt(len(crrs))))
    yield Row(*at, "least CRR", float(crrs.min()))
    yield Row(*at, "most CRR", float(crrs.max()))
    for quantity in ("access", "core", "seconds", "overloaded"):
        values = [float(getattr(result, quantity)) for result in results]
        yield Row(*at, quantity, float(np.mean(values)))


def table_rows(case: Case) -> Iterator[Row]:
    """Table I."""
    for name in (RANDOM, *case.names):
        seconds = float(np.mean([result.seconds for result in case.results(name)]))
        told = PAPER_SECONDS.get(name, "")
        yield Row("I", case.regime, case.x, name, "seconds", seconds, told)


def timed_case(cases: Sequence[Case]) -> Case:
    """Return the case of Table I: the largest of the paper's networks."""
    return max(
        (case for case in cases if (case.figure, case.regime) == ("9", DENSE)),
        key=lambda case: case.x,
    )


def mean_reach(case: Case) -> float:
    """Return the share of brokers and channels that meet under packing, mean of all networks."""
    return float(np.mean([trial.reach for trial in case.trials]))


def listings(cases: Sequence[Case]) -> list[Listing]:
    """Return the tables of the page: Table I first."""
    found = [_seconds(timed_case(cases)), *_splits(cases)]
    for figure in TITLES:
        for regime in REGIMES:
            own = [case for case in cases if (case.figure, case.regime) == (figure, regime)]
            if own:
                found.append(_by_x(own))
    return found


def _seconds(case: Case) -> Listing:
    rows = [
        [LABELS[row.series], f"{row.ours:.3g}", row.paper or ABSENT] for row in table_rows(case)
    ]
    return Listing(
        f"Table I: seconds for {case.num_users:,} users and {case.num_brokers:,} brokers",
        ["", "ours", "the paper's"],
        rows,
        "Processor seconds of one thread, compiled before, links and their traffic included.",
    )


def _splits(cases: Sequence[Case]) -> Iterator[Listing]:
    """Where the cost is, on the largest networks of Fig. 9, the cost of random being 100%."""
    for regime in REGIMES:
        own = [case for case in cases if (case.figure, case.regime) == ("9", regime)]
        if not own:
            continue
        case = own[-1]
        rows: list[list[Any]] = []
        for name in (RANDOM, *case.names):
            access, core, overloaded = split(case, name)
            rows.append(
                [LABELS[name], percent(access + core), percent(access), percent(core),
                 f"{overloaded:.3g}"]
            )  # fmt: skip
        yield Listing(
            f"{regime}, {case.num_users:,} users: cost as a share of random's",
            ["", "cost", "access", "core", "overloaded brokers"],
            rows,
            f"{percent(mean_reach(case))} of all pairs of a broker and a channel have a "
            "subscriber under packing.",
        )


def split(case: Case, name: str) -> tuple[float, float, float]:
    """Return access and core as shares of the cost of random, and brokers overloaded; means.

    Where an algorithm ran on some networks only, shares are scaled by those of the yardstick on all
    networks to those on the same ones.
    """
    own = case.having(name)
    scale = _mean_share(case.trials, YARDSTICK) / (_mean_share(own, YARDSTICK) or 1.0)
    return (
        scale * float(np.mean([at.results[name].access / _whole(at) for at in own])),
        scale * float(np.mean([at.results[name].core / _whole(at) for at in own])),
        float(np.mean([at.results[name].overloaded for at in own])),
    )


def _mean_share(trials: Sequence[Trial], name: str) -> float:
    return float(np.mean([trial.results[name].cost / _whole(trial) for trial in trials]))


def _whole(trial: Trial) -> float:
    return trial.results[RANDOM].cost or 1.0


def _by_x(cases: Sequence[Case]) -> Listing:
    first = cases[0]
    rows = [[LABELS[name], *(f"{case.crr(name):.3f}" for case in cases)] for name in first.names]
    highest = [case.highest_crr for case in cases]
    rows.append([HIGHEST, *(ABSENT if at is None else f"{at:.3f}" for at in highest)])
    columns = ["", *(f"{number(float(case.x))} {X_NAMES[case.figure]}" for case in cases)]
    note = f"Means of {len(first.trials)} networks{_few(first)}."
    return Listing(TITLES[first.figure].format(first.regime), columns, rows, note)


def _few(case: Case) -> str:
    counts = {LABELS[name]: len(case.having(name)) for name in case.names}
    counts[HIGHEST] = sum(trial.bound is not None for trial in case.trials)
    few = [f"{name} of {count}" for name, count in counts.items() if count < len(case.trials)]
    return f"; {', '.join(few)}" if few else ""
