"""A lower bound on what the brokers of a level carry, from prices that subscribers pay at places.

Whoever serves a subscriber lets through all places of its rectangle. So let each pay p >= 0 at two
of them, in opposite corners, at each broker its own price; let each broker with a load limit L
charge q >= 0 for being full; and let each cell C of the event space be worth v >= 0 for each unit
of what travels there, which is N at least, by the brokers that its subscribers need. Then the
brokers carry at least

    sum of its least (p + q x members / L) over allowed brokers, over types of subscribers
    - sum of q + sum of v N - sum over brokers of the most that a filter gains,

what a filter gains being what is paid in it, less (1 - v) times what it lets through. Payments are
spread evenly over their place, so that no filter gains more than one with all its sides on lines.

A filter of alpha boxes can be cut into so many that do not overlap, :func:`boxes_of`: alpha on a
line, where those that overlap are one; 1, 3 and 5 in the plane for alpha up to 3, as is shown in
``docs/certificates.md``. From four on the sum of boxes is bounded in place of the union, of which
it is at most :func:`sum_over_union` times as much.

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

from itertools import compress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr, FloatArray, LongArray
from fanwise.assign.proving.gain_kernels import largest_boxes
from fanwise.assign.proving.lattice import Lattice

CAUTION = 1e-11
"""Of all that is paid: so much less is claimed, because sums differ by the order of terms."""
STEPS_OF_PRICES = 1 << 14
"""The largest price that is kept, in steps by which prices differ."""
DIGITS = 2.0**24


class Market(NamedTuple):
    """Types of subscribers and the brokers of a level that they may use.

    Attributes
    ----------
    corners
        Two places of each type: of the shape (types, 2, axes).
    allowed
        Brokers of each type: the pairs.
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
    allowed: Csr
    members: FloatArray
    limits: FloatArray
    is_open: npt.NDArray[np.bool_]
    least: FloatArray
    alpha: int
    dims: int
    has_density: bool

    @property
    def type_of_pair(self) -> LongArray:
        return np.repeat(np.arange(self.allowed.num_rows), np.diff(self.allowed.indptr))

    @property
    def ratio(self) -> float:
        """How many times what is carried the bound is of."""
        if self.dims == 1 or self.alpha <= 3:
            return 1.0
        return sum_over_union(self.alpha, self.has_density)


class Prices(NamedTuple):
    """What types pay at brokers, by pair and corner; what load costs; what places are worth."""

    pair: FloatArray
    load: FloatArray
    worth: FloatArray


def boxes_of(alpha: int, dims: int) -> int:
    """Return how many boxes that do not overlap a filter of alpha boxes is, at most."""
    return alpha if dims == 1 else {1: 1, 2: 3, 3: 5}.get(alpha, alpha)


def sum_over_union(alpha: int, has_density: bool) -> float:
    """Return how many times their union the least sum of alpha rectangles measures in the plane.

    Of two rectangles either the sum of the areas or the area around both is at most 4/3 of the
    union: let them share a unit square, and P and Q be by how much they stick out of it along the
    axes, both together. Where the sum is s >= 4, it is at most 4/3 (s - 1). Else s >= 2 + P + Q
    gives P + Q < 2, so that P Q <= (1 + P + Q) / 3, and the area around both is (1 + P)(1 + Q) <=
    4/3 (1 + P + Q) <= 4/3 (s - 1). Rectangles are taken in pairs.
    """
    return float(alpha) if has_density else 4 / 3 * (alpha // 2) + alpha % 2


class Evaluated(NamedTuple):
    """What prices prove.

    Attributes
    ----------
    nets
        Of each broker: what is paid at each place, less what it costs to let it through.
    """

    value: float
    nets: list[FloatArray]


def evaluate(market: Market, prices: Prices) -> Evaluated:
    """Return the bound that prices prove."""
    brokers, types = market.allowed.indices, market.type_of_pair
    room = np.where(market.limits > 0, market.limits, np.inf)
    fee = prices.pair.sum(axis=1) + prices.load[brokers] * market.members[types] / room[brokers]
    fee[market.limits[brokers] <= 0] = np.inf
    least = np.full(market.allowed.num_rows, np.inf)
    np.minimum.at(least, types, fee)
    paid = float(least.sum() - prices.load.sum() + (prices.worth * market.least).sum())
    nets = list_nets(market, prices)
    gains = sum(float(largest_boxes(net)[0].max()) for net in compress(nets, market.is_open))
    return Evaluated((paid - boxes_of(market.alpha, market.dims) * gains) / market.ratio, nets)


def list_nets(market: Market, prices: Prices) -> list[FloatArray]:
    """Return, for each broker, what is paid at each place less what lies there."""
    brokers, types = market.allowed.indices, market.type_of_pair
    base = -(1.0 - prices.worth) * market.lattice.measure
    nets = []
    for broker in range(len(market.limits)):
        net = base.copy()
        mine = np.flatnonzero(brokers == broker)
        for corner in range(2):
            at = market.corners[types[mine], corner]
            np.add.at(net, (at[:, 0], at[:, 1]), prices.pair[mine, corner])
        nets.append(net)
    return nets


def rounded(prices: Prices) -> Prices:
    """Return prices as they are kept: few different ones, none with more digits than it needs."""
    kept = []
    for some in (prices.pair, prices.load, prices.worth):
        step = float(some.max(initial=0.0)) / STEPS_OF_PRICES
        whole = np.round(some / step) * step if step > 0 else np.zeros_like(some)
        digits, exponent = np.frexp(whole)
        kept.append(np.ldexp(np.round(digits * DIGITS) / DIGITS, exponent))
    return Prices(*kept)


def claimed(market: Market, prices: Prices) -> float:
    """Return what may be claimed of prices: what they prove, with caution."""
    value = evaluate(market, prices).value
    paid = float(prices.pair.sum() + prices.load.sum() + (prices.worth * market.least).sum())
    return max(value - CAUTION * paid, 0.0) if np.isfinite(value) else 0.0
