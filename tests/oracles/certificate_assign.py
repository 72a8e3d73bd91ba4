"""A third party's check of an assignment's certificate: files in, a number out."""

from collections import Counter, defaultdict
from itertools import product

import numpy as np
from tests.oracles.certificate_assign_prices import by_prices
from tests.oracles.certificate_assign_space import cut_space, inside
from tests.oracles.certificate_content_files import read_assignment


def proven_bound(workload, plan):
    """Return the bandwidth that every plan takes at least, by the certificate of this one."""
    q, proof = read_assignment(workload, plan)
    if not q.wanting:
        return 0.0
    q.lattice = [
        np.unique([row["line"] for row in proof["lattice"] if row["axis"] == k])
        for k in range(q.dims)
    ]
    cut_space(q)
    if "leaves" in proof:
        return least_of_all_cases(q, proof["leaves"])
    last = min(len(q.way[leaf]) for leaf in q.leaves) - 1
    levels = [{b: q.way[b][k] if k < last else b for b in q.leaves} for k in range(last + 1)]
    bounds = [carried(q, proof, k, above, ()) for k, above in enumerate(levels[:last])]
    of_leaves = carried(q, proof, last, levels[last], proof["classes"])
    return sum(bounds) + max(
        of_leaves, by_prices(q, proof, count_brokers(q, proof, last, levels[last], q.wanting)[0])
    )


def fill(q, alpha, needs, boxes=(), spent=0.0, best=np.inf):
    """Return the least that brokers hold, each so many boxes; who needs what, first those below.

    A piece that the first one lacks goes into a new box, or into one of its boxes, which grows.
    """
    if not needs:
        return min(best, spent)
    held, (b, need) = set().union(*boxes), next(iter(needs.items()))
    needs, lacks = {**needs, b: need | held}, need - held
    if spent + sum(q.mass[list(some)].sum() for some in needs.values()) >= best:
        return best
    if not lacks:
        mine = needs.pop(b)
        needs |= {x: needs[x] | mine for x in needs if x == q.above.get(b)}
        return fill(q, alpha, needs, (), spent + q.mass[list(mine)].sum(), best)
    for k in reversed(range(min(len(boxes) + 1, alpha))):
        grown = list({min(lacks)}.union(*boxes[k : k + 1]))
        box = inside(q, q.first[grown].min(axis=0), q.last[grown].max(axis=0))
        best = fill(q, alpha, needs, (*boxes[:k], box, *boxes[k + 1 :]), spent, best)
    return best


def count_brokers(q, proof, level, above, people):
    """Return how many brokers of a level each piece needs for some people, and of how many."""
    count, apart = Counter(p for j in people for p in q.pieces[j]), Counter()
    taken, uses = defaultdict(set), [{above[b] for b in may} for may in q.may]
    for j in (row["subscriber"] for row in proof["apart"] if row["level"] == level):
        free = [p for p in q.pieces[j] if j in people and not uses[j] & taken[p]]
        apart.update(free)
        taken.update({p: taken[p] | uses[j] for p in free})
    used = set().union(*(uses[j] for j in people))
    room = [sum(q.limit[leaf] for leaf in above if above[leaf] == b) for b in used]
    reach = np.cumsum(sorted(n for n in room if n > 0)[::-1])
    return {p: max(apart[p], 1 + (reach[:-1] < n).sum()) for p, n in count.items()}, len(reach)


def carried(q, proof, level, above, classes):
    """Return what parts of a level carry together; ``above`` leads from leaves to its brokers."""
    parts, total = defaultdict(set), 0.0
    part_of = {row["broker"]: row["class"] for row in classes} or dict.fromkeys(above.values(), -1)
    for b, part in part_of.items():
        parts[part].add(b)
    for part, brokers in parts.items():
        people = [j for j in q.wanting if {above[b] for b in q.may[j]} <= brokers]
        needed, count = count_brokers(q, proof, level, above, people)
        slots = max(q.alpha * count, 1)
        rows = [row for row in proof["points"] if (row["level"], row["class"]) == (level, part)]
        middles = [q.middle[row["subscriber"]] for row in rows if row["subscriber"] in people]
        points = set().union(*(inside(q, middle, middle) for middle in middles))
        held = fill(q, slots, {-1: points if slots > 1 else set(needed)})
        total += max(held, sum(q.mass[p] * n for p, n in needed.items()))
    return total


def least_of_all_cases(q, table):
    """Return the least bandwidth of all assignments within limits, whose number is listed."""
    ways = product(*(sorted(may) for may in q.may))
    kept = [way for way in ways if all(way.count(b) <= q.limit[b] for b in way)]
    assert [row["assignments"] for row in table] == [len(kept)], "another number of assignments"
    order, best = sorted(q.above, key=lambda b: -len(q.way[b])), np.inf
    for way in kept:
        wanted = {b: [q.pieces[j] for j in q.wanting if b in q.way[way[j]]] for b in order}
        best = fill(q, q.alpha, {b: set().union(*wanted[b]) for b in order}, best=best)
    return best
