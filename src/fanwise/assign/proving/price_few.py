"""Prices at so few places that what filters gain is known exactly: one linear program.

Types are chosen far apart, as long as no broker has more places where somebody pays than can be
looked at in all ways. They pay at one corner, or at two. Then a variable for each broker and each
set of its types is the part of a filter that holds just these, at the least that alpha boxes cost.
Everybody chosen is held by some broker, and loads are limited. The prices are the duals. Who pays
nothing makes room for others, and the program is solved again.

Guarantee
    None on the prices; whatever they are, :func:`~fanwise.assign.proving.market.evaluate` says what
    they prove.

Complexity
    O(brokers x ways of :mod:`~fanwise.assign.proving.few_places`), and a program of 512 columns for
    each broker.

References
----------
    Our own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import LongArray
from fanwise.assign.proving.few_places import least_of_choices, most_places, places_of
from fanwise.assign.proving.market import Market, Prices
from fanwise.planning.highs import Matrix, Model, Solver

CHOICES = ((2, 2.0), (1, 2.0), (2, 1.0))
"""At how many corners types pay, and how much more those count who have few brokers."""
ROUNDS, STALE = 12, 4
"""Programs for each choice: types that pay nothing make room for others. It ends after so many that
are no better."""
SIDES = 0.01
"""What the sides of a box count beside what it measures, where types are chosen far apart."""
MOST_ITERATIONS, LEAST_GAIN = 50_000, 1e-6


def search_few(
    market: Market, time_left: Callable[[], float], *, is_quick: bool = False
) -> list[Prices]:
    """Return the best prices found at few places; none where there is no time.

    A quick search makes the first choice alone, and one program for it.
    """
    best: list[Prices] = []
    value = -np.inf
    for corners, power in CHOICES[:1] if is_quick else CHOICES:
        found = _search(market, corners, power, 1 if is_quick else ROUNDS, time_left)
        if found is not None and found[1] > value:
            best, value = [found[0]], found[1]
    return best


def _search(
    market: Market, corners: int, power: float, rounds: int, time_left: Callable[[], float]
) -> tuple[Prices, float] | None:
    """Return the best prices of a choice, and what they are worth."""
    is_free = np.ones(len(market.members), dtype=np.bool_)
    chosen = np.empty(0, dtype=np.int64)
    best, value, stale = None, -np.inf, 0
    for _ in range(rounds):
        before = time_left()
        chosen = choose_apart(market, power, corners, chosen, is_free)
        if time_left() <= 0 or len(chosen) == 0:
            break
        solved = _solve(market, chosen, corners, time_left)
        if solved is None:
            break
        prices, worth = solved
        stale = 0 if worth > value * (1 + LEAST_GAIN) else stale + 1
        if worth > value:
            best, value = prices, worth
        pays = prices.paid[chosen].any(axis=1)
        # To evaluate prices takes about as long as to find them.
        if stale > STALE or pays.all() or time_left() < 2 * (before - time_left()):
            break
        is_free[chosen[~pays]] = False
        chosen = chosen[pays]
    return None if best is None else (best, value)


def choose_apart(
    market: Market,
    power: float,
    corners: int,
    first: LongArray,
    is_free: npt.NDArray[np.bool_],
) -> LongArray:
    """Return some types and free ones whose first corners lie apart, few of them at each broker.

    Each is the one whose least box with those before, over their common brokers, is the largest.
    """
    count = len(market.members)
    uses = np.zeros((count, len(market.limits)), dtype=np.bool_)
    for broker in np.flatnonzero(market.is_open).tolist():
        uses[market.types_of_broker[broker], broker] = True
    sizes = uses.sum(axis=1)
    lines = market.lattice.lines
    at = np.column_stack(
        [lines[k][market.corners[:, 0, k] // 2] for k in range(2)]
    )  # the lower line of a span
    spread = [max(float(np.ptp(lines[k])), 1.0) if k < market.dims else 1.0 for k in range(2)]
    apart = np.full(count, np.inf)
    is_point = (market.corners[:, 0] == market.corners[:, 1]).all(axis=1)
    takes = np.where(is_point, 1, corners)
    room = np.full(len(market.limits), most_places(market.alpha))
    is_free = is_free & (sizes > 0)
    chosen: list[int] = []
    waiting = first.tolist()[::-1]
    while waiting or is_free.any():
        score = np.where(is_free, np.minimum(apart, 2.0) / np.maximum(sizes, 1) ** power, -1.0)
        best = waiting.pop() if waiting else int(np.argmax(score))
        if not is_free[best]:
            continue
        chosen.append(best)
        room = room - takes[best] * uses[best]
        meets = uses[:, uses[best]].any(axis=1)
        sides = np.abs(at - at[best]) / spread
        box = sides.prod(axis=1) if market.dims > 1 else 0.0
        box = box + SIDES * sides.sum(axis=1)  # those on a line of an axis are not alike
        apart[meets] = np.minimum(apart[meets], box[meets])
        is_free[best] = False
        is_free &= ~(uses & (room < takes[:, None])).any(axis=1)
    return np.array(chosen, dtype=np.int64)


def _solve(
    market: Market, chosen: LongArray, corners: int, time_left: Callable[[], float]
) -> tuple[Prices, float] | None:
    """Return prices for chosen types and what they are worth; None without time or solution."""
    count, brokers = len(chosen), np.flatnonzero(market.is_open)
    measure = market.lattice.measure
    scale = max(float(measure.sum()), float(np.finfo(float).tiny))
    costs, sizes = [np.ones(count)], [np.ones(count, dtype=np.int64)]
    rows, values = [np.arange(count)], [np.ones(count)]
    is_paid = np.zeros((count, 2), dtype=np.bool_)
    is_paid[:, :corners] = True
    for number, broker in enumerate(brokers.tolist()):
        if time_left() <= 0:
            return None
        mine = np.flatnonzero(np.isin(chosen, market.types_of_broker[broker]))
        if len(mine) == 0:
            continue
        places, bits = places_of(market.corners[chosen[mine]], is_paid[mine])
        least = least_of_choices(measure, places, market.alpha)
        held = np.arange(len(least))[:, None] & bits == bits
        # Of all ways to hold the same types only the cheapest matters.
        kinds, kind = np.unique(held, axis=0, return_inverse=True)
        cost = np.full(len(kinds), np.inf)
        np.minimum.at(cost, kind.reshape(-1), least)
        kinds, cost = kinds[kinds.any(axis=1)], cost[kinds.any(axis=1)]
        which, members = np.nonzero(kinds)
        used = kinds @ market.members[chosen[mine]] / market.limits[broker]
        own = kinds.sum(axis=1) + 2
        first = np.cumsum(own) - own
        at, value = np.empty(int(own.sum()), dtype=np.int64), np.ones(int(own.sum()))
        at[first], at[first + 1] = count + number, count + len(brokers) + number
        value[first + 1] = used
        at[np.arange(len(which)) + 2 * (which + 1)] = mine[members]
        costs.append(cost / scale)
        sizes.append(own)
        rows.append(at)
        values.append(value)
    end = count + 2 * len(brokers)
    number_of_columns = sum(map(len, costs))
    solver = Solver(
        Model(
            cost=np.concatenate(costs),
            lower=np.zeros(number_of_columns),
            upper=np.full(number_of_columns, np.inf),
            matrix=Matrix(
                np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
                np.concatenate(rows),
                np.concatenate(values),
            ),
            is_by_column=True,
            row_lower=np.where(np.arange(end) < count, 1.0, -np.inf),
            row_upper=np.where(np.arange(end) < count, np.inf, 1.0),
        ),
        max_iterations=MOST_ITERATIONS,
    )
    seconds = time_left()
    answer = solver.solve(time_limit=None if np.isinf(seconds) else seconds)
    if answer.status not in ("optimal", "unknown") or len(answer.duals) == 0:
        return None
    paid = np.zeros((len(market.members), 2))
    each = np.maximum(answer.duals[:count], 0.0) * scale
    is_point = (market.corners[chosen, 0] == market.corners[chosen, 1]).all(axis=1)
    shared = np.where(is_point, 1, corners)
    paid[chosen, 0] = each / shared
    paid[chosen, 1] = np.where(shared > 1, each / 2, 0.0)
    load = np.zeros(len(market.limits))
    load[brokers] = np.maximum(-answer.duals[count + len(brokers) :], 0.0) * scale
    return Prices(paid, load, np.zeros(market.lattice.shape)), answer.objective * scale
