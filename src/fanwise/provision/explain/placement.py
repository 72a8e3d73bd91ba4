"""Who is served where, added up from the rows of an allocation.

Pairs of one topic on one machine are alike, so everything is said of *parts*: a topic on a machine,
with so many pairs. There are hardly more parts than topics, however many rows there are, and rows
are read in chunks, from memory or from disk.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.planning.plan import Plan
from fanwise.provision.catalogue import Instance, find_instance
from fanwise.provision.measuring import add_up
from fanwise.provision.pairs.charges import pairs_held
from fanwise.provision.problem import SOLVER_TOLERANCE, Provisioning
from fanwise.provision.streamed.plan import TablesOnDisk
from fanwise.provision.verify_chunks import AllocationRows

MERGED_AT = 1 << 22
"""Parts of single chunks that are gathered before they are merged."""

BANDWIDTH, CONNECTIONS, TOPICS, NOTHING = "bandwidth", "connections", "topics", "nothing"
LIMITS = (BANDWIDTH, CONNECTIONS, TOPICS, NOTHING)
"""What a machine has no more of, the hardest limit first."""


class Parts(NamedTuple):
    """Topics on machines, sorted by machine and topic, and how many pairs each has there."""

    vm: LongArray
    topic: LongArray
    num_pairs: LongArray


@dataclass(frozen=True, eq=False)
class Placement:
    """The machines of a plan and what runs on each; arrays are by machine, part or topic.

    Attributes
    ----------
    machines
        The type of each machine, by its number.
    rows
        Machine, topic and subscriber of every pair.
    """

    problem: Provisioning
    machines: Sequence[Instance]
    rows: AllocationRows
    parts: Parts

    @property
    def num_machines(self) -> int:
        return len(self.machines)

    @cached_property
    def needs(self) -> FloatArray:
        """Bytes per period of one copy of each part's topic."""
        return self.problem.needs[self.parts.topic]

    @cached_property
    def in_bytes(self) -> FloatArray:
        """Bytes per period that each machine takes in."""
        return add_up(self.parts.vm, self.needs, self.num_machines)

    @cached_property
    def used_bytes(self) -> FloatArray:
        """Bytes per period that each machine moves."""
        out_bytes = self.needs * self.parts.num_pairs
        return self.in_bytes + add_up(self.parts.vm, out_bytes, self.num_machines)

    @cached_property
    def num_topics(self) -> LongArray:
        """Topics on each machine."""
        return np.bincount(self.parts.vm, minlength=self.num_machines)

    @cached_property
    def num_pairs(self) -> LongArray:
        """Pairs on each machine."""
        return add_up(self.parts.vm, self.parts.num_pairs, self.num_machines).astype(np.int64)

    @cached_property
    def pairs_of_topic(self) -> LongArray:
        """Pairs of each topic, on all machines together."""
        count = self.problem.workload.num_topics
        return add_up(self.parts.topic, self.parts.num_pairs, count).astype(np.int64)

    @cached_property
    def copies_of_topic(self) -> LongArray:
        """Machines that each topic is on."""
        return np.bincount(self.parts.topic, minlength=self.problem.workload.num_topics)

    @cached_property
    def least_copies(self) -> LongArray:
        """The fewest machines that could hold the pairs of each topic."""
        held = pairs_held(self.problem, SOLVER_TOLERANCE)
        copies = np.maximum(np.ceil(self.pairs_of_topic / held), self.pairs_of_topic > 0)
        return copies.astype(np.int64)

    @cached_property
    def usable_bytes(self) -> FloatArray:
        """Bytes per period that each machine may move, less the reserve."""
        return np.array([self.problem.usable_bytes(entry) for entry in self.machines])

    @cached_property
    def free_bytes(self) -> FloatArray:
        """Bytes per period that each machine could move beside what it does."""
        return np.maximum(self.usable_bytes * (1 + SOLVER_TOLERANCE) - self.used_bytes, 0.0)

    @cached_property
    def free_topics(self) -> FloatArray:
        """Further topics that each machine may take in; infinite without a limit."""
        most = np.array([entry.max_topics or math.inf for entry in self.machines])
        return np.maximum(most - self.num_topics, 0.0)

    @cached_property
    def free_pairs(self) -> FloatArray:
        """Further pairs that each machine may serve; infinite without a limit."""
        most = np.array([entry.max_connections or math.inf for entry in self.machines])
        return np.maximum(most - self.num_pairs, 0.0)

    @cached_property
    def binding(self) -> npt.NDArray[np.int64]:
        """What each machine has no more of, as an index of ``LIMITS``.

        Bandwidth, where not even a further pair of its smallest topic fits; connections; topics,
        where it can only serve more of those it has.
        """
        smallest = np.full(self.num_machines, np.inf)
        np.minimum.at(smallest, self.parts.vm, self.needs)
        found = np.full(self.num_machines, LIMITS.index(NOTHING))
        found[self.free_topics < 1] = LIMITS.index(TOPICS)
        found[self.free_pairs < 1] = LIMITS.index(CONNECTIONS)
        found[(self.free_bytes < smallest) & (self.num_pairs > 0)] = LIMITS.index(BANDWIDTH)
        return found

    def parts_of_topic(self, topic: int) -> LongArray:
        """Return where the parts of a topic are, by ascending machine."""
        start, end = np.searchsorted(self._sorted_topics, [topic, topic + 1])
        return self._by_topic[start:end]

    def parts_of_machine(self, vm: int) -> slice:
        """Return where the parts of a machine are."""
        return slice(*np.searchsorted(self.parts.vm, [vm, vm + 1]).tolist())

    def each_pair(self) -> Iterator[tuple[npt.NDArray[np.int32], LongArray]]:
        """Yield the subscribers of pairs and which part each pair is in, in chunks."""
        count = self.problem.workload.num_topics
        keys = self.parts.vm * count + self.parts.topic
        for chunk in self.rows.chunks():
            yield chunk.subscriber, np.searchsorted(keys, chunk.vm * np.int64(count) + chunk.topic)

    @cached_property
    def _by_topic(self) -> LongArray:
        return np.argsort(self.parts.topic, kind="stable")

    @cached_property
    def _sorted_topics(self) -> LongArray:
        return self.parts.topic[self._by_topic]


