"""What a third party reads off a content workload: boxes, who may serve whom, limits, measures."""

import json
import math
from itertools import pairwise

import pyarrow.parquet as pq


def rows(path):
    return pq.read_table(path).to_pylist() if path.exists() else None


def around(box, other):
    return tuple(map(min, box[0], other[0])), tuple(map(max, box[1], other[1]))


def holds(box, other):
    return all(a <= x and y <= b for a, b, x, y in zip(*box, *other, strict=True))


def volume(boxes, axis):
    """Volume of a union along the axes up to this one: cut across, then each slice."""
    if not boxes or axis < 0:
        return float(len(boxes) > 0)
    total = 0.0
    for a, b in pairwise(sorted({side[axis] for box in boxes for side in box})):
        across = [box for box in boxes if box[0][axis] <= a and b <= box[1][axis]]
        total += (b - a) * volume(across, axis - 1)
    return total


class World:
    """A question; ``may``: the leaves in time with a share; ``way(b)`` leads down to a broker."""

    def __init__(self, folder, given):
        head = json.loads((folder / "workload.json").read_text())
        people = sorted(rows(folder / "subscribers.parquet"), key=lambda row: row["subscriber"])
        nodes = sorted(rows(folder / "brokers.parquet"), key=lambda row: row["broker"])
        self.alpha, self.dims, self.size = given["alpha"], head["event_dims"], len(people)
        self.want = {j: self.box(row) for j, row in enumerate(people) if row["lo_0"] is not None}
        density = rows(folder / "density.parquet") or ()
        self.cells = [(self.box(row), row["rate"]) for row in density]
        self.parent = [row["parent"] for row in nodes]
        self.leaves = [b for b in range(len(nodes)) if b not in self.parent]
        share = [row["share"] or 0.0 for row in nodes]
        self.limit = [math.floor(given["lbf_max"] * s * self.size * (1 + 1e-9)) for s in share]
        spot = [f"net_{k}" for k in range(head["network_dims"])]
        at = [[row[k] for k in spot] for row in nodes] + [head["publisher"]]  # at[-1]: publisher
        listed = rows(folder / "candidates.parquet")
        self.may = []
        for j, row in enumerate(people):
            late = {b: math.dist([row[k] for k in spot], at[b]) for b in self.leaves}
            if given["latency"] == "path":
                for b in self.leaves:
                    late[b] += sum(math.dist(at[x], at[y]) for x, y in pairwise([-1, *self.way(b)]))
            most = row.get("max_latency", (1 + given["max_delay"]) * min(late.values()))
            near = {b for b in self.leaves if late[b] <= most * (1 + 1e-9)}
            if listed is not None:
                near = {pair["broker"] for pair in listed if pair["subscriber"] == j}
            self.may.append({b for b in near if share[b] > 0})

    def box(self, row):
        return tuple(tuple(row[f"{side}_{k}"] for k in range(self.dims)) for side in ("lo", "hi"))

    def way(self, b):
        return [] if b < 0 else [*self.way(self.parent[b]), b]

    def measure(self, boxes):
        """Volume of a union, or events in it: by cells, each with the part that is covered."""
        if not self.cells:
            return volume(boxes, self.dims - 1)
        total = 0.0
        for (lo, hi), rate in self.cells:
            some = [(tuple(map(max, a, lo)), tuple(map(min, b, hi))) for a, b in boxes]
            some = [box for box in some if all(a < b for a, b in zip(*box, strict=True))]
            total += rate * volume(some, self.dims - 1) / volume([(lo, hi)], self.dims - 1)
        return total
