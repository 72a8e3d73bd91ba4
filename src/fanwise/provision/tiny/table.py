"""The cheapest plan of all by dynamic programming, for a dozen pairs or so.

Pairs of a topic are alike to machines: a plan is how many pairs of each topic there are, split into
what each machine holds. A table has the cheapest machines for every such number of pairs (see
:func:`fanwise.provision.tiny.table_kernels.fill_table`); which numbers satisfy everybody is found
subscriber by subscriber, from the covers without a topic too many. The cheapest of these is the
optimum, with no solver's tolerances: limits are verification's own.

Guarantee
    No plan that keeps its limits costs less.

Complexity
    States are the product of (followers + 1) over all topics, and every state is held against
    every load of a machine, so the size is counted first.

References
----------
    R. Bellman: Dynamic programming. Princeton University Press, 1957.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr, FloatArray, LongArray
from fanwise.provision.catalogue import Instance
from fanwise.provision.machines.packing import Bin, Groups, Packing
from fanwise.provision.problem import Provisioning
from fanwise.provision.tiny.covers import (
    MAX_FOLLOWED,
    Demand,
    full_limits,
    list_demands,
    minimal_covers,
)
from fanwise.provision.tiny.table_kernels import fill_table

MAX_PAIRS = 64
"""Above this nobody counts states: there are too many."""
BITS = 62


class Size(NamedTuple):
    """How large a table may be: its states, and how many loads are held against states in all."""

    states: int
    tests: int


QUICK, PATIENT = Size(1 << 17, 100_000_000), Size(1 << 20, 4_000_000_000)
"""Tables of about a tenth of a second, and of a few seconds."""


class Optimum(NamedTuple):
    """Pairs and machines of least cost."""

    pairs: Csr
    packing: Packing
    cost: float


def solve_by_table(problem: Provisioning, size: Size = QUICK) -> Optimum | None:
    """Return the cheapest plan, or None if the table would be too large.

    Everybody must be satisfiable.
    """
    if problem.workload.num_pairs > MAX_PAIRS:
        return None
    demands = list_demands(problem)
    if max((len(demand.topics) for demand in demands), default=0) > MAX_FOLLOWED:
        return None
    covers = [minimal_covers(demand) for demand in demands]
    followers = np.zeros(problem.workload.num_topics, dtype=np.int64)
    for demand, sets in zip(demands, covers, strict=True):
        used = 0
        for bits in sets:
            used |= bits
        for bit, topic in enumerate(demand.topics):
            followers[topic] += used >> bit & 1
    topics = np.flatnonzero(followers)
    table = make_table(problem, topics, followers[topics], size)
    if table is None:
        return None
    index_of = {topic: index for index, topic in enumerate(topics.tolist())}
    steps = [
        [
            (sum(int(table.weights[index_of[topic]]) for topic in taken), taken)
            for taken in (_topics_of(demand, bits) for bits in sets)
        ]
        for demand, sets in zip(demands, covers, strict=True)
    ]
    reached = [np.zeros(len(table.costs), dtype=bool)]
    reached[0][0] = True
    for ways in steps:
        after = np.zeros(len(table.costs), dtype=bool)
        for step, _ in ways:
            after[step:] |= reached[-1][: len(after) - step]
        reached.append(after)
    totals = np.where(reached[-1], table.costs + table.outgoing, math.inf)
    state = int(np.argmin(totals))
    chosen: dict[int, tuple[int, ...]] = {}
    position = state
    for demand, ways, before in zip(demands[::-1], steps[::-1], reached[-2::-1], strict=True):
        step, taken = next(way for way in ways if way[0] <= position and before[position - way[0]])
        chosen[demand.subscriber] = taken
        position -= step
    rows = [chosen.get(subscriber, ()) for subscriber in range(problem.workload.num_subscribers)]
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    pairs = Csr(indptr, np.array([topic for row in rows for topic in row], dtype=np.int32))
    return Optimum(pairs, table.packing(state), float(totals[state]))


def pack_by_table(problem: Provisioning, groups: Groups, size: Size = QUICK) -> Packing | None:
    """Return the cheapest packing of pairs that are chosen, or None if there are too many."""
    if groups.counts.sum() > MAX_PAIRS:
        return None
    table = make_table(problem, groups.topics.astype(np.int64), groups.counts, size)
    return None if table is None else table.packing(len(table.costs) - 1)


class Table(NamedTuple):
    """The cheapest machines for every number of pairs.

    Attributes
    ----------
    topics, weights
        Topics that have pairs; state s has (s // weight) % (most pairs + 1) pairs of each.
    costs, outgoing, taken
        By state: rent and incoming traffic at least, outgoing traffic, and the state that one
        of the machines holds.
    kind_of_load
        By state: the cheapest type that holds all of it, -1 if none does.
    """

    problem: Provisioning
    topics: npt.NDArray[np.int64]
    weights: LongArray
    digits: LongArray
    costs: FloatArray
    outgoing: FloatArray
    taken: LongArray
    kind_of_load: LongArray

    def packing(self, state: int) -> Packing:
        """Return the cheapest machines for a state."""
        machines: list[Instance] = []
        vms, topics, counts = [], [], []
        while state:
            load = int(self.taken[state])
            for topic, count in zip(self.topics.tolist(), self.digits[load].tolist(), strict=True):
                if count:
                    vms.append(len(machines))
                    topics.append(topic)
                    counts.append(count)
            machines.append(self.problem.bins[int(self.kind_of_load[load])].machine)
            state -= load
        return Packing(
            np.array(vms, dtype=np.int32),
            np.array(topics, dtype=np.int32),
            np.array(counts, dtype=np.int64),
            tuple(machines),
        )


def make_table(
    problem: Provisioning, topics: npt.NDArray[np.int64], most: npt.NDArray[np.int64], size: Size
) -> Table | None:
    """Return the table for up to ``most`` pairs of each topic; None if it is too large."""
    if not len(topics):
        none: LongArray = np.zeros(0, dtype=np.int64)
        nothing = np.zeros(1)
        taken = np.zeros(1, dtype=np.int64)
        return Table(problem, none, none, none.reshape(1, 0), nothing, nothing, taken, taken)
    widths = [int(count).bit_length() + 1 for count in most.tolist()]
    num_states = math.prod(int(count) + 1 for count in most.tolist())
    if num_states > size.states or sum(widths) > BITS:
        return None
    weights = np.cumprod([1, *(most[:-1] + 1)]).astype(np.int64)
    digits = np.arange(num_states)[:, None] // weights % (most + 1)
    in_bytes, out_bytes = np.zeros(num_states), np.zeros(num_states)
    for index, need in enumerate(problem.needs[topics].tolist()):
        in_bytes += np.where(digits[:, index] > 0, need, 0.0)
        out_bytes += digits[:, index] * need
    kind_of_load, rents = cheapest_kinds(
        problem.bins,
        full_limits(problem),
        in_bytes + out_bytes,
        (digits > 0).sum(axis=1),
        digits.sum(axis=1),
    )
    first_topic = np.argmax(digits > 0, axis=1)
    loads = np.flatnonzero(kind_of_load >= 0)
    loads = loads[loads > 0]
    loads = loads[np.argsort(first_topic[loads], kind="stable")]
    num_loads = np.bincount(first_topic[loads], minlength=len(topics))
    num_tests = int(np.dot(num_loads, np.bincount(first_topic, minlength=len(topics))))
    if num_tests > size.tests:
        return None
    shifts = np.cumsum([0, *widths]).astype(np.int64)
    guards = sum(1 << int(shift - 1) for shift in shifts[1:])
    price = problem.costs(0.0, 1.0, 0.0).incoming
    costs, taken = fill_table(
        (digits << shifts[:-1]).sum(axis=1).astype(np.int64),
        first_topic.astype(np.int64),
        guards,
        np.cumsum([0, *num_loads]).astype(np.int64),
        loads.astype(np.int64),
        rents[loads] + price * in_bytes[loads],
    )
    outgoing = problem.costs(0.0, 0.0, 1.0).outgoing * out_bytes
    return Table(problem, topics, weights, digits, costs, outgoing, taken, kind_of_load)


def cheapest_kinds(
    bins: tuple[Bin, ...],
    limits: list[float],
    used: FloatArray,
    num_topics: LongArray,
    num_pairs: LongArray,
) -> tuple[LongArray, FloatArray]:
    """Return the cheapest type that holds each load, -1 if none does, and its rent."""
    found = np.full(len(used), -1, dtype=np.int64)
    rents = np.full(len(used), math.inf)
    for i, (kind, limit) in enumerate(zip(bins, limits, strict=True)):
        fits = (used <= limit) & (num_topics <= kind.max_topics) & (num_pairs <= kind.max_pairs)
        is_cheaper = fits & (kind.rent < rents)
        found[is_cheaper] = i
        rents[is_cheaper] = kind.rent
    return found, rents


def _topics_of(demand: Demand, bits: int) -> tuple[int, ...]:
    return tuple(topic for bit, topic in enumerate(demand.topics) if bits >> bit & 1)
