"""A wiring problem as plain arrays: who sends and wants what, and what every link costs.

:func:`build_arrays` makes them from a workload. Algorithms, bounds and costs work on them alone;
:mod:`fanwise.wire.state` holds an attachment of these users to these brokers.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray, read_only
from fanwise.arrays.jit import kernel
from fanwise.arrays.latencies import distance
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.workload.content import ContentWorkload, PublishRates
from fanwise.workload.content.traffic import measure_traffic

MOST_FORBIDDING = 1e90
"""Cost of access that stands for a broker that a user may not take, at most."""


class RankedLinks(NamedTuple):
    """Links between brokers in a strict order: by cost, then by the ids of their ends.

    With a strict order every minimum spanning tree is the only one, whoever computes it.

    Attributes
    ----------
    rank
        Of the link between each two brokers, symmetric; -1 on the diagonal.
    low, high, cost
        By rank: the brokers that the link connects, the smaller id first, and what a unit of
        traffic costs on it.
    """

    rank: IntArray
    low: IntArray
    high: IntArray
    cost: FloatArray


class WiringArrays(NamedTuple):
    """Users, channels, brokers and costs.

    A user touches the channels it wants or publishes on. Of what it publishes, only channels count
    that somebody else wants. Kernels take it as a whole, and none of them changes it.

    Attributes
    ----------
    indptr, channels, wants, rates
        Touches, as compressed rows by user: the channel, ascending; whether the user wants it; how
        much it publishes there in a unit of time, 0 for nothing.
    demand
        Traffic of each user in a unit of time, in and out: what it adds to the load of its broker.
    access
        Cost of a unit of traffic between each user and each broker; more than everything else
        together where the user may not take the broker.
    allowed
        Which brokers each user may take; no rows where all may take any.
    core
        Cost between brokers; the triangle inequality holds.
    links
        The same costs, as links in a strict order.
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
    allowed: npt.NDArray[np.bool_]
    core: FloatArray
    links: RankedLinks
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


def build_arrays(
    workload: ContentWorkload,
    *,
    is_tree: bool = False,
    core_factor: float = 1.0,
    capacity_factor: float = 1.0,
) -> tuple[WiringArrays, int]:
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
    allowed = allowed_brokers(workload)
    if len(allowed):
        access = forbid(access, allowed, traffic.demand, float(core.sum()))
    links = rank_links(core)
    capacity = workload.capacity
    capacity = np.full(num_brokers, np.inf) if capacity is None else capacity * capacity_factor
    order, parent = _one_tree(links, num_brokers) if is_tree else _no_tree()
    num_channels = len(traffic.num_wanting)
    arrays = WiringArrays(
        *touches,
        traffic.demand,
        access,
        allowed,
        core,
        links,
        capacity,
        order,
        parent,
        num_channels,
    )
    for array in (*arrays[:-1], *links):
        if isinstance(array, np.ndarray):
            read_only(array)
    return arrays, num_shortened


def keep_brokers(arrays: WiringArrays, brokers: IntArray) -> WiringArrays:
    """Return the problem with some of its brokers only, ascending and numbered anew.

    The others stay empty, and no tree takes them in. Where all flows follow one tree, that passes
    through empty brokers too, so it needs all of them.
    """
    if arrays.is_tree:
        raise ValueError("the one tree takes all brokers")
    core = np.ascontiguousarray(arrays.core[np.ix_(brokers, brokers)])
    access = np.ascontiguousarray(arrays.access[:, brokers])
    allowed = np.ascontiguousarray(arrays.allowed[:, brokers])
    links, capacity = rank_links(core), arrays.capacity[brokers]
    for array in (core, access, allowed, capacity, *links):
        read_only(array)
    return arrays._replace(
        access=access, allowed=allowed, core=core, links=links, capacity=capacity
    )


