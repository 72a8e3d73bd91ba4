"""Good prices for a market: linear programs over boxes that are priced in as needed.

A variable is a box in the filter of a broker, with those whom it serves there. Each corner of a
type must be let through for it, by boxes of whichever broker; loads are limited; a broker has room
for so many boxes; each cell is let through as often as it must be. The prices are the duals.

Guarantee
    None on the prices; whatever they are, :func:`~fanwise.assign.proving.market.evaluate` says what
    they prove.

Complexity
    That of at most ROUNDS linear programs of growing size, by the simplex method.

References
----------
    G. Dantzig, P. Wolfe: Decomposition principle for linear programs. Operations Research 8(1),
    1960.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.assign.proving.gain_kernels import largest_boxes
from fanwise.assign.proving.market import Market, Prices, boxes_of, evaluate, what_is_left
from fanwise.planning.highs import Matrix, Model, Solver

ROUNDS, ROUNDS_IN_TIME, MOST_ITERATIONS = 60, 400, 50_000
"""Programs at most, by work and where time is to be used; and steps of each."""
MOST_BOXES = 12
"""New boxes of a broker in a round."""
MOST_CELLS = 1500
"""Cells that must be let through, in the program: those where most must travel."""
ENOUGH = 0.005
"""It ends where prices prove what the program is worth, up to so much of it."""
TOWARDS = 0.3
"""How far from the best prices to those of the program others are tried."""
LEAST_GAIN = 1e-6
DEAR = 0.1
"""What it costs to do without a corner, of all that may travel: no price is higher."""
STEADY = 25
"""It ends after so many rounds in which neither prices nor the program became any better."""


def search_prices(
    market: Market, time_left: Callable[[], float], rounds: int = ROUNDS
) -> tuple[float, Prices]:
    """Return the best prices found in so many programs, and what they prove."""
    program = Program(market)
    best = nothing_paid(market)
    value = evaluate(market, best).value
    centre, centre_value, stale = program.prices, -np.inf, 0
    for _ in range(rounds):
        before = centre_value, program.value
        if time_left() <= 0 or not program.solve(time_left()):
            break
        # Prices of the program swing; those on the way to them from the best are steadier.
        towards = TOWARDS if np.isfinite(centre_value) else 1.0
        steady = Prices(
            *(a + towards * (b - a) for a, b in zip(centre, program.prices, strict=True))
        )
        is_new = False
        for prices in (steady, program.prices):
            if time_left() <= 0:
                break
            proven = evaluate(market, prices)
            if proven.value > centre_value:
                centre, centre_value = prices, proven.value
            is_new |= program.add_columns(prices, proven.nets)
        if centre_value > value:
            best, value = centre, centre_value
        worth = program.value / market.ratio
        stale = 0 if (centre_value, program.value) != before else stale + 1
        if not is_new or stale > STEADY or value >= worth - ENOUGH * abs(worth):
            break
    return value, best


def nothing_paid(market: Market) -> Prices:
    """Return prices for cells alone: everything is worth what it measures."""
    return Prices(
        np.zeros((len(market.members), 2)),
        np.zeros(len(market.limits)),
        (market.least > 0).astype(np.float64),
    )


class Program:
    """The linear program with the columns so far, and its prices."""

    def __init__(self, market: Market) -> None:
        self._market = market
        self._num_types, self._num_brokers = len(market.members), len(market.limits)
        self._scale = max(float(market.lattice.measure.sum()), float(np.finfo(float).tiny))
        self._is_twice = (market.corners[:, 0] == market.corners[:, 1]).all(axis=1)
        at = np.argwhere((market.least > 0) & (market.lattice.measure > 0))
        most = np.argsort(-market.least[tuple(at.T)], kind="stable")[:MOST_CELLS]
        self._cells = at[np.sort(most)]
        self._seen: set[tuple[int, bytes, bytes]] = set()
        self.value = np.inf
        self.prices = nothing_paid(market)
        # Presolved, HiGHS begins anew each time and has lost its way; else from the last basis.
        self._solver = Solver(self._model(), presolve=False, max_iterations=MOST_ITERATIONS)
        rows, columns = market.lattice.shape
        for broker in np.flatnonzero(market.is_open).tolist():
            # With the box around everything, cells need no more brokers than there are.
            none = np.empty(0, dtype=np.int64)
            self._add(broker, [(np.array([0, rows - 1, 0, columns - 1]), none, none)])

    @property
    def _first_rows(self) -> tuple[int, int, int, int]:
        """Where the rows of loads, room and cells begin, and where they end."""
        load = 2 * self._num_types
        room = load + self._num_brokers
        cell = room + self._num_brokers
        return load, room, cell, cell + len(self._cells)

    def _model(self) -> Model:
        """Return the program with a dear way to do without each corner."""
        market = self._market
        load, room, cell, end = self._first_rows
        least, most = np.full(end, -np.inf), np.full(end, np.inf)
        least[:load] = 1.0
        least[1:load:2][self._is_twice] = -np.inf  # the same place again
        most[load:room] = 1.0
        most[room:cell] = boxes_of(market.alpha, market.dims)
        at = tuple(self._cells.T)
        least[cell:] = market.least[at] / market.lattice.measure[at]
        return Model(
            cost=np.full(load, DEAR),
            lower=np.zeros(load),
            upper=np.ones(load),
            matrix=Matrix(np.arange(load + 1), np.arange(load), np.ones(load)),
            is_by_column=True,
            row_lower=least,
            row_upper=most,
        )

    def solve(self, seconds: float) -> bool:
        """Solve, and keep value and prices; False: no solution."""
        limit = None if np.isinf(seconds) else seconds
        answer = self._solver.solve(time_limit=limit)
        if answer.status not in ("optimal", "unknown") or len(answer.duals) == 0:
            return False
        load, room, cell, _ = self._first_rows
        duals = answer.duals * self._scale
        worth = np.zeros(self._market.lattice.shape)
        at = tuple(self._cells.T)
        worth[at] = np.clip(duals[cell:] / self._market.lattice.measure[at], 0.0, 1.0)
        self.value = answer.objective * self._scale
        self.prices = Prices(
            np.maximum(duals[:load], 0.0).reshape(-1, 2),
            np.maximum(-duals[load:room], 0.0),
            worth,
        )
        return True

    def add_columns(self, prices: Prices, nets: dict[int, FloatArray]) -> bool:
        """Add what gains most at these prices; whether any of it is new."""
        found = False
        for broker, net in nets.items():
            values, boxes = largest_boxes(net)
            order = np.argsort(-values, kind="stable")[:MOST_BOXES]
            chosen = boxes[order[values[order] > LEAST_GAIN * self._scale]]
            types, left = what_is_left(self._market, prices, broker)
            types = types[left.any(axis=1)]
            corners = self._market.corners[types]
            made = []
            for box in chosen:
                holds = ((corners >= box[[0, 2]]) & (corners <= box[[1, 3]])).all(axis=2)
                whose, which = np.nonzero(holds)
                made.append((box, types[whose], which))
            found |= self._add(broker, made)
        return found

    def _add(self, broker: int, columns: list[tuple[LongArray, LongArray, LongArray]]) -> bool:
        """Add boxes, with the types and corners that they serve; whether any is new."""
        load, room, cell, _ = self._first_rows
        market = self._market
        costs, starts, rows, values = [], [0], [], []
        for box, types, which in columns:
            key = broker, box.tobytes(), types.tobytes()
            if key in self._seen:
                continue
            self._seen.add(key)
            low, high = box[[0, 2]], box[[1, 3]]
            let = np.flatnonzero(((self._cells >= low) & (self._cells <= high)).all(axis=1))
            is_needed = ~(self._is_twice[types] & (which == 1))
            share = np.where(self._is_twice[types], 1.0, 0.5)[is_needed]
            served = (2 * types + which)[is_needed]
            used = float((share * market.members[types[is_needed]]).sum())
            rows += [served, np.array([load + broker, room + broker]), cell + let]
            values += [
                np.ones(len(served)),
                np.array([used / market.limits[broker], 1.0]),
                np.ones(len(let)),
            ]
            starts.append(starts[-1] + len(served) + 2 + len(let))
            part = market.lattice.measure[low[0] : high[0] + 1, low[1] : high[1] + 1]
            costs.append(float(part.sum()) / self._scale)
        if costs:
            count = len(costs)
            self._solver.add_columns(
                np.array(costs),
                np.zeros(count),
                np.full(count, np.inf),
                Matrix(np.array(starts), np.concatenate(rows), np.concatenate(values)),
            )
        return bool(costs)
