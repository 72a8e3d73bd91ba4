"""Who can be served at all: subscribers on brokers with limited room, as a maximum flow.

Subscribers with the same allowed brokers are alike and flow as one group. Where not all fit, the
minimum cut names the brokers that are too small and the subscribers who depend on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fanwise.arrays import flow_kernels
from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray, take_rows
from fanwise.arrays.flow_kernels import BoolArray, Graph, Served
from fanwise.arrays.tolerance import most_within

MOST_LOAD = 2.0**40
"""A limit that nobody reaches, and whose sum over brokers is still a whole number."""


def load_limits(lbf: float, shares: FloatArray, num_subscribers: int) -> LongArray:
    """Return floor(lbf x share x subscribers), the most that each broker may serve.

    A product that is a hair below a whole number for want of digits counts as that number. One that
    is huge counts as :data:`MOST_LOAD`.
    """
    exact = min(lbf, MOST_LOAD) * np.asarray(shares, dtype=np.float64) * num_subscribers
    return np.floor(np.minimum(most_within(exact), MOST_LOAD)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Groups:
    """Subscribers with the same allowed brokers, taken together.

    Attributes
    ----------
    candidates
        The allowed brokers of each group, ascending.
    sizes
        Members of each.
    group_of_subscriber
        Which one a subscriber belongs to.
    num_brokers
        Brokers in all.
    """

    candidates: Csr
    sizes: LongArray
    group_of_subscriber: LongArray
    num_brokers: int

    @cached_property
    def graph(self) -> Graph:
        """The edges by group, then by broker."""
        indptr, indices = self.candidates
        turned = flow_kernels.turn_edges(indptr, indices, self.num_brokers)
        return Graph(indptr, indices, *turned)

    @property
    def num_subscribers(self) -> int:
        return len(self.group_of_subscriber)


def group_alike(candidates: Csr, num_brokers: int) -> Groups:
    """Take subscribers with the same allowed brokers together. O(edges + subscribers log)."""
    with np.errstate(over="ignore"):  # hashing wraps around on purpose
        hashes = flow_kernels.hash_rows(*candidates)
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    if not flow_kernels.rows_agree(*candidates, first[group]):  # unequal rows, equal hashes
        first = group = np.arange(candidates.num_rows)
    order = np.argsort(first)  # groups by their first member
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first, group = first[order], rank[group].astype(np.int64)
    sizes = np.bincount(group, minlength=len(first)).astype(np.int64)
    return Groups(take_rows(candidates, first), sizes, group, num_brokers)


@dataclass(frozen=True, eq=False)
class Flow:
    """A maximum flow.

    Attributes
    ----------
    groups
        Whom it is of.
    limits
        What each broker may serve.
    counts
        Members on each allowed pair of a group and a broker.
    left
        Members of each group who are not served.
    """

    groups: Groups
    limits: LongArray
    counts: LongArray
    left: LongArray

    @property
    def num_left(self) -> int:
        """Subscribers that no assignment can serve together with the others."""
        return int(self.left.sum())

    @property
    def loads(self) -> LongArray:
        """How many each broker serves."""
        loads = np.zeros(self.groups.num_brokers, dtype=np.int64)
        np.add.at(loads, self.groups.candidates.indices, self.counts)
        return loads

    def broker_of_subscriber(self) -> IntArray:
        """Return an assignment with these counts; -1 for those who are left."""
        return flow_kernels.deal_members(
            self.groups.group_of_subscriber, *self.groups.candidates, self.counts
        )

    @cached_property
    def bottleneck(self) -> Bottleneck:
        """The smallest minimum cut; empty where everybody is served."""
        in_groups, in_brokers = flow_kernels.find_bottleneck(
            self.groups.graph, self.left, self.counts
        )
        return Bottleneck(
            brokers=np.flatnonzero(in_brokers).astype(np.int32),
            subscribers=np.flatnonzero(in_groups[self.groups.group_of_subscriber]).astype(np.int32),
            num_left=self.num_left,
        )


@dataclass(frozen=True, eq=False)
class Bottleneck:
    """Subscribers whose allowed brokers together have too little room.

    Attributes
    ----------
    brokers
        All the brokers that any of the subscribers may use.
    subscribers
        They are ``num_left`` more than those brokers may serve together.
    """

    brokers: IntArray
    subscribers: IntArray
    num_left: int


def max_flow(groups: Groups, limits: npt.ArrayLike, start: Flow | None = None) -> Flow:
    """Serve as many subscribers as possible.

    Parameters
    ----------
    limits
        The most each broker may serve.
    start
        A flow of the same groups under limits nowhere larger, to go on from.
    """
    room = np.array(limits, dtype=np.int64)
    limits = room.copy()
    if start is None:
        counts, left = np.zeros(len(groups.candidates.indices), np.int64), groups.sizes.copy()
    else:
        counts, left = start.counts.copy(), start.left.copy()
        room -= start.loads
    flow_kernels.run_dinic(groups.graph, Served(left, room, counts))
    return Flow(groups, limits, counts, left)


def least_lbf(groups: Groups, shares: FloatArray) -> tuple[float | None, Flow]:
    """Return the least load-balance factor under which everybody is served, and such a flow.

    Newton's method on cuts: a minimum cut of the present factor gives subscribers and all their
    brokers, whose limits must add up to that many; the least factor for which they do is the next
    one. Each is a lower bound on the answer, and the first that serves everybody is the answer
    itself. None where somebody has no broker with a share.
    """
    shares = np.asarray(shares, dtype=np.float64)
    total = groups.num_subscribers
    lbf = _least_for(total, shares, total) or 0.0
    flow = max_flow(groups, load_limits(lbf, shares, total))
    while flow.num_left:
        cut: BoolArray = np.zeros(groups.num_brokers, dtype=np.bool_)
        cut[flow.bottleneck.brokers] = True
        needed = _least_for(len(flow.bottleneck.subscribers), shares[cut], total)
        if needed is None:
            return None, flow
        lbf = needed
        flow = max_flow(groups, load_limits(lbf, shares, total), start=flow)
    return lbf, flow


def _least_for(count: int, shares: FloatArray, total: int) -> float | None:
    """Return the least factor for which the limits of brokers add up to ``count``."""
    shares = shares[shares > 0]
    if count == 0:
        return 0.0
    if len(shares) == 0:
        return None
    low, high = 0, count  # members of the largest broker: a factor that is surely enough
    largest = float(shares.max()) * total
    while low + 1 < high:
        middle = (low + high) // 2
        if load_limits(middle / largest, shares, total).sum() >= count:
            high = middle
        else:
            low = middle
    # Between the two, each broker's limit rises where factor x share x total is whole.
    steps = np.floor(most_within(high / largest * shares * total))
    factors = np.unique(np.append(steps / (shares * total), high / largest))
    for factor in factors[factors * largest > low]:
        if load_limits(float(factor), shares, total).sum() >= count:
            return float(factor)
    return high / largest
