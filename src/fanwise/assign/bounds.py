"""A lower bound on the total bandwidth: every event must reach all who want it.

The subscribers who want an event share the brokers of each level of the tree between them, and no
broker serves more than its limit. So an event that c subscribers want passes, on each level, at
least as many brokers as it takes for their limits to add up to c, the largest first; and at least
one where anybody wants it. Summed over levels and integrated over events this bounds Q(T) from
below, whatever the assignment, filters and latency. A broker above the shallowest leaf counts on
its own level only, so that levels are those down to the shallowest leaf, and the leaves.

Subscribers who can use few brokers tell more: those with none in common need one each
(:mod:`fanwise.assign.proving.disjoint_choices`). What alpha rectangles cannot do, prices tell
(:mod:`fanwise.assign.proving.pricing`).

Unions are measured exactly. How many want an event is counted on a grid, in which only rectangles
that hold a whole cell count.

What was chosen on the way is the certificate: the lines of the grid, and who was taken to have no
broker in common. All numbers follow from these and the workload.

Guarantee
    No plan within the latency and load limits carries less. Rounding aside, unions are exact.

Complexity
    O(subscribers x dimensions + MOST_CELLS) to count on the grid; O(subscribers log
    subscribers) for the union of what is wanted, up to the plane; MOST_STEPS of
    :mod:`fanwise.assign.proving.disjoint_choices` for each level of the tree.

References
----------
    Our own. A. Yu, P. Agarwal, J. Yang (IEEE ICDE 2011, Sec. IV-D and VI) compare with the value
    of a linear relaxation instead, which is no bound on the objective.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.rectangles import union_mass
from fanwise.assign.arrays import AssignmentArrays, depths
from fanwise.assign.cells import brokers_needed, cell_measures, count_cells, make_grid
from fanwise.assign.proving.disjoint_choices import take_disjoint
from fanwise.assign.proving.lattice import Lattice, make_lattice
from fanwise.planning.problem import Bound
from fanwise.planning.proof import Proof

if TYPE_CHECKING:
    from fanwise.assign.problem import Assignment


@dataclass(eq=False)
class Evidence:
    """What a bound rests on beside the workload.

    Attributes
    ----------
    carried
        What the brokers of each level carry at least.
    apart
        By level, subscribers with no broker in common where they meet, in order.
    lattice, fine, needed, taken
        What prices at the leaves start from: a lattice, the lines on which subscribers were counted
        (``grid`` are those that a bound rests on), how many leaves each of their cells needs, and
        who was taken to have none in common.
    """

    carried: list[float] = field(default_factory=list)
    grid: list[FloatArray] = field(default_factory=list)
    apart: dict[int, LongArray] = field(default_factory=dict)
    lattice: Lattice | None = None
    fine: list[FloatArray] = field(default_factory=list)
    needed: LongArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    taken: LongArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def tables(self) -> dict[str, pa.Table]:
        """Return the tables of the certificate, those with no row left out."""
        axes = [np.full(len(lines), axis, np.int32) for axis, lines in enumerate(self.grid)]
        levels = [np.full(len(some), level, np.int32) for level, some in self.apart.items()]
        found: dict[str, dict[str, tuple[Iterable[Any], Any]]] = {
            "grid": {"axis": (axes, np.int32), "line": (self.grid, np.float64)},
            "apart": {"level": (levels, np.int32), "subscriber": (self.apart.values(), np.int32)},
        }
        tables = {
            name: pa.table(
                {key: np.concatenate([np.empty(0, kind), *parts]).astype(kind)
                 for key, (parts, kind) in columns.items()}
            )
            for name, columns in found.items()
        }  # fmt: skip
        kept = {name: table for name, table in tables.items() if table.num_rows}
        return {"levels": levels_table(self.carried), **kept}


def levels_table(carried: list[float]) -> pa.Table:
    """Return the table that says what the brokers of each level carry at least."""
    level = np.arange(len(carried), dtype=np.int32)
    return pa.table({"level": level, "carries": np.array(carried, dtype=np.float64)})


def lower_bound(problem: Assignment) -> Bound:
    """Return a proven lower bound on the bandwidth of every feasible plan, with its certificate.

    With prices where these are quick to find.
    """
    from fanwise.assign.proving.pricing import MOST_PRICED, MOST_QUICK, QUICK_PAIRS, priced_bound

    evidence = problem.evidence
    total = sum(evidence.carried)
    own = Bound(total, Proof("duals", evidence.tables(), total))
    if not 0 < problem.num_pairs <= MOST_QUICK:
        return own
    is_quick = problem.num_pairs > QUICK_PAIRS
    return priced_bound(problem, MOST_PRICED, is_quick=is_quick) or own


def gather(problem: Assignment) -> Evidence:
    """Return what bounds the bandwidth without prices."""
    arrays = problem.arrays
    wants = np.flatnonzero(arrays.lo[:, 0] <= arrays.hi[:, 0])
    evidence = Evidence()
    if len(wants):
        evidence.carried = list(_bounds_of_levels(problem, wants, evidence))
    return evidence


def _bounds_of_levels(problem: Assignment, wants: LongArray, evidence: Evidence) -> Iterator[float]:
    """Yield what the brokers of each level carry at least, and note what that rests on."""
    arrays = problem.arrays
    lo, hi = arrays.lo[wants], arrays.hi[wants]
    union = union_mass(lo, hi, arrays.density)
    evidence.lattice = make_lattice(lo, hi, arrays.density)
    grid = make_grid(lo, hi)
    if evidence.lattice is not None:
        both = zip(grid, evidence.lattice.lines, strict=False)
        grid = [np.unique(np.concatenate(lines)) for lines in both]
    evidence.fine = grid
    measure = cell_measures(grid, arrays.density)
    everybody = count_cells(grid, lo, hi)
    levels = level_limits(arrays, problem.limits(problem.lbf_max))
    for level, limits in enumerate(levels):
        is_last = level == len(levels) - 1
        load = brokers_needed(everybody, limits)
        disjoint, taken = take_disjoint(arrays, wants, grid, None if is_last else level + 1)
        needed = np.maximum(load, disjoint)
        evidence.needed, evidence.taken = needed, taken
        if (needed > 1).any():
            evidence.grid = grid
        if beyond_one(load, measure) < beyond_one(needed, measure):
            evidence.apart[level] = taken
        yield union + beyond_one(needed, measure)


def beyond_one(needed: LongArray, measure: FloatArray) -> float:
    """Return what cells add that need more than one broker; the first is counted exactly."""
    return float(np.dot(np.maximum(needed - 1, 0), measure))


def level_limits(arrays: AssignmentArrays, limits: LongArray) -> list[LongArray]:
    """Return what the brokers of each level serve at most, level by level, the leaves last.

    Levels between are those on which every leaf still has an ancestor above itself.
    """
    depth = depths(arrays.parent)
    shallowest = int(depth[arrays.leaves].min())
    below = limits.copy()
    for broker in arrays.bottom_up:
        if arrays.parent[broker] >= 0:
            below[arrays.parent[broker]] += below[broker]
    inner = [below[depth == level] for level in range(1, shallowest)]
    return [*inner, limits[arrays.leaves]]
