"""An attachment of users to brokers, with its cost kept up to date while users move.

:func:`make_state` makes one, :func:`apply_move` moves a user, ``state.cost`` is C1 + C2, and
:func:`link_traffic` what every link carries. What a move would change is told by
:mod:`fanwise.wire.move_costs`, without making it.

C2 adds up, over channels c and brokers b, what b's users publish on c times the cost of the tree
that spans b and all brokers with subscribers of c (the paper's Section IV.A, summed by broker
instead of by publisher). A move changes the set of such brokers only on channels where the user is
the last subscriber of its broker, or the first of the new one. On all others the change is a
difference of two known numbers.

Complexity
    With B brokers and k of them on a channel, a channel whose set changes is spanned anew in O(B
    k). Any other that the user publishes on takes O(B).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import fits
from fanwise.wire.arrays import WiringArrays, may_take
from fanwise.wire.spanning_trees import (
    Span,
    TreeScratch,
    add_traffic,
    fill_costs,
    grow_tree,
    make_scratch,
    make_span,
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
        The brokers with subscribers of each channel, as the parts of a
        :class:`~fanwise.wire.spanning_trees.Span`.
    tree_costs
        Cost of the tree over a channel's brokers and each broker.
    join_costs
        What the channel would cost in all if a broker joined it; NaN where nobody has asked yet.
    core_costs
        What each channel costs between brokers.
    totals
        C1 and C2, at ``ACCESS`` and ``CORE``.
    changes
        How the cost changes by moving the user that was priced last to each broker.
    without
        Scratch: a channel's brokers without one of them.
    scratch
        Scratch for walks over trees.
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
    scratch: TreeScratch

    @property
    def cost(self) -> float:
        """C1 + C2."""
        return float(self.totals.sum())


def make_state(arrays: WiringArrays, broker_of_user: IntArray) -> State:
    """Return the state of an attachment; users with broker -1 count nowhere.

    O(touches + T B k): T channels, B brokers, k of them on a channel.
    """
    count, channels = arrays.num_brokers, arrays.num_channels
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
        scratch=make_scratch(count),
    )
    fill_state(arrays, state)
    return state


def attachment_cost(arrays: WiringArrays, broker_of_user: IntArray) -> tuple[float, float]:
    """Return C1 and C2 of a whole attachment; to change it, or to price moves, make a state."""
    access, core = make_state(arrays, broker_of_user).totals
    return float(access), float(core)


@kernel
def fill_state(arrays: WiringArrays, state: State) -> None:
    """Fill an empty state from its attachment. Changes all of the state but the attachment."""
    for user in range(len(state.broker_of_user)):
        broker = state.broker_of_user[user]
        if broker >= 0:
            state.totals[ACCESS] += arrays.demand[user] * arrays.access[user, broker]
            enter(arrays, state, user, broker)
    for channel in range(len(state.core_costs)):
        span_channel(arrays, state, channel)
    state.totals[CORE] = state.core_costs.sum()


@kernel
def span_of(state: State, channel: int) -> Span:
    """Return the brokers with subscribers of a channel, as views of the state's arrays.

    Changes nothing.
    """
    return Span(
        state.inside[channel],
        state.vertices[channel],
        state.parents[channel],
        state.links[channel],
        state.sizes[channel],
    )


@kernel
def enter(arrays: WiringArrays, state: State, user: int, broker: int) -> None:
    """Count a user at a broker; trees and costs are for the caller.

    Changes ``load``, ``subscribers``, ``publishers`` and ``published`` of the state.
    """
    state.load[broker] += arrays.demand[user]
    for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
        channel = arrays.channels[entry]
        if arrays.wants[entry]:
            state.subscribers[channel, broker] += 1
        if arrays.rates[entry] > 0:
            state.publishers[channel, broker] += 1
            state.published[channel, broker] += arrays.rates[entry]


@kernel
def leave(arrays: WiringArrays, state: State, user: int, broker: int) -> None:
    """Count a user at a broker no longer; trees and costs are for the caller.

    Changes what :func:`enter` changes.
    """
    state.load[broker] -= arrays.demand[user]
    for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
        channel = arrays.channels[entry]
        if arrays.wants[entry]:
            state.subscribers[channel, broker] -= 1
        if arrays.rates[entry] > 0:
            state.publishers[channel, broker] -= 1
            state.published[channel, broker] -= arrays.rates[entry]
            if state.publishers[channel, broker] == 0:
                state.published[channel, broker] = 0.0  # the rest is rounding


@kernel
def span_channel(arrays: WiringArrays, state: State, channel: int) -> None:
    """Find the brokers of a channel, their tree and all its costs anew.

    Changes the channel's rows of the state.
    """
    span = span_of(state, channel)
    size = 0
    for b in range(len(state.load)):
        span.inside[b] = state.subscribers[channel, b] > 0
        if span.inside[b]:
            span.vertices[size] = b
            size += 1
    span.size[0] = size
    grow_tree(arrays.links, span, state.scratch.least)
    fill_costs(arrays, span, state.scratch, state.tree_costs[channel])
    price_channel(state, channel)


@kernel
def price_channel(state: State, channel: int) -> None:
    """Sum up what a channel costs, from trees that are up to date.

    Changes ``core_costs`` and forgets ``join_costs`` of the channel.
    """
    total = 0.0
    for b in range(len(state.load)):
        total += state.published[channel, b] * state.tree_costs[channel, b]
        state.join_costs[channel, b] = np.nan
    state.core_costs[channel] = total


@kernel
def apply_move(arrays: WiringArrays, state: State, user: int, broker: int) -> None:
    """Move a user to a broker (-1: to none). Changes the state, and leaves all of it up to date."""
    old = state.broker_of_user[user]
    if old == broker:
        return
    if old >= 0:
        leave(arrays, state, user, old)
        state.totals[ACCESS] -= arrays.demand[user] * arrays.access[user, old]
    if broker >= 0:
        enter(arrays, state, user, broker)
        state.totals[ACCESS] += arrays.demand[user] * arrays.access[user, broker]
    state.broker_of_user[user] = broker
    for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
        channel = arrays.channels[entry]
        # Users are counted already and trees are not: where the two disagree, the tree has to
        # change.
        if has_joined_or_left(state, channel, old) or has_joined_or_left(state, channel, broker):
            span_channel(arrays, state, channel)
        elif arrays.rates[entry] > 0:
            price_channel(state, channel)
    # Summed up anew: differences would add up rounding over millions of moves.
    state.totals[CORE] = state.core_costs.sum()


@kernel
def has_joined_or_left(state: State, channel: int, broker: int) -> bool:
    """Whether a broker has joined or left a channel since it was spanned. Changes nothing."""
    if broker < 0:
        return False
    return bool(state.inside[channel, broker] != (state.subscribers[channel, broker] > 0))


@kernel
def has_room(arrays: WiringArrays, state: State, user: int, broker: int) -> bool:
    """Whether a broker can take one more user, who may go there, within its capacity.

    Changes nothing.
    """
    limit = arrays.capacity[broker]
    return may_take(arrays, user, broker) and bool(
        fits(state.load[broker] + arrays.demand[user], limit)
    )


@kernel
def is_overloaded(arrays: WiringArrays, state: State, broker: int) -> bool:
    """Whether a broker carries more than its capacity. Changes nothing."""
    return not fits(state.load[broker], arrays.capacity[broker])


@kernel
def link_traffic(arrays: WiringArrays, state: State) -> FloatArray:
    """Return the traffic of each link by its rank, both directions together. Changes scratch."""
    traffic = np.zeros(len(arrays.links.cost))
    for channel in range(len(state.core_costs)):
        span = span_of(state, channel)
        add_traffic(arrays, span, state.scratch, state.published[channel], traffic)
    return traffic
