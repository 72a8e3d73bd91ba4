"""A third party's look at every case: all assignments, and the least filters of each."""

import math
from itertools import pairwise, product

from tests.oracles.certificate_assign_world import around, holds


def least_of_all_cases(world, table):
    """Return the least bandwidth of any plan; the table says how many assignments there are."""
    choices = [sorted(row) for row in world.may]
    kept = [way for way in product(*choices) if all(way.count(b) <= world.limit[b] for b in way)]
    if [row["assignments"] for row in table] != [len(kept)]:
        raise ValueError("the certificate lists another number of assignments")
    pieces = {j: cut(world, box) for j, box in world.want.items()}
    best = math.inf
    for way in kept:
        needs = {}
        for j, some in pieces.items():
            for b in world.way(way[j]):
                needs.setdefault(b, set()).update(some)
        order = sorted(needs, key=lambda b: -len(world.way(b)))
        best = fill(world, order, needs, {b: [] for b in order}, best)
    return best


def cut(world, box):
    """Cut a box along all sides of boxes and cells: a filter holds a piece as a whole or not."""
    sides = [*world.want.values(), *(cell for cell, _ in world.cells)]
    axes = []
    for k in range(world.dims):
        lines = sorted(
            {side[k] for some in sides for side in some if box[0][k] <= side[k] <= box[1][k]}
        )
        axes.append(list(pairwise(lines)) or [(lines[0], lines[0])])
    return {tuple(zip(*piece, strict=True)) for piece in product(*axes)}


def fill(world, order, needs, filters, best):
    """Give a piece that a broker lacks to each of its rectangles; return the least total."""
    needs = {b: set(some) for b, some in needs.items()}
    lacking = None
    for b in order:  # those above come later, and need what those below hold
        missing = [p for p in needs[b] if not any(holds(box, p) for box in filters[b])]
        if missing and lacking is None:
            lacking = b, missing
        if world.parent[b] >= 0:
            needs[world.parent[b]] |= needs[b].union(*(cut(world, box) for box in filters[b]))
    total = sum(world.measure([*filters[b], *needs[b]]) for b in order)
    if total >= best * (1 - 1e-12) or lacking is None:
        return min(best, total)
    b, missing = lacking
    own = filters[b]

    def growth(piece):
        return min((world.measure([around(box, piece)]) - world.measure([box]) for box in own),
                   default=0.0)  # fmt: skip

    piece = max(sorted(missing), key=growth)
    for k in range(min(len(own) + 1, world.alpha)):
        grown = [*own[:k], around(own[k], piece), *own[k + 1 :]] if k < len(own) else [*own, piece]
        best = fill(world, order, needs, {**filters, b: grown}, best)
    return best
