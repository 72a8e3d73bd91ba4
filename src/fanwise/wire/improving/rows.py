"""Users in a row of like interests, and compact sets of brokers in a row of short ways.

With an expensive core, few brokers close together should serve users of like interests each. One
row filled with the other (:func:`fanwise.wire.improving.packings.fill_row`) does that: a channel
then reaches a short part of the row of brokers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.ground import TOLERANCE, Ground

MOST_SAMPLED = 5000
"""Users whose pairs of channels are counted."""
MOST_CHANNELS = 3000
"""Channels up to which they are; more are taken in the order of their ids."""
STEP, TIGHT = 0.7, (1.05, 1.0)
"""Room of compact sets, over the traffic of all users: ever less, and at last hardly any more."""
SLACK = 1.02
"""How much fuller than even brokers get, so that the last ones find room."""
MOST_COMPARED = 64
"""Centres of sets that are looked at to find the closest."""


def users_in_a_row(ground: Ground) -> LongArray:
    """Return users by the mean place of the channels they want in a row of channels.

    In that row, channels that the same users want stand together. O(T^2 + users x wants^2), with a
    sample of the users where they are many.
    """
    step = max(1, ground.num_users // MOST_SAMPLED)
    places = np.arange(ground.num_channels)
    if ground.num_channels <= MOST_CHANNELS:
        places = places_in_a_row(count_shared(ground, step))
    return np.argsort(mean_places(ground, places), kind="stable")


def compact_sets(ground: Ground, most: int) -> Iterator[list[tuple[IntArray, FloatArray]]]:
    """Yield brokers near each other, in a row of short ways, and how far to fill each broker.

    From all brokers to as few as have room for everybody; of each size the sets around the
    centres that are closest to them, at most so many.
    """
    demand = float(ground.demand.sum())
    room = np.minimum(ground.capacity, demand)
    centres = range(0, ground.num_brokers, max(1, ground.num_brokers // MOST_COMPARED))
    seen = set()
    for share in shares_of_room(float(room.sum()), demand):
        sets = [near_brokers(ground, room, centre, share * demand) for centre in centres]
        ways = [ground.core[centre, near].sum() for centre, near in zip(centres, sets, strict=True)]
        found = []
        for place in np.argsort(ways, kind="stable")[:most]:
            members = np.sort(sets[place])
            if members.tobytes() in seen:
                continue
            seen.add(members.tobytes())
            near = ground.core[np.ix_(members, members)]
            row = members[np.argsort(places_in_a_row(-near))].astype(np.int32)
            held = float(room[members].sum())
            level = min(1.0, SLACK * demand / held) if held > 0 else 1.0
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


def near_brokers(ground: Ground, room: FloatArray, centre: int, needed: float) -> LongArray:
    """Return the brokers nearest to one that have so much room together."""
    order = np.argsort(ground.core[centre], kind="stable")
    held = np.cumsum(room[order]) * (1 + TOLERANCE)
    return order[: int(np.searchsorted(held, needed)) + 1]


@kernel
def count_shared(ground: Ground, step: int) -> FloatArray:
    """Count, for each two channels, the users that want both, out of every ``step``-th."""
    shared = np.zeros((ground.num_channels, ground.num_channels))
    for user in range(0, len(ground.demand), step):
        for one in range(ground.indptr[user], ground.indptr[user + 1]):
            if not ground.wants[one]:
                continue
            for two in range(ground.indptr[user], one):
                if ground.wants[two]:
                    shared[ground.channels[one], ground.channels[two]] += 1
                    shared[ground.channels[two], ground.channels[one]] += 1
    return shared


@kernel
def places_in_a_row(likeness: FloatArray) -> LongArray:
    """Return the place of each in a row that grows at both ends by what is most like the end.

    It begins with the two that are most alike; ties: the front, the smaller id. O(T^2).
    """
    count = len(likeness)
    places = np.zeros(count, dtype=np.int64)
    if count < 2:
        return places
    is_in = np.zeros(count, dtype=np.bool_)
    front, back = 0, 1
    for i in range(count):
        for j in range(i + 1, count):
            if likeness[i, j] > likeness[front, back]:
                front, back = i, j
    low, high = 0, 1
    places[front], places[back] = low, high
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
            places[before] = low
            is_in[before] = True
        else:
            high, back = high + 1, after
            places[after] = high
            is_in[after] = True
    return places - low


@kernel
def mean_places(ground: Ground, place_of_channel: LongArray) -> FloatArray:
    """Mean place of the channels that each user wants; of what it publishes if it wants none."""
    mean = np.zeros(len(ground.demand))
    for user in range(len(mean)):
        wanted, total, sent, weight = 0, 0.0, 0.0, 0.0
        for place in range(ground.indptr[user], ground.indptr[user + 1]):
            at = place_of_channel[ground.channels[place]]
            if ground.wants[place]:
                wanted += 1
                total += at
            sent += ground.rates[place] * at
            weight += ground.rates[place]
        if wanted > 0:
            mean[user] = total / wanted
        elif weight > 0:
            mean[user] = sent / weight
    return mean
