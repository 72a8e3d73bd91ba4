"""A third party's checker of connect certificates: the files alone, plain Python, nothing else."""

import json
from collections import defaultdict
from itertools import combinations
from math import dist, floor, fsum, inf
from pathlib import Path

import pyarrow.parquet as pq


def rows(path, key=None):
    return sorted(pq.read_table(path).to_pylist(), key=lambda row: row[key] if key else 0)


class Certificate:
    def __init__(self, workload, plan):
        header = json.loads((plan / "plan.json").read_text())
        given = header["parameters"]
        self.files = {Path(name).stem: rows(plan / name) for name in header["proof"]["files"]}
        self.edges = rows(plan / "edges.parquet")
        people, topics = (rows(workload / f"{k}s.parquet", k) for k in ("subscriber", "topic"))
        self.weight = [row["rate"] if given["topic_weight"] == "rate" else 1.0 for row in topics]
        self.wants, self.size, largest = defaultdict(list), [0.0] * len(people), len(people) - 1
        for row in rows(workload / "interests.parquet", "subscriber"):
            self.wants[row["topic"]].append(row["subscriber"])
            self.size[row["subscriber"]] += self.weight[row["topic"]]
        most, links, money = (given[f"max_{name}"] for name in ("degree", "edges", "link_cost"))
        limits = [row["max_degree"] if most == "column" else most for row in people]
        self.limit = [min(most, largest) if most is not None else largest for most in limits]
        self.links = min(largest * len(people) // 2, inf if links is None else links)
        self.money = inf if money is None else money * (1 + 1e-9)
        self.share = {row["topic"]: row["share"] for row in self.files.get("topics", [])}
        self.price = {row["node"]: row["price"] for row in self.files.get("nodes", [])}
        self.one = self.files.get("budgets", [{"link_price": 0.0, "cost_price": 0.0}])[0]
        self.common = defaultdict(list)  # topics that both nodes of a pair want
        for topic, nodes in self.wants.items():
            for pair in combinations(nodes, 2):
                self.common[pair].append(topic)
        place = [[row[k] for k in row if k[:4] == "net_" and given["link_cost"]] for row in people]
        self.cost = {(u, v): dist(place[u], place[v]) for u, v in self.common}

    def case(self, links, closed=(), is_part=False):
        """Bound overlays on top of links, or (is_part) those with them and without the closed."""
        label = {(topic, node): node for topic, nodes in self.wants.items() for node in nodes}
        worth, spare = 0.0, list(self.limit)
        for u, v in links:
            spare[u], spare[v] = spare[u] - is_part, spare[v] - is_part
            for topic in self.common.get((u, v), []):
                old, new = label[topic, v], label[topic, u]
                worth += self.weight[topic] * (old != new)
                same = [key for key in label if key[0] == topic and label[key] == old]
                label.update(dict.fromkeys(same, new))
        left = self.links - len(links) * is_part
        money = self.money - fsum(self.cost[pair] for pair in links) if is_part else self.money
        if min([left, money, *spare]) < 0:
            return 0.0  # no overlay keeps the budgets
        link, cost, gains = self.one["link_price"], self.one["cost_price"], []
        bound = worth + link * left + (cost * money if cost else 0.0)
        bound += fsum(price * spare[node] for node, price in self.price.items())
        for (u, v), topics in self.common.items():
            fits = min(left, spare[u], spare[v]) > 0 and self.cost[u, v] <= money
            if is_part and ((u, v) in links or (u, v) in closed or not fits):
                continue
            joined = [topic for topic in topics if label[topic, u] != label[topic, v]]
            gains.append(fsum(self.weight[topic] for topic in joined))
            charge = self.price.get(u, 0) + self.price.get(v, 0) + link + cost * self.cost[u, v]
            bound += max(0, fsum(self.share.get(t, 0) * self.weight[t] for t in joined) - charge)
        for topic, nodes in self.wants.items():
            free = {label[topic, node] for node in nodes if spare[node] > 0}
            most = min(max(len(free) - 1, 0), sum(spare[node] for node in nodes) // 2, left)
            bound += (1 - self.share.get(topic, 0)) * self.weight[topic] * most
        return min(bound, worth + fsum(sorted(gains)[::-1][:left])) if is_part else bound

    def cases(self, order, links=(), closed=()):
        if (number := next(order)) < 0:
            return self.case(links, closed, is_part=True)
        pair = sorted(self.common)[number]
        assert pair not in (*links, *closed)
        ways = ((*links, pair), closed), (links, (*closed, pair))  # in this order
        return max(self.cases(order, *way) for way in ways)

    def by_sizes(self):
        yield fsum(size * most for size, most in zip(self.size, self.limit, strict=True)) / 2
        ranked = sorted((s for s, most in zip(self.size, self.limit, strict=True) if most))[::-1]
        yield fsum([size for i, size in enumerate(ranked) for _ in range(i)][: self.links])


def proven_bound(workload_folder, plan_folder):
    """Return the upper bound on mu that the certificate of a plan proves."""
    proof = Certificate(Path(workload_folder), Path(plan_folder))
    if "tree" in proof.files:
        bound = proof.cases(iter([row["pair"] for row in proof.files["tree"]]))
    else:
        first = proof.edges[: proof.one.get("first_links", 0)] + proof.files.get("start", [])
        bound = proof.case([(row["u"], row["v"]) for row in first])
    bound = min(bound, *proof.by_sizes()) * (1 + 1e-10)
    is_whole = bound < 2**50 and all(weight == int(weight) for weight in proof.weight)
    return float(floor(bound)) if is_whole else bound
