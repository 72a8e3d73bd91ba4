"""A broker looks for a rearrangement: moves of many clients, not only its own, that pay together.

Where each broker has few subscribers of a channel, no single move helps long before the cost is
low: a channel's tree shrinks only when the last of its subscribers has left a broker. So a broker
thinks further, in private, on the summaries that all have. It begins either with things as they
are, or with everybody gathered around itself: on it and the brokers nearest to it, as few as have
room or some more, filled in the order of like interests. From there single users move as long as
that helps, then a few clients at a time are detached and attached again, with a heat that falls,
so that what is worse for a while may be passed through. In the network nothing moves meanwhile, and
what comes out counts only by what it saves in the end.

Every broker is another centre, so that brokers look in different places, and no one has to look at
all of them.

Complexity
    As many changes as asked for; each prices at most ``MOST_DETACHED`` clients at all brokers (see
    :mod:`fanwise.wire.move_costs`).
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.tolerance import fits
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.improving.compact_starts import (
    FULLER_THAN_EVEN,
    fill_in_order,
    near_brokers,
    order_by_interest,
    positions_by_likeness,
    shares_of_room,
)
from fanwise.wire.improving.ruin_and_recreate import NUM_DRAWS, make_ruin, try_changes
from fanwise.wire.migration import redirect
from fanwise.wire.state import State, make_state

HOT, COLD = 1.0, 0.003
"""Heat at the start and at the end, in costs of a mean client."""
BATCHES = 12
"""Different heats."""
MOST_DETACHED = 10
"""Clients that one change detaches."""
HOPELESS = 1.3
"""Over the cheapest start: one that costs more is not looked at further."""
MOST_ROUNDS = 5
"""Of single moves before and after."""


def num_starts(arrays: WiringArrays, centre: int) -> int:
    """Return how many places to begin there are: as things are, and around a broker."""
    return 1 + len(sets_around(arrays, centre))


def rearrange(
    arrays: WiringArrays,
    current: IntArray,
    centre: int,
    rank: int,
    num_changes: int,
    random: np.random.Generator,
) -> tuple[IntArray, float] | None:
    """Return the best attachment found from one of the starts, and its cost; None: none worth it.

    Parameters
    ----------
    current
        The broker of each client.
    centre
        The broker that looks.
    rank
        Which start, the one that costs least first.
    num_changes
        About how many to try.
    """
    order = order_by_interest(arrays)
    starts = [current]
    starts += [fill_in_order(arrays, order, *each) for each in sets_around(arrays, centre)]
    state = _ranked(arrays, starts, rank)
    if state is None:
        return None
    ruin = make_ruin(state, MOST_DETACHED)
    unit = state.cost / max(arrays.num_users, 1)
    each = -(-num_changes // BATCHES)
    for batch in range(BATCHES):
        heat = unit * HOT * (COLD / HOT) ** (batch / (BATCHES - 1))
        draws = random.random((each, NUM_DRAWS))
        try_changes(arrays, state, order, ruin, draws, max(heat, 1e-300), np.inf)
    state = make_state(arrays, ruin.best)
    descend(arrays, state)
    return (state.broker_of_user, state.cost) if is_within(arrays, state) else None


def _ranked(arrays: WiringArrays, starts: list[IntArray], rank: int) -> State | None:
    """Return a start after single moves, by the order of their costs; None if it is hopeless."""
    found = []
    for start in starts:
        state = make_state(arrays, start)
        descend(arrays, state)
        if is_within(arrays, state):
            found.append(state)
    found.sort(key=lambda state: state.cost)
    if rank >= len(found) or found[rank].cost > HOPELESS * found[0].cost:
        return None
    return found[rank]


def descend(arrays: WiringArrays, state: State) -> None:
    """Move single clients, away from full brokers and then wherever it helps. Changes the state."""
    order = np.argsort(-arrays.demand, kind="stable")
    redirect(arrays, state, order, True)
    for _ in range(MOST_ROUNDS):
        if not redirect(arrays, state, order, False):
            break


def is_within(arrays: WiringArrays, state: State) -> bool:
    """Whether no broker carries more than its capacity."""
    return bool(np.all(fits(state.load, arrays.capacity)))


def sets_around(arrays: WiringArrays, centre: int) -> list[tuple[IntArray, FloatArray]]:
    """Return brokers near a broker in a row of short ways, and how far to fill each broker.

    The fewest that have room for everybody first, all of them last.
    """
    demand = float(arrays.demand.sum())
    room = np.minimum(arrays.capacity, demand)
    found: dict[bytes, tuple[IntArray, FloatArray]] = {}
    for share in shares_of_room(float(room.sum()), demand):
        near = near_brokers(arrays, room, centre, share * demand)
        members = np.sort(near[room[near] > 0])
        if members.tobytes() in found or not len(members):
            continue
        distances = arrays.core[np.ix_(members, members)]
        row = members[np.argsort(positions_by_likeness(-distances))].astype(np.int32)
        held = float(room[members].sum())
        level = min(1.0, FULLER_THAN_EVEN * demand / held) if held > 0 else 1.0
        found[members.tobytes()] = row, level * room
    return list(found.values())[::-1]
