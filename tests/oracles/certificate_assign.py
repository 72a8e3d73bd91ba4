"""A third party's check of an assignment's certificate: files in, a number out."""

from itertools import product
from math import inf

import numpy as np
from tests.oracles.certificate_content_files import corners, read_assignment, spread
from tests.oracles.certificate_files import column


def proven_bound(workload, plan):
    """Return the bandwidth that every plan takes at least, by the certificate of this one."""
    q, proof = read_assignment(workload, plan)
    if not q.wanting:
        return 0.0
    q.middle = (q.lo + q.hi) / 2
    chosen = [*proof.get("points", ()), *proof.get("prices", ())]
    cut_space(q, [row["subscriber"] for row in chosen])
    q.holds = {j: inside(q, q.lo[j], q.hi[j]) for j in q.wanting}
    if "leaves" in proof:
        return least_of_all_cases(q, proof["leaves"])
    last = min(len(q.way[leaf]) for leaf in q.leaves) - 1
    levels = [{b: q.way[b][k] if k < last else b for b in q.leaves} for k in range(last + 1)]
    return sum(carried(q, proof, k, above, k == last) for k, above in enumerate(levels))


def cut_space(q, points):
    """Cut space along all sides into pieces: points on lines, and spans between; measure them."""
    low, high = (corners(q.cells, side).reshape(-1, q.dims) for side in ("lo", "hi"))
    sides = np.concatenate([q.lo[q.wanting], q.hi[q.wanting], low, high, q.middle[points]])
    lines = [np.unique(own) for own in sides.T]
    at = list(product(*(range(2 * len(own) - 1) for own in lines)))
    ends = [[lines[k][(n + up) // 2] for k, n in enumerate(one)] for up in (0, 1) for one in at]
    q.first, q.last = np.array(ends).reshape(2, len(at), q.dims)
    q.mass = (q.last - q.first).prod(axis=1)
    if q.cells:
        each = column(q.cells, "rate") / (high - low).prod(axis=1)
        q.mass *= sum(rate * inside(q, a, b) for rate, a, b in zip(each, low, high, strict=True))


def inside(q, low, high):
    """Return which pieces a box holds."""
    return ((q.first >= low) & (q.last <= high)).all(axis=1)


def joined(q, masks):
    """Return which pieces are in any of some sets."""
    return np.any([q.mass < 0, *masks], axis=0)


def fill(q, alpha, above, needs, boxes, best=inf):
    """Return the least that brokers hold, each so many boxes; those below others come first.

    A piece that one lacks goes into a new box, or into one of its boxes, which grows around it.
    """
    needs, total, lacks = dict(needs), 0.0, {}
    for b in needs:
        held = joined(q, boxes[b])
        lacks[b] = np.flatnonzero(needs[b] & ~held)
        needs[b] = needs[b] | held
        total += q.mass[needs[b]].sum()
        if above[b] in needs:
            needs[above[b]] = needs[above[b]] | needs[b]
    b = next((b for b in needs if len(lacks[b])), None)
    if b is None or total >= best * (1 - 1e-12):
        return min(best, total)
    piece = np.arange(len(q.mass)) == lacks[b][0]
    for k in reversed(range(min(len(boxes[b]) + 1, alpha))):
        grown = joined(q, [piece, *boxes[b][k : k + 1]])
        box = inside(q, q.first[grown].min(axis=0), q.last[grown].max(axis=0))
        others = {**boxes, b: [*boxes[b][:k], box, *boxes[b][k + 1 :]]}
        best = fill(q, alpha, above, needs, others, best)
    return best


def crowd(q, people, chosen, slots):
    """Return what so many boxes measure at least: around all, or around the middles of some."""
    points = [inside(q, q.middle[j], q.middle[j]) for j in chosen if j in people]
    needs = joined(q, [q.holds[j] for j in people] if slots == 1 else points)
    return fill(q, slots, {0: -1}, {0: needs}, {0: []}) if slots > 0 else 0.0


def carried(q, proof, level, above, is_last):
    """Return what the brokers of a level carry at least; ``above`` leads from leaves to them."""
    room = [sum(q.limit[leaf] for leaf in above if above[leaf] == b) for b in set(above.values())]
    reach = np.cumsum(sorted(n for n in room if n > 0)[::-1])

    def needed(people):
        count = sum((q.holds[j] for j in people), 0 * q.mass)
        fewest = np.minimum(np.searchsorted(reach, count) + 1, max(len(reach), 1))
        return np.where(count > 0, fewest, 0)

    points, sets, found = {}, {}, 0.0
    for row in proof.get("points", ()):
        points.setdefault((row["level"], row["class"]), []).append(row["subscriber"])
    for row in proof.get("classes", ()) if is_last else ():
        sets.setdefault(row["class"], set()).add(row["broker"])
    apart, taken = 0 * q.mass, dict.fromkeys(above.values(), q.mass < 0)
    for row in proof.get("apart", ()):
        uses = {above[b] for b in q.may[row["subscriber"]]}
        if row["level"] == level and uses:
            free = q.holds[row["subscriber"]] & ~joined(q, [taken[b] for b in uses])
            apart, taken = apart + free, taken | {b: taken[b] | free for b in uses}
    for number, brokers in enumerate(sets[k] for k in sorted(sets)):
        mine = [j for j in q.wanting if q.may[j] and q.may[j] <= brokers]
        slots = q.alpha * len(set().union(*(q.may[j] for j in mine)))
        found += max(q.mass @ needed(mine), crowd(q, mine, points.get((level, number), ()), slots))
    middles = crowd(q, q.wanting, points.get((level, -1), ()), q.alpha * len(reach))
    cells = q.mass @ np.maximum(needed(q.wanting), apart)
    return max(cells, middles, found, by_prices(q, proof) if is_last else 0.0)


def by_prices(q, proof):
    """Return what all subscribers pay at least, less what rectangles can gain, for the union."""
    charge = spread(proof.get("charges", ()), "broker", "charge", np.zeros(len(q.limit)))
    price = {(row["subscriber"], row["broker"]): row["price"] for row in proof.get("prices", ())}
    total = -charge.sum()
    for j in {j for j, _ in price}:
        alike = sum((q.holds[i] == q.holds[j]).all() and q.may[i] == q.may[j] for i in q.wanting)
        open_ = [b for b in q.may[j] if q.limit[b] > 0]
        total += min(price.get((j, b), 0) + charge[b] * alike / q.limit[b] for b in open_)
    for b in {b for _, b in price}:
        points = np.array([q.middle[j] for j, at in price if at == b])
        paid = np.array([price[j, at] for j, at in price if at == b])
        spans = [[(x, y) for x in set(own) for y in set(own) if x <= y] for own in points.T]
        best = 0.0
        for low, high in (np.transpose(box) for box in product(*spans)):
            is_paid = ((points >= low) & (points <= high)).all(axis=1)
            best = max(best, paid[is_paid].sum() - q.mass[inside(q, low, high)].sum())
        total -= q.alpha * best
    even = 4 / 3 * (q.alpha // 2) + q.alpha % 2
    return total / (1 if q.dims == 1 else q.alpha if q.cells else even)


def least_of_all_cases(q, table):
    """Return the least bandwidth of all assignments within limits, whose number is listed."""
    ways = product(*(sorted(may) for may in q.may))
    kept = [way for way in ways if all(way.count(b) <= q.limit[b] for b in way)]
    assert [row["assignments"] for row in table] == [len(kept)], "another number of assignments"
    order, best = sorted(q.above, key=lambda b: -len(q.way[b])), inf
    for way in kept:
        needs = {b: joined(q, [q.holds[j] for j in q.wanting if b in q.way[way[j]]]) for b in order}
        best = fill(q, q.alpha, q.above, needs, {b: [] for b in order}, best)
    return best
