"""A third party's check of a bound on overlays: files in, a number out, and no fanwise."""

from collections import defaultdict
from itertools import combinations, product
from math import floor, fsum

from tests.oracles.certificate_network_files import read_network, rows


class Certificate:
    def __init__(self, workload, plan):
        self.__dict__ = read_network(workload, plan)
        self.share = {row["topic"]: row["share"] for row in self.files.get("topics", [])}
        self.price = {row["node"]: row["price"] for row in self.files.get("nodes", [])}
        self.one = self.files.get("budgets", [{"link_price": 0.0, "cost_price": 0.0}])[0]

    def forest(self, topic, links):
        """Return the parts of a topic that links make, and which of them joined what."""
        part, joins = {node: {node} for node in self.wants[topic]}, []
        for u, v in links:
            if u in part and v in part and part[u] is not part[v]:
                joins.append(((u, v), part[u], part[v]))
                both = part[u] | part[v]
                part.update(dict.fromkeys(both, both))
        return part, joins

    def pay(self, gains, spare, left, money):
        link, cost, price = self.one["link_price"], self.one["cost_price"], self.price.get
        above = (gains[u, v] - price(u, 0) - price(v, 0) - cost * self.cost[u, v] for u, v in gains)
        budgets = fsum(price * spare[node] for node, price in self.price.items()) + link * left
        return budgets + (cost * money if cost else 0.0) + fsum(max(0, g - link) for g in above)

    def case(self, links, closed=(), is_part=False):
        """Bound overlays on top of links, or (is_part) those with them and without the closed."""
        ends = [node for pair in links for node in pair] if is_part else []
        spare = [most - ends.count(node) for node, most in enumerate(self.limit)]
        left = self.links - len(links) * is_part
        money = self.money - fsum(self.cost[pair] for pair in links) if is_part else self.money
        if min([left, money, *spare]) < 0:
            return 0.0  # no overlay keeps the budgets
        worth, rest, gains, priced = 0.0, 0.0, defaultdict(float), defaultdict(float)
        for topic, nodes in self.wants.items():
            (part, joins), weight = self.forest(topic, links), self.weight[topic]
            share, free = self.share.get(topic, 0), {id(part[n]) for n in nodes if spare[n] > 0}
            most = min(max(len(free) - 1, 0), sum(spare[node] for node in nodes) // 2, left)
            worth, rest = worth + weight * len(joins), rest + (1 - share) * weight * most
            for u, v in combinations(nodes, 2):
                fits = min(left, spare[u], spare[v]) > 0 and self.cost[u, v] <= money
                if part[u] is not part[v] and (not is_part or (fits and (u, v) not in closed)):
                    gains[u, v] += weight
                    priced[u, v] += share * weight
        bound = worth + rest + self.pay(priced, spare, left, money)
        return min(bound, worth + fsum(sorted(gains.values())[::-1][:left])) if is_part else bound

    def trees(self, links):
        """Bound by shares on the joins of a spanning tree for each topic, first of links."""
        levels, gains, bound = iter(self.files["levels"]), defaultdict(float), 0.0
        for topic in sorted(self.wants):
            part, joins = self.forest(topic, links)
            heads = sorted({min(some) for some in part.values()})
            centre = max(heads, key=lambda node: (len(part[node]), -node))
            joins = [*(e for e, *_ in joins), *((centre, node) for node in heads if node != centre)]
            ranked = sorted((next(levels)["level"] / 255, e) for e in joins)
            grown = self.forest(topic, [e for _, e in ranked])[1]
            for (share, _), (_, one, other) in zip(ranked, grown, strict=True):
                bound += self.weight[topic] * (1 - share)
                for u, v in product(one, other):
                    gains[min(u, v), max(u, v)] += self.weight[topic] * share
        return bound + self.pay(gains, self.limit, self.links, self.money)

    def cases(self, order, links=(), closed=()):
        if (number := next(order)) < 0:
            return self.case(links, closed, is_part=True)
        pair = sorted(self.common)[number]
        ways = ((*links, pair), closed), (links, (*closed, pair))  # in this order
        return max(self.cases(order, *way) for way in ways)

    def by_sizes(self):
        yield fsum(size * most for size, most in zip(self.size, self.limit, strict=True)) / 2
        ranked = sorted((s for s, most in zip(self.size, self.limit, strict=True) if most))[::-1]
        yield fsum([size for i, size in enumerate(ranked) for _ in range(i)][: self.links])


def proven_bound(workload, plan):
    """Return the upper bound on mu that the certificate of a plan proves."""
    proof = Certificate(workload, plan)
    if "tree" in proof.files:
        bound = proof.cases(iter([row["pair"] for row in proof.files["tree"]]))
    else:
        first = rows(plan, "edges")[: proof.one.get("first_links", 0)]
        links = [(row["u"], row["v"]) for row in first + proof.files.get("start", [])]
        bound = proof.trees(links) if "levels" in proof.files else proof.case(links)
    bound = min(bound, *proof.by_sizes()) * (1 + 1e-10)
    is_whole = bound < 2**50 and all(weight == int(weight) for weight in proof.weight)
    return float(floor(bound)) if is_whole else bound
