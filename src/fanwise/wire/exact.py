"""The optimum by branch and bound, for up to twenty users and eight brokers.

Guarantee
    The optimum, or a plan within the gap that was asked for. Out of time it is the best attachment
    so far with a bound on all others; before any within capacity is found, it is that of greedy
    packing.

Complexity
    See :mod:`fanwise.wire.branching.branch_and_bound`. Twenty users on eight brokers may take
    hours.

References
----------
    A. H. Land, A. G. Doig: An automatic method of solving discrete programming problems.
    Econometrica 28, 1960.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.arrays.tolerance import ROUNDING
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.planning.problem import Bound, Outcome, Run
from fanwise.planning.search import Search
from fanwise.planning.stopping import limits_of
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.branching.branch_and_bound import BranchAndBound
from fanwise.wire.problem import Wiring, make_tables
from fanwise.wire.proving.certificates import prove_by_prices, prove_by_search
from fanwise.wire.state import attachment_cost

MAX_BROKERS = 8
MAX_USERS = 20


def is_small(arrays: WiringArrays) -> bool:
    """Whether branch and bound takes a problem."""
    return arrays.num_users <= MAX_USERS and arrays.num_brokers <= MAX_BROKERS


def solve(problem: Wiring, run: Run) -> Outcome:
    """Solve to optimality, to the gap or to the time limit.

    Raises
    ------
    InfeasibleError
        When no attachment keeps the capacities.
    """
    arrays = problem.arrays
    for what, count, most in (
        ("users", arrays.num_users, MAX_USERS),
        ("brokers", arrays.num_brokers, MAX_BROKERS),
    ):
        if count > most:
            raise ParameterError("algorithm", f"'best' above {most} {what} (here {count})", "exact")
    branching = BranchAndBound.from_packing(arrays)
    with run.progress.step("branch and bound") as step:
        search: Search[IntArray] = Search(run, step, "min", limits_of(run), unit="cost")
        _offer_found(search, arrays, branching)
        with search.until_interrupted():
            while not branching.is_done and not run.is_over():
                branching.go_on(run.gap or 0.0)
                _offer_found(search, arrays, branching)
    if branching.is_done and not search.has_answer:
        raise InfeasibleError(
            "no attachment keeps the capacities of the brokers; raise them, or add a broker."
        )
    by_prices = prove_by_prices(problem.bound_parts)
    bound = by_prices.value  # of no attachment at all, a search says nothing
    if search.has_answer:
        is_optimal = branching.is_done and not run.gap
        rest = max(branching.bound_of_rest, by_prices.value)
        bound = search.value if is_optimal else min(search.value, rest)
    is_proven = search.has_answer and bound == search.value
    search.is_settled = branching.is_done and is_proven
    search.metrics.update(branched=branching.num_branched, proven=is_proven)
    proved = prove_by_search(branching, bound, by_prices, may_be_told=True)
    outcome = search.outcome(make_tables(arrays, branching.broker_of_user), proved)
    # What was left out for the sake of the gap alone is a gap reached, be it by rounding only.
    return replace(outcome, stopped="gap") if branching.is_done and not is_proven else outcome


def _offer_found(search: Search[IntArray], arrays: WiringArrays, branching: BranchAndBound) -> None:
    """Offer the best attachment within capacity, if there is any."""
    if np.isfinite(branching.value):
        found = branching.broker_of_user
        search.offer(found, sum(attachment_cost(arrays, found)))


def searched_bound(arrays: WiringArrays, by_prices: Bound) -> Bound:
    """Return what the first nodes of the search prove, or prices where that is more."""
    if not is_small(arrays):
        return by_prices
    branching = BranchAndBound.from_packing(arrays)
    branching.go_on()
    bound = branching.value
    if not branching.is_done:
        bound = min(bound, branching.bound_of_rest)
    if not np.isfinite(bound):
        return by_prices
    found = prove_by_search(branching, bound * (1 - ROUNDING), by_prices)
    return found if found.value > by_prices.value else by_prices
