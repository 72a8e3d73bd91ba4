"""Content traces to ingest, and comparing what was written with the oracle."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from tests.oracles import content_ingest_oracle as oracle

import fanwise as fw

BROKERS = [
    {"broker": "hub", "net_0": 0, "net_1": 0, "parent": "", "share": "", "capacity": 500},
    {"broker": "10", "net_0": 1, "net_1": 0, "parent": "hub", "share": 0.25, "capacity": 70},
    {"broker": "9", "net_0": 0, "net_1": 2, "parent": "hub", "share": 0.5, "capacity": 80},
    {"broker": "é", "net_0": -1, "net_1": 0.5, "parent": "-1", "share": 0.25, "capacity": 9.5},
]
NAMES = ["10", "9", "B", "a", "é", "\uff5e", "\U0001f600", " spaced ", 'say "hi"', "x,y"]


def random_traces(seed, attributes=("price", "size"), names=NAMES, num_events=150):
    """Publishers and subscribers overlap, but neither set holds the other."""
    draw = random.Random(seed)
    publications = [
        {
            "publisher": draw.choice(names[:6]),
            "timestamp": str(1_700_000_000 + draw.randrange(7200)),
            **{name: str(round(draw.gauss(0, 3), 2)) for name in attributes},
            "bytes": draw.choice(["", "10", "250"]),
        }
        for _ in range(num_events)
    ]
    subscriptions = []
    for name in names[2:]:
        row = {"subscriber": name}
        for attribute in attributes:
            ends = sorted(round(draw.uniform(-6, 6), 1) for _ in range(2))
            row |= {f"lo_{attribute}": str(ends[0]), f"hi_{attribute}": str(ends[1])}
        subscriptions.append(row)
    positions = [
        {"name": name, "net_0": str(draw.randrange(9)), "net_1": str(draw.random())}
        for name in [*names, "nobody"]
    ]
    return publications, subscriptions, positions


def sides_of(lo, hi):
    return [
        [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
        for low, high in zip(lo, hi, strict=True)
    ]


def check_users(workload, expected) -> None:
    assert workload.subscriber_names.to_pylist() == [name for name, *_ in expected["users"]]
    for row, (_, place, box) in enumerate(expected["users"]):
        assert workload.positions[row].tolist() == place
        assert bool(workload.wants_nothing[row]) == (box is None)
        if box is not None:
            assert sides_of(workload.lo, workload.hi)[row] == box


def check_brokers(workload, brokers=BROKERS) -> None:
    ordered = sorted(brokers, key=lambda row: row["broker"])
    names = [row["broker"] for row in ordered]
    assert workload.broker_names.to_pylist() == names
    for broker, row in enumerate(ordered):
        assert workload.broker_positions[broker].tolist() == [row["net_0"], row["net_1"]]
        parent = names.index(row["parent"]) if row["parent"] in names else -1
        assert workload.parent[broker] == parent
        assert workload.share[broker] == (row["share"] or 0)
        assert workload.capacity[broker] == row["capacity"]


def check_traffic(workload, events, top) -> None:
    """Density and rates against counting: every event lies in one cell and one channel."""
    cells = sides_of(workload.density.lo, workload.density.hi)
    per_cell, _ = oracle.count(events, cells, top)
    assert workload.density.rate.tolist() == [per_cell[cell] for cell in range(len(cells))]
    if events:
        assert (workload.density.rate > 0).all()
    if workload.channels is None:
        assert workload.rates is None
        return
    channels = sides_of(*workload.channels)
    _, per_publisher = oracle.count(events, channels, top)
    names = workload.subscriber_names.to_pylist()
    indptr, indices, rate = workload.rates
    found = {
        (names[user], int(indices[at])): rate[at]
        for user in range(len(names))
        for at in range(indptr[user], indptr[user + 1])
    }
    assert found == dict(per_publisher)


def check(folder: Path, report, expected, space) -> fw.ContentWorkload:
    """Compare a written content workload and its report with the oracle's answer."""
    workload = fw.read_workload(folder)
    check_users(workload, expected)
    check_brokers(workload)
    check_traffic(workload, expected["events"], [hi for _, hi in space])
    reported = report.as_dict()
    assert {name: reported[name] for name in expected["report"]} == expected["report"]
    header = json.loads((folder / "workload.json").read_text())
    assert header["ingest"] == reported
    if expected["mean_bytes"] is not None:
        assert header["message_bytes"] == pytest.approx(expected["mean_bytes"])
    if workload.channels is not None:
        volumes = (workload.channels.hi - workload.channels.lo).prod(axis=1)
        whole = np.prod([hi - lo for lo, hi in space])
        assert volumes.sum() == pytest.approx(whole)
    return workload


def extent(events):
    """From the least to the greatest value on each axis."""
    points = np.array([point for _, _, point, _ in events])
    return list(zip(points.min(axis=0).tolist(), points.max(axis=0).tolist(), strict=True))
