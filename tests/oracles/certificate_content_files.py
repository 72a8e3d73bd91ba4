"""What a third party reads of an assignment's workload before any mathematics: boxes, brokers."""

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


def spread(table, key, value, others):
    """Return an array with the values of a table at its ids, and others elsewhere."""
    for row in table:
        others[row[key]] = row[value]
    return others


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
    q.sides = [low, high] if cells else []
    q.lattice = read_lattice(q, proof.get("lattice", ()))
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


def read_lattice(q, table):
    """Return the lines of each axis, 0 where there is none: those listed, and sides of cells."""
    lines = [[row["line"] for row in table if row["axis"] == k] or [0.0] for k in range(q.dims)]
    for k, own in enumerate(lines):
        sides = {side[k] for some in q.sides for side in some}
        own += [side for side in sides if min(own) < side < max(own)]
    return [np.unique(own) for own in lines]


def way_down(parent, broker):
    """Return the brokers on the way from the publisher to one of them, which is the last."""
    return [] if broker < 0 else [*way_down(parent, parent[broker]), broker]
