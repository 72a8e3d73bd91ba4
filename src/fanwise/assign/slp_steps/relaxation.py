"""The linear relaxation of choosing filters, by HiGHS, with rectangles priced in as needed.

Variables: x, the part of a type that a broker serves, and y, the part of a candidate rectangle in
its filter. Everybody is served (C2) by brokers whose filters hold them (C4: x <= the sum of y over
the candidates that hold the subscription); loads (C3) and rectangles (C1) are limited; the sum of
the rectangles' measures is least. Rows of C3 are divided by their limit, and measures by their
mean: unscaled, solvers have stopped at zero.

There are far more candidates than a filter will use. The relaxation starts with few and adds those
that its prices call for; the prices also give a lower bound on the relaxation over all candidates,
because a broker uses at most alpha of them.

Guarantee
    ``bound`` is below the relaxation over all the candidates, whatever the solver returns.

Complexity
    That of at most ROUNDS linear programmes of growing size, by an interior-point method.

References
----------
    A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based publish/subscribe,
    Sec. IV-A.1. IEEE ICDE 2011. Pricing: G. Dantzig, P. Wolfe: Decomposition principle for linear
    programs. Operations Research 8(1), 1960.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, LongArray, take_rows
from fanwise.arrays.jit import kernel
from fanwise.assign.slp_steps.candidates import Candidates
from fanwise.planning.highs import Matrix, Model, Solver

GAP = 0.01
"""Relative distance of the relaxation's value to its bound at which no more are priced in."""

ACCURACY, CLOSE = 1e-4, 1e-4
"""Of the interior-point method, and how far its solutions may be off. The bound is exact anyway."""

ROUNDS = 25
MOST_AT_ONCE = 30  # rectangles of one broker in one round


@dataclass(frozen=True, eq=False)
class Sample:
    """The subscribers that a relaxation looks at, as types.

    Attributes
    ----------
    lo, hi, allowed
        Rectangles and allowed brokers of each type.
    load
        What each type adds to the load of its broker.
    limits
        Largest load of each broker, in the same unit; may be fractional.
    """

    lo: FloatArray
    hi: FloatArray
    allowed: Csr
    load: FloatArray
    limits: FloatArray
    alpha: int


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A solution of the relaxation.

    Attributes
    ----------
    value
        Its objective.
    bound
        A lower bound on the relaxation over all the candidates.
    chosen, part
        The candidates with a positive y, and that y.
    pair_price, load_price
        Prices of C4 by pair and of C3 by broker, none negative, that prove the bound.
    """

    value: float
    bound: float
    chosen: LongArray
    part: FloatArray
    pair_price: FloatArray
    load_price: FloatArray


def relax(sample: Sample, candidates: Candidates, gap: float = GAP) -> Relaxed | None:
    """Solve the relaxation to within a relative gap; None where loads cannot be held.

    Every broker's bounding box of all it may serve must be among the candidates: the relaxation
    then has a solution if and only if loads can be held.
    """
    held = holding_pairs(sample, candidates)
    unit = float(candidates.measure.mean()) or 1.0
    cost = candidates.measure / unit
    master = _Master(sample, len(cost))
    master.add(_first_columns(sample, candidates, held), cost, candidates.broker, held)
    value, bound = np.inf, -np.inf
    parts: tuple[LongArray, FloatArray] = np.empty(0, dtype=np.int64), np.empty(0)
    prices = np.empty(0), np.empty(0)
    for _ in range(ROUNDS):
        if not master.solve():
            if np.isinf(value):
                return None
            break
        value, parts = master.value, master.parts()
        reduced = cost - sum_prices(*held, master.pair_price)
        proven = lower_bound(sample, master, candidates.indptr, reduced)
        if proven > bound:
            bound, prices = proven, (master.pair_price * unit, master.load_price * unit)
        if value - max(bound, 0.0) <= gap * value:
            break
        slot_price = master.slot_price[candidates.broker]
        new = most_negative(candidates.indptr, reduced + slot_price, master.is_in, MOST_AT_ONCE)
        if len(new) == 0:
            break
        master.add(new, cost, candidates.broker, held)
    return Relaxed(value * unit, max(bound, 0.0) * unit, *parts, *prices)


def lower_bound(sample: Sample, master: _Master, indptr: LongArray, reduced: FloatArray) -> float:
    """Return what no solution over all the candidates can be below, whatever the prices are.

    With C4 and C3 priced, each type takes the broker that is cheapest for it, and each broker up to
    alpha candidates that more than pay for themselves.
    """
    types = np.repeat(np.arange(len(sample.lo)), np.diff(sample.allowed.indptr))
    brokers = sample.allowed.indices
    capacity = np.where(sample.limits > 0, sample.limits, np.inf)
    # Lagrangian relaxation of C4 and C3; what stays is C2 for each type and C1 for each broker. Any
    # prices that are not negative give a bound, so that an inexact solution does no harm.
    fee = master.pair_price + master.load_price[brokers] * sample.load[types] / capacity[brokers]
    fee[(sample.limits <= 0)[brokers] & (sample.load[types] > 0)] = np.inf
    least = np.full(len(sample.lo), np.inf)
    np.minimum.at(least, types, fee)
    gains = 0.0
    for broker in range(len(indptr) - 1):
        own = reduced[indptr[broker] : indptr[broker + 1]]
        gains += float(np.minimum(np.sort(own)[: sample.alpha], 0.0).sum())
    return float(least.sum()) - float(master.load_price.sum()) + gains


def holding_pairs(sample: Sample, candidates: Candidates) -> tuple[LongArray, LongArray]:
    """Return, for each candidate, the pairs (of a type and the broker) whose type it holds."""
    served, pair = _by_broker(sample)
    return hold_pairs(
        candidates.indptr, candidates.lo, candidates.hi, *served, pair, sample.lo, sample.hi
    )


def _by_broker(sample: Sample) -> tuple[Csr, LongArray]:
    """Return the types each broker may serve, and their pairs."""
    indptr, brokers = sample.allowed
    order = np.argsort(brokers, kind="stable")
    types = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))[order].astype(np.int32)
    counts = np.bincount(brokers, minlength=len(sample.limits))
    return Csr(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), types), order


def _first_columns(
    sample: Sample, candidates: Candidates, held: tuple[LongArray, LongArray]
) -> LongArray:
    """Return each broker's largest candidate, and the smallest one that holds each type."""
    indptr, pairs = held
    size = np.diff(indptr)
    first = []
    for broker in range(len(sample.limits)):
        start, end = candidates.indptr[broker : broker + 2]
        if end > start:
            first.append(start + int(size[start:end].argmax()))
    # From the largest to the smallest: where several hold a pair, the smallest is written last.
    order = np.argsort(-candidates.measure, kind="stable")
    smallest = np.full(len(sample.allowed.indices), -1, dtype=np.int64)
    rows = take_rows(Csr(indptr, pairs), order)  # type: ignore[arg-type]
    smallest[rows.indices] = np.repeat(order, size[order])
    return np.unique(np.concatenate([first, smallest[smallest >= 0]])).astype(np.int64)


