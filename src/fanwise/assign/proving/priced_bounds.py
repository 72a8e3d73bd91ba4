"""A lower bound on the bandwidth of leaves from prices, as the dual of a relaxation gives them.

Take a point of what each type of subscribers wants. In any plan, some rectangle of the broker that
serves a subscriber holds its point; so the part x of a type that a broker serves is at most the
number of its rectangles that hold the point. Let each type pay p >= 0 for such a rectangle, at each
broker its own price, and let each broker with a load limit L charge q >= 0 for being full. Then the
sum of the measures of all rectangles is at least

    sum over types of its least (p + q x members / L) over allowed brokers
    - sum of q - alpha x sum over brokers of its largest gain,

the gain of a rectangle being what the points in it pay, minus its measure. The largest gain is over
*all* rectangles, found by sweeping over those spanned by points, so that candidates of a relaxation
need not be complete. That holds for every plan within the load limits, whatever the prices: those
of the relaxation are a start, from which they are improved by subgradient steps.

The bandwidth is that of unions, not the sum. On a line, rectangles that overlap can be replaced by
the one around both, which is their union. In the plane, of two rectangles either the sum of their
areas or the area around both is at most 4/3 of their union: let them share a unit square, and P and
Q be by how much they stick out of it along the axes, both together. Where the sum is s >= 4, it is
at most 4/3 (s - 1). Else s >= 2 + P + Q gives P + Q < 2, so that P Q <= (1 + P + Q) / 3, and the
area around both is (1 + P)(1 + Q) <= 4/3 (1 + P + Q) <= 4/3 (s - 1). So alpha rectangles can be
replaced, in pairs, by no more of them with a sum of at most 4/3 (alpha // 2) + alpha % 2 times the
union. With a density of events in the plane, the sum is at most alpha times the union.

Points and not rectangles, because a union may hold a subscription that no rectangle of it does.

The prices are the certificate. They are rounded to a few hundred different ones, so that they take
few bytes, and the bound is that of the rounded prices.

Guarantee
    No plan within the limits carries less, whatever the prices.

Complexity
    O(rows^2 x columns) in the plane for the grid of points of each broker, in each of ROUNDS
    rounds.

References
----------
    The proof is our own. The prices come from the relaxation of A. Yu, P. Agarwal, J. Yang:
    Subscriber assignment for wide-area content-based publish/subscribe, Sec. IV-A.1. IEEE ICDE
    2011. Steps: B. Polyak: Minimization of unsmooth functionals. USSR Computational Mathematics and
    Mathematical Physics 9(3), 1969.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr, FloatArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_kernels import Density
from fanwise.assign.bounds import cell_measures

MOST_STEPS = 20_000_000
"""Steps of one sweep over all brokers, above which there is no bound: a tenth of a second."""

ROUNDS = 250
PATIENCE = 12
"""Rounds without a better bound after which steps get shorter."""
STEPS_OF_PRICES = 4000
"""The largest price that is kept, in steps by which prices differ."""
DIGITS = 2.0**20
"""What prices are rounded to beside that, as a part of themselves."""
CAUTION = 1e-11
"""Of all that is paid: so much less is claimed, because sums differ by the order of terms."""


class Prices(NamedTuple):
    """What types pay at brokers, by pair, and what brokers charge for load."""

    pair: FloatArray
    load: FloatArray


class Market(NamedTuple):
    """Types of subscribers, and brokers that they may use.

    Attributes
    ----------
    points
        One of what each type wants.
    allowed
        Brokers of each type: the pairs.
    members
        How many subscribers are of each type.
    limits
        Most subscribers of each broker, under the allowed factor.
    """

    points: FloatArray
    allowed: Csr
    members: FloatArray
    limits: FloatArray
    alpha: int
    density: Density


class Priced(NamedTuple):
    """A bound, and the prices that prove it."""

    value: float
    prices: Prices


def priced_bound(market: Market, prices: Prices, rounds: int = ROUNDS) -> Priced | None:
    """Return what the leaves of any plan carry at least; None in more than two dimensions."""
    points, allowed = market.points, market.allowed
    if points.shape[1] > 2:
        return None
    lengths = np.diff(allowed.indptr)
    usable = market.limits[allowed.indices] > 0
    types = np.repeat(np.arange(len(points)), lengths)
    if (np.bincount(types[usable], minlength=len(points)) == 0).any():
        return None  # somebody has no broker: there is no plan to bound
    sweeps = [
        lay_out_sweep(points[types[own]], own, market.density)
        for own in (np.flatnonzero(allowed.indices == b) for b in range(len(market.limits)))
    ]
    if sum(sweep.steps for sweep in sweeps) > MOST_STEPS:
        return None
    kept = rounded(ascend(market, prices, sweeps, types, rounds))
    if not all(np.isfinite(some.sum()) for some in kept):
        return None  # loads that cannot be held, at any price
    inside = np.zeros(len(types), dtype=np.bool_)
    value, _ = evaluate(market, kept, sweeps, types, inside)
    value -= CAUTION * float(kept.pair.sum() + kept.load.sum())
    ratio = sum_over_union(market.alpha, points.shape[1], market.density)
    return Priced(max(value, 0.0) / ratio, kept)


def rounded(prices: Prices) -> Prices:
    """Return prices as they are kept: few different ones, none with more digits than it needs."""
    kept = []
    for some in prices:
        step = float(some.max(initial=0.0)) / STEPS_OF_PRICES
        whole = np.round(some / step) * step if step > 0 else np.zeros_like(some)
        digits, exponent = np.frexp(whole)
        kept.append(np.ldexp(np.round(digits * DIGITS) / DIGITS, exponent))
    return Prices(*kept)


def sum_over_union(alpha: int, dims: int, density: Density) -> float:
    """Return how many times their union the least sum of alpha rectangles can measure."""
    if dims == 1:
        return 1.0
    if dims == 2 and len(density.lo) == 0:
        return 4 / 3 * (alpha // 2) + alpha % 2
    return float(alpha)


class Sweep(NamedTuple):
    """The points of a broker, row by row.

    Attributes
    ----------
    pairs
        Of each point, in the order of rows.
    column, row
        Where each point is on the grid of points.
    starts
        Where each row begins.
    measures
        Of the cells between rows and columns; on a line, of those between columns.
    """

    pairs: LongArray
    column: LongArray
    row: LongArray
    starts: LongArray
    measures: FloatArray
    num_columns: int

    @property
    def steps(self) -> int:
        """How long a sweep takes."""
        rows = len(self.starts) - 1
        return rows * rows * self.num_columns


def lay_out_sweep(points: FloatArray, pairs: LongArray, density: Density) -> Sweep:
    """Sort the points of a broker into rows and columns."""
    sides, ranks = [], []
    for axis in range(points.shape[1]):
        own, rank = np.unique(points[:, axis], return_inverse=True)
        sides.append(own)
        ranks.append(rank.reshape(-1).astype(np.int64))
    if len(points) == 0:
        none: LongArray = np.empty(0, dtype=np.int64)
        return Sweep(none, none, none, np.zeros(1, dtype=np.int64), np.empty((0, 0)), 0)
    measures = cell_measures(sides, density).reshape([len(own) - 1 for own in sides])
    if len(sides) == 1:
        sides.append(np.zeros(1))
        ranks.append(np.zeros(len(points), dtype=np.int64))
    order = np.argsort(ranks[1], kind="stable")
    starts = np.searchsorted(ranks[1][order], np.arange(len(sides[1]) + 1)).astype(np.int64)
    return Sweep(
        pairs[order],
        ranks[0][order],
        ranks[1][order],
        starts,
        np.ascontiguousarray(np.atleast_2d(measures.T)),
        len(sides[0]),
    )


def ascend(
    market: Market, prices: Prices, sweeps: list[Sweep], types: LongArray, rounds: int
) -> Prices:
    """Improve prices by subgradient steps; return those with the largest bound on the way."""
    brokers = market.allowed.indices
    capacity = np.where(market.limits > 0, market.limits, np.inf)
    weight = market.members[types] / capacity[brokers]
    closed = market.limits[brokers] <= 0
    prices = scaled(market, prices, sweeps, types)
    best, kept, step, waited = 0.0, prices, 1.0, 0
    inside = np.zeros(len(brokers), dtype=np.bool_)
    for _ in range(rounds):
        value, chosen = evaluate(market, prices, sweeps, types, inside)
        if value > best * (1 + 1e-4):
            best, kept, waited = value, prices, 0
        elif (waited := waited + 1) >= PATIENCE:
            step, waited, prices = step / 2, 0, kept
            continue
        pays = -market.alpha * inside.astype(np.float64)
        pays[chosen] += 1.0
        # Prices at zero cannot fall: that part of the step would only make the rest shorter.
        pays[((prices.pair <= 0) & (pays < 0)) | closed] = 0.0
        charges = np.bincount(brokers[chosen], weight[chosen], len(capacity)) - 1.0
        charges[(prices.load <= 0) & (charges < 0)] = 0.0
        norm = float(pays @ pays + charges @ charges)
        if norm == 0:
            break
        # Polyak's step towards a target half as large again as the best bound so far.
        length = step * (1.5 * max(best, abs(value)) - value) / norm
        prices = Prices(
            np.maximum(prices.pair + length * pays, 0.0),
            np.maximum(prices.load + length * charges, 0.0),
        )
    return kept


def scaled(market: Market, prices: Prices, sweeps: list[Sweep], types: LongArray) -> Prices:
    """Return prices times the factor that bounds best: others were made for fewer rectangles."""
    inside = np.zeros(len(types), dtype=np.bool_)
    tried = [Prices(prices.pair * f, prices.load * f) for f in np.linspace(0.1, 1.0, 10)]
    values = [evaluate(market, some, sweeps, types, inside)[0] for some in tried]
    return tried[int(np.argmax(values))]


def evaluate(
    market: Market,
    prices: Prices,
    sweeps: list[Sweep],
    types: LongArray,
    inside: npt.NDArray[np.bool_],
) -> tuple[float, LongArray]:
    """Return the bound on the sum that prices prove, and the cheapest pair of each type.

    ``inside`` is set for the pairs whose points lie in the best rectangle of their broker.
    """
    brokers = market.allowed.indices
    capacity = np.where(market.limits > 0, market.limits, np.inf)
    fee = prices.pair + prices.load[brokers] * market.members[types] / capacity[brokers]
    fee[market.limits[brokers] <= 0] = np.inf
    least = np.full(len(market.points), np.inf)
    np.minimum.at(least, types, fee)
    chosen = np.full(len(least), -1, dtype=np.int64)
    # Backwards, so that the first of equally cheap pairs is written last and stays.
    cheapest = np.flatnonzero(fee <= least[types])[::-1]
    chosen[types[cheapest]] = cheapest
    gains = 0.0
    for sweep in sweeps:
        gains += sweep_rows(*sweep, prices.pair, inside)
    return float(least.sum() - prices.load.sum()) - market.alpha * gains, chosen


@kernel
def sweep_rows(
    pairs: LongArray,
    column: LongArray,
    row: LongArray,
    starts: LongArray,
    measures: FloatArray,
    num_columns: int,
    price: FloatArray,
    inside: npt.NDArray[np.bool_],
) -> float:
    """Return the largest gain of a rectangle, and mark the points in it.

    For every span of rows, the best run of columns: each pays, each step between two costs.
    Changes ``inside`` at the pairs of the broker.
    """
    num_rows = len(starts) - 1
    best, left, right, low, high = 0.0, 0, -1, 0, -1
    for first in range(num_rows):
        paid, between = np.zeros(num_columns), np.zeros(max(num_columns - 1, 0))
        if num_rows == 1 and len(measures) > 0:
            between += measures[0]  # on a line
        for last in range(first, num_rows):
            if last > first:
                between += measures[last - 1]
            for at in range(starts[last], starts[last + 1]):
                paid[column[at]] += price[pairs[at]]
            # The best run of columns in one pass (Kadane): a run that has cost what it was paid is
            # dropped.
            run, begin = 0.0, 0
            for i in range(num_columns):
                if i > 0:
                    run -= between[i - 1]
                    if run <= 0.0:
                        run, begin = 0.0, i
                run += paid[i]
                if run > best:
                    best, left, right, low, high = run, begin, i, first, last
    for at in range(len(pairs)):
        inside[pairs[at]] = left <= column[at] <= right and low <= row[at] <= high
    return best
