"""Unions of rectangles by inclusion and exclusion, and by testing the cells of a grid."""

from __future__ import annotations

from itertools import combinations, pairwise, product


def volume(lo, hi):
    result = 1.0
    for a, b in zip(lo, hi, strict=True):
        if b <= a:
            return 0.0
        result *= b - a
    return result


def intersection(boxes):
    lo = [max(sides) for sides in zip(*(box[0] for box in boxes), strict=True)]
    hi = [min(sides) for sides in zip(*(box[1] for box in boxes), strict=True)]
    return lo, hi


def union_volume(boxes):
    """Inclusion and exclusion over all subsets."""
    total = 0.0
    for size in range(1, len(boxes) + 1):
        for chosen in combinations(boxes, size):
            total += (-1) ** (size + 1) * volume(*intersection(chosen))
    return total


def union_mass(boxes, cells):
    """Events in a union: the share of each cell that is covered, times its events."""
    total = 0.0
    for lo, hi, rate in cells:
        inside = [intersection([box, (lo, hi)]) for box in boxes]
        inside = [box for box in inside if all(a < b for a, b in zip(*box, strict=True))]
        total += rate * union_volume(inside) / volume(lo, hi)
    return total


def is_covered(box, boxes):
    """Test every vertex of the arrangement inside a box, and every middle between neighbours.

    Coordinates must be whole numbers: then a half beside each is enough.
    """
    lo, hi = box
    axes = []
    for axis, (a, b) in enumerate(zip(lo, hi, strict=True)):
        sides = {a, b} | {side[axis] for pair in boxes for side in pair if a <= side[axis] <= b}
        points = sorted(sides)
        axes.append(points + [(p + q) / 2 for p, q in pairwise(points)])
    return all(
        any(
            all(a <= x <= b for a, x, b in zip(other[0], point, other[1], strict=True))
            for other in boxes
        )
        for point in product(*axes)
    )


def least_growth(boxes, box, slots):
    """Try every way to let one rectangle hold a box; return the growth and the new rectangles."""
    lo, hi = box
    for other in boxes:
        if all(a <= x for a, x in zip(other[0], lo, strict=True)) and all(
            y <= b for y, b in zip(hi, other[1], strict=True)
        ):
            return 0.0, list(boxes)
    ways = []
    if len(boxes) < slots:
        ways.append([*boxes, (list(lo), list(hi))])
    for index, other in enumerate(boxes):
        grown = (
            [min(a, b) for a, b in zip(other[0], lo, strict=True)],
            [max(a, b) for a, b in zip(other[1], hi, strict=True)],
        )
        ways.append([*boxes[:index], grown, *boxes[index + 1 :]])
    before = union_volume(boxes)
    growths = [union_volume(way) - before for way in ways]
    best = min(range(len(ways)), key=lambda i: growths[i])
    return growths[best], ways[best]