def read_placement(problem: Provisioning, plan: Plan) -> Placement:
    """Return what a plan's tables say; one pass over the allocation."""
    tables = plan.tables
    if isinstance(tables, TablesOnDisk):
        rows = tables.rows
    else:
        rows = AllocationRows.of_table(tables["allocation"])
    names = tables["vms"].sort_by("vm").column("instance").to_pylist()
    machines = [find_instance(problem.types_allowed, name) for name in names]
    return Placement(problem, machines, rows, count_parts(rows, problem.workload.num_topics))


def count_parts(rows: AllocationRows, num_topics: int) -> Parts:
    """Count the pairs of each topic on each machine."""
    gathered: list[tuple[LongArray, LongArray]] = []
    size = 0
    for chunk in rows.chunks():
        keys, counts = np.unique(
            chunk.vm.astype(np.int64) * num_topics + chunk.topic, return_counts=True
        )
        gathered.append((keys, counts))
        size += len(keys)
        if size > MERGED_AT:
            gathered = [_merge(gathered)]
            size = len(gathered[0][0]) // 2  # wait until as many again are there
    keys, counts = _merge(gathered)
    return Parts(keys // max(num_topics, 1), keys % max(num_topics, 1), counts)


def _merge(gathered: list[tuple[LongArray, LongArray]]) -> tuple[LongArray, LongArray]:
    """Add up counts of the same keys."""
    none: LongArray = np.zeros(0, dtype=np.int64)
    every = np.concatenate([none, *(keys for keys, _ in gathered)])
    keys, index = np.unique(every, return_inverse=True)
    counts = np.concatenate([none, *(counts for _, counts in gathered)])
    return keys, add_up(index, counts, len(keys)).astype(np.int64)
