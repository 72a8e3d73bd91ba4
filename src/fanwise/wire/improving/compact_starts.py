"""Starts for an expensive core: few brokers close together, each with users of like interests.

Users stand in a row of like interests, brokers in a row of short ways. Filling brokers with users,
both in their order (:func:`fill_in_order`), lets a channel reach a short part of that row. Sets of
brokers are tried from all of them to as few as have room for everybody.

Complexity
    O(T^2 + users x wants^2) for the row of users, with T channels, and a sample of the users where
    they are many; O(B^2) for each row of B brokers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import fits, most_within
from fanwise.wire.arrays import WiringArrays, may_take
from fanwise.wire.packing import cheapest_with_room

MOST_SAMPLED = 5000
"""Users whose pairs of channels are counted."""
MOST_CHANNELS = 3000
"""Channels up to which they are; more are taken in the order of their ids."""
STEP, TIGHT = 0.7, (1.05, 1.0)
"""Room of compact sets, over the traffic of all users: ever less, and at last hardly any more."""
FULLER_THAN_EVEN = 1.02
"""How much fuller than even brokers get, so that the last ones find room."""
MOST_COMPARED = 64
"""Centres of sets that are looked at to find the closest."""


def order_by_interest(arrays: WiringArrays) -> LongArray:
    """Return users by the mean position of the channels they want in a row of channels.

    In that row, channels that the same users want stand together.
    """
    step = max(1, arrays.num_users // MOST_SAMPLED)
    positions = np.arange(arrays.num_channels)
    if arrays.num_channels <= MOST_CHANNELS:
        positions = positions_by_likeness(count_shared(arrays, step))
    return np.argsort(mean_positions(arrays, positions), kind="stable")


def compact_broker_sets(
    arrays: WiringArrays, most: int
) -> Iterator[list[tuple[IntArray, FloatArray]]]:
    """Yield brokers near each other, in a row of short ways, and how far to fill each broker.

    From all brokers to as few as have room for everybody; of each size the sets around the
    centres that are closest to them, at most so many.
    """
    demand = float(arrays.demand.sum())
    room = np.minimum(arrays.capacity, demand)
    centres = range(0, arrays.num_brokers, max(1, arrays.num_brokers // MOST_COMPARED))
    seen = set()
    for share in shares_of_room(float(room.sum()), demand):
        sets = [near_brokers(arrays, room, centre, share * demand) for centre in centres]
        ways = [arrays.core[centre, near].sum() for centre, near in zip(centres, sets, strict=True)]
        found = []
        for index in np.argsort(ways, kind="stable")[:most]:
            members = np.sort(sets[index])
            if members.tobytes() in seen:
                continue
            seen.add(members.tobytes())
            near = arrays.core[np.ix_(members, members)]
            row = members[np.argsort(positions_by_likeness(-near))].astype(np.int32)
            held = float(room[members].sum())
            # Brokers are filled evenly, not one to the brim after the other: moves need room
            # everywhere.
            level = min(1.0, FULLER_THAN_EVEN * demand / held) if held > 0 else 1.0
            found.append((row, level * room))
        if found:
            yield found


def shares_of_room(room: float, demand: float) -> Iterator[float]:
    """Yield how much room a set has over the traffic: all there is, less and less, hardly any."""
    share = room / demand if demand > 0 else 1.0
    while share > TIGHT[0] / STEP:
        yield share
        share *= STEP
    yield from TIGHT


def near_brokers(arrays: WiringArrays, room: FloatArray, centre: int, needed: float) -> LongArray:
    """Return the brokers nearest to one that have so much room together."""
    order = np.argsort(arrays.core[centre], kind="stable")
    held = most_within(np.cumsum(room[order]))
    return order[: int(np.searchsorted(held, needed)) + 1]


@kernel
def fill_in_order(
    arrays: WiringArrays, users: LongArray, brokers: IntArray, room: FloatArray
) -> IntArray:
    """Return each user's broker, filling brokers with users in the order of both, up to ``room``.

    Whoever is left over takes the cheapest broker with room, as in packing. Changes nothing.
    """
    load = np.zeros(len(arrays.capacity))
    chosen = np.full(len(users), -1, dtype=np.int32)
    at = 0
    for user in users:
        while at < len(brokers):
            if fits(load[brokers[at]] + arrays.demand[user], room[brokers[at]]):
                break
            at += 1
        if at == len(brokers):
            break
        if not may_take(arrays, user, brokers[at]):
            continue
        chosen[user] = brokers[at]
        load[brokers[at]] += arrays.demand[user]
    for user in users:
        if chosen[user] < 0:
            chosen[user] = cheapest_with_room(arrays, load, user)
            load[chosen[user]] += arrays.demand[user]
    return chosen


@kernel
def count_shared(arrays: WiringArrays, step: int) -> FloatArray:
    """Return for each two channels how many users want both, out of every ``step``-th.

    Changes nothing.
    """
    shared = np.zeros((arrays.num_channels, arrays.num_channels))
    for user in range(0, len(arrays.demand), step):
        for one in range(arrays.indptr[user], arrays.indptr[user + 1]):
            if not arrays.wants[one]:
                continue
            for two in range(arrays.indptr[user], one):
                if arrays.wants[two]:
                    shared[arrays.channels[one], arrays.channels[two]] += 1
                    shared[arrays.channels[two], arrays.channels[one]] += 1
    return shared


@kernel
def positions_by_likeness(likeness: FloatArray) -> LongArray:
    """Return the position of each in a row that grows at both ends by what is most like the end.

    It begins with the two that are most alike; ties: the front, the smaller id. O(n^2) for n of
    them. Changes nothing.
    """
    count = len(likeness)
    positions = np.zeros(count, dtype=np.int64)
    if count < 2:
        return positions
    is_in = np.zeros(count, dtype=np.bool_)
    front, back = 0, 1
    for i in range(count):
        for j in range(i + 1, count):
            if likeness[i, j] > likeness[front, back]:
                front, back = i, j
    low, high = 0, 1
    positions[front], positions[back] = low, high
    is_in[front], is_in[back] = True, True
    for _ in range(count - 2):
        before, after = -1, -1
        for i in range(count):
            if is_in[i]:
                continue
            if before < 0 or likeness[front, i] > likeness[front, before]:
                before = i
            if after < 0 or likeness[back, i] > likeness[back, after]:
                after = i
        if likeness[front, before] >= likeness[back, after]:
            low, front = low - 1, before
            positions[before] = low
            is_in[before] = True
        else:
            high, back = high + 1, after
            positions[after] = high
            is_in[after] = True
    return positions - low


@kernel
def mean_positions(arrays: WiringArrays, position_of_channel: LongArray) -> FloatArray:
    """Return the mean position of the channels that each user wants. Changes nothing.

    Of what it publishes, weighed by how much, if it wants none.
    """
    mean = np.zeros(len(arrays.demand))
    for user in range(len(mean)):
        wanted, total, sent, weight = 0, 0.0, 0.0, 0.0
        for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
            at = position_of_channel[arrays.channels[entry]]
            if arrays.wants[entry]:
                wanted += 1
                total += at
            sent += arrays.rates[entry] * at
            weight += arrays.rates[entry]
        if wanted > 0:
            mean[user] = total / wanted
        elif weight > 0:
            mean[user] = sent / weight
    return mean
