"""Valid inequalities, one per subscriber: satisfied only if enough of its topics are served.

For subscriber v and *any* set F of its topics that falls short of tau_v, whoever is satisfied
has at least tau_v - rate(F) from topics outside F. So its satisfaction is at most the sum, over t
outside F that are served, of min(1, rate_t / (tau_v - rate(F))): a knapsack-cover inequality (Carr,
Fleischer, Leung, Phillips 2000). With F empty this bounds the fractional metric too; with F chosen
to fit a good selection it is far tighter for the binary one:

- a subscriber that the selection leaves unsatisfied takes F = its served topics: what it has so far
  is worth nothing;
- one that is satisfied takes F = its served topics but one, for each topic without which it would
  not be satisfied. These inequalities are averaged with the topics' rates as weights, so each of
  them carries its part of the price.

From there on, inequalities follow the relaxation: where its shares break one with another F (the
topics with the largest shares, as many as fall short of tau_v), it is mixed in half and half. A mix
of valid inequalities is valid (see :mod:`fanwise.select.relaxing.inequalities`).

Coefficients are float32, rounded up, which keeps the inequalities valid.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.threads import cut_rows, in_threads
from fanwise.select.problem import Selection
from fanwise.select.relaxing.inequalities import (
    ENOUGH,
    LEAST_SHORTAGE,
    NUM_SETS,
    ROUND_UP,
    Coefficients,
    Inequalities,
    Parts,
    Rows,
    Sets,
    free_slot,
    put_set,
)

PIECES = 16
LONG_ROW = 24
SCALE = 96
"""Parts of the first mix add up to about this."""


def plain_inequalities(problem: Selection) -> Inequalities:
    """Return the inequalities with F empty, which hold for both metrics."""
    return _inequalities(problem, None)


def cover_inequalities(problem: Selection, served: npt.NDArray[np.bool_]) -> Inequalities:
    """Return the inequalities that fit a selection; valid for the binary metric only."""
    return _inequalities(problem, served)


def separate(problem: Selection, shares: FloatArray, inequalities: Inequalities) -> int:
    """Mix in, in place, inequalities that the shares break worse; return for how many."""
    changed = inequalities.sets, inequalities.parts, inequalities.coefficients
    return mix_in(problem, shares, mix_broken, *changed)


def mix_in(
    problem: Selection,
    shares: FloatArray,
    mix: Callable[..., int],
    *changed: npt.NDArray[np.generic],
) -> int:
    """Let a kernel mix in inequalities of all subscribers, on all cores; return for how many.

    Parameters
    ----------
    changed
        The arrays of the inequalities that the kernel changes.
    """
    rows = rows_of(problem)
    widest = int(np.diff(rows.indptr).max(initial=0))

    def work(piece: tuple[int, int]) -> int:
        return mix(rows, shares, *piece, widest, *changed)

    return sum(in_threads(work, cut_rows(rows.indptr, PIECES)))


def rows_of(problem: Selection) -> Rows:
    """Return who needs what of a problem, as inequalities take it."""
    workload = problem.workload
    # A hair less than tau_v: coefficients grow, so they stay valid for what counts as satisfied.
    return Rows(*workload.interests, workload.rates, problem.demand * ENOUGH)


def _inequalities(problem: Selection, served: npt.NDArray[np.bool_] | None) -> Inequalities:
    made, rows = Inequalities.unfilled(problem), rows_of(problem)

    def work(piece: tuple[int, int]) -> None:
        if served is not None:
            choose_covers(rows, served, *piece, made.sets, made.parts)
        fill_covers(rows, *piece, made.sets, made.parts, made.coefficients)

    in_threads(work, cut_rows(rows.indptr, PIECES))
    return made


@kernel
def choose_covers(
    rows: Rows,
    served: npt.NDArray[np.bool_],
    first: int,
    last: int,
    sets: Sets,
    parts: Parts,
) -> None:
    """Fit the sets of some subscribers, all empty so far, to a selection.

    Changes ``sets`` and ``parts``.
    """
    indptr, interests, rates, demand = rows
    critical = np.empty(NUM_SETS, dtype=np.int64)
    for subscriber in range(first, last):
        start, stop = indptr[subscriber], indptr[subscriber + 1]
        need = demand[subscriber]
        if need <= 0.0:
            continue
        got = 0.0
        for i in range(start, stop):
            if served[interests[i]]:
                got += rates[interests[i]]
        least = LEAST_SHORTAGE * need
        if got < need:
            if need - got >= least:
                for i in range(start, stop):
                    sets[i] = 1 if served[interests[i]] else 0
            continue
        num_critical = 0
        total = 0.0
        for i in range(start, stop):
            rate = rates[interests[i]]
            short = need - got + rate
            if num_critical < parts.shape[1] and served[interests[i]] and short >= least:
                critical[num_critical] = i
                num_critical += 1
                total += rate
        for k in range(num_critical):
            share = SCALE * rates[interests[critical[k]]] / total
            parts[subscriber, k] = max(1, int(share + 0.5))
            bit = np.uint8(1 << k)
            for i in range(start, stop):
                if served[interests[i]] and i != critical[k]:
                    sets[i] = sets[i] | bit


@kernel
def fill_covers(
    rows: Rows,
    first: int,
    last: int,
    sets: Sets,
    parts: Parts,
    coefficients: Coefficients,
) -> None:
    """Write the coefficients of knapsack-cover inequalities for the pairs of some subscribers.

    Changes ``coefficients``.
    """
    indptr, interests, rates, demand = rows
    short = np.empty(NUM_SETS)
    for subscriber in range(first, last):
        start, stop = indptr[subscriber], indptr[subscriber + 1]
        fill_cover(
            interests[start:stop],
            rates,
            demand[subscriber],
            sets[start:stop],
            parts[subscriber],
            short,
            coefficients[start:stop],
        )


@kernel
def fill_cover(
    interests: IntArray,
    rates: FloatArray,
    need: float,
    sets: Sets,
    parts: Parts,
    short: FloatArray,
    coefficients: Coefficients,
) -> None:
    """Write one subscriber's coefficients; ``short`` is scratch for what its sets fall short by.

    Changes ``short`` and ``coefficients``.
    """
    if need <= 0.0:
        coefficients[:] = 0.0
        return
    total = 0.0
    for k in range(len(parts)):
        total += parts[k]
        short[k] = need
        if parts[k] > 0:
            for i in range(len(interests)):
                if sets[i] >> k & 1:
                    short[k] -= rates[interests[i]]
    for i in range(len(interests)):
        share = 0.0
        for k in range(len(parts)):
            if parts[k] > 0 and not sets[i] >> k & 1:
                share += parts[k] * min(1.0, rates[interests[i]] / short[k])
        coefficients[i] = np.float32(share / total * ROUND_UP)


@kernel
def order_by_share(
    interests: IntArray, shares: FloatArray, rates: FloatArray, order: LongArray, keys: FloatArray
) -> None:
    """Order one subscriber's topics by share, then rate, both descending.

    Changes ``order`` and ``keys``.
    """
    size = len(interests)
    for i in range(size):
        keys[i] = shares[interests[i]]
        order[i] = i
    if size > LONG_ROW:
        order[:size] = np.argsort(-keys[:size], kind="mergesort")
        return
    for i in range(1, size):
        this = order[i]
        j = i
        while j > 0 and (
            keys[order[j - 1]] < keys[this]
            or (
                keys[order[j - 1]] == keys[this]
                and rates[interests[order[j - 1]]] < rates[interests[this]]
            )
        ):
            order[j] = order[j - 1]
            j -= 1
        order[j] = this


@kernel
def mix_broken(
    rows: Rows,
    shares: FloatArray,
    first: int,
    last: int,
    widest: int,
    sets: Sets,
    parts: Parts,
    coefficients: Coefficients,
) -> int:
    """Mix in the inequality of the largest shares for subscribers where it is broken worse.

    Changes ``sets``, ``parts`` and ``coefficients``.
    """
    indptr, interests, rates, demand = rows
    order = np.empty(widest, dtype=np.int64)
    keys = np.empty(widest)
    is_inside = np.empty(widest, dtype=np.bool_)
    short = np.empty(NUM_SETS)
    num_mixed = 0
    for subscriber in range(first, last):
        start, stop = indptr[subscriber], indptr[subscriber + 1]
        need = demand[subscriber]
        size = stop - start
        if need <= 0.0 or size == 0:
            continue
        row = interests[start:stop]
        order_by_share(row, shares, rates, order, keys)
        got = 0.0
        enough = need * (1.0 - LEAST_SHORTAGE)
        for i in range(size):
            rate = rates[row[order[i]]]
            is_inside[order[i]] = got + rate < enough
            if is_inside[order[i]]:
                got += rate
        reached = 0.0
        reached_now = 0.0
        for i in range(size):
            reached_now += coefficients[start + i] * shares[row[i]]
            if not is_inside[i]:
                reached += min(1.0, rates[row[i]] / (need - got)) * shares[row[i]]
        if reached >= reached_now - 1e-6:
            continue
        num_mixed += 1
        slot = free_slot(parts[subscriber])
        put_set(sets[start:stop], slot, is_inside)
        fill_cover(
            row, rates, need, sets[start:stop], parts[subscriber], short, coefficients[start:stop]
        )
    return num_mixed
