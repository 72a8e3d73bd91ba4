"""Yardsticks that ignore a side of the problem: nearest brokers, and the best balance of load.

Filters are fitted afterwards (see :mod:`fanwise.assign.filters`).

Guarantee
    Closest keeps the load limit as long as the allowed loads add up to everybody, and may be late.
    Balance has the least load-balance factor of all assignments in time.

Complexity
    O(subscribers x leaves) for Closest; for Balance a few max-flows between groups of
    subscribers with the same brokers and those brokers, by Newton's method on cuts.

References
----------
    A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based
    publish/subscribe. IEEE ICDE 2011.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.flows import group_alike, least_lbf
from fanwise.arrays.jit import kernel
from fanwise.arrays.latencies import distance
from fanwise.assign.choices import choices_of, pairs_of, usable_leaves
from fanwise.assign.filters import fit_filters
from fanwise.assign.problem import Assignment, make_tables
from fanwise.planning.problem import Outcome, Run

NO_LIMIT = np.iinfo(np.int64).max


def solve_closest(problem: Assignment, run: Run) -> Outcome:
    """Closest: the nearest leaf broker that is not full at the allowed load, in order of ids."""
    return _fitted(problem, _nearest(problem, problem.limits(problem.lbf_max)))


def solve_closest_without_balance(problem: Assignment, run: Run) -> Outcome:
    """Closest without load: the nearest leaf broker that has a share."""
    limits = np.full(problem.workload.num_brokers, NO_LIMIT, dtype=np.int64)
    return _fitted(problem, _nearest(problem, limits))


def solve_balance(problem: Assignment, run: Run) -> Outcome:
    """Balance: the least load-balance factor within the latency limits, by max-flow."""
    return _fitted(problem, balanced(problem))


def balanced(problem: Assignment) -> IntArray:
    """Return the assignment with the least load-balance factor.

    Who has no broker in time may be put on any, as in the greedy algorithms.
    """
    arrays = problem.arrays
    factor, flow = problem.least
    # Somebody has no broker in time: then those that greedy algorithms fall back on count too.
    if factor is None:
        _, flow = least_lbf(group_alike(pairs_of(problem), arrays.num_brokers), arrays.share)
    brokers = flow.broker_of_subscriber()
    left = np.flatnonzero(brokers < 0)
    choices = choices_of(problem)
    brokers[left] = choices.brokers[choices.first[left]]  # only those without a share
    return brokers


def _fitted(problem: Assignment, broker_of_subscriber: IntArray) -> Outcome:
    filters = fit_filters(problem.arrays, broker_of_subscriber)
    return Outcome(make_tables(broker_of_subscriber, filters))


def _nearest(problem: Assignment, limits: LongArray) -> IntArray:
    workload = problem.workload
    leaves = usable_leaves(problem)
    return fill_nearest(workload.positions, workload.broker_positions, leaves, limits)


@kernel
def fill_nearest(
    positions: FloatArray, broker_positions: FloatArray, leaves: IntArray, limits: LongArray
) -> IntArray:
    """Give each subscriber the nearest broker with room, or the nearest where none has any.

    Changes nothing.
    """
    loads = np.zeros(len(limits), dtype=np.int64)
    chosen = np.full(len(positions), -1, dtype=np.int32)
    for row in range(len(positions)):
        best, best_full = np.inf, np.inf
        full = -1
        for leaf in leaves:
            near = distance(positions, row, broker_positions, leaf)
            if loads[leaf] < limits[leaf]:
                if near < best:
                    best = near
                    chosen[row] = leaf
            elif near < best_full:
                best_full = near
                full = leaf
        if chosen[row] < 0:
            chosen[row] = full
        loads[chosen[row]] += 1
    return chosen
