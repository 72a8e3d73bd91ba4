"""The optimum by branch and bound, for up to twenty users and eight brokers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.planning.problem import Bound, Outcome, Run, Stopped
from fanwise.wire.access_prices import price_brokers
from fanwise.wire.bounds import ROUNDING, brokers_needed
from fanwise.wire.branching import (
    NUM_BRANCHED,
    PRUNED,
    VALUE,
    Question,
    Search,
    begin_search,
    open_bound,
    search_on,
)
from fanwise.wire.certifying import prove_by_prices, prove_by_search
from fanwise.wire.ground import TOLERANCE, Ground
from fanwise.wire.kernels import fill_costs, grow_tree, make_room, make_span
from fanwise.wire.packing import pack
from fanwise.wire.problem import Wiring, make_tables
from fanwise.wire.state import attachment_cost

MAX_BROKERS = 8
MAX_USERS = 20
NODES_PER_CALL = 5_000


class Answer(NamedTuple):
    """The best attachment found, what any costs at least, and how the search went."""

    broker_of_user: IntArray
    bound: Bound
    is_proven: bool
    num_branched: int
    stopped: Stopped


def solve(problem: Wiring, run: Run) -> Outcome:
    """Solve to optimality, to the gap or to the time limit.

    Out of time before any attachment within capacity is found, it is that of greedy packing.

    Raises
    ------
    InfeasibleError
        When no attachment keeps the capacities.
    """
    ground = problem.ground
    for what, count, most in (
        ("users", ground.num_users, MAX_USERS),
        ("brokers", ground.num_brokers, MAX_BROKERS),
    ):
        if count > most:
            raise ParameterError("algorithm", f"'best' above {most} {what} (here {count})", "exact")
    with run.progress.step("branch and bound"):
        answer = search(problem, run)
    return Outcome(
        make_tables(ground, answer.broker_of_user),
        bound=answer.bound.value,
        metrics={"branched": answer.num_branched, "proven": answer.is_proven},
        is_interrupted=answer.stopped == "interrupted",
        proof=answer.bound.proof,
        stopped=answer.stopped,
    )


def search(problem: Wiring, run: Run) -> Answer:
    """Search all attachments, from greedy packing on, until done or out of time."""
    ground = problem.ground
    order = attaching_order(ground)
    question = pose(ground, order)
    tree = begin_at_packing(ground, order, question)
    is_interrupted = is_done = False
    while not (is_done or is_interrupted or run.is_over()):
        try:
            is_done = search_on(question, tree, run.gap or 0.0, NODES_PER_CALL)
        except KeyboardInterrupt:
            is_interrupted = True
    is_known = bool(np.isfinite(tree.values[VALUE]))
    if is_interrupted and not is_known:
        raise KeyboardInterrupt
    if is_done and not is_known:
        raise InfeasibleError(
            "no attachment keeps the capacities of the brokers; raise them, or add a broker."
        )
    broker_of_user = np.empty_like(tree.best)
    broker_of_user[order] = tree.best
    value = sum(attachment_cost(ground, broker_of_user))
    by_prices = prove_by_prices(problem.bound_parts)
    bound = value
    if run.gap or not is_done:
        left = float(tree.values[PRUNED]) if is_done else open_bound(tree)
        bound = min(value, max(left, by_prices.value))
    if not is_known:
        bound = by_prices.value  # of no attachment at all, a search says nothing
    stopped: Stopped = "exhausted" if bound == value else "gap"
    if not is_done:
        stopped = "interrupted" if is_interrupted else "limit"
    proved = prove_by_search(question, order, bound, by_prices, may_be_told=True)
    is_proven = is_known and bound == value
    return Answer(broker_of_user, proved, is_proven, int(tree.counters[NUM_BRANCHED]), stopped)


def searched_bound(ground: Ground, by_prices: Bound) -> Bound:
    """Return what the first nodes of the search prove, or prices where that is more."""
    if ground.num_users > MAX_USERS or ground.num_brokers > MAX_BROKERS:
        return by_prices
    order = attaching_order(ground)
    question = pose(ground, order)
    tree = begin_at_packing(ground, order, question)
    is_done = search_on(question, tree, 0.0, NODES_PER_CALL)
    known = float(tree.values[VALUE])
    bound = known if is_done else min(known, open_bound(tree))
    if not np.isfinite(bound):
        return by_prices
    found = prove_by_search(question, order, bound * (1 - ROUNDING), by_prices)
    return found if found.value > by_prices.value else by_prices


def begin_at_packing(ground: Ground, order: LongArray, question: Question) -> Search:
    """Return a search that knows the attachment by greedy packing, if it keeps the capacities."""
    start = pack(ground)
    load = np.bincount(start, weights=ground.demand, minlength=ground.num_brokers)
    fits = bool((load <= ground.capacity * (1 + TOLERANCE)).all())
    value = sum(attachment_cost(ground, start)) if fits else np.inf
    return begin_search(question, start[order], value)


def attaching_order(ground: Ground) -> LongArray:
    """Return users in the order in which they are attached: those with most traffic first."""
    return np.argsort(-ground.demand, kind="stable")


def pose(ground: Ground, order: LongArray) -> Question:
    """Lay out users in an order, and the tables over sets of brokers."""
    lengths = np.diff(ground.indptr)[order]
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    places = np.concatenate(
        [np.arange(ground.indptr[user], ground.indptr[user + 1]) for user in order]
        or [np.empty(0, dtype=np.int64)]
    )
    demand = ground.demand[order]
    room = ground.capacity * (1 + TOLERANCE)
    _, prices = price_brokers(ground.demand, ground.access, room)
    cost = demand[:, None] * ground.access[order]
    priced = cost + demand[:, None] * prices
    taken_off = float(np.dot(prices[prices > 0], room[prices > 0]))
    rates = np.zeros((len(order) + 1, ground.num_channels))
    for place, user in enumerate(order):
        mine = slice(ground.indptr[user], ground.indptr[user + 1])
        rates[place, ground.channels[mine]] = ground.rates[mine]
    needed = brokers_needed(ground)
    trees = tree_table(ground)
    return Question(
        indptr,
        ground.channels[places],
        ground.wants[places],
        ground.rates[places],
        demand,
        cost,
        priced,
        sums_from(cost.min(axis=1, initial=np.inf)),
        sums_from(priced.min(axis=1, initial=np.inf)) - taken_off,
        np.cumsum(rates[::-1], axis=0)[::-1].copy(),
        room,
        trees,
        least_table(trees, ground.num_brokers, int(needed.max(initial=0))),
        needed,
        prices,
    )


def sums_from(values: FloatArray) -> FloatArray:
    """Return the sum from each place on, and 0 at the end."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], np.zeros(1)])


def tree_table(ground: Ground) -> FloatArray:
    """Return the cost of the tree over each set of brokers, by bit mask."""
    count = ground.num_brokers
    trees = np.zeros(1 << count)
    span, room, costs = make_span(count), make_room(count), np.zeros(count)
    for mask in range(1, len(trees)):
        members = [b for b in range(count) if mask >> b & 1]
        span.inside[:] = False
        span.inside[members] = True
        span.vertices[: len(members)] = members
        span.size[0] = len(members)
        grow_tree(ground.pairs, span, room.least)
        fill_costs(ground, span, room, costs)
        trees[mask] = costs[members[0]]
    return trees


def least_table(trees: FloatArray, num_brokers: int, most: int) -> FloatArray:
    """Return the least over all larger sets of at least k brokers, by k and bit mask."""
    masks = np.arange(len(trees))
    sizes = sum(((masks >> b) & 1 for b in range(num_brokers)), np.zeros(len(trees), dtype=int))
    least = np.where(sizes >= np.arange(most + 1)[:, None], trees, np.inf)
    for b in range(num_brokers):
        without = masks[(masks >> b) & 1 == 0]
        least[:, without] = np.minimum(least[:, without], least[:, without | (1 << b)])
    return least
