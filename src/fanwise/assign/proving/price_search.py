"""Good prices for a market: linear programs over boxes that are priced in as needed.

Variables: x, the part of a type that a broker serves, and y, the part of a box in its filter.
Everybody is served, by brokers whose boxes hold both corners; loads are limited; a broker has room
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
from fanwise.assign.proving.market import (
    Market,
    Prices,
    boxes_of,
    evaluate,
)
from fanwise.planning.highs import Matrix, Model, Solver

ROUNDS, ROUNDS_IN_TIME, MOST_ITERATIONS = 40, 300, 50_000
"""Programs at most, without a time limit and with one; and steps of each."""
MOST_BOXES = 6
"""New boxes of a broker in a round."""
ENOUGH = 0.005
"""It ends where prices prove what the program is worth, up to so much of it."""
TOWARDS = 0.35
"""How far from the best prices to those of the program others are tried."""
LEAST_GAIN = 1e-6


def search_prices(market: Market, time_left: Callable[[], float]) -> tuple[float, Prices]:
    """Return the best prices found, and what they prove."""
    program = Program(market)
    nothing = Prices(
        np.zeros((len(market.allowed.indices), 2)),
        np.zeros(len(market.limits)),
        # Cells alone: everything is worth what it measures.
        (market.least > 0).astype(np.float64),
    )
    best, value = nothing, evaluate(market, nothing).value
    for _ in range(ROUNDS if np.isinf(time_left()) else ROUNDS_IN_TIME):
        if time_left() <= 0 or not program.solve(time_left()):
            break
        # Prices of the program swing; those on the way to them from the best are steadier.
        steady = Prices(*(a + TOWARDS * (b - a) for a, b in zip(best, program.prices, strict=True)))
        is_new = False
        for prices in (steady, program.prices):
            proven = evaluate(market, prices)
            if proven.value > value:
                best, value = prices, proven.value
            is_new |= program.add_columns(proven.nets)
        worth = program.value / market.ratio
        if not is_new or value >= worth - ENOUGH * abs(worth):
            break
    return value, best


class Program:
    """The linear program with the columns so far, and its prices."""

    def __init__(self, market: Market) -> None:
        self._market = market
        self._pairs = market.allowed.indices
        self._types = market.type_of_pair
        self._num_types, self._num_brokers = market.allowed.num_rows, len(market.limits)
        self._room = boxes_of(market.alpha, market.dims)
        self._scale = max(float(market.lattice.measure.sum()), float(np.finfo(float).tiny))
        self._cells = np.argwhere((market.least > 0) & (market.lattice.measure > 0))
        self._seen: set[tuple[int, ...]] = set()
        self.value = 0.0
        self.prices = Prices(np.empty((0, 2)), np.empty(0), np.empty((0, 0)))
        # Presolved, HiGHS begins anew each time and has lost its way; else from the last basis.
        self._solver = Solver(self._model(), presolve=False, max_iterations=MOST_ITERATIONS)
        self._pairs_of = [np.flatnonzero(self._pairs == b) for b in range(self._num_brokers)]
        for broker in range(self._num_brokers):
            self._start(broker)

    @property
    def _first_rows(self) -> tuple[int, int, int, int, int]:
        """Where the rows of loads, room, pairs and cells begin, and where they end."""
        load = self._num_types
        room = load + self._num_brokers
        pair = room + self._num_brokers
        cell = pair + 2 * len(self._pairs)
        return load, room, pair, cell, cell + len(self._cells)

    def _model(self) -> Model:
        """Return the program with the variables of pairs alone."""
        market, count = self._market, len(self._pairs)
        load, room, pair, cell, end = self._first_rows
        limits = market.limits[self._pairs]
        rows = np.column_stack(
            [
                self._types,
                load + self._pairs,
                pair + 2 * np.arange(count),
                pair + 2 * np.arange(count) + 1,
            ]
        )
        used = market.members[self._types] / np.where(limits > 0, limits, 1.0)
        values = np.column_stack([np.ones(count), used, -np.ones(count), -np.ones(count)])
        least, most = np.full(end, -np.inf), np.full(end, np.inf)
        least[:load] = 1.0
        most[load:room] = 1.0
        most[room:pair] = self._room
        least[pair:cell] = 0.0
        at = tuple(self._cells.T)
        least[cell:] = market.least[at] / market.lattice.measure[at]
        return Model(
            cost=np.zeros(count),
            lower=np.zeros(count),
            upper=np.where(limits > 0, 1.0, 0.0),
            matrix=Matrix(np.arange(0, 4 * count + 1, 4), rows.reshape(-1), values.reshape(-1)),
            is_by_column=True,
            row_lower=least,
            row_upper=most,
        )

    def _start(self, broker: int) -> None:
        """Add the box of each type of a broker, that around them, and the one around everything.

        With the last there is always a solution, as cells need no more brokers than there are.
        """
        if not self._market.is_open[broker]:
            return
        rows, columns = self._market.lattice.shape
        boxes = [np.array([[0, rows - 1, 0, columns - 1]])]
        own = self._market.corners[self._types[self._pairs_of[broker]]]
        if len(own):
            low, high = own.min(axis=1), own.max(axis=1)
            boxes.append(np.stack([low[:, 0], high[:, 0], low[:, 1], high[:, 1]], axis=1))
            around = [low[:, 0].min(), high[:, 0].max(), low[:, 1].min(), high[:, 1].max()]
            boxes.append(np.array([around]))
        self._add(broker, list(np.unique(np.vstack(boxes), axis=0)))

    def solve(self, seconds: float) -> bool:
        """Solve, and keep value and prices; False: no solution."""
        limit = None if np.isinf(seconds) else seconds
        answer = self._solver.solve(time_limit=limit)
        if answer.status not in ("optimal", "unknown") or len(answer.duals) == 0:
            return False
        load, room, pair, cell, _ = self._first_rows
        duals = answer.duals * self._scale
        worth = np.zeros(self._market.lattice.shape)
        at = tuple(self._cells.T)
        worth[at] = np.maximum(duals[cell:] / self._market.lattice.measure[at], 0.0)
        self.value = answer.objective * self._scale
        self.prices = Prices(
            np.maximum(duals[pair:cell], 0.0).reshape(-1, 2),
            np.maximum(-duals[load:room], 0.0),
            worth,
        )
        return True

    def add_columns(self, nets: list[FloatArray]) -> bool:
        """Add what gains most at these prices; whether any of it is new."""
        found = False
        for broker, net in enumerate(nets):
            if not self._market.is_open[broker]:
                continue
            values, boxes = largest_boxes(net)
            order = np.argsort(-values, kind="stable")[:MOST_BOXES]
            least = LEAST_GAIN * self._scale
            found |= self._add(broker, [boxes[k] for k in order if values[k] > least])
        return found

    def _add(self, broker: int, boxes: list[LongArray]) -> bool:
        """Add boxes to those that a broker may let through; whether any is new."""
        _, room, pair, cell, _ = self._first_rows
        market, mine = self._market, self._pairs_of[broker]
        corners = market.corners[self._types[mine]]
        places = pair + 2 * mine[:, None] + np.arange(2)
        costs, starts, rows = [], [0], []
        for box in boxes:
            key = (broker, *box.tolist())
            if key in self._seen:
                continue
            self._seen.add(key)
            low, high = box[[0, 2]], box[[1, 3]]
            held = places[((corners >= low) & (corners <= high)).all(axis=2)]
            let = np.flatnonzero(((self._cells >= low) & (self._cells <= high)).all(axis=1))
            rows += [np.array([room + broker]), held, cell + let]
            starts.append(starts[-1] + 1 + len(held) + len(let))
            part = market.lattice.measure[low[0] : high[0] + 1, low[1] : high[1] + 1]
            costs.append(float(part.sum()) / self._scale)
        if costs:
            count = len(costs)
            self._solver.add_columns(
                np.array(costs),
                np.zeros(count),
                np.full(count, np.inf),
                Matrix(np.array(starts), np.concatenate(rows), np.ones(starts[-1])),
            )
        return bool(costs)
