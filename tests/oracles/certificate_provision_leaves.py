"""A third party's check of a search over all provisionings: files in, a number out."""

import json
import math
from functools import lru_cache
from itertools import product
from pathlib import Path

import pyarrow.parquet as pq

TOLERANCE, HAIR = 1e-9, 1e-12
BUILT_IN = {"c3.large": {"usd_per_hour": 0.15, "mbps": 64.0},
            "c3.xlarge": {"usd_per_hour": 0.3, "mbps": 128.0}}  # fmt: skip


def proven_bound(workload, plan):
    """Return the price of the cheapest leaf, after a look whether leaves cover every case."""
    read = lambda *path: pq.read_table(Path(*path)).to_pylist()  # noqa: E731
    period = json.loads((Path(workload) / "workload.json").read_text())["period_seconds"]
    asked = json.loads((Path(plan) / "plan.json").read_text())["parameters"]
    topics = sorted(read(workload, "topics.parquet"), key=lambda one: one["topic"])
    rate = [one["rate"] for one in topics]
    need = [one["rate"] * (asked["message_bytes"] or one["bytes"]) for one in topics]
    catalogue, name = asked["catalog"] or BUILT_IN, asked["instance"]
    types = list(catalogue.values()) if name == "auto" else [catalogue[name]]
    kept = 125_000 * period * (1 - asked["reserve"]) * (1 + TOLERANCE)
    in_price, out_price = (asked[f"price_gb_{way}"] / 1e9 * asked["horizon_seconds"] / period
                           for way in ("in", "out"))  # fmt: skip
    leaves = {}
    for one in read(plan, "proof", "leaves.parquet"):
        leaves.setdefault(one["leaf"], [0] * len(rate))[one["topic"]] = one["pairs"]
    leaves = [tuple(leaf) for leaf in leaves.values()]

    def is_done(case):
        return any(all(have >= least for have, least in zip(case, leaf, strict=True))
                   for leaf in leaves)  # fmt: skip

    cases = {(0,) * len(rate)}
    wants = read(workload, "interests.parquet")
    for person in read(workload, "subscribers.parquet"):
        theirs = sorted(one["topic"] for one in wants if one["subscriber"] == person["subscriber"])
        tau = person["tau"] if asked["tau"] == "column" else asked["tau"]
        enough = min(tau, sum(rate[t] for t in theirs)) * (1 - TOLERANCE)
        enough = math.ceil(enough) if all(one == int(one) for one in rate) else enough
        used = [t for t in theirs if 2 * need[t] <= max(kind["mbps"] * kept for kind in types)]
        covers = [[t for t, yes in zip(used, taken, strict=True) if yes]
                  for taken in product((0, 1), repeat=len(used))]  # fmt: skip
        covers = [one for one in covers if sum(rate[t] for t in one) >= enough * (1 - HAIR)]
        if enough > 0:
            grown = {tuple(n + (t in cover) for t, n in enumerate(case))
                     for case in cases for cover in covers}  # fmt: skip
            cases = {case for case in grown if not is_done(case)}
    if any(any(case) for case in cases):
        raise ValueError("some way to satisfy everybody is in no leaf")

    def machine(load):
        """The least price of one machine with this load, and of its incoming copies."""
        used = sum(need[t] * (n + 1) for t, n in enumerate(load) if n)
        fitting = [kind["usd_per_hour"] * asked["horizon_seconds"] / 3600 for kind in types
                   if used <= kind["mbps"] * kept
                   and sum(n > 0 for n in load) <= kind.get("max_topics", math.inf)
                   and sum(load) <= kind.get("max_connections", math.inf)]  # fmt: skip
        copies = sum(need[t] for t, n in enumerate(load) if n)
        return min(fitting, default=math.inf) + in_price * copies

    @lru_cache(None)
    def pack(left):
        """The least price of machines for so many pairs: one holds a pair of the first topic."""
        if not any(left):
            return 0.0
        first = next(t for t, n in enumerate(left) if n)
        loads = product(*(range(t == first, n + 1) for t, n in enumerate(left)))
        return min(machine(load) + pack(tuple(n - m for n, m in zip(left, load, strict=True)))
                   for load in loads)  # fmt: skip

    return min(pack(leaf) + out_price * sum(n * need[t] for t, n in enumerate(leaf))
               for leaf in leaves)  # fmt: skip
