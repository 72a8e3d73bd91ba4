"""Few switches for a share of the value: what a switch must gain, topic by topic and over time.

The operator says what share of the value may be given up. From that follows one *price* of a
switch, which rises a little after a window that gave up less and falls after one that gave up more:
what is not spent in quiet windows is carried over to those in which switches are dearest to avoid.
As the logarithm of the price adds up what was over- and underspent, the mean of what is given up
over many windows comes to the share, whatever a switch is worth on the traffic at hand.

A topic pays less than the price for a switch that pays again in the windows to come, and more for
one that would have to be taken back: for each topic the two futures, served and not, are worked out
backwards over the windows ahead. They never differ by more than the price, as either can be turned
into the other for it.

Complexity
    O(windows ahead x topics).

References
----------
    The two futures are the dynamic program of a metrical task system with two states. A. Borodin,
    N. Linial, M. E. Saks: An optimal on-line algorithm for metrical task system. Journal of the ACM
    39, 1992.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.service.analyzer.ahead import Ahead

AIM = 0.9
"""Of the share that may be given up: the mean of a day is rarely on the dot."""
FIRST_PRICE = 0.3
"""The first price, of what a served topic is worth on average."""
PACE, MOST_SPENT = 0.15, 10.0
"""How fast the price follows what is given up; no window counts as more than so many."""
RANGE = 1e6
"""The price stays within so many times what it would begin with, and one over so many."""


@dataclass(frozen=True)
class Steadiness:
    """What a switch had to gain in a decision.

    Attributes
    ----------
    share
        What may be given up.
    price, unit
        The price of a switch, and what it would begin with on this window.
    rests_on
        What the windows to come are taken to be like: ``day-before`` or ``last-windows``.
    """

    share: float
    price: float
    unit: float
    rests_on: str

    def after(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is kept of a decision, by what its plan gives up."""
        given_up, free_value = float(metrics["given_up"]), float(metrics["free_value"])
        return {
            "share": self.share,
            "price": self.price,
            "given_up": given_up,
            "free_value": free_value,
            "next_price": next_price(self.price, self.share, given_up, free_value, self.unit),
            "rests_on": self.rests_on,
        }


def first_price(value: float, num_served: int) -> float:
    """Return what a switch must gain while nothing is known yet.

    Parameters
    ----------
    value, num_served
        What is in force, on the window that closed.
    """
    return FIRST_PRICE * max(value, 1.0) / max(num_served, 1)


def next_price(
    price: float, share: float, given_up: float, free_value: float, unit: float
) -> float:
    """Return the price after a window that gave something up.

    Parameters
    ----------
    share
        What may be given up.
    given_up, free_value
        What was given up, of what a plan that is free to switch reaches.
    unit
        What the price would begin with now; it stays in some proportion to that.
    """
    if share <= 0:
        return 0.0
    spent = given_up / (AIM * share * free_value) if free_value > 0 else 0.0
    moved = price * math.exp(PACE * (1.0 - min(spent, MOST_SPENT)))
    return min(max(moved, unit / RANGE), unit * RANGE)


def read_price(facts: Mapping[str, Any]) -> float | None:
    """Return the price that was left for the window after a decision, if it says so."""
    stability = facts.get("stability")
    price = stability.get("next_price") if isinstance(stability, Mapping) else None
    return float(price) if isinstance(price, int | float) else None


def topic_prices(price: float, ahead: Ahead, was_served: npt.NDArray[np.bool_]) -> FloatArray:
    """Return what switching each topic must gain in the window that is decided: 0 to 2 prices."""
    gain = np.zeros(len(was_served))
    for worth in reversed(ahead.worth):
        gain = np.clip(ahead.counts * (worth + gain), -price, price)
    return np.where(was_served, price + gain, price - gain)