class _Master:
    """The relaxation over the rectangles so far. Columns: x by pair, then y as they were added."""

    def __init__(self, sample: Sample, num_candidates: int) -> None:
        self.is_in = np.zeros(num_candidates, dtype=np.bool_)
        self.columns: LongArray = np.empty(0, dtype=np.int64)
        self.value = np.inf
        self.pair_price = self.load_price = self.slot_price = np.empty(0)
        self._part = np.empty(0)
        self._num_brokers = len(sample.limits)
        self._num_types = len(sample.lo)
        self._num_pairs = len(sample.allowed.indices)
        self._solver = Solver(self._model(sample), interior_point=ACCURACY)

    def _model(self, sample: Sample) -> Model:
        """Rows: C1 by broker, C3 by broker, C2 by type, C4 by pair."""
        n, num_types, num_pairs = self._num_brokers, self._num_types, self._num_pairs
        indptr, brokers = sample.allowed
        types = np.repeat(np.arange(num_types), np.diff(indptr))
        capacity = np.where(sample.limits > 0, sample.limits, 1.0)
        rows = np.column_stack(
            [n + brokers, 2 * n + types, 2 * n + num_types + np.arange(num_pairs)]
        )
        values = np.column_stack(
            [sample.load[types] / capacity[brokers], np.ones(num_pairs), -np.ones(num_pairs)]
        )
        closed = (sample.limits <= 0)[brokers] & (sample.load[types] > 0)
        least = [np.full(2 * n, -np.inf), np.ones(num_types), np.zeros(num_pairs)]
        most = [
            np.full(n, float(sample.alpha)),
            np.ones(n),
            np.full(num_types + num_pairs, np.inf),
        ]
        return Model(
            cost=np.zeros(num_pairs),
            lower=np.zeros(num_pairs),
            upper=np.where(closed, 0.0, 1.0),
            matrix=Matrix(np.arange(0, 3 * num_pairs + 1, 3), rows.reshape(-1), values.reshape(-1)),
            is_by_column=True,
            row_lower=np.concatenate(least),
            row_upper=np.concatenate(most),
        )

    def add(
        self,
        new: LongArray,
        cost: FloatArray,
        broker: LongArray,
        held: tuple[LongArray, LongArray],
    ) -> None:
        """Add rectangles: each takes a slot of its broker and holds its pairs."""
        rows = take_rows(Csr(*held), new)  # type: ignore[arg-type]
        first_pair = 2 * self._num_brokers + self._num_types
        starts = rows.indptr + np.arange(len(new) + 1)
        index = np.insert(rows.indices + first_pair, rows.indptr[:-1], broker[new])
        self._solver.add_columns(
            cost[new],
            np.zeros(len(new)),
            # y has no upper side of its own: no pair needs more than 1 of it.
            np.full(len(new), np.inf),
            Matrix(starts, index, np.ones(len(index))),
        )
        self.is_in[new] = True
        self.columns = np.concatenate([self.columns, new])

    def solve(self) -> bool:
        """Solve, and keep value and prices (of C4, C3, C1; none negative); False: no solution."""
        answer = self._solver.solve()
        is_close = answer.status == "unknown" and answer.infeasibility <= CLOSE
        if answer.status != "optimal" and not is_close:
            return False
        n = self._num_brokers
        self.value = answer.objective
        self.pair_price = np.maximum(answer.duals[2 * n + self._num_types :], 0.0)
        self.load_price = np.maximum(-answer.duals[n : 2 * n], 0.0)
        self.slot_price = np.maximum(-answer.duals[:n], 0.0)
        self._part = answer.values[self._num_pairs :]
        return True

    def parts(self) -> tuple[LongArray, FloatArray]:
        """Return the rectangles in use and how far."""
        used = self._part > 1e-6
        order = np.argsort(self.columns[used], kind="stable")
        return self.columns[used][order], np.minimum(self._part[used][order], 1.0)


