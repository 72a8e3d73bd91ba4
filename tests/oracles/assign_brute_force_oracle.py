"""The least bandwidth of tiny questions by brute force, quick enough for thousands of them.

Space is cut along all sides into corners, edges and cells ("faces"), so few that a set of them is
one 64-bit number. Every union of at most alpha rectangles on the grid is such a set. Every
assignment within the limits is tried, with every combination of unions in which each broker holds
what is wanted below it and lies within the one above; those that cannot be less are left out.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

SLACK = 1 + 1e-9
MOST_FACES = 63


def optimum(workload, *, alpha, max_delay, lbf_max, latency):
    """Return the least bandwidth, or None where no assignment keeps the limits.

    ``workload`` has the attributes of a content workload; only plain arrays of it are read.
    """
    count = len(workload.positions)
    shares = [0.0 if math.isnan(share) else share for share in workload.share.tolist()]
    limits = [math.floor(lbf_max * share * count * SLACK) for share in shares]
    parent = [int(above) for above in workload.parent]
    boxes = [
        (tuple(lo), tuple(hi)) if lo[0] <= hi[0] else None
        for lo, hi in zip(workload.lo.tolist(), workload.hi.tolist(), strict=True)
    ]
    cells = None
    if workload.density is not None:
        cells = list(zip(*(np.asarray(part).tolist() for part in workload.density), strict=True))
    space = Space([box for box in boxes if box is not None], cells, alpha)
    needs = [0 if box is None else space.faces_in(box) for box in boxes]
    tree = Tree(parent, space)
    best = math.inf
    for placed in assignments(allowed_leaves(workload, parent, max_delay, latency), limits):
        best = min(best, tree.cost(needs, placed, best))
    return None if best == math.inf else best


def allowed_leaves(workload, parent, max_delay, latency):
    """Return the leaves in time for each subscriber."""
    count = len(workload.positions)
    if workload.candidates is not None:
        indptr, indices = (part.tolist() for part in workload.candidates)
        return [indices[indptr[j] : indptr[j + 1]] for j in range(count)]
    brokers = workload.broker_positions.tolist()

    def path(broker):
        above = parent[broker]
        if above < 0:
            return math.dist(brokers[broker], workload.publisher.tolist())
        return path(above) + math.dist(brokers[broker], brokers[above])

    leaves = [broker for broker in range(len(parent)) if broker not in parent]
    rows = []
    for j, at in enumerate(workload.positions.tolist()):
        ways = {
            leaf: (path(leaf) if latency == "path" else 0.0) + math.dist(at, brokers[leaf])
            for leaf in leaves
        }
        limit = (1 + max_delay) * min(ways.values())
        if workload.max_latency is not None:
            limit = float(workload.max_latency[j])
        rows.append([leaf for leaf in leaves if ways[leaf] <= limit * SLACK])
    return rows


def assignments(rows, limits):
    """Yield every assignment within the limits, as the leaf of each subscriber."""
    loads, placed = [0] * len(limits), []

    def place(j):
        if j == len(rows):
            yield tuple(placed)
            return
        for leaf in rows[j]:
            if loads[leaf] < limits[leaf]:
                loads[leaf] += 1
                placed.append(leaf)
                yield from place(j + 1)
                placed.pop()
                loads[leaf] -= 1

    yield from place(0)


class Space:
    """Unions of rectangles as sets of faces, the least measure first.

    Even places along an axis are sides, odd ones lie between two of them.
    """

    def __init__(self, boxes, cells, alpha):
        self.sides = []
        for axis in range(len(boxes[0][0]) if boxes else 0):
            sides = {side[axis] for box in boxes for side in box}
            inner = {side[axis] for cell in cells or [] for side in cell[:2]}
            sides |= {side for side in inner if min(sides) < side < max(sides)}
            self.sides.append(sorted(sides))
        if math.prod(2 * len(sides) - 1 for sides in self.sides) > MOST_FACES:
            raise ValueError("too many sides for a brute force")
        self.masks, self.measures = np.zeros(1, dtype=np.uint64), np.zeros(1)
        if boxes:
            self.masks, self.measures = self._unions(cells, alpha)
        self._holding = {}

    def faces_in(self, box):
        """Return the faces of a closed box as bits."""
        spans = [
            range(2 * sides.index(box[0][axis]), 2 * sides.index(box[1][axis]) + 1)
            for axis, sides in enumerate(self.sides)
        ]
        return sum(1 << self._number(face) for face in product(*spans))

    def holding(self, need):
        """Return the unions that hold faces, ascending by measure."""
        if need not in self._holding:
            own = (self.masks & np.uint64(need)) == np.uint64(need)
            self._holding[need] = self.masks[own], self.measures[own]
        return self._holding[need]

    def _number(self, face):
        place = 0
        for at, sides in zip(face, self.sides, strict=True):
            place = place * (2 * len(sides) - 1) + at
        return place

    def _unions(self, cells, alpha):
        axes = [[(a, b) for i, a in enumerate(sides) for b in sides[i:]] for sides in self.sides]
        single = np.array(
            [self.faces_in(tuple(zip(*spans, strict=True))) for spans in product(*axes)],
            dtype=np.uint64,
        )
        masks = np.unique(np.append(single, np.uint64(0)))
        for _ in range(alpha - 1):
            masks = np.unique(masks[:, None] | single[None, :])
        measures = np.zeros(len(masks))
        for corner in product(*(range(len(sides) - 1) for sides in self.sides)):
            bit = np.uint64(1 << self._number([2 * at + 1 for at in corner]))
            measures += np.where(masks & bit, self._amount(corner, cells), 0.0)
        order = np.argsort(measures, kind="stable")
        return masks[order], measures[order]

    def _amount(self, corner, cells):
        """Return volume or events of a cell of the grid."""
        lo = [sides[at] for at, sides in zip(corner, self.sides, strict=True)]
        hi = [sides[at + 1] for at, sides in zip(corner, self.sides, strict=True)]
        volume = math.prod(b - a for a, b in zip(lo, hi, strict=True))
        if cells is None:
            return volume
        return volume * sum(
            rate / math.prod(b - a for a, b in zip(low, high, strict=True))
            for low, high, rate in cells
            if all(a <= x and y <= b for a, x, y, b in zip(low, lo, hi, high, strict=True))
        )


class Tree:
    """What filters cost at least, given what has to be held below each broker."""

    def __init__(self, parent, space):
        self.parent, self.space = parent, space
        self.children = [
            [child for child, above in enumerate(parent) if above == broker]
            for broker in range(len(parent))
        ]
        self._known = {}

    def cost(self, needs, placed, enough):
        """Return the least cost of an assignment; infinite where it is no less than ``enough``."""
        below = [0] * len(self.parent)
        for need, broker in zip(needs, placed, strict=True):
            while broker >= 0:
                below[broker] |= need
                broker = self.parent[broker]
        if sum(self._alone(need) for need in below) >= enough:
            return math.inf
        tops = [broker for broker, above in enumerate(self.parent) if above < 0]
        return sum(self._least(self._shape(top, below), None) for top in tops)

    def _shape(self, broker, below):
        """Return what is needed of a broker, and the same of those below it."""
        parts = (self._shape(child, below) for child in self.children[broker] if below[child])
        return below[broker], tuple(sorted(parts))

    def _alone(self, need):
        return float(self.space.holding(need)[1][0]) if need else 0.0

    def _least(self, shape, within):
        """Return the least cost of a broker and those below, all within a set of faces."""
        need, parts = shape
        if not need:
            return 0.0
        masks, measures = self.space.holding(need)
        if within is not None:
            inside = (masks & ~within) == 0
            masks, measures = masks[inside], measures[inside]
        if not parts:
            return float(measures[0]) if len(measures) else math.inf
        key = shape, None if within is None else int(within)
        if key not in self._known:
            self._known[key] = self._least_above(parts, masks, measures)
        return self._known[key]

    def _least_above(self, parts, masks, measures):
        best = math.inf
        lower = sum(self._lower(part) for part in parts)
        for mask, measure in zip(masks, measures.tolist(), strict=True):
            if measure + lower >= best:
                break
            total = measure
            for part in parts:
                total += self._least(part, mask)
                if total >= best:
                    break
            best = min(best, total)
        return best

    def _lower(self, shape):
        need, parts = shape
        return self._alone(need) + sum(self._lower(part) for part in parts)
