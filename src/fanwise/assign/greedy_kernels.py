"""Kernels of the greedy assignments: what a subscriber costs at a broker, and who is next."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_kernels import Scratch, find_container, least_growth
from fanwise.arrays.rectangle_moves import enlarge
from fanwise.assign.arrays import AssignmentArrays, Filters
from fanwise.assign.choices import Choices


class GreedyState(NamedTuple):
    """An assignment under way.

    Attributes
    ----------
    broker_of_subscriber
        -1: not assigned yet.
    loads
        Subscribers of each broker.
    filters
        What the brokers let through so far.
    limits
        Most subscribers of each broker, a row for each step of the load-balance factor.
    now
        The present step; how many were put on a full broker; how many were driven out again.
    box
        Space for the box that travels up the tree, a row of lower and one of upper sides.
    scratch
        Space for cutting boxes.
    """

    broker_of_subscriber: IntArray
    loads: LongArray
    filters: Filters
    limits: LongArray
    now: LongArray
    box: FloatArray
    scratch: Scratch


STEP, FORCED, EVICTED = 0, 1, 2


class Growing(Protocol):
    """Filters under way, with space for a box and for cutting boxes."""

    @property
    def filters(self) -> Filters: ...
    @property
    def box(self) -> FloatArray: ...
    @property
    def scratch(self) -> Scratch: ...


@kernel
def grow_path(
    arrays: AssignmentArrays, state: Growing, leaf: int, j: int, enough: float, is_final: bool
) -> float:
    """Measure by which filters grow, from a leaf up to the publisher, to take in a subscriber.

    The rectangle that grew at a broker must lie in one rectangle of its parent; where nothing grew
    nothing changes above. Infinite where it would be more than ``enough``.

    Changes the box and the scratch space of ``state``, and its filters where ``is_final``.

    Parameters
    ----------
    is_final
        Let the filters grow.
    """
    filters, box = state.filters, state.box
    dims = box.shape[1]
    for axis in range(dims):
        box[0, axis] = arrays.lo[j, axis]
        box[1, axis] = arrays.hi[j, axis]
    if box[0, 0] > box[1, 0]:
        return 0.0
    # The cost of Sec. III: the least enlargement of filters, summed over the path to the publisher.
    total = 0.0
    broker = leaf
    while broker >= 0:
        count = filters.counts[broker]
        left = enough - total
        growth, slot = least_growth(
            filters.lo,
            filters.hi,
            broker,
            count,
            arrays.alpha,
            box[0],
            box[1],
            arrays.density,
            state.scratch,
            left,
        )
        if slot < 0 or growth > left:
            return np.inf
        total += growth
        # Growing by nothing does not suffice: the union may hold the box without any one rectangle
        # doing so, and nesting is kept rectangle by rectangle.
        if find_container(filters.lo, filters.hi, broker, count, box[0], box[1]) >= 0:
            return total
        # What the parent must hold is the rectangle that grew, not only what made it grow.
        if slot < count:
            for axis in range(dims):
                box[0, axis] = min(box[0, axis], filters.lo[broker, slot, axis])
                box[1, axis] = max(box[1, axis], filters.hi[broker, slot, axis])
        if is_final:
            enlarge(filters.lo, filters.hi, filters.counts, broker, slot, box[0], box[1])
        broker = arrays.parent[broker]
    return total


@kernel
def has_room(state: GreedyState, broker: int) -> bool:
    """Whether a broker may serve one more at the present step. Changes nothing."""
    return bool(state.loads[broker] < state.limits[state.now[STEP], broker])


@kernel
def any_room(state: GreedyState, choices: Choices, j: int) -> bool:
    """Whether any choice of a subscriber may serve one more. Changes nothing."""
    for pair in range(choices.first[j], choices.end[j]):
        if has_room(state, choices.brokers[pair]):
            return True
    return False


@kernel
def choose_broker(
    arrays: AssignmentArrays, state: GreedyState, choices: Choices, j: int, is_forced: bool
) -> int:
    """Return the choice with the least growth; ties: the least load for its share, then the id.

    Only brokers with room count, or all of them where ``is_forced``. Those that hold what the
    subscriber wants already are looked at first: where there is one, others only matter with less
    load, and if they grow by nothing either. Changes the box and the scratch space of ``state``.
    """
    best, best_load, chosen = np.inf, np.inf, -1
    for is_first in (True, False):
        for pair in range(choices.first[j], choices.end[j]):
            broker = choices.brokers[pair]
            if not is_forced and not has_room(state, broker):
                continue
            share = arrays.share[broker]
            # The paper's tie: the least m_i / (kappa_i |S|), here before the subscriber joins.
            load = state.loads[broker] / (share * arrays.lo.shape[0]) if share > 0 else np.inf
            is_ahead = load < best_load or (load == best_load and broker < chosen)
            if chosen >= 0 and best == 0.0 and not is_ahead:
                continue
            if is_first:
                if not holds_box(arrays, state.filters, broker, j):
                    continue
                cost = 0.0
            else:
                cost = grow_path(arrays, state, broker, j, best, False)
            if chosen < 0 or cost < best or (cost == best and is_ahead):
                best, best_load, chosen = cost, load, broker
    return chosen


@kernel
def holds_box(arrays: AssignmentArrays, filters: Filters, broker: int, j: int) -> bool:
    """Whether one rectangle of a broker holds what a subscriber wants. Changes nothing."""
    count = filters.counts[broker]
    return find_container(filters.lo, filters.hi, broker, count, arrays.lo[j], arrays.hi[j]) >= 0


@kernel
def settle(arrays: AssignmentArrays, state: GreedyState, j: int, broker: int) -> None:
    """Assign a subscriber, and let the filters above it grow. Changes ``state``."""
    grow_path(arrays, state, broker, j, np.inf, True)
    state.broker_of_subscriber[j] = broker
    state.loads[broker] += 1


@kernel
def raise_limits(state: GreedyState, choices: Choices, j: int) -> bool:
    """Raise the load-balance factor until a subscriber has a broker; False if the last step has.

    Changes the step in ``state.now``.
    """
    while not any_room(state, choices, j):
        if state.now[STEP] + 1 >= state.limits.shape[0]:
            return False
        state.now[STEP] += 1
    return True


@kernel
def assign_in_order(
    arrays: AssignmentArrays, state: GreedyState, choices: Choices, order: IntArray
) -> None:
    """Assign subscribers one after the other (the paper's Gr). Changes ``state``."""
    for j in order:
        can_be = raise_limits(state, choices, j)
        if not can_be:
            state.now[FORCED] += 1
        settle(arrays, state, j, choose_broker(arrays, state, choices, j, not can_be))


@kernel
def assign_fewest_first(
    arrays: AssignmentArrays,
    state: GreedyState,
    choices: Choices,
    broker_indptr: LongArray,
    subscribers: IntArray,
) -> None:
    """Assign whoever has the fewest brokers with room, then by id (the paper's Gr*).

    The numbers change only where a broker fills or the load-balance factor rises; then all who wait
    are sorted anew, by counting. O(fills x subscribers + choices) beside the growths.

    Changes ``state``.

    Parameters
    ----------
    broker_indptr, subscribers
        Who has each broker among the choices.
    """
    num_subscribers, num_brokers = len(state.broker_of_subscriber), len(state.loads)
    is_open = np.zeros(num_brokers, dtype=np.bool_)
    num_open = np.zeros(num_subscribers, dtype=np.int64)
    order = np.empty(num_subscribers, dtype=np.int32)
    update_open(state, is_open, num_open, broker_indptr, subscribers)
    waiting = sort_waiting(state.broker_of_subscriber, num_open, num_brokers, order)
    cursor = 0
    while cursor < waiting:
        j = order[cursor]
        cursor += 1
        step = state.now[STEP]
        can_be = raise_limits(state, choices, j)
        if not can_be:
            state.now[FORCED] += 1
        broker = choose_broker(arrays, state, choices, j, not can_be)
        settle(arrays, state, j, broker)
        if state.now[STEP] != step or (is_open[broker] and not has_room(state, broker)):
            # The list is rebuilt from those who still wait, so that the cursor starts over.
            update_open(state, is_open, num_open, broker_indptr, subscribers)
            waiting = sort_waiting(state.broker_of_subscriber, num_open, num_brokers, order)
            cursor = 0


@kernel
def update_open(
    state: GreedyState,
    is_open: npt.NDArray[np.bool_],
    num_open: LongArray,
    broker_indptr: LongArray,
    subscribers: IntArray,
) -> None:
    """Bring up to date which brokers have room, and how many of them each subscriber has.

    Changes ``is_open`` and ``num_open``.
    """
    for broker in range(len(is_open)):
        now = has_room(state, broker)
        if now != is_open[broker]:
            is_open[broker] = now
            change = 1 if now else -1
            for pair in range(broker_indptr[broker], broker_indptr[broker + 1]):
                num_open[subscribers[pair]] += change


@kernel
def sort_waiting(
    broker_of_subscriber: IntArray, num_open: LongArray, most: int, order: IntArray
) -> int:
    """List those without a broker by how many choices they have, then by id; return how many.

    Changes ``order``.
    """
    starts = np.zeros(most + 2, dtype=np.int64)
    for j in range(len(broker_of_subscriber)):
        if broker_of_subscriber[j] < 0:
            starts[num_open[j] + 1] += 1
    for count in range(most + 1):
        starts[count + 1] += starts[count]
    total = starts[most + 1]
    for j in range(len(broker_of_subscriber)):
        if broker_of_subscriber[j] < 0:
            order[starts[num_open[j]]] = j
            starts[num_open[j]] += 1
    return int(total)
