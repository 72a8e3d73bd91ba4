"""Steiner trees between brokers: what brokers without subscribers of a channel can save.

The paper argues that a tree never gains from a broker outside of it. It can: the middle of three
brokers around it makes a star that is cheaper than any two of the triangle's sides. C2 is by
minimum spanning trees all the same; this is what could be saved on top.

A tree takes in outside brokers, those that save most at first before the others, as long as each
still saves. So does the tree of each channel, which the brokers of publishers join, and the tree of
each such broker and channel unless that takes too many steps; the cheapest counts.

Guarantee
    An upper bound on C2 by Steiner trees, never above C2 by spanning trees, and so within twice the
    least.

Complexity
    O(T B k), and O(T B^2 k) at most, for T channels, B brokers and k of them on a channel.

References
----------
    F. K. Hwang, D. S. Richards, P. Winter: The Steiner Tree Problem. North-Holland, 1992.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import ROUNDING
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.spanning_trees import Span, add_broker, cost_with_broker, tree_cost
from fanwise.wire.state import State, span_of

THOROUGH = 20_000_000
"""Steps on one channel up to which each publisher's broker gets a Steiner tree of its own."""


@kernel
def steiner_cost(arrays: WiringArrays, state: State) -> float:
    """Return an upper bound on C2 by Steiner trees. Changes the scratch of the state."""
    total = 0.0
    count = len(state.load)
    gains, costs = np.empty(count), np.empty(count)
    for channel in range(len(state.core_costs)):
        price_wider_trees(arrays, state, channel, gains, costs)
        for b in range(count):
            total += state.published[channel, b] * costs[b]
    return total


@kernel
def price_wider_trees(
    arrays: WiringArrays, state: State, channel: int, gains: FloatArray, costs: FloatArray
) -> None:
    """Write what the Steiner tree of a channel and each broker costs at most.

    0 for brokers that send nothing. Changes ``gains``, ``costs`` and the scratch of the state.
    """
    own = span_of(state, channel)
    copy_span(own, state.scratch.spare)
    span = widen(arrays, state, gains)
    least = tree_cost(arrays.links, span)
    for b in range(len(costs)):
        costs[b] = 0.0
        if state.published[channel, b] > 0:
            cost = (
                least if span.inside[b] else cost_with_broker(arrays.links, span, b, state.scratch)
            )
            costs[b] = min(cost, state.tree_costs[channel, b])
    outside = len(costs) - own.size[0]
    if outside * outside * own.size[0] > THOROUGH:
        return
    for b in range(len(costs)):
        if state.published[channel, b] > 0 and not own.inside[b]:
            add_broker(arrays.links, own, b, state.scratch.spare, state.scratch)
            cost = tree_cost(arrays.links, widen(arrays, state, gains))
            costs[b] = min(cost, costs[b])


@kernel
def widen(arrays: WiringArrays, state: State, gains: FloatArray) -> Span:
    """Return the span in ``state.scratch.spare`` with outside brokers that make its tree cheaper.

    It is there or in ``state.without``. Changes both, the scratch and ``gains``.
    """
    span, other = state.scratch.spare, state.without
    own = tree_cost(arrays.links, span)
    for b in range(len(gains)):
        gains[b] = 0.0
        if not span.inside[b]:
            gains[b] = own - cost_with_broker(arrays.links, span, b, state.scratch)
    for b in np.argsort(-gains):
        if gains[b] <= ROUNDING * own:
            break
        if own - cost_with_broker(arrays.links, span, b, state.scratch) > ROUNDING * own:
            add_broker(arrays.links, span, b, other, state.scratch)
            # Two spans take turns: a tree cannot be widened in place.
            span, other = other, span
            own = tree_cost(arrays.links, span)
    return span


@kernel
def copy_span(span: Span, to: Span) -> None:
    """Make ``to`` like another span. Changes ``to``."""
    to.inside[:] = span.inside
    to.vertices[:] = span.vertices
    to.parents[:] = span.parents
    to.links[:] = span.links
    to.size[:] = span.size
