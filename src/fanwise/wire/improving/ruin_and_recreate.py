"""Ruin and recreate: a few users are detached, then attached again where that costs least.

Who is detached belongs together: neighbours in the row of like interests, the subscribers of one
channel at one broker (which then leaves the channel's tree), or some users of two brokers. They
come back one by one, each to the broker with room that adds least to C1 + C2. What costs more than
before by more than the heat allows is taken back.

Random numbers come from outside, a row of ``NUM_DRAWS`` for each change.

Guarantee
    A change that is not taken leaves the attachment as it was; capacities hold if they held before.

Complexity
    That of pricing the users detached at all brokers (see :mod:`fanwise.wire.move_costs`).

References
----------
    G. Schrimpf, J. Schneider, H. Stamm-Wilbrandt, G. Dueck: Record breaking optimization results
    using the ruin and recreate principle. Journal of Computational Physics 159, 2000.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.improving.work_counts import moving_work, pricing_work
from fanwise.wire.move_costs import price_moves
from fanwise.wire.state import State, apply_move, has_room

NUM_DRAWS = 8
KIND, WHO, COUNT, WHICH, SALT, ORDER, HEAT, FAR = range(NUM_DRAWS)
"""What each random number of a change is for."""
NEIGHBOURS, CHANNEL = 0.35, 0.75
"""Up to which draw each kind of ruin is chosen; above, some users of two brokers."""
BLINK = 0.02
"""How often a broker is overlooked when a user comes back: else the same users would always come
back to the same brokers."""
WORK, TRIED, TAKEN = range(3)
"""Indices of the counters."""


class Ruin(NamedTuple):
    """Who is detached in a change, and what all changes have come to.

    Attributes
    ----------
    users, before, num_users
        Who is detached, where they were, and how many they are (an array of one).
    keys
        By what they are sorted to come back, the least first.
    best, value
        The best attachment so far and its cost (an array of one).
    counters
        Work, changes tried and changes taken.
    """

    users: LongArray
    before: IntArray
    keys: FloatArray
    num_users: LongArray
    best: IntArray
    value: FloatArray
    counters: FloatArray


def make_ruin(state: State, most: int) -> Ruin:
    """Return memory for changes of so many users, beginning with a state."""
    return Ruin(
        np.zeros(most, dtype=np.int64),
        np.zeros(most, dtype=np.int32),
        np.zeros(most),
        np.zeros(1, dtype=np.int64),
        state.broker_of_user.copy(),
        np.array([state.cost]),
        np.zeros(3),
    )


@kernel
def try_changes(
    arrays: WiringArrays,
    state: State,
    order: LongArray,
    ruin: Ruin,
    draws: FloatArray,
    heat: float,
    work_limit: float,
) -> int:
    """Try a change for each row of draws until the work reaches a limit; return how many.

    Changes the state and the ruin.
    """
    position_of_user = np.empty(len(order), dtype=np.int64)
    for position in range(len(order)):
        position_of_user[order[position]] = position
    for i in range(len(draws)):
        if ruin.counters[WORK] >= work_limit:
            return i
        choose_users(arrays, state, order, position_of_user, ruin, draws[i])
        try_change(arrays, state, ruin, draws[i], heat)
    return len(draws)


@kernel
def mix(salt: float, number: int) -> float:
    """Return a number in [0, 1) that looks random, out of a random one and a whole one.

    Changes nothing.
    """
    # Kernels draw no random numbers: one draw and an id make as many as are needed.
    mixed = (salt + 0.5) * (number + 1) * 1_000.618033988749895
    return float(mixed - np.floor(mixed))


@kernel
def add_user(ruin: Ruin, user: int) -> None:
    """Choose a user to be detached, unless there are as many as may be. Changes the ruin."""
    if ruin.num_users[0] < len(ruin.users):
        ruin.users[ruin.num_users[0]] = user
        ruin.num_users[0] += 1


@kernel
def choose_users(
    arrays: WiringArrays,
    state: State,
    order: LongArray,
    position_of_user: LongArray,
    ruin: Ruin,
    draw: FloatArray,
) -> None:
    """Choose who is detached. Changes the ruin."""
    ruin.num_users[0] = 0
    n = len(order)
    user = int(draw[WHO] * n)
    # The square favours few: small changes are quick and more of them are taken.
    few = 2 + int(draw[COUNT] * draw[COUNT] * (len(ruin.users) - 1))
    first, last = arrays.indptr[user], arrays.indptr[user + 1]
    if draw[KIND] < NEIGHBOURS or first == last:
        start = max(0, min(position_of_user[user] - few // 2, n - few))
        for position in range(start, min(n, start + few)):
            add_user(ruin, order[position])
        return
    broker = state.broker_of_user[user]
    if draw[KIND] < CHANNEL:
        channel = wanted_channel(arrays, user, draw[WHICH])
        if 0 < state.subscribers[channel, broker] <= len(ruin.users):
            for other in range(n):
                if state.broker_of_user[other] == broker and does_want(arrays, other, channel):
                    add_user(ruin, other)
            return
    shift = 1 + int(draw[FAR] * draw[FAR] * (n - 1))
    other_broker = state.broker_of_user[order[(position_of_user[user] + shift) % n]]
    choose_among_two(state, ruin, user, other_broker, few, draw[SALT])


@kernel
def choose_among_two(
    state: State, ruin: Ruin, user: int, other_broker: int, few: int, salt: float
) -> None:
    """Choose a user and about so many of its broker and of another. Changes the ruin."""
    broker = state.broker_of_user[user]
    at = state.broker_of_user
    share = few / ((at == broker) | (at == other_broker)).sum()
    add_user(ruin, user)
    for other in range(len(at)):
        is_there = at[other] == broker or at[other] == other_broker
        if is_there and other != user and mix(salt, other) < share:
            add_user(ruin, other)


@kernel
def wanted_channel(arrays: WiringArrays, user: int, draw: float) -> int:
    """Return a channel that a user wants, chosen by a draw; one it touches if it wants none.

    Changes nothing.
    """
    first, last = arrays.indptr[user], arrays.indptr[user + 1]
    start = int(draw * (last - first))
    for i in range(last - first):
        entry = first + (start + i) % (last - first)
        if arrays.wants[entry]:
            return int(arrays.channels[entry])
    return int(arrays.channels[first])


@kernel
def does_want(arrays: WiringArrays, user: int, channel: int) -> bool:
    """Whether a user wants a channel. O(log touches). Changes nothing."""
    first, last = arrays.indptr[user], arrays.indptr[user + 1]
    entry = first + np.searchsorted(arrays.channels[first:last], channel)
    return bool(entry < last and arrays.channels[entry] == channel and arrays.wants[entry])


@kernel
def try_change(
    arrays: WiringArrays, state: State, ruin: Ruin, draw: FloatArray, heat: float
) -> None:
    """Detach the users that were chosen and attach them again; take it back if it costs too much.

    A change is taken with the probability exp(-(more cost) / heat). Changes the state and the ruin.
    """
    count = ruin.num_users[0]
    before = state.totals[0] + state.totals[1]
    for i in range(count):
        user = ruin.users[i]
        is_largest_first = draw[ORDER] < 0.5
        ruin.keys[i] = -arrays.demand[user] if is_largest_first else mix(draw[SALT], i)
    order = np.argsort(ruin.keys[:count])
    users = ruin.users[:count][order]
    for i in range(count):
        ruin.before[i] = state.broker_of_user[users[i]]
        # Twice: away from the broker, and to one again.
        ruin.counters[WORK] += 2 * moving_work(arrays, state, users[i])
        apply_move(arrays, state, users[i], -1)
    is_whole = True
    for i in range(count):
        ruin.counters[WORK] += pricing_work(arrays, state, users[i])
        broker = cheapest_broker(arrays, state, users[i], draw[SALT])
        if broker < 0:
            is_whole = False
            break
        apply_move(arrays, state, users[i], broker)
    cost = state.totals[0] + state.totals[1]
    ruin.counters[TRIED] += 1
    allowed = before - heat * np.log(max(draw[HEAT], 1e-300))
    if not is_whole or not cost < allowed:
        for i in range(count):
            apply_move(arrays, state, users[i], ruin.before[i])
        return
    ruin.counters[TAKEN] += 1
    if cost < ruin.value[0]:
        ruin.value[0] = cost
        ruin.best[:] = state.broker_of_user


@kernel
def cheapest_broker(arrays: WiringArrays, state: State, user: int, salt: float) -> int:
    """Return the broker with room where a detached user adds least, some overlooked; -1: none.

    Changes what :func:`fanwise.wire.move_costs.price_moves` does.
    """
    price_moves(arrays, state, user, 0, len(state.load))
    best = -1
    for b in range(len(state.load)):
        if best >= 0 and state.changes[b] >= state.changes[best]:
            continue
        # Blinks, as in J. Christiaens, G. Vanden Berghe: Slack induction by string removals for
        # vehicle routing problems. Transportation Science 54(2), 2020. The prime tells pairs of a
        # user and a broker apart.
        if has_room(arrays, state, user, b) and mix(salt, user + 7919 * b) >= BLINK:
            best = b
    return best