def allowed_brokers(workload: ContentWorkload) -> npt.NDArray[np.bool_]:
    """Return which brokers each user may take by the workload's candidates; no rows without any."""
    if workload.candidates is None:
        return np.ones((0, workload.num_brokers), dtype=np.bool_)
    indptr, brokers = workload.candidates
    allowed = np.zeros((workload.num_subscribers, workload.num_brokers), dtype=np.bool_)
    allowed[np.repeat(np.arange(workload.num_subscribers), np.diff(indptr)), brokers] = True
    return allowed


def forbid(
    access: FloatArray, allowed: npt.NDArray[np.bool_], demand: FloatArray, core: float
) -> FloatArray:
    """Return costs of access where a forbidden broker costs a user more than anything could save.

    ``core`` is the sum of all costs between brokers.
    """
    with np.errstate(over="ignore"):
        dearest = 1.0 + access.max(initial=0.0) + core
        most = np.full(len(demand), 2.0 * dearest * max(1.0, float(demand.sum())))
        np.divide(most, demand, out=most, where=(demand > 0) & (demand < 1))
    # Kernels look at what is allowed as well, so that a cap takes nothing away but from bounds.
    return np.where(allowed, access, np.minimum(most, MOST_FORBIDDING)[:, None])


@kernel
def may_take(arrays: WiringArrays, user: int, broker: int) -> bool:
    """Whether a user may be attached to a broker. Changes nothing."""
    return bool(len(arrays.allowed) == 0 or arrays.allowed[user, broker])


def core_costs(workload: ContentWorkload, factor: float) -> tuple[FloatArray, int]:
    """Return the cost between brokers, and how many links had a cheaper way around."""
    if workload.broker_costs is None:
        points = workload.broker_positions
        return all_distances(points, points) * factor, 0
    given = workload.broker_costs * factor
    closed = close_costs(given)
    broken = closed < given * (1 - RELATIVE_TOLERANCE)
    if not broken.any():
        return given, 0
    return closed, int(np.count_nonzero(broken)) // 2


def rank_links(core: FloatArray) -> RankedLinks:
    """Return the links between all brokers in the order of their cost, then of their ids."""
    count = len(core)
    low, high = (ids.astype(np.int32) for ids in np.triu_indices(count, 1))
    # Pairs come in the order of ids, so that a stable sort breaks ties by them.
    order = np.argsort(core[low, high], kind="stable")
    low, high = low[order], high[order]
    rank = np.full((count, count), -1, dtype=np.int32)
    rank[low, high] = rank[high, low] = np.arange(len(order), dtype=np.int32)
    return RankedLinks(rank, low, high, core[low, high])


def _no_tree() -> tuple[IntArray, IntArray]:
    return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)


def _one_tree(links: RankedLinks, count: int) -> tuple[IntArray, IntArray]:
    """Return the minimum spanning tree of all brokers, rooted at the first."""
    from fanwise.wire.spanning_trees import grow_tree, make_span

    span = make_span(count)
    span.vertices[:] = np.arange(count, dtype=np.int32)
    span.size[0] = count
    grow_tree(links, span, np.empty(count, dtype=np.int32))
    parent = np.empty(count, dtype=np.int32)
    if count:
        parent[span.vertices] = span.vertices[np.maximum(span.parents, 0)]
    return span.vertices, parent


@kernel
def all_distances(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return the Euclidean distance of each point to each other one. Changes nothing."""
    found = np.empty((len(points), len(others)))
    for row in range(len(points)):
        for other in range(len(others)):
            found[row, other] = distance(points, row, others, other)
    return found


@kernel
def close_costs(costs: FloatArray) -> FloatArray:
    """Return what the cheapest way between each two costs (Floyd and Warshall). Changes nothing."""
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
    """Merge, for each user, the channels it wants and those it publishes on; both ascend.

    What it neither wants nor sends anything on is left out. Changes nothing.
    """
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
            # Written before it is known to count: if it does not, the next one overwrites it.
            end += int(wants[end] or rates[end] > 0)
        indptr[user + 1] = end
    return indptr, channels[:end].copy(), wants[:end].copy(), rates[:end].copy()
