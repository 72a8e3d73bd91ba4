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
of valid inequalities is valid.

Coefficients are float32, rounded up, which keeps the inequalities valid.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.threads import cut_rows, in_threads
from fanwise.select.problem import Selection
from fanwise.workload.topic import RELATIVE_TOLERANCE

Coefficients = npt.NDArray[np.float32]

PIECES = 16
ROUND_UP = 1 + 2.0**-23
LONG_ROW = 24
MAX_CRITICAL = 16
"""Inequalities averaged per subscriber: more cost time and change little."""


def plain_inequalities(problem: Selection) -> Coefficients:
    """Return the inequalities with F empty, a coefficient per pair of the subscriber CSR."""
    nothing = np.zeros(problem.workload.num_topics, dtype=bool)
    return _inequalities(problem, nothing, is_binary=False)


def cover_inequalities(problem: Selection, served: npt.NDArray[np.bool_]) -> Coefficients:
    """Return the inequalities that fit a selection; valid for the binary metric only."""
    return _inequalities(problem, served, is_binary=True)


def separate(problem: Selection, shares: FloatArray, coefficients: Coefficients) -> int:
    """Mix in, in place, inequalities that the shares break worse; return for how many."""
    workload = problem.workload
    interests = workload.interests
    demand = problem.demand * (1 - RELATIVE_TOLERANCE)
    widest = int(np.diff(interests.indptr).max(initial=0))

    def work(piece: tuple[int, int]) -> int:
        return mix_broken(
            *interests, workload.rates, demand, shares, piece[0], piece[1], widest, coefficients
        )

    return sum(in_threads(work, cut_rows(interests.indptr, PIECES)))


def _inequalities(
    problem: Selection, served: npt.NDArray[np.bool_], *, is_binary: bool
) -> Coefficients:
    interests = problem.workload.interests
    coefficients = np.empty(len(interests.indices), dtype=np.float32)
    # A hair less than tau_v: coefficients grow, so they stay valid for what counts as satisfied.
    demand = problem.demand * (1 - RELATIVE_TOLERANCE)
    fill = fill_cover_coefficients if is_binary else fill_plain_coefficients

    def work(piece: tuple[int, int]) -> None:
        fill(*interests, problem.workload.rates, demand, served, *piece, coefficients)

    in_threads(work, cut_rows(interests.indptr, PIECES))
    return coefficients


@kernel
def fill_plain_coefficients(
    indptr: LongArray,
    interests: IntArray,
    rates: FloatArray,
    demand: FloatArray,
    served: npt.NDArray[np.bool_],
    first: int,
    last: int,
    coefficients: Coefficients,
) -> None:
    """Write min(1, rate / tau_v) for the pairs of some subscribers."""
    for subscriber in range(first, last):
        need = demand[subscriber]
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            share = min(1.0, rates[interests[i]] / need) if need > 0.0 else 0.0
            coefficients[i] = np.float32(share * ROUND_UP)


@kernel
def fill_cover_coefficients(
    indptr: LongArray,
    interests: IntArray,
    rates: FloatArray,
    demand: FloatArray,
    served: npt.NDArray[np.bool_],
    first: int,
    last: int,
    coefficients: Coefficients,
) -> None:
    """Write the coefficients of knapsack-cover inequalities for the pairs of some subscribers."""
    critical = np.empty(MAX_CRITICAL, dtype=np.float64)
    for subscriber in range(first, last):
        start, stop = indptr[subscriber], indptr[subscriber + 1]
        need = demand[subscriber]
        got = 0.0
        for i in range(start, stop):
            if served[interests[i]]:
                got += rates[interests[i]]
        num_critical = 0
        total = 0.0
        if need > 0.0 and got >= need:
            for i in range(start, stop):
                rate = rates[interests[i]]
                if num_critical < MAX_CRITICAL and served[interests[i]] and got - rate < need:
                    critical[num_critical] = rate
                    num_critical += 1
                    total += rate
        num_seen = 0
        for i in range(start, stop):
            rate = rates[interests[i]]
            share = 0.0
            if need <= 0.0:
                share = 0.0
            elif got < need:
                if not served[interests[i]]:
                    share = min(1.0, rate / (need - got))
            elif num_critical == 0:
                share = min(1.0, rate / need)
            elif served[interests[i]]:
                if num_seen < num_critical and got - rate < need:
                    num_seen += 1
                    share = rate / total
            else:
                for j in range(num_critical):
                    part = min(1.0, rate / (need - got + critical[j]))
                    share += critical[j] / total * part
            coefficients[i] = np.float32(share * ROUND_UP)


@kernel
def order_by_share(
    interests: IntArray, shares: FloatArray, rates: FloatArray, order: LongArray, keys: FloatArray
) -> None:
    """Order one subscriber's topics by share, then rate, both descending."""
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
    indptr: LongArray,
    interests: IntArray,
    rates: FloatArray,
    demand: FloatArray,
    shares: FloatArray,
    first: int,
    last: int,
    widest: int,
    coefficients: Coefficients,
) -> int:
    """Mix in the inequality of the largest shares for subscribers where it is broken worse."""
    order = np.empty(widest, dtype=np.int64)
    keys = np.empty(widest)
    is_inside = np.empty(widest, dtype=np.bool_)
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
        for i in range(size):
            rate = rates[row[order[i]]]
            is_inside[order[i]] = got + rate < need
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
        for i in range(size):
            share = 0.0 if is_inside[i] else min(1.0, rates[row[i]] / (need - got))
            mixed = 0.5 * (np.float64(coefficients[start + i]) + share)
            coefficients[start + i] = np.float32(mixed * ROUND_UP)
    return num_mixed
