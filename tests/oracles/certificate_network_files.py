"""What a third party reads before any mathematics of overlays: who wants what, and the limits."""

from collections import defaultdict
from itertools import combinations
from math import dist, inf

from tests.oracles.certificate_files import TOLERANCE, read_plan, rows


def read_network(workload, plan):
    """Return by name: the tables, topics with weights and nodes, sizes, limits, costs of pairs."""
    given, files = read_plan(plan)
    people, topics = rows(workload, "subscribers"), rows(workload, "topics")
    weight = [row["rate"] if given["topic_weight"] == "rate" else 1.0 for row in topics]
    wants, size, largest = defaultdict(list), [0.0] * len(people), len(people) - 1
    for row in sorted(rows(workload, "interests"), key=lambda row: row["subscriber"]):
        wants[row["topic"]].append(row["subscriber"])
        size[row["subscriber"]] += weight[row["topic"]]
    most, links, money = (given[f"max_{name}"] for name in ("degree", "edges", "link_cost"))
    limits = [row["max_degree"] if most == "column" else most for row in people]
    common = {pair for nodes in wants.values() for pair in combinations(nodes, 2)}
    place = [[row[k] for k in row if k[:4] == "net_" and given["link_cost"]] for row in people]
    return {
        "files": files,
        "weight": weight,
        "wants": wants,
        "size": size,
        "limit": [min(most, largest) if most is not None else largest for most in limits],
        "links": min(largest * len(people) // 2, inf if links is None else links),
        "money": inf if money is None else money * (1 + TOLERANCE),
        "common": common,
        "cost": {(u, v): dist(place[u], place[v]) for u, v in common},
    }
