"""What stage 2 works on and returns: pairs grouped by topic, machines that hold parts of groups.

Pairs of one topic are alike: each takes the topic's traffic out, and each machine with at least one
takes it in once. So packing decides how many pairs of each topic a machine gets, never which; the
subscribers of a split topic go to its machines in ascending id, machines in ascending number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray
from fanwise.arrays.tolerance import ROUNDING
from fanwise.planning.problem import Stopped
from fanwise.provision.catalogue import Instance
from fanwise.provision.machines.machine_kernels import Capacity, count_pairs, weigh_machines

if TYPE_CHECKING:
    from fanwise.provision.problem import Provisioning

NO_LIMIT = 1 << 62


class Bin(NamedTuple):
    """A type of machine as packing sees it.

    ``limit`` is what its bandwidth carries within a period, less the reserve and with an allowance
    for rounding; ``rent`` is money for the horizon.
    """

    machine: Instance
    limit: float
    rent: float
    max_topics: int
    max_pairs: int

    @property
    def capacity(self) -> Capacity:
        """What a new machine takes, as kernels see it."""
        return Capacity(self.limit, self.max_topics, self.max_pairs)

    def holds(self, other: Bin) -> bool:
        """Whether whatever fits the other type fits this one."""
        return (
            self.limit >= other.limit
            and self.max_topics >= other.max_topics
            and self.max_pairs >= other.max_pairs
        )


class Groups(NamedTuple):
    """Chosen pairs by topic: topics in ascending id, how many pairs each has, its bytes per copy.

    ``pairs`` are the topics of all pairs in the order of the subscribers.
    """

    topics: IntArray
    counts: LongArray
    needs: FloatArray
    pairs: IntArray

    @property
    def sizes(self) -> FloatArray:
        """Bytes of each group on one machine: one copy in, one per pair out."""
        return (self.counts + 1) * self.needs

    def some(self, is_kept: npt.NDArray[np.bool_]) -> Groups:
        """Return a part of the groups."""
        if is_kept.all():
            return self
        is_kept_topic = np.zeros(int(self.topics.max(initial=-1)) + 1, dtype=bool)
        is_kept_topic[self.topics[is_kept]] = True
        return Groups(
            self.topics[is_kept],
            self.counts[is_kept],
            self.needs[is_kept],
            self.pairs[is_kept_topic[self.pairs]],
        )


class Packing(NamedTuple):
    """Parts of groups on machines: part i is ``num_pairs[i]`` pairs of ``topic[i]`` on ``vm[i]``.

    ``is_optimal`` says whether it is proven to be the cheapest for its pairs, if that was tried;
    ``stopped`` why the search for it ended, if there was one.
    """

    vm: IntArray
    topic: IntArray
    num_pairs: LongArray
    machines: Sequence[Instance]
    is_optimal: bool | None = None
    stopped: Stopped | None = None


EMPTY = Packing(
    np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64), ()
)


class Filling(NamedTuple):
    """A packing on machines of one type: how many there are is all that is known of them."""

    vm: IntArray
    topic: IntArray
    num_pairs: LongArray
    num_vms: int


Fill = Callable[["Provisioning", Groups, Bin], Filling]
"""Packs groups, each of which fits the type, on machines of it."""


def group_pairs(problem: Provisioning, pairs: Csr) -> Groups:
    """Count the pairs of each topic."""
    counts = count_pairs(pairs.indices, problem.workload.num_topics)
    return group_counts(problem, counts)._replace(pairs=pairs.indices)


def group_counts(problem: Provisioning, counts: LongArray) -> Groups:
    """Return groups of so many pairs by topic, without the pairs themselves."""
    topics = np.flatnonzero(counts).astype(np.int32)
    no_pairs = np.zeros(0, dtype=np.int32)
    return Groups(topics, counts[topics], problem.needs[topics], no_pairs)


def pairs_per_machine(groups: Groups, kind: Bin) -> FloatArray:
    """Return how many pairs of each group one machine of a type holds at most, at least one."""
    held = np.full(len(groups.topics), np.inf)
    np.divide(kind.limit, groups.needs, out=held, where=groups.needs > 0)
    most: FloatArray = np.clip(np.floor(held) - 1, 1.0, float(kind.max_pairs))
    return most


def pack_on_types(problem: Provisioning, groups: Groups, fill: Fill) -> Packing:
    """Pack with an algorithm for one type.

    Where several types are allowed, each in turn is the one to fill, every machine is then replaced
    by the cheapest type that holds what is on it, and the cheapest result is kept. Topics too large
    for the type to fill go to the largest type. So the result is never dearer than that of the
    same algorithm on any single type.
    """
    if len(problem.bins) == 1:
        return as_packing(fill(problem, groups, problem.bins[0]), problem.bins[0])
    filled = (fill_base(problem, groups, base, fill) for base in problem.allowed_bins)
    return cheapest(problem, (downsize(problem, packing) for packing in filled))


def fill_base(problem: Provisioning, groups: Groups, base: Bin, fill: Fill) -> Packing:
    """Fill machines of one type, and of the largest with the topics that it cannot hold."""
    fits = 2 * groups.needs <= base.limit
    packing = as_packing(fill(problem, groups.some(fits), base), base)
    if not fits.all():
        largest = problem.largest
        rest = as_packing(fill(problem, groups.some(~fits), largest), largest)
        packing = join(packing, rest)
    return packing


def as_packing(filling: Filling, kind: Bin) -> Packing:
    """Name the machines of a filling."""
    return Packing(*filling[:3], (kind.machine,) * filling.num_vms)


def join(first: Packing, second: Packing) -> Packing:
    """Put two packings of different topics side by side."""
    shift = np.int32(len(first.machines))
    return Packing(
        np.concatenate([first.vm, second.vm + shift]),
        np.concatenate([first.topic, second.topic]),
        np.concatenate([first.num_pairs, second.num_pairs]),
        (*first.machines, *second.machines),
    )


def merge_parts(packing: Packing, num_topics: int) -> Packing:
    """Add up parts of one topic on one machine, drop idle machines and number the others anew."""
    key = packing.vm.astype(np.int64) * max(num_topics, 1) + packing.topic
    key, index = np.unique(key, return_inverse=True)
    count = np.zeros(len(key), dtype=np.int64)
    np.add.at(count, index, packing.num_pairs)
    is_kept = count > 0
    vm, topic = np.divmod(key[is_kept], max(num_topics, 1))
    used, vm = np.unique(vm, return_inverse=True)
    machines = tuple(packing.machines[old] for old in used.tolist())
    return Packing(vm.astype(np.int32), topic.astype(np.int32), count[is_kept], machines)


def loads(problem: Provisioning, packing: Packing) -> tuple[FloatArray, LongArray, LongArray]:
    """Return bytes, topics and pairs of each machine."""
    weights: tuple[FloatArray, LongArray, LongArray] = weigh_machines(
        packing.vm, packing.topic, packing.num_pairs, problem.needs, len(packing.machines)
    )
    return weights


def room_left(problem: Provisioning, packing: Packing) -> tuple[FloatArray, LongArray, LongArray]:
    """Return the bytes, topics and pairs that each machine could still take."""
    known = {kind.machine.instance: kind for kind in problem.allowed_bins}
    kinds = [known[machine.instance] for machine in packing.machines]
    used, topics, pairs = loads(problem, packing)
    return (
        np.array([kind.limit for kind in kinds]) - used,
        np.array([kind.max_topics for kind in kinds], dtype=np.int64) - topics,
        np.array([kind.max_pairs for kind in kinds], dtype=np.int64) - pairs,
    )


def downsize(problem: Provisioning, packing: Packing) -> Packing:
    """Replace every machine by the cheapest allowed type that holds what is on it."""
    used, topics, pairs = loads(problem, packing)
    kinds = sorted(problem.bins, key=lambda entry: entry.rent)
    choice = np.full(len(used), -1, dtype=np.int64)
    for i, kind in enumerate(kinds):
        fits = (used <= kind.limit) & (topics <= kind.max_topics) & (pairs <= kind.max_pairs)
        choice[(choice < 0) & fits] = i
    machines = tuple(
        old if i < 0 else kinds[i].machine
        for i, old in zip(choice.tolist(), packing.machines, strict=True)
    )
    return packing._replace(machines=machines)


def price_of(problem: Provisioning, packing: Packing) -> float:
    """Return what a packing costs: rent and incoming traffic. The outgoing is the same for all."""
    rent = sum(machine.usd_per_hour for machine in packing.machines)
    return problem.costs(rent, float(problem.needs[packing.topic].sum()), 0.0).total


def total_price(problem: Provisioning, packing: Packing) -> float:
    """Return what a packing costs with the outgoing traffic."""
    out_bytes = float((packing.num_pairs * problem.needs[packing.topic]).sum())
    return price_of(problem, packing) + problem.costs(0.0, 0.0, out_bytes).total


def fewest_copies(problem: Provisioning, groups: Groups) -> FloatArray:
    """Return on how many machines each group must be at least."""
    most = np.max([pairs_per_machine(groups, kind) for kind in problem.bins], axis=0)
    copies: FloatArray = np.ceil(groups.counts / most)
    return copies


def least_price(problem: Provisioning, groups: Groups) -> float:
    """Return what any packing costs: copies, and rent for the volume, whole if of one type."""
    in_bytes = float((fewest_copies(problem, groups) * groups.needs).sum())
    volume = in_bytes + float((groups.counts * groups.needs).sum())
    if len(problem.bins) == 1:
        kind = problem.bins[0]
        least = max(
            volume / kind.limit,
            len(groups.topics) / kind.max_topics,
            float(groups.counts.sum()) / kind.max_pairs,
        )
        rent = kind.rent * math.ceil(least * (1 - ROUNDING))
    else:
        rent = min(kind.rent / kind.limit for kind in problem.bins) * volume
    return rent + problem.costs(0.0, in_bytes, 0.0).total


def cheapest(problem: Provisioning, packings: Iterable[Packing]) -> Packing:
    """Return the cheapest packing, the first of equals."""
    return min(packings, key=lambda packing: price_of(problem, packing))
