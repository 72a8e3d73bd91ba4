"""Branch and bound over the attachments of a problem, some nodes at a time.

Users are attached in the order of their traffic, those with most first: they decide most.

Guarantee
    Where the walk is complete without a gap, what it found is the optimum, or nothing keeps the
    capacities.

Complexity
    brokers^users nodes at worst; O(channels x brokers) for each touch of a node's user.

References
----------
    A. H. Land, A. G. Doig: An automatic method of solving discrete programming problems.
    Econometrica 28, 1960.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.tolerance import fits
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.branching.tables import build_tables
from fanwise.wire.branching.walk import (
    NUM_BRANCHED,
    PRUNED,
    VALUE,
    begin_branching,
    branch_on,
    open_bound,
)
from fanwise.wire.packing import pack
from fanwise.wire.state import attachment_cost

NODES_AT_ONCE = 5_000
"""Between two looks at the clock: some milliseconds."""


class BranchAndBound:
    """A walk over all attachments that may be better than one that is known.

    Attributes
    ----------
    order, tables
        Users in the order of branching, and what the walk looks up.
    is_done
        Whether it is complete.
    """

    def __init__(self, arrays: WiringArrays, known: IntArray, value: float) -> None:
        """Begin with an attachment that costs ``value``; infinite where it breaks capacities."""
        self.order: LongArray = np.argsort(-arrays.demand, kind="stable")
        self.tables = build_tables(arrays, self.order)
        self.is_done = False
        # The walk numbers users in its own order; answers are turned back.
        self._walk = begin_branching(self.tables, known[self.order], value)

    @classmethod
    def from_packing(cls, arrays: WiringArrays) -> BranchAndBound:
        """Begin with greedy packing."""
        start = pack(arrays)
        load = np.bincount(start, weights=arrays.demand, minlength=arrays.num_brokers)
        is_packed = bool(fits(load, arrays.capacity).all())
        return cls(arrays, start, sum(attachment_cost(arrays, start)) if is_packed else np.inf)

    def go_on(self, gap: float = 0.0) -> None:
        """Look at some more nodes; what cannot be better by more than the gap is left out."""
        self.is_done = branch_on(self.tables, self._walk, gap, NODES_AT_ONCE)

    @property
    def value(self) -> float:
        """What the best attachment costs; infinite while none keeps the capacities."""
        return float(self._walk.values[VALUE])

    @property
    def broker_of_user(self) -> IntArray:
        """The best attachment: the first one while none keeps the capacities."""
        found = np.empty_like(self._walk.best)
        found[self.order] = self._walk.best
        return found

    @property
    def num_branched(self) -> int:
        """Nodes that were looked at."""
        return int(self._walk.counters[NUM_BRANCHED])

    @property
    def bound_of_rest(self) -> float:
        """What any attachment costs at least that was left out or not looked at."""
        return float(self._walk.values[PRUNED]) if self.is_done else open_bound(self._walk)
