"""A lower bound on what the brokers of a level carry, from prices that subscribers pay at places.

Whoever serves a subscriber lets through all places of its rectangle. So let each pay p >= 0 at two
of them, in opposite corners; let each broker with a load limit L charge q >= 0 for being full, so
that a subscriber who pays P in all leaves it a part 1 - q / (L P) of that, or nothing; and let each
cell C of the event space be worth v, from 0 to 1, for each unit of what travels there, which is N
at least, by the brokers that its subscribers need. Then the brokers carry at least

    sum of p - sum of q + sum of v N - sum over brokers of the most that a filter gains,

what a filter gains being what is left to the broker in it, less (1 - v) times what it lets through.
Payments are spread evenly over their place, so that no filter gains more than one with all its
sides on lines. Subscribers of a type pay the same.

Where few places have a price at a broker, all ways to hold some of them in alpha boxes are tried,
and who pays at several places pays where all of them are held
(:mod:`fanwise.assign.proving.few_places`). Else what a filter gains is bounded by what a box gains.
A filter of alpha boxes can be cut into so many that do not overlap, :func:`boxes_of`: alpha on a
line, where those that overlap are one; 1, 3 and 5 in the plane for alpha up to 3, as is shown in
``docs/certificates.md``. From four on the sum of boxes is bounded in place of the union, of which
it is at most alpha times as much.

Guarantee
    No plan within the limits carries less, whatever the prices.

Complexity
    O(places of a lattice, times those of an axis) for each broker.

References
----------
    Our own. The relaxation whose dual this is extends that of A. Yu, P. Agarwal, J. Yang:
    Subscriber assignment for wide-area content-based publish/subscribe, Sec. IV-A.1. IEEE ICDE
    2011.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.assign.proving.few_places import gain_of_few, most_places, places_of
from fanwise.assign.proving.gain_kernels import largest_boxes
from fanwise.assign.proving.lattice import Lattice

CAUTION = 1e-11
"""Of all that is paid: so much less is claimed, because sums differ by the order of terms."""
STEPS_OF_PRICES = 1 << 14
"""The largest price that is kept, in steps by which prices differ."""
DIGITS, MOST_WHOLE = 2.0**24, 200
"""Digits of a price, where there are more than so many of them."""


class Market(NamedTuple):
    """Types of subscribers and the brokers of a level that they may use.

    Attributes
    ----------
    corners
        Two places of each type: of the shape (types, 2, axes).
    types_of_broker
        Types that each broker may serve.
    members
        How many subscribers are of each type.
    limits
        Most subscribers of each broker.
    is_open
        Which brokers may serve anybody who wants something; the others let nothing through.
    least
        What travels at least in each cell, by place.
    dims
        Dimensions of events; the lattice has two axes in any case.
    """

    lattice: Lattice
    corners: LongArray
    types_of_broker: list[LongArray]
    members: FloatArray
    limits: FloatArray
    is_open: npt.NDArray[np.bool_]
    least: FloatArray
    alpha: int
    dims: int

    @property
    def ratio(self) -> float:
        """How many times what is carried the bound is of."""
        return 1.0 if self.dims == 1 or self.alpha <= 3 else float(self.alpha)


class Prices(NamedTuple):
    """What types pay, by type and corner; what load costs; what places are worth."""

    paid: FloatArray
    load: FloatArray
    worth: FloatArray


def boxes_of(alpha: int, dims: int) -> int:
    """Return how many boxes that do not overlap a filter of alpha boxes is, at most."""
    return alpha if dims == 1 else {1: 1, 2: 3, 3: 5}.get(alpha, alpha)


class Evaluated(NamedTuple):
    """What prices prove.

    Attributes
    ----------
    nets
        Of each open broker: what is left to it at each place, less what it costs to let it through.
    """

    value: float
    nets: dict[int, FloatArray]


def evaluate(market: Market, prices: Prices, *, is_exact: bool = False) -> Evaluated:
    """Return the bound that prices prove; a better one where few places are looked at closely."""
    cost = (1.0 - prices.worth) * market.lattice.measure
    total = float(prices.paid.sum() + (prices.worth * market.least).sum() - prices.load.sum())
    nets = {}
    for broker in np.flatnonzero(market.is_open).tolist():
        types, left = what_is_left(market, prices, broker)
        at = market.corners[types]
        nets[broker] = -cost
        np.add.at(nets[broker], (at[..., 0], at[..., 1]), left)
        if is_exact:
            places, bits = places_of(at, left > 0)
            if len(places) <= most_places(market.alpha):
                total -= gain_of_few(cost, places, bits, left.sum(axis=1), market.alpha)
                continue
        gain = float(largest_boxes(nets[broker])[0].max())
        total -= boxes_of(market.alpha, market.dims) * gain
    return Evaluated(total / market.ratio, nets)


def what_is_left(market: Market, prices: Prices, broker: int) -> tuple[LongArray, FloatArray]:
    """Return the types that a broker may serve, and what is left to it of what they pay."""
    types = market.types_of_broker[broker]
    pays = prices.paid[types].sum(axis=1)
    fee = prices.load[broker] * market.members[types] / market.limits[broker]
    part = np.where(pays > fee, 1.0 - fee / np.where(pays > fee, pays, 1.0), 0.0)
    return types, prices.paid[types] * part[:, None]


def rounded(prices: Prices) -> Prices:
    """Return prices as they are kept: many of them with few digits."""
    if np.count_nonzero(prices.paid) + np.count_nonzero(prices.worth) <= MOST_WHOLE:
        return prices
    kept = []
    for some in prices:
        step = float(some.max(initial=0.0)) / STEPS_OF_PRICES
        whole = np.round(some / step) * step if step > 0 else np.zeros_like(some)
        digits, exponent = np.frexp(whole)
        kept.append(np.ldexp(np.round(digits * DIGITS) / DIGITS, exponent))
    return Prices(*kept)


def claimed(market: Market, prices: Prices) -> float:
    """Return what may be claimed of prices: what they prove, with caution."""
    value = evaluate(market, prices, is_exact=True).value
    paid = float(prices.paid.sum() + prices.load.sum() + (prices.worth * market.least).sum())
    return max(value - CAUTION * paid, 0.0) if np.isfinite(value) else 0.0
