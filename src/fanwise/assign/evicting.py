"""The variants of Gr that make room: a full broker lets a random subscriber go.

The paper says no more than that the removed are assigned next, or later. Here a subscriber all of
whose brokers are full takes the place of one random subscriber of one random broker among them.
Filters do not shrink while this lasts; rectangles are tightened in the end. After as many evictions
as there are subscribers whoever finds no room is forced on a full broker, as in Gr itself.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.assign.ground import Ground
from fanwise.assign.kernels import (
    EVICTED,
    FORCED,
    Choices,
    State,
    choose_broker,
    raise_limits,
    settle,
)


def place_and_evict(
    ground: Ground, state: State, choices: Choices, rng: np.random.Generator, *, is_next: bool
) -> None:
    """Assign subscribers in the order of their ids, driving random ones out of full brokers."""
    count = ground.num_subscribers
    draws = rng.random((count, 2))
    queue = np.empty(2 * count, dtype=np.int32)
    queue[:count] = np.arange(count)
    room = np.concatenate([[0], np.cumsum(state.limits[-1])]).astype(np.int64)
    members = np.empty(room[-1], dtype=np.int32)
    place_or_swap(ground, state, choices, draws, queue, room, members, is_next)


@kernel
def place_or_swap(
    ground: Ground,
    state: State,
    choices: Choices,
    draws: np.ndarray,
    queue: IntArray,
    room: LongArray,
    members: IntArray,
    is_next: bool,
) -> None:
    """Assign whoever is in the queue; the removed go to its end, or are the next.

    Parameters
    ----------
    draws
        Two random numbers for each eviction: which broker, which of its members.
    room, members
        Who is on each broker, as far as its limit: ``members[room[b]:][:loads[b]]``.
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
            broker = choose_broker(ground, state, choices, j, not can_be)
        else:
            place = room[broker] + int(draw[1] * state.limits[-1, broker])
            other = members[place]
            members[place] = members[room[broker] + state.limits[-1, broker] - 1]
            state.broker_of_subscriber[other] = -1
            state.loads[broker] -= 1
            state.now[EVICTED] += 1
            if is_next:
                removed = other
            else:
                queue[tail] = other
                tail += 1
        if state.loads[broker] < state.limits[-1, broker]:
            members[room[broker] + state.loads[broker]] = j
        settle(ground, state, j, broker)


@kernel
def full_choice(state: State, choices: Choices, j: int, draw: float) -> int:
    """Return a random one of a subscriber's brokers that is full and not over its limit, or -1."""
    count = 0
    for place in range(choices.first[j], choices.end[j]):
        broker = choices.brokers[place]
        count += 0 < state.loads[broker] == state.limits[-1, broker]
    wanted = int(draw * count)
    for place in range(choices.first[j], choices.end[j]):
        broker = choices.brokers[place]
        if 0 < state.loads[broker] == state.limits[-1, broker]:
            if wanted == 0:
                return int(broker)
            wanted -= 1
    return -1
