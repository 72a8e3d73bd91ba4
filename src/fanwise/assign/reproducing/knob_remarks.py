"""Our numbers next to the paper's: filters, times, knobs, places, and the difficult workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from fanwise.assign.reproducing.runs import Case
from fanwise.assign.reproducing.settings import PAPER_HOURS, SERIES
from fanwise.planning.reproduction import Comparison


def digits(value: float) -> float:
    """Return a number with three digits."""
    return float(f"{value:.3g}")


def compare_alphas(cases: Sequence[Case]) -> Iterator[Comparison]:
    """Fig. 13: what more rectangles save."""
    first, last = cases[0], cases[-1]
    three = next(case for case in cases if case.x == 3)
    for name in first.results:
        yield Comparison(
            "13", f"bandwidth of {SERIES[name].label}: alpha {first.x:g} / alpha 3",
            digits(first.mean(name) / three.mean(name)), "falls with alpha",
            f"From alpha 3 to {last.x:g}: x {last.mean(name) / three.mean(name):.3g}.",
        )  # fmt: skip
    at_one, at_three = (case.mean("slp") / case.mean("gr-star") for case in (first, three))
    yield Comparison(
        "13", f"SLP / Gr* at alpha {first.x:g}", digits(at_one),
        "SLP suffers more at alpha 1 and 2",
        f"At alpha 3: {at_three:.3g}. " + ("The same." if at_one > at_three else "Not here."),
    )  # fmt: skip


def compare_times(cases: Sequence[Case]) -> Iterator[Comparison]:
    """Fig. 14: how time grows."""
    last = cases[-1]
    slopes = [
        np.log(two.mean("slp", "seconds") / one.mean("slp", "seconds"))
        / np.log((two.x or 1.0) / (one.x or 1.0))
        for one, two in pairwise(cases)
    ]
    yield Comparison(
        "14", f"seconds of SLP in a tree, {last.x:,.0f} subscribers, "
        f"{last.problem.workload.num_brokers} brokers",
        digits(last.mean("slp", "seconds")), PAPER_HOURS,
        f"Grows with the power {float(np.max(slopes)):.2g} of the subscribers at most: relaxations "
        "are over samples of limited size.",
    )  # fmt: skip


def compare_knobs(
    cases: Sequence[Case], counts: Mapping[str, Mapping[int, int]]
) -> Iterator[Comparison]:
    """Figs. 15 to 18: what the knobs of SLP do."""
    for figure, quantity, words, paper in (
        ("15", "lbf", "load-balance factor of SLP, most / fewest subscribers drawn",
         "falls, and is level from 10 per broker"),
        ("16", "bandwidth", "bandwidth of SLP, most / fewest super-subscriptions",
         "falls in one level, hardly in trees"),
    ):  # fmt: skip
        own = [case for case in cases if case.figure == figure]
        for panel in dict.fromkeys(case.panel for case in own):
            here = [case for case in own if case.panel == panel]
            first, last = here[0], here[-1]
            ratio = last.mean("slp", quantity) / first.mean("slp", quantity)
            yield Comparison(
                figure, f"{panel}: {words}", digits(ratio), paper,
                f"{first.mean('slp', quantity):.3g} at {first.x:g} per broker, "
                f"{last.mean('slp', quantity):.3g} at {last.x:g}; one run each.",
            )  # fmt: skip
    for panel, found in counts.items():
        few, many = min(found), max(found)
        yield Comparison(
            "17", f"{panel}: candidates at {many} / at {few} super-subscriptions per broker",
            digits(found[many] / found[few]), "rises", f"{found[few]:,} and {found[many]:,}.",
        )  # fmt: skip
    own = [case for case in cases if case.figure == "18"]
    delays = [case.mean("slp", "rms_delay") for case in own]
    yield Comparison(
        "18", "RMS of delay of SLP, highest / lowest threshold", digits(delays[-1] / delays[0]),
        "falls", "The same trend." if delays[-1] < delays[0] else "Not here.",
    )  # fmt: skip
    factors = [case.mean("slp", "lbf") for case in own]
    repairs = ", ".join(f"{case.results['slp'][0].facts.get('repairs', 0)}" for case in own)
    yield Comparison(
        "18", "load-balance factor of SLP at the middle / worst threshold",
        digits(factors[len(factors) // 2] / max(factors)), "worse at both ends",
        f"Ours is repaired until the limit holds; repairs by threshold: {repairs}.",
    )  # fmt: skip


def compare_placements(cases: Sequence[Case]) -> Iterator[Comparison]:
    """The text on brokers that stand elsewhere."""
    for case in cases:
        ratio = case.mean("closest-no-balance", "lbf") / case.problem.lbf_max
        yield Comparison(
            "text", f"brokers placed '{case.panel}': factor of Closest-b / maximum",
            digits(ratio), "at least 3 for some workloads",
            f"Gr overloads {case.results['gr'][0].overloaded} brokers, SLP "
            f"{case.results['slp'][0].overloaded}; the maximum is {case.problem.lbf_max:g}, raised "
            "where nothing less is possible.",
        )  # fmt: skip


def compare_hard(cases: Sequence[Case]) -> Iterator[Comparison]:
    """The difficult workload; there are no numbers of the paper."""
    for case in cases:
        where = f"{case.problem.workload.num_brokers} brokers, alpha {case.problem.alpha}"
        best = f" best: {case.mean('best'):.4g}." if "best" in case.results else ""
        yield Comparison(
            "difficult",
            f"{where}: Gr* / SLP",
            digits(case.mean("gr-star") / case.mean("slp")),
            "orders of magnitude",
            f"SLP {case.mean('slp'):.4g}, proven bound {case.bound:.4g}.{best} The paper's own "
            "numbers are on the page that is missing.",
        )
