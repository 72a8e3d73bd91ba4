"""What a third party reads before any mathematics: a workload and a plan as plain arrays.

Ids are places; thresholds, limits and costs are resolved, with the tolerances that hold.
"""

import json
from math import inf
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq

TOLERANCE = 1e-9
THINGS = ("topics", "subscribers", "brokers", "channels")
MACHINES = {
    "c3.large": {"usd_per_hour": 0.15, "mbps": 64.0},
    "c3.xlarge": {"usd_per_hour": 0.3, "mbps": 128.0},
}


def rows(folder, name):
    """Return the rows of a table, those of things by their ids; none where it is not there."""
    path = Path(folder) / f"{name}.parquet"
    found = pq.read_table(path).to_pylist() if path.exists() else []
    return sorted(found, key=lambda row: row[name[:-1]]) if name in THINGS else found


def read_plan(folder):
    """Return what was asked, and the tables of the certificate by name."""
    head = json.loads((Path(folder) / "plan.json").read_text())
    names = [name.removesuffix(".parquet") for name in head["proof"]["files"]]
    return head["parameters"], {Path(name).name: rows(folder, name) for name in names}


def column(table, name, other=None):
    """Return a column of a table as an array; another value where it is missing or null."""
    found = [row.get(name) for row in table]
    return np.array([other if value is None else value for value in found])


def read_topics(folder, asked):
    """Return topics and subscribers, who wants which, and how many events each needs."""
    topics, people = rows(folder, "topics"), rows(folder, "subscribers")
    rate = column(topics, "rate")
    wants = np.zeros((len(people), len(topics)), dtype=bool)
    for row in rows(folder, "interests"):
        wants[row["subscriber"], row["topic"]] = True
    tau = asked.get("tau", 0)
    tau = column(people, "tau") if tau == "column" else np.full(len(people), tau, float)
    needs = np.minimum(tau, wants @ rate) if topics else 0 * tau
    return SimpleNamespace(topics=topics, people=people, rate=rate, wants=wants, needs=needs)


def read_selection(folder, plan):
    """Return topics with costs and flags, subscribers with weights, and the limits."""
    asked, proof = read_plan(plan)
    q = read_topics(folder, asked)
    q.is_binary, q.capacity = asked["metric"] == "binary", asked["capacity"] * (1 + TOLERANCE)
    q.max_changes = asked.get("max_changes")
    has_cost = q.topics and "cost" in q.topics[0]
    q.cost = column(q.topics, "cost") if has_cost else q.rate * q.wants.sum(axis=0)
    q.weight = np.where(q.needs > 0, column(q.people, "weight", 1.0), 0.0)
    q.was = column(rows(plan, "topics"), "was_served", False).astype(bool)
    names = column(q.topics, "name")
    q.pinned, q.excluded = (np.isin(names, asked.get(key, [])) for key in ("pin", "exclude"))
    return q, proof


def read_provisioning(folder, plan):
    """Return topics with the bytes of a copy, what is enough by which of them, types, prices."""
    asked, proof = read_plan(plan)
    q = read_topics(folder, asked)
    period = json.loads((Path(folder) / "workload.json").read_text())["period_seconds"]
    catalog, horizon = asked["catalog"] or MACHINES, asked["horizon_seconds"]
    names = list(catalog) if asked["instance"] == "auto" else [asked["instance"]]
    types, kept = [catalog[name] for name in names], (1 - asked["reserve"]) * (1 + TOLERANCE)
    q.rent = column(types, "usd_per_hour") * horizon / 3600
    q.room = column(types, "mbps") * 125_000 * period * kept
    q.max_pairs = column(types, "max_connections", inf)
    q.max_topics = column(types, "max_topics", inf)
    size = asked["message_bytes"]
    q.copy = q.rate * (column(q.topics, "bytes") if size is None else size)
    enough = q.needs * (1 - TOLERANCE)
    is_whole = (q.rate == np.floor(q.rate)).all()
    q.enough = np.ceil(enough) if is_whole else enough
    fits = (q.rate > 0) & (2 * q.copy <= q.room.max())
    q.used = q.wants & fits & (enough > 0)[:, None]
    prices = [asked[f"price_gb_{way}"] / 1e9 * horizon / period for way in ("in", "out")]
    q.price_in, q.price_out = prices
    return q, proof
