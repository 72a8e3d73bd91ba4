"""The stages of the search: descents, polishing and annealing, each within a share of the work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fanwise.arrays.csr import LongArray
from fanwise.wire.arrays import keep_brokers
from fanwise.wire.improving.annealing import Annealing
from fanwise.wire.improving.broker_exchanges import find_exchange, sum_access
from fanwise.wire.improving.moves_and_swaps import move_users, swap_users
from fanwise.wire.improving.repairing import repair
from fanwise.wire.improving.search import WiringSearch
from fanwise.wire.state import State, make_state

DESCENT_SHARE, EXCHANGE_SHARE = 0.1, 0.05
"""Of the work: most for one descent, and for exchanges of whole brokers."""
LEAST_ANNEALING, ANNEALED_UP_TO = 0.1, 0.4
"""Of the work: least for annealing, and the share of all that is done when it ends otherwise."""
CALL_WORK = 2e7
"""Work between two looks at the clock: below half a second."""

Improve = Callable[..., tuple[int, int]]


def descend(search: WiringSearch, state: State, share: float = DESCENT_SHARE) -> None:
    """Move single users until none wants to, or the share of work is done."""
    limit = search.work_up_to(share)
    try:
        repair(search.arrays, state, search.order, search.is_over)
        search.count("moves", _go_round(search, state, move_users, limit))
    finally:
        search.offer_state(state)


def _go_round(search: WiringSearch, state: State, improve: Improve, limit: float) -> int:
    """Go over all users again and again until nothing improves; return how often it did."""
    total, first, found = 0, 0, 0
    order = search.users_to_move(state)
    while not search.is_over() and search.work < limit:
        spent = np.zeros(1)
        most = min(limit - search.work, CALL_WORK)
        first, some = improve(search.arrays, state, order, first, spent, most)
        search.spend(float(spent[0]))
        found += some
        if first == len(order):
            total += found
            if not found:
                break
            first = found = 0
    return total + found


def polish(search: WiringSearch) -> None:
    """Exchange whole brokers, swap users and move them, as long as each helps."""
    limit = search.work_up_to(DESCENT_SHARE)
    while search.is_feasible and not search.is_over() and search.work < limit:
        before = search.value
        exchange_brokers(search)
        state = search.best_state()
        try:
            search.count("swaps", _go_round(search, state, swap_users, limit))
            search.count("moves", _go_round(search, state, move_users, limit))
        finally:
            search.offer_state(state)
        if search.value == before:
            break


def exchange_brokers(search: WiringSearch) -> None:
    """Let two brokers exchange all their users as long as that helps."""
    limit = search.work_up_to(EXCHANGE_SHARE)
    state, pair, misses = search.best_state(), 0, 0
    pairs = search.arrays.num_brokers**2
    access = sum_access(search.arrays, state)
    # Ends once every pair has been looked at since the last exchange, wherever the round began.
    while misses < pairs and search.work < limit and not search.is_over():
        spent = np.zeros(1)
        most = min(limit - search.work, CALL_WORK)
        after, one, two = find_exchange(search.arrays, state, access, pair, spent, most)
        search.spend(float(spent[0]))
        misses += after - pair
        pair = after % pairs
        if one >= 0:
            brokers = state.broker_of_user.copy()
            brokers[state.broker_of_user == one] = two
            brokers[state.broker_of_user == two] = one
            state = make_state(search.arrays, brokers)
            access = sum_access(search.arrays, state)
            search.offer_state(state)
            search.count("exchanges")
            misses = 0


def anneal(search: WiringSearch, order: LongArray, longer: float = 1.0) -> None:
    """Detach and attach a few users at a time, among the brokers in use where that is possible.

    The heat falls with the changes that are made, the work that is done, or the time that has
    passed since the start of the stage, whichever is furthest. Changes and work are so many times
    longer than usual.
    """
    arrays = search.arrays
    brokers = np.arange(arrays.num_brokers, dtype=np.int32)
    if not arrays.is_tree:
        # Fewer brokers make every price quicker to find; empty ones had their chance in the
        # descents.
        brokers = np.unique(search.answer)
        arrays = keep_brokers(arrays, brokers)
    start = np.searchsorted(brokers, search.answer).astype(np.int32)
    # The same changes in another order of heat would seldom lead elsewhere.
    random = np.random.default_rng([search.run.seed, round(longer)]) if longer > 1 else None
    annealing = Annealing(arrays, start, order, random or search.run.random(), longer)
    left = ANNEALED_UP_TO * search.total_work - search.work
    work = longer * max(left, LEAST_ANNEALING * search.total_work)
    used_before, done = min(search.share_used(), 1.0 - 1e-9), 0.0
    try:
        while done < 1.0 and not search.is_over():
            search.spend(annealing.run_batch(done, CALL_WORK))
            used = (search.share_used() - used_before) / (1.0 - used_before)
            done = max(annealing.share_done(work), used)
    finally:
        search.count("changes", annealing.num_tried)
        search.offer_attachment(brokers[annealing.best])
