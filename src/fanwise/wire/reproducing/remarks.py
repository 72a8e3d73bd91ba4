"""What the paper states next to what we measured, and why the two differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from fanwise.planning.reproduction import Comparison
from fanwise.wire.reproducing.rows import mean_reach, table_rows, timed_case
from fanwise.wire.reproducing.runs import Case, Effort, Trial
from fanwise.wire.reproducing.settings import (
    DEEP,
    DENSE,
    LABELS,
    PAPER_SECONDS,
    PAPERS,
    RANDOM,
    REGIMES,
    SPARSE,
)
from fanwise.wording import percent

TIE = 1e-9
FLAT = 1.1
"""A curve whose largest value is at most so many times its smallest is said to be flat."""
CLOSE = 0.05
"""Ratios that differ by at most this share are said to meet."""

WHY_PACKING = (
    "Access dominates: what others publish arrives at every user separately, but between brokers "
    "once for all users behind a link. With a subscriber at nearly every broker on nearly every "
    "channel the core costs the same whoever is attached where, and the cheapest access wins."
)
WHY_MIXING = (
    "Alg. 3 weighs what one user's way to the tree costs. Where prices are distances and core "
    "links cost as much as access links, no way through a further broker is shorter than the "
    "direct link: a channel's tree has one broker, which users far away are attached to as well."
)
WHY_CLUSTERING = (
    "The traffic between a user and a cluster grows with the cluster: users go to brokers that "
    "many others are on already, until these are full, rather than to near ones."
)
WHY_SPARSE = (
    "A tree of one channel does not know the other channels of its users; the draw then scatters "
    "over brokers those who would share links."
)


def notes(scale: float, effort: Effort, names: Sequence[str]) -> list[str]:
    """Say what was run on what."""
    counts = effort.instances
    size = (
        f"Sizes are the paper's. Points of Fig. 9 are means of {counts['9']} networks, of Fig. 10 "
        f"of {counts['10']}; the paper has 100."
        if scale >= 1
        else f"Points of Fig. 9 are means of {counts['9']} networks, of Fig. 10 of {counts['10']} "
        f"(the paper's: 100), with {100 * scale**0.25:.3g}% of the users, and figures have fewer "
        "points."
    )
    regimes = "; ".join(f"{name}: {regime.words}" for name, regime in REGIMES.items())
    found = [
        "Networks are generated as the paper describes: users with random quadratic generating "
        "functions, the negative part cut, and random intervals; equal brokers with twice the "
        "capacity that all users need. It tells neither the number of channels nor the law of "
        "link costs. Ours: 100 channels, and two laws of costs.",
        f"Regimes. {regimes[0].upper()}{regimes[1:]}.",
        size,
        "The cost reduction ratio (CRR) is the cost of random over an algorithm's, on the same "
        "network, mean of all networks. random does not look at capacities.",
        "Fig. 10: the caption has the ratio of core to access link costs, the text the other way "
        "round. Here it is the mean cost of a link between brokers over that of an access link. "
        "All ratios have the same networks, only the price of core links differs.",
        "The paper's figures are drawings without numbers: what is compared is its Table I and "
        "what its text states.",
        "Steiner-tree mixing has one tree for each channel. migration is the paper's distributed "
        "algorithm (Sec. IV-C), which it does not measure, run until no user gains by moving.",
    ]
    few = [f"{LABELS[name]} {count}" for name, count in effort.most.items() if name in names]
    found.append(
        f"What takes long has fewer networks for each point: {', '.join(few)}. The bound has "
        f"{effort.most[DEEP]}. Their means are scaled by what packing has on all networks over "
        "what it has on those."
    )
    if DEEP in names:
        found.append(
            f"best, ours, did {percent(effort.best_effort)} of its usual work for each wiring. All "
            "numbers but seconds depend on the seed alone."
        )
    return found


def compare(cases: Sequence[Case]) -> list[Comparison]:
    """Put every statement of the paper next to what we measured."""
    found: list[Comparison] = []
    for regime in REGIMES:
        own = [case for case in cases if (case.figure, case.regime) == ("9", regime)]
        found += _compare_sizes(own)
    found += _compare_random(cases)
    for regime in REGIMES:
        own = [case for case in cases if (case.figure, case.regime) == ("10", regime)]
        found += _compare_ratios(own)
    found += _compare_seconds(timed_case(cases))
    found += _compare_ours(cases)
    return found


def _compare_sizes(cases: Sequence[Case]) -> Iterator[Comparison]:
    regime, largest = cases[0].regime, cases[-1]
    share = _share_of(cases, _has_papers_ranking)
    ranking = sorted(PAPERS, key=lambda name: -largest.crr(name))
    words = " > ".join(f"{LABELS[name]} {largest.crr(name):.2f}" for name in ranking)
    remark = f"At {largest.num_users:,} users: {words}. "
    if tuple(ranking) == PAPERS[::-1]:
        remark += "The paper's order" + ("." if share >= 1 - TIE else ", but not on each network.")
    else:
        remark += _why_ranked(regime, ranking)
    yield Comparison("9", f"{regime}: networks with mixing >= clustering >= packing, %",
                     _digits(100 * share), "all", remark)  # fmt: skip
    for name in PAPERS:
        yield Comparison(
            "9",
            f"{regime}: CRR of {LABELS[name]} at {largest.num_users:,} users",
            _digits(largest.crr(name)),
            "no number" if name != PAPERS[-1] else "no number; the highest of the three",
            _growth(cases, name),
        )


def _why_ranked(regime: str, ranking: Sequence[str]) -> str:
    words = ["The order is another here."]
    if regime == SPARSE:
        return f"{words[0]} {WHY_SPARSE}"
    if ranking[0] == "packing":
        words.append(WHY_PACKING)
    if regime == DENSE:
        words += [WHY_MIXING, WHY_CLUSTERING]
    return " ".join(words)


def _growth(cases: Sequence[Case], name: str) -> str:
    first = cases[0]
    return f"From {first.crr(name):.3g} at {first.num_users:,} users."


def _compare_random(cases: Sequence[Case]) -> Iterator[Comparison]:
    sizes = [case for case in cases if (case.figure, case.regime) == ("9", DENSE)]
    users = np.log([case.num_users for case in sizes])
    costs = np.log([np.mean([at.cost for at in case.results(RANDOM)]) for case in sizes])
    slope = float(np.polyfit(users, costs, 1)[0])
    yield Comparison(
        "9", "exponent of the growth of random's cost with users", _digits(slope), "1 (linear)",
        "Everybody publishes, and everybody wants a share of what all others do: traffic grows "
        "with the square of the users." if slope > 1.5 else "As in the paper.",
    )  # fmt: skip
    worse = {
        name: _share_of(cases, lambda trial, name=name: trial.crr(name) < 1 - TIE)  # type: ignore[misc]
        for name in PAPERS
    }
    name = max(worse, key=lambda key: worse[key])
    yield Comparison(
        "9, 10", f"networks where {LABELS[name]} costs more than random, %",
        _digits(100 * worse[name]), "none: random is the worst case",
        "No other of the three does so more often." if worse[name] else "As in the paper.",
    )  # fmt: skip


def _compare_ratios(cases: Sequence[Case]) -> Iterator[Comparison]:
    regime, mixing = cases[0].regime, PAPERS[-1]
    crrs = [case.crr(mixing) for case in cases]
    spread = max(crrs) / min(crrs)
    at = cases[int(np.argmax(crrs))]
    yield Comparison(
        "10", f"{regime}: largest CRR of mixing over its smallest", _digits(spread),
        "1: it almost does not change",
        "Flat, as in the paper." if spread <= FLAT else
        f"Not flat: from {max(crrs):.3g} at a ratio of {at.x:g} to {min(crrs):.3g}. "
        + _why_falling(regime),
    )  # fmt: skip
    cheap, dear = cases[0], cases[-1]
    for name in PAPERS[:-1]:
        near, far = cheap.crr(name) / cheap.crr(mixing), dear.crr(name) / dear.crr(mixing)
        yield Comparison(
            "10", f"{regime}: CRR of {LABELS[name]} over mixing's at a ratio of {cheap.x:g}",
            _digits(near), "comes to 1 as the core gets cheap",
            ("They meet, as in the paper. " if abs(near - 1) <= CLOSE else "They do not meet. ")
            + f"At {dear.x:g}: {far:.3g}.",
        )  # fmt: skip


def _why_falling(regime: str) -> str:
    if regime == DENSE:
        return (
            "Below 1 trees open nearly all brokers, and mixing comes near packing; from 1 on a "
            "channel's tree has one broker."
        )
    if regime == SPARSE:
        return (
            "From 1 on a channel's tree has one broker; what that costs in access weighs less the "
            "dearer the core is."
        )
    return "The dearer the core, the fewer brokers a tree opens, whatever access then costs."


def _compare_seconds(case: Case) -> Iterator[Comparison]:
    for row in table_rows(case):
        yield Comparison(
            "Table I",
            f"seconds of {LABELS[row.series]}",
            _digits(row.ours),
            row.paper or "not measured",
            f"{case.num_users:,} users and {case.num_brokers:,} brokers; the paper's machine is "
            "of 2008, without optimisation by the compiler."
            if row.series in PAPER_SECONDS
            else f"{case.num_users:,} users and {case.num_brokers:,} brokers.",
        )


def _compare_ours(cases: Sequence[Case]) -> Iterator[Comparison]:
    for regime in REGIMES:
        case = [case for case in cases if (case.figure, case.regime) == ("9", regime)][-1]
        for name in (name for name in case.names if name not in PAPERS):
            best = max(PAPERS, key=case.crr)
            yield Comparison(
                "ours", f"{regime}: CRR of {LABELS[name]} at {case.num_users:,} users",
                _digits(case.crr(name)), "not measured",
                f"{case.ahead(name, best):.3g} times as cheap as {LABELS[best]}, "
                f"{case.ahead(name, PAPERS[-1]):.3g} times as mixing.",
            )  # fmt: skip
        if case.highest_crr is not None:
            yield Comparison(
                "ours", f"{regime}: no CRR can be above", _digits(case.highest_crr), "not measured",
                f"By a proven bound. {percent(mean_reach(case))} of all pairs of a broker and a "
                "channel have a subscriber under packing.",
            )  # fmt: skip
        steiner = [trial.steiner for trial in case.trials if trial.steiner is not None]
        if steiner:
            saved = 100 * max(1 - float(np.mean(steiner)), 0.0)
            saved = saved if saved > 100 * TIE else 0.0
            yield Comparison(
                "ours", f"{regime}: core saved by trees through outside brokers, %",
                _digits(saved), "none: no outside broker helps",
                "The proof replaces a way through an outside broker by a direct link, but three "
                "links that meet there can be shorter than two.",
            )  # fmt: skip


def _has_papers_ranking(trial: Trial) -> bool:
    costs = [trial.results[name].cost for name in PAPERS]
    return all(worse >= better * (1 - TIE) for worse, better in pairwise(costs))


def _share_of(cases: Sequence[Case], holds: Callable[[Trial], bool]) -> float:
    trials = [trial for case in cases for trial in case.trials]
    return sum(map(holds, trials)) / max(1, len(trials))


def _digits(value: float) -> float:
    return float(f"{value:.3g}")
