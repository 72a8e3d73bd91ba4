"""An attachment that users move in, with its cost kept up to date.

C2 adds up, over channels c and brokers b, what b's users publish on c times the cost of the tree
that spans b and all brokers with subscribers of c. A move changes the set of such brokers only on
channels where the user is the last subscriber of its broker, or the first of the new one. On all
others the change is a difference of two known numbers.

Costs, with B brokers and k of them on a channel: a channel whose set changes is spanned anew in
O(B k); to price a join takes O(B k) once, until the channel changes, then O(1); to price a leave
takes O(k^2 + B k) for each target that joins as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.ground import TOLERANCE, Ground
from fanwise.wire.kernels import (
    Room,
    Span,
    add_broker,
    add_traffic,
    fill_costs,
    grow_tree,
    make_room,
    make_span,
    tree_cost,
    weighted_cost,
)

ACCESS, CORE = range(2)


class State(NamedTuple):
    """Who is attached where, and what follows from it. Rows are channels, columns brokers.

    Attributes
    ----------
    broker_of_user
        The decision; -1: attached nowhere yet, and counted nowhere.
    load
        Traffic of the users of each broker, in and out.
    subscribers
        Users of each broker that want each channel.
    publishers, published
        Users of each broker that publish on each channel, and how much they do.
    inside, vertices, parents, links, sizes
        The brokers with subscribers of each channel, as spans.
    tree_costs
        Cost of the tree over a channel's brokers and each broker.
    join_costs
        What the channel would cost in all if a broker joined it; NaN: not known.
    core_costs
        What each channel costs between brokers.
    totals
        C1 and C2, at ``ACCESS`` and ``CORE``.
    changes
        Room for the changes of cost by moving one user to each broker.
    without
        Room for a channel's brokers without one.
    room
        Room for walks over trees.
    """

    broker_of_user: IntArray
    load: FloatArray
    subscribers: IntArray
    publishers: IntArray
    published: FloatArray
    inside: npt.NDArray[np.bool_]
    vertices: IntArray
    parents: IntArray
    links: IntArray
    sizes: LongArray
    tree_costs: FloatArray
    join_costs: FloatArray
    core_costs: FloatArray
    totals: FloatArray
    changes: FloatArray
    without: Span
    room: Room

    @property
    def cost(self) -> float:
        """C1 + C2."""
        return float(self.totals.sum())


def make_state(ground: Ground, broker_of_user: IntArray) -> State:
    """Return the state of an attachment; users with broker -1 count nowhere.

    O(touches + T B k): T channels, B brokers, k of them on a channel.
    """
    count, channels = ground.num_brokers, ground.num_channels
    shape = channels, count
    ids = [np.full(shape, -1, dtype=np.int32) for _ in range(3)]
    state = State(
        broker_of_user=np.array(broker_of_user, dtype=np.int32),
        load=np.zeros(count),
        subscribers=np.zeros(shape, dtype=np.int32),
        publishers=np.zeros(shape, dtype=np.int32),
        published=np.zeros(shape),
        inside=np.zeros(shape, dtype=np.bool_),
        vertices=ids[0],
        parents=ids[1],
        links=ids[2],
        sizes=np.zeros((channels, 1), dtype=np.int64),
        tree_costs=np.zeros(shape),
        join_costs=np.full(shape, np.nan),
        core_costs=np.zeros(channels),
        totals=np.zeros(2),
        changes=np.zeros(count),
        without=make_span(count),
        room=make_room(count),
    )
    count_users(ground, state)
    return state


def copy_state(state: State) -> State:
    """Return a state that can be changed without changing this one."""
    count = len(state.load)
    copies = [part.copy() for part in state[:-2]]
    return State._make([*copies, make_span(count), make_room(count)])


def attachment_cost(ground: Ground, broker_of_user: IntArray) -> tuple[float, float]:
    """Return C1 and C2 of a whole attachment."""
    access, core = make_state(ground, broker_of_user).totals
    return float(access), float(core)


@kernel
def count_users(ground: Ground, state: State) -> None:
    """Fill a state from its attachment."""
    for user in range(len(state.broker_of_user)):
        broker = state.broker_of_user[user]
        if broker >= 0:
            state.totals[ACCESS] += ground.demand[user] * ground.access[user, broker]
            enter(ground, state, user, broker)
    for channel in range(len(state.core_costs)):
        span_channel(ground, state, channel)
    state.totals[CORE] = state.core_costs.sum()


@kernel
def span_of(state: State, channel: int) -> Span:
    """Return the brokers with subscribers of a channel."""
    return Span(
        state.inside[channel],
        state.vertices[channel],
        state.parents[channel],
        state.links[channel],
        state.sizes[channel],
    )


@kernel
def enter(ground: Ground, state: State, user: int, broker: int) -> None:
    """Count a user at a broker; trees and costs are for the caller."""
    state.load[broker] += ground.demand[user]
    for place in range(ground.indptr[user], ground.indptr[user + 1]):
        channel = ground.channels[place]
        if ground.wants[place]:
            state.subscribers[channel, broker] += 1
        if ground.rates[place] > 0:
            state.publishers[channel, broker] += 1
            state.published[channel, broker] += ground.rates[place]


@kernel
def leave(ground: Ground, state: State, user: int, broker: int) -> None:
    """Count a user at a broker no longer; trees and costs are for the caller."""
    state.load[broker] -= ground.demand[user]
    for place in range(ground.indptr[user], ground.indptr[user + 1]):
        channel = ground.channels[place]
        if ground.wants[place]:
            state.subscribers[channel, broker] -= 1
        if ground.rates[place] > 0:
            state.publishers[channel, broker] -= 1
            state.published[channel, broker] -= ground.rates[place]
            if state.publishers[channel, broker] == 0:
                state.published[channel, broker] = 0.0  # the rest is rounding


@kernel
def span_channel(ground: Ground, state: State, channel: int) -> None:
    """Find the brokers of a channel, their tree and all its costs anew."""
    span = span_of(state, channel)
    size = 0
    for b in range(len(state.load)):
        span.inside[b] = state.subscribers[channel, b] > 0
        if span.inside[b]:
            span.vertices[size] = b
            size += 1
    span.size[0] = size
    grow_tree(ground.pairs, span, state.room.least)
    fill_costs(ground, span, state.room, state.tree_costs[channel])
    price_channel(state, channel)


@kernel
def price_channel(state: State, channel: int) -> None:
    """Compute what a channel costs from its trees, which hold."""
    total = 0.0
    for b in range(len(state.load)):
        total += state.published[channel, b] * state.tree_costs[channel, b]
        state.join_costs[channel, b] = np.nan
    state.core_costs[channel] = total


@kernel
def extend(ground: Ground, state: State, span: Span, broker: int) -> Span:
    """Return a span with one more broker, in the state's room."""
    spare = state.room.spare
    if len(ground.tree_order) > 0:
        for b in range(len(spare.inside)):
            spare.inside[b] = span.inside[b]
        spare.inside[broker] = True
        spare.size[0] = span.size[0] + 1
    else:
        add_broker(ground.pairs, span, broker, spare, state.room)
    return spare


