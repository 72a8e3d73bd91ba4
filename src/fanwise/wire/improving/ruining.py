"""Ruin and recreate: a few users are detached, then attached again where that costs least.

Who is detached belongs together: neighbours in the row of like interests, the subscribers of one
channel at one broker (which then leaves the channel's tree), or some users of two brokers. They
come back one by one, each to the broker with room that adds least to C1 + C2. What costs more than
before by more than the heat allows is taken back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.ground import Ground
from fanwise.wire.improving.working import moving_work, pricing_work
from fanwise.wire.state import State, apply_move, has_room, price_moves

NUM_DRAWS = 8
KIND, WHO, COUNT, WHICH, SALT, ORDER, HEAT, FAR = range(NUM_DRAWS)
"""What each random number of a change is for."""
WINDOW, CHANNEL, TWO_BROKERS = 0.35, 0.75, 1.0
"""Up to which draw each kind of ruin is chosen."""
BLINK = 0.02
"""How often a broker is overlooked when a user looks for a place."""
WORK, TRIED, TAKEN = range(3)


class Bench(NamedTuple):
    """Room for one change, and what the search has come to.

    Attributes
    ----------
    users, before, num_users
        Who is detached, where they were, and how many they are (an array of one).
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


def make_bench(state: State, most: int) -> Bench:
    """Return room for changes of so many users, beginning with a state."""
    return Bench(
        np.zeros(most, dtype=np.int64),
        np.zeros(most, dtype=np.int32),
        np.zeros(most),
        np.zeros(1, dtype=np.int64),
        state.broker_of_user.copy(),
        np.array([state.cost]),
        np.zeros(3),
    )


@kernel
def change_on(
    ground: Ground,
    state: State,
    row: LongArray,
    bench: Bench,
    draws: FloatArray,
    heat: float,
    work_limit: float,
) -> int:
    """Try a change for each row of draws until the work reaches a limit; return how many."""
    place_in_row = np.empty(len(row), dtype=np.int64)
    for place in range(len(row)):
        place_in_row[row[place]] = place
    for i in range(len(draws)):
        if bench.counters[WORK] >= work_limit:
            return i
        choose_users(ground, state, row, place_in_row, bench, draws[i])
        change(ground, state, bench, draws[i], heat)
    return len(draws)


@kernel
def mix(salt: float, number: int) -> float:
    """A number in [0, 1) that looks random, out of a random one and a whole one."""
    mixed = (salt + 0.5) * (number + 1) * 1_000.618033988749895
    return float(mixed - np.floor(mixed))


@kernel
def add_user(bench: Bench, user: int) -> None:
    """Put a user on the bench, if there is room."""
    if bench.num_users[0] < len(bench.users):
        bench.users[bench.num_users[0]] = user
        bench.num_users[0] += 1


@kernel
def choose_users(
    ground: Ground,
    state: State,
    row: LongArray,
    place_in_row: LongArray,
    bench: Bench,
    draw: FloatArray,
) -> None:
    """Choose who is detached."""
    bench.num_users[0] = 0
    n = len(row)
    user = int(draw[WHO] * n)
    few = 2 + int(draw[COUNT] * draw[COUNT] * (len(bench.users) - 1))
    first, last = ground.indptr[user], ground.indptr[user + 1]
    if draw[KIND] < WINDOW or first == last:
        start = max(0, min(place_in_row[user] - few // 2, n - few))
        for place in range(start, min(n, start + few)):
            add_user(bench, row[place])
        return
    broker = state.broker_of_user[user]
    if draw[KIND] < CHANNEL:
        channel = wanted_channel(ground, user, draw[WHICH])
        if 0 < state.subscribers[channel, broker] <= len(bench.users):
            for other in range(n):
                if state.broker_of_user[other] == broker and does_want(ground, other, channel):
                    add_user(bench, other)
            return
    shift = 1 + int(draw[FAR] * draw[FAR] * (n - 1))
    other_broker = state.broker_of_user[row[(place_in_row[user] + shift) % n]]
    choose_among_two(state, bench, user, other_broker, few, draw[SALT])


@kernel
def choose_among_two(
    state: State, bench: Bench, user: int, other_broker: int, few: int, salt: float
) -> None:
    """Choose a user and about so many of its broker and of another."""
    broker = state.broker_of_user[user]
    at = state.broker_of_user
    share = few / ((at == broker) | (at == other_broker)).sum()
    add_user(bench, user)
    for other in range(len(at)):
        is_there = at[other] == broker or at[other] == other_broker
        if is_there and other != user and mix(salt, other) < share:
            add_user(bench, other)


@kernel
def wanted_channel(ground: Ground, user: int, draw: float) -> int:
    """A channel that a user wants, chosen by a draw; one that it touches if it wants none."""
    first, last = ground.indptr[user], ground.indptr[user + 1]
    start = int(draw * (last - first))
    for i in range(last - first):
        place = first + (start + i) % (last - first)
        if ground.wants[place]:
            return int(ground.channels[place])
    return int(ground.channels[first])


@kernel
def does_want(ground: Ground, user: int, channel: int) -> bool:
    """Whether a user wants a channel. O(log touches)."""
    first, last = ground.indptr[user], ground.indptr[user + 1]
    place = first + np.searchsorted(ground.channels[first:last], channel)
    return bool(place < last and ground.channels[place] == channel and ground.wants[place])


@kernel
def change(ground: Ground, state: State, bench: Bench, draw: FloatArray, heat: float) -> None:
    """Detach the users on the bench and attach them again; take it back if it costs too much."""
    count = bench.num_users[0]
    before = state.totals[0] + state.totals[1]
    for i in range(count):
        user = bench.users[i]
        is_largest_first = draw[ORDER] < 0.5
        bench.keys[i] = -ground.demand[user] if is_largest_first else mix(draw[SALT], i)
    order = np.argsort(bench.keys[:count])
    users = bench.users[:count][order]
    for i in range(count):
        bench.before[i] = state.broker_of_user[users[i]]
        bench.counters[WORK] += 2 * moving_work(ground, state, users[i])
        apply_move(ground, state, users[i], -1)
    is_whole = True
    for i in range(count):
        bench.counters[WORK] += pricing_work(ground, state, users[i])
        broker = cheapest_place(ground, state, users[i], draw[SALT])
        if broker < 0:
            is_whole = False
            break
        apply_move(ground, state, users[i], broker)
    cost = state.totals[0] + state.totals[1]
    bench.counters[TRIED] += 1
    allowed = before - heat * np.log(max(draw[HEAT], 1e-300))
    if not is_whole or not cost < allowed:
        for i in range(count):
            apply_move(ground, state, users[i], bench.before[i])
        return
    bench.counters[TAKEN] += 1
    if cost < bench.value[0]:
        bench.value[0] = cost
        bench.best[:] = state.broker_of_user


@kernel
def cheapest_place(ground: Ground, state: State, user: int, salt: float) -> int:
    """The broker with room where a detached user adds least, some overlooked; -1: none."""
    price_moves(ground, state, user, 0, len(state.load))
    best = -1
    for b in range(len(state.load)):
        if best >= 0 and state.changes[b] >= state.changes[best]:
            continue
        if has_room(ground, state, user, b) and mix(salt, user + 7919 * b) >= BLINK:
            best = b
    return best
