"""How C1 + C2 changes if a user moves: what migration and every search decide by.

:func:`changes_by_moving` is for programs: how the cost changes by moving a user to each broker,
below 0 where that saves. Kernels use :func:`price_moves`. Nobody is moved; that is
:func:`fanwise.wire.state.apply_move`.

Access changes by the user's traffic times the difference of two links. On each channel that the
user touches, the core changes in one of four ways:

- it only publishes there: its messages start from another broker;
- others at its broker want the channel too: the broker stays in the tree, the new one joins;
- it is the last at its broker to want it: the broker leaves the tree, the new one joins;
- it is attached nowhere yet: the new broker joins.

Complexity
    With B brokers and k of them on a channel: to price a join takes O(B k) once, until the channel
    changes, then O(1); to price a leave takes O(k^2 + B k) for each target that joins as well.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.jit import kernel
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.spanning_trees import (
    Span,
    add_broker,
    fill_costs,
    grow_tree,
    tree_cost,
    weighted_cost,
)
from fanwise.wire.state import State, span_of


def changes_by_moving(arrays: WiringArrays, state: State, user: int) -> FloatArray:
    """Return how C1 + C2 changes if a user moves to each broker; 0 for its own."""
    price_moves(arrays, state, user, 0, arrays.num_brokers)
    return state.changes.copy()


@kernel
def price_moves(arrays: WiringArrays, state: State, user: int, first: int, last: int) -> None:
    """Write into ``state.changes`` how the cost changes if a user moves to brokers first..last-1.

    For a user that is attached nowhere: what attaching it adds. Capacities do not matter here.
    Changes ``state.changes``, ``join_costs`` and scratch.
    """
    broker = state.broker_of_user[user]
    changes = state.changes
    for b in range(first, last):
        changes[b] = arrays.demand[user] * arrays.access[user, b]
        if broker >= 0:
            changes[b] -= arrays.demand[user] * arrays.access[user, broker]
    for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
        channel, rate = arrays.channels[entry], arrays.rates[entry]
        if broker < 0:
            add_arriving_changes(arrays, state, channel, rate, arrays.wants[entry], first, last)
        elif not arrays.wants[entry]:
            add_staying_changes(state, channel, rate, broker, first, last)
        elif state.subscribers[channel, broker] > 1:
            add_joining_changes(arrays, state, channel, first, last)
        else:
            add_leaving_changes(arrays, state, channel, rate, broker, first, last)
    if first <= broker < last:
        changes[broker] = 0.0


@kernel
def price_move(arrays: WiringArrays, state: State, user: int, broker: int) -> float:
    """Return how the cost changes if a user moves to a broker. Changes what price_moves does."""
    price_moves(arrays, state, user, broker, broker + 1)
    return float(state.changes[broker])


@kernel
def add_arriving_changes(
    arrays: WiringArrays,
    state: State,
    channel: int,
    rate: float,
    wants: bool,
    first: int,
    last: int,
) -> None:
    """Add what moves change on a channel of a user that is attached nowhere.

    Changes ``state.changes``, ``join_costs`` and scratch.
    """
    for b in range(first, last):
        state.changes[b] += rate * state.tree_costs[channel, b]
        if wants and not state.inside[channel, b]:
            state.changes[b] += join_cost(arrays, state, channel, b) - state.core_costs[channel]


@kernel
def add_staying_changes(
    state: State, channel: int, rate: float, broker: int, first: int, last: int
) -> None:
    """Add what moves change on a channel that the user publishes on and does not want.

    Changes ``state.changes``.
    """
    costs = state.tree_costs[channel]
    for b in range(first, last):
        state.changes[b] += rate * (costs[b] - costs[broker])


@kernel
def add_joining_changes(
    arrays: WiringArrays, state: State, channel: int, first: int, last: int
) -> None:
    """Add what moves change on a channel with other subscribers at the user's broker.

    What it publishes does not matter: it comes from a broker of the channel before and after.
    Changes ``state.changes``, ``join_costs`` and scratch.
    """
    for b in range(first, last):
        if not state.inside[channel, b]:
            state.changes[b] += join_cost(arrays, state, channel, b) - state.core_costs[channel]


@kernel
def add_leaving_changes(
    arrays: WiringArrays,
    state: State,
    channel: int,
    rate: float,
    broker: int,
    first: int,
    last: int,
) -> None:
    """Add what moves change on a channel whose last subscriber at its broker is the user.

    The broker leaves the channel's tree, and the new one joins it. Meanwhile what the user
    publishes is taken off ``published``. Changes ``state.changes`` and the scratch.
    """
    span_without(arrays, state, channel, broker)
    published = state.published[channel]
    kept = published[broker]
    # Exactly 0 once nobody publishes: what a difference leaves over would be priced as traffic.
    is_last = state.publishers[channel, broker] == (1 if rate > 0 else 0)
    published[broker] = 0.0 if is_last else kept - rate
    staying = np.nan
    for b in range(first, last):
        if b == broker:
            continue
        if state.inside[channel, b]:
            # Brokers inside do not change the tree, whichever it is: one price for all of them.
            if np.isnan(staying):
                span = state.without
                staying = weighted_cost(arrays, span, state.scratch, published)
                staying += rate * own_cost(arrays, state, span, b)
            cost = staying
        else:
            wider = span_with(arrays, state, state.without, b)
            own = own_cost(arrays, state, wider, b)
            cost = weighted_cost(arrays, wider, state.scratch, published) + rate * own
        state.changes[b] += cost - state.core_costs[channel]
    published[broker] = kept


@kernel
def join_cost(arrays: WiringArrays, state: State, channel: int, broker: int) -> float:
    """Return what a channel would cost with one more broker, if all publish where they do now.

    Changes ``join_costs``, where it is remembered, and the scratch.
    """
    if np.isnan(state.join_costs[channel, broker]):
        wider = span_with(arrays, state, span_of(state, channel), broker)
        cost = weighted_cost(arrays, wider, state.scratch, state.published[channel])
        state.join_costs[channel, broker] = cost
    return float(state.join_costs[channel, broker])


@kernel
def span_with(arrays: WiringArrays, state: State, span: Span, broker: int) -> Span:
    """Return a span with one more broker. Changes the state's scratch, which holds it."""
    spare = state.scratch.spare
    if len(arrays.tree_order) > 0:
        # On the one tree a span is known by its members alone; nobody reads its own tree.
        for b in range(len(spare.inside)):
            spare.inside[b] = span.inside[b]
        spare.inside[broker] = True
        spare.size[0] = span.size[0] + 1
    else:
        add_broker(arrays.links, span, broker, spare, state.scratch)
    return spare


@kernel
def span_without(arrays: WiringArrays, state: State, channel: int, broker: int) -> None:
    """Fill ``state.without`` with the brokers of a channel but one. Changes the scratch as well."""
    span, full = state.without, span_of(state, channel)
    size = 0
    for b in range(len(span.inside)):
        span.inside[b] = full.inside[b] and b != broker
    for i in range(full.size[0]):
        if full.vertices[i] != broker:
            span.vertices[size] = full.vertices[i]
            size += 1
    span.size[0] = size
    if len(arrays.tree_order) == 0:
        grow_tree(arrays.links, span, state.scratch.least)


@kernel
def own_cost(arrays: WiringArrays, state: State, span: Span, member: int) -> float:
    """Return what the tree of a span costs that a broker is in. Changes the scratch."""
    if len(arrays.tree_order) > 0:
        fill_costs(arrays, span, state.scratch, state.scratch.amounts)
        return float(state.scratch.amounts[member])
    return tree_cost(arrays.links, span)
