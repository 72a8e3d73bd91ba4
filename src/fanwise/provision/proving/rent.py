"""The least rent for machines with room for something: a covering knapsack over their types.

Guarantee
    No machines with that much room together cost less.

Complexity
    That of :mod:`fanwise.provision.pairs.cover_kernels`, for O(types x log machines) items.

References
----------
    S. Martello, P. Toth: Knapsack problems. Wiley, 1990, chapter 3: bounded knapsacks by packages
    of powers of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fanwise.arrays.tolerance import least_enough
from fanwise.provision.pairs.cover_kernels import cheapest_cover, make_workspace

STATES = 200_000
"""Partial covers kept while the cheapest machines are searched for."""


class Offer(NamedTuple):
    """A type of machine: its rent for the horizon, and its room for something; maybe infinite."""

    rent: float
    room: float


def least_rent(offers: Sequence[Offer], amount: float) -> float:
    """Return the least rent of machines with this much room together, or a hair less.

    Any number of each type can be had, so a type stands for packages of 1, 2, 4, … machines, of
    which each is taken once or not. Exact as long as the search fits its memory, which fails only
    for dozens of types and thousands of machines; then in proportion to the amount.
    """
    if amount <= 0:
        return 0.0
    offers = [offer for offer in offers if offer.room > 0]
    if len(offers) == 1:
        return round_up(amount / offers[0].room) * offers[0].rent
    rooms, rents = [], []
    for offer in offers:
        most = max(round_up(amount / offer.room), 1)
        for power in range(most.bit_length()):
            rooms.append(min(offer.room * 2**power, amount))
            rents.append(offer.rent * 2**power)
    enough = least_enough(amount)
    _, least = cheapest_cover(
        np.array(rooms), np.array(rents), enough, make_workspace(len(rooms), STATES)
    )
    return float(least)


def round_up(count: float) -> int:
    """Round up to a whole number, except where rounding errors alone lie above one."""
    return math.ceil(least_enough(count))
