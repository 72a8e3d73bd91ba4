"""A third party's check of an assignment's certificate: files in, a number out."""

from collections import Counter, defaultdict
from itertools import chain, combinations, combinations_with_replacement, product

import numpy as np
from tests.oracles.certificate_content_files import read_assignment, spread


def proven_bound(workload, plan):
    """Return the bandwidth that every plan takes at least, by the certificate of this one."""
    q, proof = read_assignment(workload, plan)
    if not q.wanting:
        return 0.0
    cut_space(q)
    if "leaves" in proof:
        return least_of_all_cases(q, proof["leaves"])
    last, total = min(len(q.way[leaf]) for leaf in q.leaves) - 1, 0.0
    for level in range(last + 1):
        above = {b: q.way[b][level] if level < last else b for b in q.leaves}
        needed = count_brokers(q, proof, level, above)
        by_cells = sum(q.mass[p] * n for p, n in needed.items())
        total += max(by_cells, by_prices(q, proof, needed) if level == last else 0.0)
    return total


def cut_space(q):
    """Cut space along all sides and lines into pieces, points and spans; note who wants each."""
    lines = np.concatenate([q.lo[q.wanting], q.hi[q.wanting], *q.sides]).T
    q.first, q.last = spans([np.union1d(*both) for both in zip(lines, q.lattice, strict=True)])
    both = [(np.minimum(q.last, b) - np.maximum(q.first, a), rate) for a, b, rate in q.cells]
    q.cost = q.mass = sum(rate * np.maximum(sides, 0).prod(axis=-1) for sides, rate in both)
    q.pieces = [inside(q, low, high) for low, high in zip(q.lo, q.hi, strict=True)]


def spans(lines):
    """Return where points and spans between lines begin and end, for all ways to choose some."""
    ends = [[(own[k // 2], own[(k + 1) // 2]) for k in range(2 * len(own) - 1)] for own in lines]
    return np.array(list(product(*ends))).transpose(2, 0, 1)


def inside(q, low, high):
    """Return which pieces a box holds."""
    return set(np.flatnonzero(((q.first >= low) & (q.last <= high)).all(axis=1)).tolist())


def count_brokers(q, proof, level, above):
    """Return how many brokers of a level each piece needs; ``above`` leads to them from leaves."""
    count, apart = Counter(p for j in q.wanting for p in q.pieces[j]), Counter()
    taken, uses = defaultdict(set), [{above[b] for b in may} for may in q.may]
    for j in (row["subscriber"] for row in proof["apart"] if row["level"] == level):
        free = [p for p in q.pieces[j] if not uses[j] & taken[p]]
        apart.update(free)
        taken.update({p: taken[p] | uses[j] for p in free})
    used = set().union(*(uses[j] for j in q.wanting))
    room = [sum(q.limit[leaf] for leaf in above if above[leaf] == b) for b in used]
    reach = np.cumsum(sorted(n for n in room if n > 0)[::-1])
    return {p: max(apart[p], 1 + (reach[:-1] < n).sum()) for p, n in count.items()}


def by_prices(q, proof, needed):
    """Return what is paid and worth at least, less what filters can gain, for the union."""
    places = [inside(q, low, high) for low, high in zip(*spans(q.lattice), strict=True)]
    worth = spread(proof["worths"], "place", "worth", np.zeros(len(places)))
    charge = spread(proof["charges"], "broker", "charge", np.zeros(len(q.limit)))
    rows = [(row["subscriber"], row["place"], row["price"]) for row in proof["prices"]]
    assert min([*charge, *worth, *np.ravel(rows)]) >= 0 <= 1 - max(worth), "no such amount"
    total, q.cost = -charge.sum(), q.mass.copy()
    for at, pieces in enumerate(places):
        total += sum(worth[at] * q.mass[p] * needed.get(p, 0) for p in pieces)
        q.cost[list(pieces)] *= 1 - worth[at]
    assert all(places[at] <= q.pieces[j] for j, at, _ in rows), "a place that is not wanted"
    pays = {j: sum(price for i, _, price in rows if i == j) for j, *_ in rows}
    for b in {b for j in q.wanting for b in q.may[j] if q.limit[b] > 0}:
        fee, left, spots = charge[b] / q.limit[b], Counter(), defaultdict(set)
        for j, at, price in rows:
            if b in q.may[j] and price > 0 and pays[j] > fee:
                left[at] += price * (1 - fee / pays[j])
                spots[j].add(at)
        if len(left) <= {1: 15, 2: 10, 3: 9}.get(q.alpha, 8):
            total -= max(gains_of_few(q, places, left, [(pays[j] - fee, spots[j]) for j in spots]))
        else:
            boxes = q.alpha if q.dims == 1 else {2: 3, 3: 5}.get(q.alpha, q.alpha)
            total -= boxes * max(gains_of_boxes(q, places, left))
    return (sum(pays.values()) + total) / (q.alpha if q.dims == 2 and q.alpha > 3 else 1)


def gains_of_few(q, places, left, amounts):
    """Yield what a filter gains by each set of places that it holds, from who pays at which."""
    for some in chain.from_iterable(combinations(left, k) for k in range(len(left) + 1)):
        paid = sum(amount for amount, mine in amounts if mine <= set(some))
        yield paid - fill(q, q.alpha, {-1: set().union(*(places[at] for at in some))})


def gains_of_boxes(q, places, left):
    """Yield what boxes with their sides on lines gain, for each first and last row the most."""
    net = [left[at] - q.cost[list(pieces)].sum() for at, pieces in enumerate(places)]
    net = np.reshape(net, (2 * len(q.lattice[0]) - 1, -1))
    for first, last in combinations_with_replacement(range(len(net)), 2):
        ends = np.cumsum(net[first : last + 1].sum(axis=0))
        yield max(0.0, (ends - np.minimum.accumulate([0, *ends[:-1]])).max())


def fill(q, alpha, needs, boxes=(), spent=0.0, best=np.inf):
    """Return the least that brokers hold, each so many boxes; who needs what, first those below.

    A piece that the first one lacks goes into a new box, or into one of its boxes, which grows.
    """
    if not needs:
        return min(best, spent)
    held, (b, need) = set().union(*boxes), next(iter(needs.items()))
    needs, lacks = {**needs, b: need | held}, need - held
    if spent + sum(q.cost[list(some)].sum() for some in needs.values()) >= best:
        return best
    if not lacks:
        mine = needs.pop(b)
        needs |= {x: needs[x] | mine for x in needs if x == q.above.get(b)}
        return fill(q, alpha, needs, (), spent + q.cost[list(mine)].sum(), best)
    for k in reversed(range(min(len(boxes) + 1, alpha))):
        grown = list({min(lacks)}.union(*boxes[k : k + 1]))
        box = inside(q, q.first[grown].min(axis=0), q.last[grown].max(axis=0))
        best = fill(q, alpha, needs, (*boxes[:k], box, *boxes[k + 1 :]), spent, best)
    return best


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