@kernel
def hold_pairs(
    indptr: LongArray,
    box_lo: FloatArray,
    box_hi: FloatArray,
    served_indptr: LongArray,
    served: Any,
    pair: LongArray,
    lo: FloatArray,
    hi: FloatArray,
) -> tuple[LongArray, LongArray]:
    """List the pairs each candidate holds, in two passes: count, then fill. Changes nothing."""
    starts = np.zeros(len(box_lo) + 1, dtype=np.int64)
    found = np.empty(0, dtype=np.int64)
    for fill in range(2):
        for broker in range(len(indptr) - 1):
            for c in range(indptr[broker], indptr[broker + 1]):
                at = starts[c]
                count = 0
                for s in range(served_indptr[broker], served_indptr[broker + 1]):
                    t = served[s]
                    inside = True
                    for axis in range(lo.shape[1]):
                        if lo[t, axis] < box_lo[c, axis] or hi[t, axis] > box_hi[c, axis]:
                            inside = False
                            break
                    if inside:
                        if fill == 1:
                            found[at + count] = pair[s]
                        count += 1
                if fill == 0:
                    starts[c + 1] = starts[c] + count
        if fill == 0:
            found = np.empty(starts[-1], dtype=np.int64)
    return starts, found


@kernel
def sum_prices(indptr: LongArray, pairs: LongArray, price: FloatArray) -> FloatArray:
    """Return what the pairs of each candidate would pay for it. Changes nothing."""
    total = np.zeros(len(indptr) - 1)
    for c in range(len(indptr) - 1):
        for at in range(indptr[c], indptr[c + 1]):
            total[c] += price[pairs[at]]
    return total


def most_negative(
    indptr: LongArray, reduced: FloatArray, is_in: Any, most: int, tolerance: float = 1e-7
) -> LongArray:
    """Return the candidates of each broker that would lower the value most, a few of each."""
    new = []
    for broker in range(len(indptr) - 1):
        start, end = indptr[broker : broker + 2]
        wanted = np.flatnonzero((reduced[start:end] < -tolerance) & ~is_in[start:end])
        order = np.argsort(reduced[start:end][wanted], kind="stable")[:most]
        new.append(start + wanted[order])
    return np.concatenate(new).astype(np.int64) if new else np.empty(0, dtype=np.int64)
