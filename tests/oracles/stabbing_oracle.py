"""Which rectangles hold a point, one after the other; sides belong to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Box = tuple[Sequence[float], Sequence[float]]


def stabbed(boxes: Mapping[int, Box], point: Sequence[float]) -> list[int]:
    """Return the keys of the boxes that hold a point, ascending."""
    found = []
    for key in sorted(boxes):
        low, high = boxes[key]
        outside = False
        for axis, x in enumerate(point):
            if x < low[axis] or x > high[axis]:
                outside = True
        if not outside:
            found.append(key)
    return found
