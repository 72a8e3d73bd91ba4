"""Gr and Gr* by the book: plain lists, every union by inclusion and exclusion."""

from __future__ import annotations

import math
from itertools import product

from tests.oracles.rectangles_oracle import union_mass, union_volume

SLACK = 1 + 1e-9
STEPS = 4


def distance(a, b):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))


def path_latency(instance, broker):
    at, above = instance.brokers[broker], instance.parent[broker]
    if above < 0:
        return distance(instance.publisher, at)
    return path_latency(instance, above) + distance(instance.brokers[above], at)


def leaves_of(parent):
    return [broker for broker in range(len(parent)) if broker not in parent]


def latencies(instance, subscriber, last_hop=False):
    """Latency of a subscriber through each leaf."""
    at = instance.at[subscriber]
    return {
        leaf: (0.0 if last_hop else path_latency(instance, leaf))
        + distance(instance.brokers[leaf], at)
        for leaf in leaves_of(instance.parent)
    }


def candidates_of(instance, max_delay, last_hop=False):
    """Leaves that reach each subscriber within (1 + max_delay) times the quickest way."""
    rows = []
    for subscriber in range(len(instance.at)):
        by_leaf = latencies(instance, subscriber, last_hop)
        limit = (1 + max_delay) * min(by_leaf.values()) * SLACK
        rows.append([leaf for leaf, latency in by_leaf.items() if latency <= limit])
    return rows


def measure(boxes, cells=None):
    return union_volume(boxes) if cells is None else union_mass(boxes, cells)


def holds(outer, box):
    return all(a <= x for a, x in zip(outer[0], box[0], strict=True)) and all(
        y <= b for y, b in zip(box[1], outer[1], strict=True)
    )


def insert(boxes, box, alpha, cells):
    """Return the growth, the new rectangles and the one that changed (None: held already)."""
    if any(holds(other, box) for other in boxes):
        return 0.0, boxes, None
    ways = []
    if len(boxes) < alpha:
        ways.append(([*boxes, box], box))
    for index, other in enumerate(boxes):
        grown = (
            tuple(map(min, other[0], box[0])),
            tuple(map(max, other[1], box[1])),
        )
        ways.append(([*boxes[:index], grown, *boxes[index + 1 :]], grown))
    before = measure(boxes, cells)
    growths = [measure(way, cells) - before for way, _ in ways]
    best = min(range(len(ways)), key=lambda way: (growths[way], way))
    return growths[best], *ways[best]


def insert_along_path(parent, filters, leaf, box, alpha, cells):
    """Return the whole growth and the filters that change on the way up."""
    total, changed, broker = 0.0, {}, leaf
    while broker >= 0 and box is not None:
        growth, boxes, box = insert(filters[broker], box, alpha, cells)
        total += growth
        changed[broker] = boxes
        broker = parent[broker]
    return total, changed


def limits_of(lbf, shares, m):
    return [math.floor(lbf * (share or 0.0) * m * SLACK) for share in shares]


def greedy(instance, candidates, *, alpha, lbf, lbf_max, offline=False, cells=None):
    """Assign one after the other; offline, whoever has the fewest brokers with room is next.

    Returns brokers, filters, how many were forced on a full broker.
    """
    m, n = len(instance.at), len(instance.parent)
    shares = [share or 0.0 for share in instance.shares]
    everybody = [leaf for leaf in leaves_of(instance.parent) if shares[leaf] > 0]
    rows = [[b for b in row if shares[b] > 0] or row or everybody for row in candidates]
    filters = [[] for _ in range(n)]
    loads, step, forced = [0] * n, 0, 0
    result, waiting = [-1] * m, list(range(m))

    def limits():
        return limits_of(lbf + (lbf_max - lbf) * step / STEPS, shares, m)

    def with_room(j):
        return [b for b in rows[j] if loads[b] < limits()[b]]

    while waiting:
        if offline:
            waiting.sort(key=lambda j: (len(with_room(j)), j))
        j = waiting.pop(0)
        while not with_room(j) and step < STEPS:
            step += 1
        choices = with_room(j)
        if not choices:
            forced += 1
            choices = rows[j]
        ways = []
        for b in choices:
            if instance.boxes[j] is None:
                total, changed = 0.0, {}
            else:
                total, changed = insert_along_path(
                    instance.parent, filters, b, instance.boxes[j], alpha, cells
                )
            load = loads[b] / (shares[b] * m) if shares[b] else math.inf
            ways.append((total, load, b, changed))
        _, _, broker, changed = min(ways, key=lambda way: way[:3])
        for b, boxes in changed.items():
            filters[b] = boxes
        result[j] = broker
        loads[broker] += 1
    return result, filters, forced


def bandwidth(filters, cells=None):
    return sum(measure(boxes, cells) for boxes in filters)


def bounding_box(boxes):
    lo = tuple(min(sides) for sides in zip(*(box[0] for box in boxes), strict=True))
    return lo, tuple(max(sides) for sides in zip(*(box[1] for box in boxes), strict=True))


def optimum_of_one_rectangle(workload):
    """Try every assignment with one rectangle a filter; latency and load allow everything.

    ``workload`` has attributes lo, hi (rows), parent and share.
    """
    parent = [int(above) for above in workload.parent]
    leaves = [leaf for leaf in leaves_of(parent) if workload.share[leaf] > 0]
    boxes = [
        (tuple(lo), tuple(hi))
        for lo, hi in zip(workload.lo.tolist(), workload.hi.tolist(), strict=True)
        if lo[0] <= hi[0]
    ]
    best = math.inf
    for choice in product(leaves, repeat=len(boxes)):
        held = {broker: [] for broker in range(len(parent))}
        for leaf, box in zip(choice, boxes, strict=True):
            broker = leaf
            while broker >= 0:
                held[broker].append(box)
                broker = parent[broker]
        total = sum(union_volume([bounding_box(some)]) for some in held.values() if some)
        best = min(best, total)
    return best


def least_bandwidth(instance, candidates, limits):
    """Try every assignment within the limits, filters being exactly what is wanted below.

    No filters of rectangles let less through. None where no assignment keeps the limits.
    """
    best = None
    for choice in product(*candidates):
        if any(choice.count(b) > limits[b] for b in set(choice)):
            continue
        held = {broker: [] for broker in range(len(instance.parent))}
        for broker, box in zip(choice, instance.boxes, strict=True):
            while broker >= 0 and box is not None:
                held[broker].append(box)
                broker = instance.parent[broker]
        total = sum(union_volume(some) for some in held.values())
        best = total if best is None else min(best, total)
    return best
