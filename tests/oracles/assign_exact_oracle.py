"""The least bandwidth by brute force: every assignment, every set of alpha rectangles.

Space is cut along all sides into corners, edges and cells ("faces"); a union of rectangles is the
set of faces it holds, as bits. All unions of at most alpha rectangles on the grid are listed, and
for each broker all those are tried that hold what has to be held and lie in the filter above.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations_with_replacement, pairwise, product

SLACK = 1 + 1e-9


def optimum(boxes, parent, allowed, limits, alpha, cells=None, halves=False):
    """Return the least bandwidth, or None where no assignment keeps the limits.

    Parameters
    ----------
    boxes
        (lo, hi) of each subscriber, or None.
    allowed
        Leaves that each subscriber may be given.
    halves
        Also allow sides in the middle between two.
    """
    wanted = [box for box in boxes if box is not None]
    space = Space(wanted, cells, halves) if wanted else None
    unions = space.unions(alpha) if wanted else {0: 0.0}
    children = {b: [c for c, above in enumerate(parent) if above == b] for b in range(len(parent))}
    tops = [b for b, above in enumerate(parent) if above < 0]

    def total(assigned):
        below = dict.fromkeys(range(len(parent)), 0)
        for box, broker in zip(boxes, assigned, strict=True):
            while broker >= 0:
                below[broker] |= space.faces_in(box) if box is not None else 0
                broker = parent[broker]
        return sum(least(b, tuple(below.items()), -1) for b in tops)

    @cache
    def least_leaf(need, within):
        return min(
            (measure for mask, measure in unions.items() if need & ~mask == 0 == mask & ~within),
            default=math.inf,
        )

    def least(broker, below, within):
        need = dict(below)[broker]
        if not children[broker]:
            return least_leaf(need, within)
        own = {child: dict(below)[child] for child in children[broker]}
        if not any(children[child] for child in own):
            return least_above_leaves(need, tuple(own.values()), within)
        return min(
            (
                measure + sum(least(child, below, mask) for child in own)
                for mask, measure in unions.items()
                if need & ~mask == 0 == mask & ~within
            ),
            default=math.inf,
        )

    @cache
    def least_above_leaves(need, own, within):
        return min(
            (
                measure + sum(least_leaf(child, mask) for child in own)
                for mask, measure in unions.items()
                if need & ~mask == 0 == mask & ~within
            ),
            default=math.inf,
        )

    costs = [
        total(assigned)
        for assigned in product(*allowed)
        if all(assigned.count(b) <= limits[b] for b in set(assigned))
    ]
    return min(costs, default=None)


class Space:
    """Faces of the grid of all sides: even places are corners, odd ones lie between them."""

    def __init__(self, boxes, cells, halves):
        self.sides = []
        for axis in range(len(boxes[0][0])):
            sides = {side[axis] for box in boxes for side in box}
            inner = {side[axis] for cell in cells or [] for side in cell[:2]}
            sides |= {side for side in inner if min(sides) < side < max(sides)}
            if halves:
                sides |= {(a + b) / 2 for a, b in pairwise(sorted(sides))}
            self.sides.append(sorted(sides))
        self.cells = cells

    def faces_in(self, box):
        """Return the faces of a closed box as bits."""
        mask = 0
        spans = []
        for axis, sides in enumerate(self.sides):
            low, high = sides.index(box[0][axis]), sides.index(box[1][axis])
            spans.append(range(2 * low, 2 * high + 1))
        for face in product(*spans):
            mask |= 1 << self.number(face)
        return mask

    def number(self, face):
        place = 0
        for at, sides in zip(face, self.sides, strict=True):
            place = place * (2 * len(sides) - 1) + at
        return place

    def weights(self):
        """Return volume or events of each cell, by its bit."""
        found = {}
        for corner in product(*(range(len(sides) - 1) for sides in self.sides)):
            lo = [sides[at] for at, sides in zip(corner, self.sides, strict=True)]
            hi = [sides[at + 1] for at, sides in zip(corner, self.sides, strict=True)]
            amount = math.prod(b - a for a, b in zip(lo, hi, strict=True))
            if self.cells is not None:
                amount *= sum(
                    rate / math.prod(b - a for a, b in zip(low, high, strict=True))
                    for low, high, rate in self.cells
                    if all(a <= x and y <= b for a, x, y, b in zip(low, lo, hi, high, strict=True))
                )
            found[1 << self.number([2 * at + 1 for at in corner])] = amount
        return found

    def unions(self, alpha):
        """Return all unions of at most alpha rectangles, with their measures."""
        axes = [[(a, b) for i, a in enumerate(sides) for b in sides[i:]] for sides in self.sides]
        masks = [self.faces_in(tuple(zip(*spans, strict=True))) for spans in product(*axes)]
        weights = self.weights()
        unions = {0}
        for some in combinations_with_replacement(masks, alpha):
            mask = 0
            for other in some:
                mask |= other
            unions.add(mask)
        return {
            mask: sum(amount for bit, amount in weights.items() if mask & bit) for mask in unions
        }