@kernel
def join_cost(ground: Ground, state: State, channel: int, broker: int) -> float:
    """What a channel would cost in all with one more broker; what users publish stays."""
    if np.isnan(state.join_costs[channel, broker]):
        wider = extend(ground, state, span_of(state, channel), broker)
        cost = weighted_cost(ground, wider, state.room, state.published[channel])
        state.join_costs[channel, broker] = cost
    return float(state.join_costs[channel, broker])


@kernel
def span_without(ground: Ground, state: State, channel: int, broker: int) -> None:
    """Fill ``state.without`` with the brokers of a channel but one."""
    span, full = state.without, span_of(state, channel)
    size = 0
    for b in range(len(span.inside)):
        span.inside[b] = full.inside[b] and b != broker
    for i in range(full.size[0]):
        if full.vertices[i] != broker:
            span.vertices[size] = full.vertices[i]
            size += 1
    span.size[0] = size
    if len(ground.tree_order) == 0:
        grow_tree(ground.pairs, span, state.room.least)


@kernel
def add_staying_changes(
    ground: Ground, state: State, channel: int, rate: float, broker: int, first: int, last: int
) -> None:
    """Add the changes on a channel that a publisher does not want."""
    costs = state.tree_costs[channel]
    for b in range(first, last):
        state.changes[b] += rate * (costs[b] - costs[broker])


@kernel
def add_joining_changes(ground: Ground, state: State, channel: int, first: int, last: int) -> None:
    """Add the changes on a channel whose subscriber leaves others behind.

    What it publishes does not matter: it comes from a broker of the channel before and after.
    """
    for b in range(first, last):
        if not state.inside[channel, b]:
            state.changes[b] += join_cost(ground, state, channel, b) - state.core_costs[channel]


