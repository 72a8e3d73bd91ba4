"""A third party's check of the certificates of wirings, from the files alone."""

import json
from functools import reduce
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
from tests.oracles.certificate_wire_leaves import least_leaf, tree_from


def read(folder, name, key=None):
    file = Path(folder) / f"{name}.parquet"
    found = pq.read_table(file).to_pylist() if file.exists() else []
    return sorted(found, key=lambda row: row[key] if key else 0)


def sides(rows, side):  # what is null compares with nothing, and so wants nothing
    axes = sum(name.startswith(side) for name in rows[0])
    return np.array([[row[f"{side}{k}"] for k in range(axes)] for row in rows], dtype=float)


def facts_of(home, asked):  # what users send, want and load, what links cost and brokers hold
    users, brokers = read(home, "subscribers", "subscriber"), read(home, "brokers", "broker")
    cells = read(home, "channels", "channel")
    if not users or not cells:
        return None
    ends = np.minimum(sides(users, "hi_")[:, None], sides(cells, "hi_"))
    wants = (ends > np.maximum(sides(users, "lo_")[:, None], sides(cells, "lo_"))).all(axis=2)
    rates = np.zeros(wants.shape)
    for row in read(home, "rates"):
        rates[row["subscriber"], row["channel"]] = row["rate"]
    rates[wants.sum(axis=0) - wants == 0] = 0.0  # nobody else wants it
    demand = rates.sum(axis=1) + (wants * (rates.sum(axis=0) - rates)).sum(axis=1)
    at, places = sides(users, "net_"), sides(brokers, "net_")
    access, core = (np.linalg.norm(of[:, None] - places, axis=2) for of in (at, places))
    for row in read(home, "access_costs"):
        access[row["subscriber"], row["broker"]] = row["cost"]
    for row in read(home, "broker_costs"):
        core[row["broker"], row["other"]] = core[row["other"], row["broker"]] = row["cost"]
    core = core * asked["core_factor"]
    ways = reduce(lambda d, m: np.minimum(d, d[:, m, None] + d[m]), range(len(core)), core)
    core = ways if (ways < core * (1 - 1e-9)).any() else core
    room = np.full(len(core), np.inf)
    if "capacity" in brokers[0]:
        room = (
            np.array([row["capacity"] for row in brokers]) * asked["capacity_factor"] * (1 + 1e-9)
        )
    holds = np.cumsum(np.sort(room)[::-1])[:-1] * (1 + 1e-9)
    needed = np.array([1 + (holds < demand[one].sum()).sum() for one in wants.T])
    names = ("rates", "wants", "demand", "access", "core", "room", "needed")
    found = zip(names, (rates, wants, demand, access, core, room, needed), strict=True)
    return SimpleNamespace(**dict(found), is_mesh=asked["topology"] == "mesh")


def ascend(links, core):  # what a tree to all users costs at least, from each broker
    owed, is_raised = np.zeros(len(core)), True
    while is_raised:
        is_raised = False
        for mine in links:
            inside = reduce(lambda found, _: found | (core[:, found] <= 0).any(1), core, mine <= 0)
            if not inside[owed.argmin()]:
                cut, is_raised = np.ix_(~inside, inside), True
                least = min(mine[~inside].min(), core[cut].min(initial=np.inf))
                owed[~inside] += least
                mine[~inside] -= least
                core[cut] -= least
    return owed


def proven_bound(workload_folder, plan_folder):
    header = json.loads((Path(plan_folder) / "plan.json").read_text())
    proof = {Path(file).stem: read(plan_folder, file[:-8]) for file in header["proof"]["files"]}
    facts = facts_of(workload_folder, header["parameters"])
    if facts is None:
        return 0.0  # nobody, or nothing to want
    price = np.zeros(len(facts.core))
    for row in proof["prices"]:
        price[row["broker"]] = row["price"]
    off, dear = price[price > 0] @ facts.room[price > 0], facts.access + price
    if "nodes" in proof:
        return max(0.0, least_leaf(facts, proof, dear, off))
    trees = np.array(
        [[tree_from(facts.core, 0, size, np.inf) for size in facts.needed]] * len(price)
    )
    for row in proof["trees"]:
        here, size, radius = row["broker"], row["brokers"], row["radius"]
        least = (facts.needed == size) * tree_from(facts.core, here, size, radius)
        trees[here] = np.maximum(trees[here], least)
    paid = facts.demand[:, None] * dear + facts.rates @ trees.T
    if "gathering" in proof:
        part = np.ones(len(facts.needed))
        for row in proof["gathering"]:
            part[row["channel"]] = row["part"]
        stars = [ascend(dear[one], part[c] * facts.core) for c, one in enumerate(facts.wants.T)]
        paid = facts.rates @ (np.array(stars) + (1 - part)[:, None] * trees.T)
        paid += np.where(facts.wants, 0.0, facts.rates).sum(axis=1)[:, None] * dear
    return max(0.0, paid.min(axis=1).sum() - off)
