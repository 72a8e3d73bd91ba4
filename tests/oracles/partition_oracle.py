"""Into how many boxes without overlap a union of few boxes can be cut at least, by trying."""

from functools import cache
from itertools import pairwise


def fewest_parts(boxes):
    """Return the fewest boxes that do not overlap and make up the union of some, in the plane."""
    xs = sorted({box[k][0] for box in boxes for k in range(2)})
    ys = sorted({box[k][1] for box in boxes for k in range(2)})
    cells = {
        (i, j): any(a <= x and x1 <= c and b <= y and y1 <= d for (a, b), (c, d) in boxes)
        for i, (x, x1) in enumerate(pairwise(xs))
        for j, (y, y1) in enumerate(pairwise(ys))
    }

    @cache
    def least(left):
        """Return the fewest boxes that make up some cells: the first one is in some box."""
        if not left:
            return 0
        i, j = min(left)
        best, height = len(left), len(ys)
        for right in range(i, len(xs)):
            top = j
            while top < height and (right, top) in left:
                top += 1
            height = min(height, top)
            if height <= j:
                break
            for up in range(j + 1, height + 1):
                part = {(a, b) for a in range(i, right + 1) for b in range(j, up)}
                best = min(best, 1 + least(left - part))
        return best

    return least(frozenset(cell for cell, inside in cells.items() if inside))
