"""A third party's check of an assignment's certificate: plain Python, from the files alone."""

import json
from functools import reduce
from itertools import pairwise, product
from pathlib import Path

from tests.oracles.certificate_assign_leaves import least_of_all_cases
from tests.oracles.certificate_assign_prices import by_prices
from tests.oracles.certificate_assign_world import World, around, holds, rows


def proven_bound(workload_folder, plan_folder):
    plan = Path(plan_folder)
    head = json.loads((plan / "plan.json").read_text())
    tables = {Path(name).stem: rows(plan / name) for name in head["proof"]["files"]}
    world = World(Path(workload_folder), head["parameters"])
    if not world.want:
        return 0.0
    if head["proof"]["kind"] == "leaves":
        return least_of_all_cases(world, tables["leaves"])
    depth = min(len(world.way(leaf)) for leaf in world.leaves)
    levels = [{b: world.way(b)[k] if k < depth - 1 else b for b in world.leaves}
              for k in range(depth)]  # fmt: skip
    return sum(carried(world, tables, k, above, k == depth - 1) for k, above in enumerate(levels))


def carried(world, tables, level, above, is_last):
    """Return what the brokers of a level carry; ``above`` leads from leaves to them."""
    room = {}
    for leaf, b in above.items():
        room[b] = room.get(b, 0) + world.limit[leaf]
    room = sorted((n for n in room.values() if n > 0), reverse=True)

    def by_load(count):
        fewest = (k for k in range(1, len(room)) if sum(room[:k]) >= count)
        return next(fewest, max(len(room), 1)) if count else 0

    groups = {j: {above[b] for b in world.may[j]} for j in world.want}
    listed = [r["subscriber"] for r in tables.get("apart", ()) if r["level"] == level]
    points = {}
    for row in tables.get("points", ()):
        if row["level"] == level:
            points.setdefault(row["class"], []).append(row["subscriber"])
    classes = confined(world, tables.get("classes", ())) if is_last else []
    extra, parts = 0.0, [0.0] * len(classes)
    for cell in product(*lines(tables, world.dims)):
        box = tuple(zip(*cell, strict=True))
        here = {j for j, other in world.want.items() if holds(other, box)}
        apart, taken = 0, set()
        for j in listed:
            if j in here and groups[j] and not groups[j] & taken:
                apart, taken = apart + 1, taken | groups[j]
        own = [by_load(len(here & mine)) for mine in classes]
        size = world.measure([box])
        extra += max(by_load(len(here)) - 1, apart - 1, sum(own) - 1, 0) * size
        parts = [part + max(n - 1, 0) * size for part, n in zip(parts, own, strict=True)]
    everybody = set(world.want)
    union = world.measure(list(world.want.values()))
    found = [union + extra, crowd(world, everybody, points.get(-1, ()), world.alpha * len(room))]
    total = 0.0
    for number, mine in enumerate(classes):
        slots = world.alpha * len(set().union(*(world.may[j] for j in mine)))
        total += max(world.measure([world.want[j] for j in mine]) + parts[number],
                     crowd(world, mine, points.get(number, ()), slots))  # fmt: skip
    return max(*found, total, by_prices(world, tables) if is_last else 0.0)


def lines(tables, dims):
    own = [sorted({r["line"] for r in tables.get("grid", ()) if r["axis"] == k})
           for k in range(dims)]  # fmt: skip
    return [list(pairwise(some)) for some in own]


def confined(world, table):
    sets = {}
    for row in table:
        sets.setdefault(row["class"], set()).add(row["broker"])
    return [{j for j in world.want if world.may[j] and world.may[j] <= sets[k]}
            for k in sorted(sets)]  # fmt: skip


def crowd(world, people, chosen, slots):
    """Return the least union of so many boxes that hold the middles of the chosen."""
    if slots == 1 and people:
        return world.measure([reduce(around, (world.want[j] for j in people))])
    middles = [tuple((a + b) / 2 for a, b in zip(*world.want[j], strict=True))
               for j in chosen if j in people]  # fmt: skip
    if slots < 1 or len(middles) <= slots:
        return 0.0
    ways = [[]]
    for middle in middles:  # into a box that is in use, or a new one
        point = (middle, middle)
        ways = [[*way[:k], around(way[k], point), *way[k + 1 :]] if k < len(way) else [*way, point]
                for way in ways for k in range(min(len(way) + 1, slots))]  # fmt: skip
    return min(map(world.measure, ways))
