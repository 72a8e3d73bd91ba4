"""A wiring problem as plain arrays: who sends and wants what, and what every link costs."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray, read_only
from fanwise.arrays.jit import kernel
from fanwise.arrays.latencies import distance
from fanwise.workload.content import ContentWorkload, PublishRates
from fanwise.workload.traffic import measure_traffic

TOLERANCE = 1e-9
"""How far a capacity or the triangle inequality may be off before it counts as broken."""


class Pairs(NamedTuple):
    """Links between brokers in a strict order: by cost, then by the ids of their ends.

    With a strict order every minimum spanning tree is the only one, whoever computes it.

    Attributes
    ----------
    rank
        Place of each pair in the order, symmetric; -1 on the diagonal.
    low, high, cost
        Ends of the pair of each rank, the smaller id first, and what a unit of traffic costs.
    """

    rank: IntArray
    low: IntArray
    high: IntArray
    cost: FloatArray


class Ground(NamedTuple):
    """Users, channels, brokers and costs.

    A user touches the channels it wants or publishes on. Of what it publishes, only channels count
    that somebody else wants.

    Attributes
    ----------
    indptr, channels, wants, rates
        The channels that each user touches, ascending; whether it wants each; what it publishes on
        each, 0 for nothing.
    demand
        Traffic of each user, in and out: what it adds to the load of its broker.
    access
        Cost of a unit of traffic between each user and each broker.
    core
        Cost between brokers; the triangle inequality holds.
    pairs
        Links between brokers in the order of costs.
    capacity
        Most load of each broker; infinite where there is no limit.
    tree_order, tree_parent
        The one tree that all flows follow, a parent before its children, and the parent of each
        broker (the root is its own); empty where flows have trees of their own.
    num_channels
        How many there are.
    """

    indptr: LongArray
    channels: IntArray
    wants: npt.NDArray[np.bool_]
    rates: FloatArray
    demand: FloatArray
    access: FloatArray
    core: FloatArray
    pairs: Pairs
    capacity: FloatArray
    tree_order: IntArray
    tree_parent: IntArray
    num_channels: int

    @property
    def num_users(self) -> int:
        return len(self.demand)

    @property
    def num_brokers(self) -> int:
        return len(self.capacity)

    @property
    def is_tree(self) -> bool:
        """Whether all flows follow one tree."""
        return len(self.tree_order) > 0


def build_ground(
    workload: ContentWorkload,
    *,
    is_tree: bool = False,
    core_factor: float = 1.0,
    capacity_factor: float = 1.0,
) -> tuple[Ground, int]:
    """Lay out a workload; also return how many links had a cheaper way around.

    Such links get the cost of that way: traffic would take it. Costs between brokers and
    capacities are multiplied by factors.
    """
    traffic = measure_traffic(workload)
    indptr, channels, _ = cast(PublishRates, workload.rates)
    touches = merge_touches(*traffic.wanted, indptr, channels, traffic.rate)
    num_brokers = workload.num_brokers
    access = workload.access_costs
    if access is None:
        access = all_distances(workload.positions, workload.broker_positions)
    core, num_shortened = core_costs(workload, core_factor)
    pairs = order_pairs(core)
    capacity = workload.capacity
    capacity = np.full(num_brokers, np.inf) if capacity is None else capacity * capacity_factor
    order, parent = _one_tree(pairs, num_brokers) if is_tree else _no_tree()
    num_channels = len(traffic.num_wanting)
    ground = Ground(
        *touches, traffic.demand, access, core, pairs, capacity, order, parent, num_channels
    )
    for array in (*ground[:-1], *pairs):
        if isinstance(array, np.ndarray):
            read_only(array)
    return ground, num_shortened


def core_costs(workload: ContentWorkload, factor: float) -> tuple[FloatArray, int]:
    """Return the cost between brokers, and how many links had a cheaper way around."""
    if workload.broker_costs is None:
        places = workload.broker_positions
        return all_distances(places, places) * factor, 0
    given = workload.broker_costs * factor
    closed = close_costs(given)
    broken = closed < given * (1 - TOLERANCE)
    if not broken.any():
        return given, 0
    return closed, int(np.count_nonzero(broken)) // 2


def order_pairs(core: FloatArray) -> Pairs:
    """Put all pairs of brokers in the order of their cost, then of their ids."""
    count = len(core)
    low, high = (ids.astype(np.int32) for ids in np.triu_indices(count, 1))
    order = np.argsort(core[low, high], kind="stable")
    low, high = low[order], high[order]
    rank = np.full((count, count), -1, dtype=np.int32)
    rank[low, high] = rank[high, low] = np.arange(len(order), dtype=np.int32)
    return Pairs(rank, low, high, core[low, high])


def _no_tree() -> tuple[IntArray, IntArray]:
    return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)


def _one_tree(pairs: Pairs, count: int) -> tuple[IntArray, IntArray]:
    """The minimum spanning tree of all brokers, rooted at the first."""
    from fanwise.wire.kernels import grow_tree, make_span

    span = make_span(count)
    span.vertices[:] = np.arange(count, dtype=np.int32)
    span.size[0] = count
    grow_tree(pairs, span, np.empty(count, dtype=np.int32))
    parent = np.empty(count, dtype=np.int32)
    if count:
        parent[span.vertices] = span.vertices[np.maximum(span.parents, 0)]
    return span.vertices, parent


@kernel
def all_distances(places: FloatArray, others: FloatArray) -> FloatArray:
    """Euclidean distance of each place to each other one."""
    found = np.empty((len(places), len(others)))
    for row in range(len(places)):
        for other in range(len(others)):
            found[row, other] = distance(places, row, others, other)
    return found


@kernel
def close_costs(costs: FloatArray) -> FloatArray:
    """Cost of the cheapest way between each two (Floyd and Warshall)."""
    closed = costs.copy()
    count = len(costs)
    for middle in range(count):
        for row in range(count):
            first = closed[row, middle]
            for other in range(count):
                if first + closed[middle, other] < closed[row, other]:
                    closed[row, other] = first + closed[middle, other]
    return closed


@kernel
def merge_touches(
    wanted_indptr: LongArray,
    wanted: IntArray,
    rate_indptr: LongArray,
    rate_channels: IntArray,
    rate: FloatArray,
) -> tuple[LongArray, IntArray, npt.NDArray[np.bool_], FloatArray]:
    """Merge, for each user, the channels it wants and those it publishes on; both ascend."""
    users = len(wanted_indptr) - 1
    indptr = np.zeros(users + 1, dtype=np.int64)
    channels = np.empty(len(wanted) + len(rate), dtype=np.int32)
    wants = np.empty(len(channels), dtype=np.bool_)
    rates = np.empty(len(channels))
    end = 0
    for user in range(users):
        mine, sent = wanted_indptr[user], rate_indptr[user]
        while mine < wanted_indptr[user + 1] or sent < rate_indptr[user + 1]:
            has_mine, has_sent = mine < wanted_indptr[user + 1], sent < rate_indptr[user + 1]
            is_wanted = has_mine and (not has_sent or wanted[mine] <= rate_channels[sent])
            is_sent = has_sent and (not has_mine or rate_channels[sent] <= wanted[mine])
            channels[end] = wanted[mine] if is_wanted else rate_channels[sent]
            wants[end] = is_wanted
            rates[end] = rate[sent] if is_sent else 0.0
            mine += int(is_wanted)
            sent += int(is_sent)
            end += int(wants[end] or rates[end] > 0)
        indptr[user + 1] = end
    return indptr, channels[:end].copy(), wants[:end].copy(), rates[:end].copy()