@kernel
def add_leaving_changes(
    ground: Ground, state: State, channel: int, rate: float, broker: int, first: int, last: int
) -> None:
    """Add the changes on a channel whose last subscriber at its broker goes."""
    span_without(ground, state, channel, broker)
    published = state.published[channel]
    kept = published[broker]
    is_last = state.publishers[channel, broker] == (1 if rate > 0 else 0)
    published[broker] = 0.0 if is_last else kept - rate
    staying = np.nan
    for b in range(first, last):
        if b == broker:
            continue
        if state.inside[channel, b]:
            if np.isnan(staying):
                span = state.without
                staying = weighted_cost(ground, span, state.room, published)
                staying += rate * own_cost(ground, state, span, b)
            cost = staying
        else:
            wider = extend(ground, state, state.without, b)
            own = own_cost(ground, state, wider, b)
            cost = weighted_cost(ground, wider, state.room, published) + rate * own
        state.changes[b] += cost - state.core_costs[channel]
    published[broker] = kept


@kernel
def own_cost(ground: Ground, state: State, span: Span, member: int) -> float:
    """Cost of the tree of a span that a broker is in."""
    if len(ground.tree_order) > 0:
        fill_costs(ground, span, state.room, state.room.far)
        return float(state.room.far[member])
    return tree_cost(ground.pairs, span)


@kernel
def price_moves(ground: Ground, state: State, user: int, first: int, last: int) -> None:
    """Write into ``state.changes`` how the cost changes if a user moves to brokers first..last-1.

    The state is as before. For a user that is attached nowhere: what attaching it adds.
    """
    broker = state.broker_of_user[user]
    changes = state.changes
    for b in range(first, last):
        changes[b] = ground.demand[user] * ground.access[user, b]
        if broker >= 0:
            changes[b] -= ground.demand[user] * ground.access[user, broker]
    for place in range(ground.indptr[user], ground.indptr[user + 1]):
        channel, rate = ground.channels[place], ground.rates[place]
        if broker < 0:
            add_arriving_changes(ground, state, channel, rate, ground.wants[place], first, last)
        elif not ground.wants[place]:
            add_staying_changes(ground, state, channel, rate, broker, first, last)
        elif state.subscribers[channel, broker] > 1:
            add_joining_changes(ground, state, channel, first, last)
        else:
            add_leaving_changes(ground, state, channel, rate, broker, first, last)
    if first <= broker < last:
        changes[broker] = 0.0


@kernel
def add_arriving_changes(
    ground: Ground, state: State, channel: int, rate: float, wants: bool, first: int, last: int
) -> None:
    """Add the changes on a channel of a user that was attached nowhere."""
    for b in range(first, last):
        state.changes[b] += rate * state.tree_costs[channel, b]
        if wants and not state.inside[channel, b]:
            state.changes[b] += join_cost(ground, state, channel, b) - state.core_costs[channel]


@kernel
def price_move(ground: Ground, state: State, user: int, broker: int) -> float:
    """Return how the cost changes if a user moves to a broker; see :func:`price_moves`."""
    price_moves(ground, state, user, broker, broker + 1)
    return float(state.changes[broker])


@kernel
def apply_move(ground: Ground, state: State, user: int, broker: int) -> None:
    """Move a user to a broker (-1: to none), and bring everything up to date."""
    old = state.broker_of_user[user]
    if old == broker:
        return
    if old >= 0:
        leave(ground, state, user, old)
        state.totals[ACCESS] -= ground.demand[user] * ground.access[user, old]
    if broker >= 0:
        enter(ground, state, user, broker)
        state.totals[ACCESS] += ground.demand[user] * ground.access[user, broker]
    state.broker_of_user[user] = broker
    for place in range(ground.indptr[user], ground.indptr[user + 1]):
        channel = ground.channels[place]
        if is_other_span(state, channel, old) or is_other_span(state, channel, broker):
            span_channel(ground, state, channel)
        elif ground.rates[place] > 0:
            price_channel(state, channel)
    state.totals[CORE] = state.core_costs.sum()


@kernel
def is_other_span(state: State, channel: int, broker: int) -> bool:
    """Whether a broker has just joined or left a channel."""
    if broker < 0:
        return False
    return bool(state.inside[channel, broker] != (state.subscribers[channel, broker] > 0))


@kernel
def has_room(ground: Ground, state: State, user: int, broker: int) -> bool:
    """Whether a broker can take one more user within its capacity."""
    limit = ground.capacity[broker]
    return bool(state.load[broker] + ground.demand[user] <= limit * (1 + TOLERANCE))


@kernel
def is_overloaded(ground: Ground, state: State, broker: int) -> bool:
    """Whether a broker carries more than its capacity."""
    return bool(state.load[broker] > ground.capacity[broker] * (1 + TOLERANCE))


@kernel
def link_traffic(ground: Ground, state: State) -> FloatArray:
    """Return the traffic of each link by its rank, both directions together."""
    traffic = np.zeros(len(ground.pairs.cost))
    for channel in range(len(state.core_costs)):
        span = span_of(state, channel)
        add_traffic(ground, span, state.room, state.published[channel], traffic)
    return traffic
