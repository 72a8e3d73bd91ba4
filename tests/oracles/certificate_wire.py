"""A third party's check of the certificates of wirings, from the files alone."""

import json
from functools import cache, reduce
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

EDGE = 1 + 1e-9  # a capacity is kept up to here


def read(folder, name, key=None):
    """Columns by name, those that are numbered as one matrix; nothing where there is no file."""
    if not (file := Path(folder) / f"{name}.parquet").exists():
        return {}
    table = pq.read_table(file).sort_by(key) if key else pq.read_table(file)
    found = {name: table.column(name).to_numpy() for name in table.column_names}
    for side in ("net_", "lo_", "hi_"):
        axes = [f"{side}{axis}" for axis in range(len(found)) if f"{side}{axis}" in found]
        found[side] = np.array([found[axis] for axis in axes], dtype=float).T
    return found


def kruskal(core, members, is_allowed=lambda a, b: True):
    """The links that join brokers, the cheapest first: cost and ends."""
    part, links = {b: b for b in members}, []
    for cost, a, b in sorted((core[a, b], a, b) for a in part for b in part if a < b):
        if part[a] != part[b] and is_allowed(a, b):
            part = {v: part[b] if at == part[a] else at for v, at in part.items()}
            links.append((cost, a, b))
    return links


def ascend(links, core):
    """What a tree to all users costs at least from each broker."""
    owed, is_raised = np.zeros(len(core)), True
    while is_raised:
        is_raised = False
        for mine in links:
            inside = reduce(lambda s, _: s | (core[:, s] <= 0).any(axis=1), core, mine <= 0)
            if not inside[owed.argmin()]:
                cut, is_raised = np.ix_(~inside, inside), True
                least = min(mine[~inside].min(), core[cut].min(initial=np.inf))
                owed[~inside] += least
                mine[~inside] -= least
                core[cut] -= least
    return owed


def least_tree(core, size, root=0, radius=np.inf):
    """What a tree over so many brokers costs at least from a root, by the links near enough."""
    near = kruskal(core, range(len(core)), lambda a, b: min(core[root, [a, b]]) + core[a, b] <= radius)
    return min(radius, sum(cost for cost, *_ in near[: size - 1]) if len(near) >= size - 1 else np.inf)


def proven_bound(workload, plan):
    header = json.loads((Path(plan) / "plan.json").read_text())
    proof = {Path(file).stem: read(plan, file[:-8]) for file in header["proof"]["files"]}
    users, brokers = read(workload, "subscribers", "subscriber"), read(workload, "brokers", "broker")
    cells, sent = read(workload, "channels", "channel"), read(workload, "rates")
    reach = np.minimum(users["hi_"][:, None], cells["hi_"])
    wants = (reach > np.maximum(users["lo_"][:, None], cells["lo_"])).all(axis=2)
    rates = np.zeros(wants.shape)
    rates[sent["subscriber"], sent["channel"]] = sent["rate"]
    rates[wants.sum(axis=0) - wants == 0] = 0.0  # nobody else wants it
    demand = rates.sum(axis=1) + (wants * (rates.sum(axis=0) - rates)).sum(axis=1)
    at, asked = brokers["net_"], header["parameters"]
    access, core = (np.linalg.norm(of[:, None] - at, axis=2) for of in (users["net_"], at))
    if given := read(workload, "access_costs"):
        access[given["subscriber"], given["broker"]] = given["cost"]
    if given := read(workload, "broker_costs"):
        core[given["broker"], given["other"]] = core[given["other"], given["broker"]] = given["cost"]
    core = core * asked["core_factor"]
    ways = reduce(lambda d, m: np.minimum(d, d[:, m, None] + d[m]), range(len(core)), core)
    core = ways if (ways < core * (1 - 1e-9)).any() else core
    room = brokers["capacity"] * asked["capacity_factor"] * EDGE if "capacity" in brokers else core[0] + np.inf
    price = np.zeros(len(core))
    price[proof["prices"]["broker"]] = proof["prices"]["price"]
    off, dear = price[price > 0] @ room[price > 0], access + price
    holds = np.cumsum(np.sort(room)[::-1])[:-1] * EDGE
    needed = np.array([1 + (holds < demand[one].sum()).sum() for one in wants.T], dtype=int)
    if "nodes" in proof:
        links = demand[:, None] * access, demand[:, None] * dear
        is_mesh = asked["topology"] == "mesh"
        return max(0.0, least_leaf(proof, rates, wants, demand, links, off, core, room, needed, is_mesh))
    trees = np.zeros((len(core), len(needed))) + [least_tree(core, size) for size in needed]
    for b, size, radius in zip(*(proof["trees"][k] for k in ("broker", "brokers", "radius"))):
        trees[b, needed == size] = np.maximum(trees[b, needed == size], least_tree(core, size, b, radius))
    paid = demand[:, None] * dear + rates @ trees.T
    if "gathering" in proof:
        part = np.ones(len(needed))
        part[proof["gathering"]["channel"]] = proof["gathering"]["part"]
        stars = [ascend(dear[one], share * core) for one, share in zip(wants.T, part)]
        paid = rates @ (np.array(stars) + (1 - part)[:, None] * trees.T)
        paid += np.where(wants, 0.0, rates).sum(axis=1)[:, None] * dear
    return max(0.0, paid.min(axis=1, initial=np.inf).sum() - off)


def least_leaf(proof, rates, wants, demand, links, off, core, room, needed, is_mesh):
    tree = {link[1:] for link in kruskal(core, range(len(core)))}

    @cache
    def cost(members, size):
        found = kruskal(core, members, lambda a, b: is_mesh or (a, b) in tree)
        is_whole = len(found) >= len(members) - 1 and len(members) >= size
        return sum(link[0] for link in found) if is_whole else np.inf

    @cache
    def least(members, size):
        more = [least(members | {b}, size) for b in range(len(core)) if b not in members]
        return min([cost(members, size), *more])

    def bound(chosen):
        here, rest = order[: len(chosen)], order[len(chosen) :]
        plain, dear = (of[here, chosen].sum() + of[rest].min(axis=1).sum() for of in links)
        total = max(plain, dear - off) if len(rest) else plain
        for c, size in enumerate(needed):
            known = frozenset(b for i, b in zip(here, chosen) if wants[i, c])
            least_of = least if len(rest) or not is_mesh else cost
            size = size if len(rest) else 0
            total += sum(rates[i, c] * least_of(known | {b}, size) for i, b in zip(here, chosen) if rates[i, c])
            total += rates[rest, c].sum() * least(known, size) if rates[rest, c].any() else 0.0
        return total

    order, marks = proof["order"]["subscriber"], iter(proof["nodes"]["is_branched"])
    level, found = [()], []
    for depth, user in enumerate(order):
        grown = []
        for node in level:
            load = np.bincount(np.array(node, dtype=int), demand[order[:depth]], len(core)) + demand[user]
            if next(marks):
                grown += [(*node, b) for b in range(len(core)) if load[b] <= room[b]]
            else:
                found.append(bound(list(node)))
        level = grown
    return min(found + [bound(list(node)) for node in level])
