"""What a third party reads of a content workload before any mathematics: boxes, brokers, costs."""

import json
from collections import defaultdict
from itertools import pairwise
from math import dist
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from tests.oracles.certificate_files import TOLERANCE, column, read_plan, rows


def corners(table, kind):
    """Return the columns of a kind, lo, hi or net, side by side; NaN is null, and wants nothing."""
    names = sorted(name for name in (table[0] if table else ()) if name.startswith(f"{kind}_"))
    return np.array([[row[name] for name in names] for row in table], dtype=float)


def read_wiring(folder, plan):
    """Return what users send, want and load, what links cost, and what brokers hold."""
    asked, proof = read_plan(plan)
    users, brokers, channels = (
        rows(folder, name) for name in ("subscribers", "brokers", "channels")
    )
    q = SimpleNamespace(rates=np.zeros((len(users), len(channels))))
    if not q.rates.size:
        return q, proof
    ends = np.minimum(corners(users, "hi")[:, None], corners(channels, "hi"))
    q.wants = (ends > np.maximum(corners(users, "lo")[:, None], corners(channels, "lo"))).all(
        axis=2
    )
    for row in rows(folder, "rates"):
        q.rates[row["subscriber"], row["channel"]] = row["rate"]
    q.rates[q.wants.sum(axis=0) - q.wants == 0] = 0.0  # nobody else wants it
    q.load = q.rates.sum(axis=1) + (q.wants * (q.rates.sum(axis=0) - q.rates)).sum(axis=1)
    places = corners(brokers, "net")
    q.access = np.linalg.norm(corners(users, "net")[:, None] - places, axis=2)
    core = np.linalg.norm(places[:, None] - places, axis=2)
    for row in rows(folder, "access_costs"):
        q.access[row["subscriber"], row["broker"]] = row["cost"]
    for row in rows(folder, "broker_costs"):
        core[row["broker"], row["other"]] = core[row["other"], row["broker"]] = row["cost"]
    q.may = np.full(q.access.shape, not rows(folder, "candidates"))
    for row in rows(folder, "candidates"):
        q.may[row["subscriber"], row["broker"]] = True
    q.access[~q.may] = 1e150
    core, ways = core * asked["core_factor"], core * asked["core_factor"]
    for middle in range(len(core)):
        ways = np.minimum(ways, ways[:, middle, None] + ways[middle])
    q.core = ways if (ways < core * (1 - TOLERANCE)).any() else core
    q.room = column(brokers, "capacity", np.inf) * asked["capacity_factor"] * (1 + TOLERANCE)
    reach = np.cumsum(np.sort(q.room)[::-1])[:-1] * (1 + TOLERANCE)
    q.needed = np.array([1 + (reach < q.load[who].sum()).sum() for who in q.wants.T])
    q.is_mesh = asked["topology"] == "mesh"
    return q, proof


def read_assignment(folder, plan):
    """Return what is wanted, who may serve whom, limits, and the ways down to brokers."""
    asked, proof = read_plan(plan)
    head = json.loads((Path(folder) / "workload.json").read_text())
    people, brokers = rows(folder, "subscribers"), rows(folder, "brokers")
    parent, share = [row["parent"] for row in brokers], column(brokers, "share", 0.0)
    q = SimpleNamespace(
        alpha=asked["alpha"], dims=head["event_dims"], above=dict(enumerate(parent))
    )
    q.lo, q.hi = corners(people, "lo"), corners(people, "hi")
    q.wanting = [j for j in range(len(people)) if not np.isnan(q.lo[j]).any()]
    cells = rows(folder, "density")
    low, high = (corners(cells, side).reshape(-1, q.dims) for side in ("lo", "hi"))
    each = column(cells, "rate") / (high - low).prod(axis=1)
    everywhere = np.full(q.dims, np.inf)
    q.is_volume = not cells  # one event in each unit of volume, then
    q.cells = [*zip(low, high, each, strict=True)] or [(-everywhere, everywhere, 1.0)]
    q.leaves = [b for b in range(len(brokers)) if b not in parent]
    q.limit = np.floor(asked["lbf_max"] * share * len(people) * (1 + TOLERANCE))
    q.way = [way_down(parent, b) for b in range(len(brokers))]
    at, places = corners(people, "net"), [*corners(brokers, "net"), head["publisher"]]
    q.may = []
    for j, row in enumerate(people):
        late = {b: dist(at[j], places[b]) for b in q.leaves}
        if asked["latency"] == "path":
            for b in q.leaves:
                late[b] += sum(dist(places[x], places[y]) for x, y in pairwise([-1, *q.way[b]]))
        most = row.get("max_latency", (1 + asked["max_delay"]) * min(late.values()))
        q.may.append({b for b in q.leaves if late[b] <= most * (1 + TOLERANCE) and share[b] > 0})
    if (Path(folder) / "candidates.parquet").exists():
        pairs = [(row["subscriber"], row["broker"]) for row in rows(folder, "candidates")]
        q.may = [{b for i, b in pairs if i == j and share[b] > 0} for j in range(len(people))]
    return q, defaultdict(list, proof)


def way_down(parent, broker):
    """Return the brokers on the way from the publisher to one of them, which is the last."""
    return [] if broker < 0 else [*way_down(parent, parent[broker]), broker]
