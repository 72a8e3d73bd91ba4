"""The cheapest cover of each subscriber: the fewest bytes sent out with enough events.

Each subscriber for itself: a minimum knapsack with the threshold in events and the price in bytes.
Incoming copies are not looked at, so that subscribers may pick different topics where they could
have shared one; ``best`` does that.

Guarantee
    No choice of pairs has less outgoing traffic.

Complexity
    With whole rates O(pairs x threshold) at worst, as a rule O(pairs x log followings); with others
    the search may grow exponentially, and is given up.

References
----------
    G. L. Nemhauser, Z. Ullmann: Discrete dynamic programming and capital allocation. Management
    Science 15(9), 1969.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray
from fanwise.errors import ParameterError
from fanwise.planning.problem import Run
from fanwise.provision.pairs.charges import whole_demand
from fanwise.provision.pairs.core_kernels import choose_covers, gather_chosen
from fanwise.provision.pairs.cover_kernels import make_workspace
from fanwise.provision.pairs.greedy_pairs import choose_rest
from fanwise.provision.pairs.pair_kernels import longest_row
from fanwise.provision.pairs.passes import IsOver, never_over, pass_over
from fanwise.provision.problem import SOLVER_TOLERANCE, Provisioning

STATES = 20_000
MOST_STATES = 4_000_000
"""Partial covers kept for one subscriber, at first and where that is not enough."""


def choose_pairs(problem: Provisioning, run: Run) -> Csr:
    """Return the cheapest topics of each subscriber, by id.

    Raises
    ------
    ParameterError
        If a subscriber has too many topics, with rates too odd, to prove that a cover is cheapest.
    """
    with run.progress.step("choosing pairs"):
        is_chosen, hard = cheapest_covers(problem)
        hard = solve_hard_ones(problem, is_chosen, hard)
    if len(hard):
        raise ParameterError(
            "select", f"'best' for this workload: subscriber {hard[0]} has too many covers", "exact"
        )
    return Csr(*gather_chosen(*problem.workload.interests, is_chosen))


def cheapest_covers(
    problem: Provisioning, is_over: IsOver = never_over
) -> tuple[npt.NDArray[np.bool_], IntArray]:
    """Return which pairs are chosen, and the subscribers whose covers are not proven cheapest.

    When the time is over, the subscribers that are left take what ``gsp`` chooses for them.
    """
    interests = problem.workload.interests
    is_chosen = np.zeros(problem.workload.num_pairs, dtype=np.bool_)
    arguments = _arguments(problem)
    longest = longest_row(interests.indptr)

    def choose(first: int, last: int) -> IntArray:
        workspace = make_workspace(longest, STATES)
        hard: IntArray = choose_covers(first, last, *arguments, is_chosen, workspace)
        return hard

    parts, num_seen = pass_over(interests.indptr, choose, is_over)
    choose_rest(problem, num_seen, is_chosen)
    return is_chosen, np.concatenate(parts)


def solve_hard_ones(
    problem: Provisioning, is_chosen: npt.NDArray[np.bool_], hard: IntArray
) -> IntArray:
    """Search again with far more memory; return the first that is still not proven, if any."""
    if not len(hard):
        return hard
    arguments = _arguments(problem)
    workspace = make_workspace(longest_row(problem.workload.interests.indptr), MOST_STATES)
    for subscriber in hard.tolist():
        left: IntArray = choose_covers(subscriber, subscriber + 1, *arguments, is_chosen, workspace)
        if len(left):
            return left
    return hard[:0]


def _arguments(
    problem: Provisioning,
) -> tuple[LongArray, IntArray, FloatArray, FloatArray, FloatArray]:
    rates = np.where(problem.is_usable, problem.workload.rates, 0.0)
    enough = whole_demand(problem, SOLVER_TOLERANCE)
    return (*problem.workload.interests, rates, enough, problem.needs)
