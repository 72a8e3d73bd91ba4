"""The variants of Gr that make room: a full broker lets a random subscriber go.

The paper says no more than that the removed are assigned next, or later. Here a subscriber all of
whose brokers are full takes the place of one random subscriber of one random broker among them.
Filters do not shrink while this lasts; rectangles are tightened in the end. After as many evictions
as there are subscribers whoever finds no room is forced on a full broker, as in Gr itself.

Guarantee
    That of Gr: in time wherever anybody can be; loads may end up above the limit.

Complexity
    At most twice that of Gr: there are no more evictions than subscribers.

References
----------
    A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based
    publish/subscribe. IEEE ICDE 2011.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.assign.arrays import AssignmentArrays
from fanwise.assign.choices import Choices
from fanwise.assign.greedy_kernels import (
    EVICTED,
    FORCED,
    GreedyState,
    choose_broker,
    raise_limits,
    settle,
)


def assign_and_evict(
    arrays: AssignmentArrays,
    state: GreedyState,
    choices: Choices,
    rng: np.random.Generator,
    *,
    is_next: bool,
) -> None:
    """Assign subscribers in the order of their ids, driving random ones out of full brokers."""
    count = arrays.num_subscribers
    draws = rng.random((count, 2))
    queue = np.empty(2 * count, dtype=np.int32)
    queue[:count] = np.arange(count)
    first_member = np.concatenate([[0], np.cumsum(state.limits[-1])]).astype(np.int64)
    members = np.empty(first_member[-1], dtype=np.int32)
    assign_or_swap(arrays, state, choices, draws, queue, first_member, members, is_next)


@kernel
def assign_or_swap(
    arrays: AssignmentArrays,
    state: GreedyState,
    choices: Choices,
    draws: np.ndarray,
    queue: IntArray,
    first_member: LongArray,
    members: IntArray,
    is_next: bool,
) -> None:
    """Assign whoever is in the queue; the removed go to its end, or are the next.

    Changes ``state``, ``queue`` and ``members``.

    Parameters
    ----------
    draws
        Two random numbers for each eviction: which broker, which of its members.
    first_member, members
        Who is on each broker, as far as its limit: ``members[first_member[b]:][:loads[b]]``.
    """
    head, tail = 0, len(state.broker_of_subscriber)
    removed = -1
    while head < tail or removed >= 0:
        if removed >= 0:
            j, removed = removed, -1
        else:
            j = queue[head]
            head += 1
        can_be = raise_limits(state, choices, j)
        broker = -1
        if not can_be and state.now[EVICTED] < len(draws):
            draw = draws[state.now[EVICTED]]
            broker = full_choice(state, choices, j, draw[0])
        if broker < 0:
            if not can_be:
                state.now[FORCED] += 1
            broker = choose_broker(arrays, state, choices, j, not can_be)
        else:
            # The broker is exactly full, so that all its seats are taken. The last member moves to
            # the seat that falls free, and the newcomer takes the last one below.
            seat = first_member[broker] + int(draw[1] * state.limits[-1, broker])
            other = members[seat]
            members[seat] = members[first_member[broker] + state.limits[-1, broker] - 1]
            state.broker_of_subscriber[other] = -1
            state.loads[broker] -= 1
            state.now[EVICTED] += 1
            if is_next:
                removed = other
            else:
                queue[tail] = other
                tail += 1
        if state.loads[broker] < state.limits[-1, broker]:
            members[first_member[broker] + state.loads[broker]] = j
        settle(arrays, state, j, broker)


@kernel
def full_choice(state: GreedyState, choices: Choices, j: int, draw: float) -> int:
    """Return a random one of a subscriber's brokers that is full and not over its limit, or -1.

    Changes nothing.
    """
    count = 0
    for pair in range(choices.first[j], choices.end[j]):
        broker = choices.brokers[pair]
        count += 0 < state.loads[broker] == state.limits[-1, broker]
    wanted = int(draw * count)
    for pair in range(choices.first[j], choices.end[j]):
        broker = choices.brokers[pair]
        if 0 < state.loads[broker] == state.limits[-1, broker]:
            if wanted == 0:
                return int(broker)
            wanted -= 1
    return -1
