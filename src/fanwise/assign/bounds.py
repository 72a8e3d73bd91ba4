"""A lower bound on the total bandwidth: every event must reach all who want it.

The subscribers who want an event share the brokers of each level of the tree between them, and no
broker serves more than its limit. So an event that c subscribers want passes, on each level, at
least as many brokers as it takes for their limits to add up to c, the largest first; and at least
one where anybody wants it. Summed over levels and integrated over events this bounds Q(T) from
below, whatever the assignment, filters and latency. A broker above the shallowest leaf counts on
its own level only, so that levels are those down to the shallowest leaf, and the leaves.

Subscribers who can use few brokers tell more: those with none in common need one each
(:mod:`fanwise.assign.packing`), and over sets of leaves that have nothing in common, the
brokers that each set needs for the subscribers confined to it add up. (Each set is granted the
limits of the largest leaves, no fewer than its own.) What such a set has to cover with alpha times
as many rectangles, :mod:`fanwise.assign.crowding` bounds in another way. The best bound is taken.

Unions are measured exactly. How many want an event is counted on a grid, in which only rectangles
that hold a whole cell count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.rectangle_kernels import Density
from fanwise.arrays.rectangles import union_mass
from fanwise.assign.crowding import least_cover
from fanwise.assign.ground import Ground, depths
from fanwise.assign.packing import brokers_apart

if TYPE_CHECKING:
    from fanwise.assign.problem import Assignment

MOST_CELLS = 1 << 18
"""Cells of the grid on which events are counted; sides beyond are thinned out, which is valid."""


def lower_bound(problem: Assignment) -> float:
    """Return a proven lower bound on the bandwidth of every feasible plan."""
    ground = problem.ground
    wants = np.flatnonzero(ground.lo[:, 0] <= ground.hi[:, 0])
    if len(wants) == 0:
        return 0.0
    lo, hi = ground.lo[wants], ground.hi[wants]
    union = union_mass(lo, hi, ground.density)
    *inner, leaves = level_limits(ground, problem.limits(problem.lbf_max))
    grid = make_grid(lo, hi)
    measure = cell_measures(grid, ground.density)
    everybody = count_cells(grid, lo, hi)
    apart, needed = 0.0, np.zeros(len(measure), dtype=np.int64)
    classes = disjoint_classes(problem.candidates, ground)[wants]
    for mine in split_classes(classes):
        part_lo, part_hi = lo[mine], hi[mine]
        own = brokers_needed(count_cells(grid, part_lo, part_hi), leaves)
        exact = union_mass(part_lo, part_hi, ground.density) + beyond_one(own, measure)
        slots = ground.alpha * count_brokers(problem.candidates, ground, wants[mine])
        apart += max(exact, least_cover(part_lo, part_hi, slots, ground.density))
        needed += own
    total = 0.0
    for level, limits in enumerate((*inner, leaves), start=1):
        own = brokers_needed(everybody, limits)
        apart_here = brokers_apart(ground, wants, grid, None if limits is leaves else level)
        own = np.maximum(own, apart_here)
        best = union + beyond_one(np.maximum(needed, own) if limits is leaves else own, measure)
        slots = ground.alpha * int(np.count_nonzero(limits))
        best = max(best, least_cover(lo, hi, slots, ground.density))
        total += max(best, apart) if limits is leaves else best
    return total


def count_brokers(candidates: Csr, ground: Ground, subscribers: LongArray) -> int:
    """Return how many brokers with a share any of the subscribers may use."""
    is_used = np.zeros(ground.num_brokers, dtype=np.bool_)
    mark_brokers(*candidates, subscribers, is_used)
    return int(np.count_nonzero(is_used & (ground.share > 0)))


@kernel
def mark_brokers(
    indptr: LongArray, brokers: IntArray, subscribers: LongArray, is_used: npt.NDArray[np.bool_]
) -> None:
    """Mark the allowed brokers of subscribers."""
    for j in subscribers:
        for place in range(indptr[j], indptr[j + 1]):
            is_used[brokers[place]] = True


def beyond_one(needed: LongArray, measure: FloatArray) -> float:
    """Return what cells add that need more than one broker; the first is counted exactly."""
    return float(np.dot(np.maximum(needed - 1, 0), measure))


def split_classes(classes: LongArray) -> list[LongArray]:
    """Return the members of each class."""
    order = np.argsort(classes, kind="stable")
    order = order[np.searchsorted(classes[order], 0) :]
    starts = np.flatnonzero(np.diff(classes[order])) + 1
    return np.split(order, starts) if len(order) else []


def level_limits(ground: Ground, limits: LongArray) -> list[LongArray]:
    """Return what the brokers of each level serve at most, level by level, the leaves last.

    Levels between are those on which every leaf still has an ancestor above itself.
    """
    depth = depths(ground.parent)
    shallowest = int(depth[ground.leaves].min())
    below = limits.copy()
    for broker in ground.bottom_up:
        if ground.parent[broker] >= 0:
            below[ground.parent[broker]] += below[broker]
    inner = [below[depth == level] for level in range(1, shallowest)]
    return [*inner, limits[ground.leaves]]


def brokers_needed(counts: LongArray, limits: LongArray) -> LongArray:
    """Return how many brokers it takes to serve so many subscribers; all where none suffice."""
    reach = np.cumsum(np.sort(limits[limits > 0])[::-1])
    needed = np.searchsorted(reach, counts, side="left") + 1
    return np.where(counts > 0, np.minimum(needed, max(len(reach), 1)), 0)


def make_grid(lo: FloatArray, hi: FloatArray, most: int = MOST_CELLS) -> list[FloatArray]:
    """Return cutting places of each axis: all sides of rectangles, or evenly ranked ones."""
    dims = lo.shape[1]
    each = max(int(most ** (1 / dims)), 2)
    grid = []
    for axis in range(dims):
        sides = np.unique(np.concatenate([lo[:, axis], hi[:, axis]]))
        if len(sides) > each:
            sides = sides[np.linspace(0, len(sides) - 1, each).astype(np.int64)]
        grid.append(sides)
    return grid


def count_cells(grid: list[FloatArray], lo: FloatArray, hi: FloatArray) -> LongArray:
    """Return how many rectangles hold each cell of a grid, cells flattened in C order.

    Rectangles that hold a cell in part do not count: the number is a lower bound inside the cell.
    """
    shape = tuple(len(sides) for sides in grid)
    first = np.column_stack(
        [np.searchsorted(sides, lo[:, axis], "left") for axis, sides in enumerate(grid)]
    )
    last = np.column_stack(
        [np.searchsorted(sides, hi[:, axis], "right") - 1 for axis, sides in enumerate(grid)]
    )
    solid = (first < last).all(axis=1)
    steps = np.zeros(shape, dtype=np.int64)
    dims = len(grid)
    for corner in range(1 << dims):
        picks = [(corner >> axis) & 1 for axis in range(dims)]
        at = tuple((last if pick else first)[solid, axis] for axis, pick in enumerate(picks))
        np.add.at(steps, at, (-1) ** sum(picks))
    for axis in range(dims):
        steps = np.cumsum(steps, axis=axis)
    return steps[tuple(slice(0, size - 1) for size in shape)].reshape(-1)


def cell_measures(grid: list[FloatArray], density: Density) -> FloatArray:
    """Return volume or events of each cell of a grid."""
    if len(density.lo) == 0:
        total = np.ones(1)
        for sides in grid:
            total = np.multiply.outer(total, np.diff(sides))
        return total.reshape(-1)
    result = np.zeros(tuple(len(sides) - 1 for sides in grid))
    for low, high, intensity in zip(density.lo, density.hi, density.intensity, strict=True):
        inside = [
            np.maximum(np.minimum(sides[1:], high[k]) - np.maximum(sides[:-1], low[k]), 0.0)
            for k, sides in enumerate(grid)
        ]
        spans = [np.flatnonzero(part) for part in inside]
        if all(len(span) for span in spans):
            mass = np.full((), intensity)
            for part, span in zip(inside, spans, strict=True):
                mass = np.multiply.outer(mass, part[span])
            result[np.ix_(*spans)] += mass
    return result.reshape(-1)


def disjoint_classes(candidates: Csr, ground: Ground) -> LongArray:
    """Return a class for each subscriber, or -1, so that classes have no broker in common.

    Candidate sets are taken from the smallest, as long as they meet none taken before; whoever is
    confined to one of them belongs to it.
    """
    usable = candidates.indices[ground.share[candidates.indices] > 0]
    lengths = np.diff(candidates.indptr)
    if len(usable) != len(candidates.indices):
        row = np.repeat(np.arange(ground.num_subscribers), lengths)
        row = row[ground.share[candidates.indices] > 0]
        lengths = np.bincount(row, minlength=ground.num_subscribers)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    order = np.argsort(lengths, kind="stable")
    return confine(indptr, usable, order, ground.num_brokers)


@kernel
def confine(indptr: LongArray, brokers: IntArray, order: LongArray, num_brokers: int) -> LongArray:
    """Take disjoint candidate sets greedily, and list who is confined to one."""
    class_of_broker = np.full(num_brokers, -1, dtype=np.int64)
    num_classes = 0
    for j in order:
        is_free = indptr[j] < indptr[j + 1]
        for place in range(indptr[j], indptr[j + 1]):
            is_free = is_free and class_of_broker[brokers[place]] < 0
        if is_free:
            for place in range(indptr[j], indptr[j + 1]):
                class_of_broker[brokers[place]] = num_classes
            num_classes += 1
    result = np.full(len(order), -1, dtype=np.int64)
    for j in range(len(order)):
        if indptr[j] == indptr[j + 1]:
            continue
        mine = class_of_broker[brokers[indptr[j]]]
        for place in range(indptr[j], indptr[j + 1]):
            if class_of_broker[brokers[place]] != mine:
                mine = -1
        result[j] = mine
    return result
