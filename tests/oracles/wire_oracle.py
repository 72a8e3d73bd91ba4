"""Plain-Python twin of wire: costs by their definition, and each algorithm step by step.

An instance has ``rates[user][channel]``, ``wants[user][channel]``, ``access[user][broker]``,
``core[broker][broker]`` and ``capacity[broker]`` (None: unlimited), all as lists.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Facts:
    """An instance with what follows from it, whatever the attachment."""

    rates: list
    wants: list
    access: list
    core: list
    capacity: list
    demand: list
    is_tree: bool = False

    @property
    def users(self):
        return range(len(self.rates))

    @property
    def brokers(self):
        return range(len(self.core))

    @property
    def channels(self):
        return range(len(self.rates[0]) if self.rates else 0)


def facts_of(made, is_tree=False):
    users = range(len(made.rates))
    channels = range(len(made.rates[0]) if made.rates else 0)
    others = [[sum(made.wants[j][c] for j in users if j != p) for c in channels] for p in users]
    rates = [[made.rates[p][c] if others[p][c] else 0.0 for c in channels] for p in users]
    demand = []
    for i in users:
        received = sum(rates[j][c] for c in channels if made.wants[i][c] for j in users if j != i)
        demand.append(received + sum(rates[i]))
    capacity = made.capacity or [math.inf] * len(made.core)
    return Facts(rates, made.wants, made.access, closed(made.core), capacity, demand, is_tree)


def closed(core):
    """Cheapest ways, where some link is dearer than one."""
    count = len(core)
    ways = [list(row) for row in core]
    for m, a, b in product(range(count), repeat=3):
        ways[a][b] = min(ways[a][b], ways[a][m] + ways[m][b])
    dearer = any(
        ways[a][b] < core[a][b] * (1 - TOLERANCE) for a, b in product(range(count), repeat=2)
    )
    return ways if dearer else core


def spanning_tree(brokers, core):
    """Kruskal's algorithm, links by (cost, ids)."""
    brokers = sorted(brokers)
    part = {b: b for b in brokers}
    links = []
    for _, a, b in sorted((core[a][b], a, b) for a in brokers for b in brokers if a < b):
        if part[a] != part[b]:
            old, new = part[a], part[b]
            part = {v: new if at == old else at for v, at in part.items()}
            links.append((a, b))
    return links


def needed_part(links, brokers):
    """Cut leaves off a tree as long as they are none of some brokers."""
    links = list(links)
    while True:
        ends = [b for link in links for b in link]
        idle = [link for link in links
                if any(ends.count(b) == 1 and b not in brokers for b in link)]  # fmt: skip
        if not idle:
            return links if len(brokers) > 1 else []
        links.remove(idle[0])


def links_between(facts, brokers):
    if not facts.is_tree:
        return spanning_tree(brokers, facts.core)
    return needed_part(spanning_tree(facts.brokers, facts.core), brokers)


def link_traffic(facts, attached):
    """What each link carries: each message of each publisher crosses each of its links once."""
    traffic: dict = {}
    for p in facts.users:
        for c in facts.channels:
            if facts.rates[p][c] > 0:
                ends = {attached[j] for j in facts.users if j != p and facts.wants[j][c]}
                for link in links_between(facts, ends | {attached[p]}):
                    traffic[link] = traffic.get(link, 0.0) + facts.rates[p][c]
    return traffic


def cost_of(facts, attached):
    """Return C1 and C2."""
    access = sum(facts.demand[i] * facts.access[i][attached[i]] for i in facts.users)
    carried = link_traffic(facts, attached)
    return access, sum(carried[a, b] * facts.core[a][b] for a, b in sorted(carried))


def loads_of(facts, attached):
    return [sum(facts.demand[i] for i in facts.users if attached[i] == b) for b in facts.brokers]


def fits(facts, load, broker):
    return load <= facts.capacity[broker] * (1 + TOLERANCE)


def optimum(facts):
    """The least cost of any attachment within capacities, or None."""
    best = None
    for attached in product(facts.brokers, repeat=len(facts.rates)):
        loads = loads_of(facts, attached)
        if all(fits(facts, loads[b], b) for b in facts.brokers):
            cost = sum(cost_of(facts, attached))
            best = cost if best is None else min(best, cost)
    return best


def _place(facts, load, user, worth):
    """The broker with room of least worth, else the one with most room."""
    able = [b for b in facts.brokers if fits(facts, load[b] + facts.demand[user], b)]
    if able:
        return min(able, key=worth)
    return max(facts.brokers, key=lambda b: (facts.capacity[b] - load[b], -b))


def packing(facts):
    load = [0.0] * len(facts.core)
    attached = []
    for i in facts.users:
        b = _place(facts, load, i, lambda b, i=i: (facts.access[i][b], b))
        attached.append(b)
        load[b] += facts.demand[i]
    return attached


def between(facts, i, j):
    return sum(
        facts.rates[i][c] * facts.wants[j][c] + facts.rates[j][c] * facts.wants[i][c]
        for c in facts.channels
    )


def _ratio(traffic, cost):
    if traffic <= 0:
        return 0.0
    return traffic / cost if cost > 0 else math.inf


def clustering(facts):
    attached = [-1] * len(facts.rates)
    for b in facts.brokers:
        left = [i for i in facts.users if attached[i] < 0]
        pairs = [
            (-_ratio(between(facts, i, j), facts.access[i][b] + facts.access[j][b]), i, j)
            for i in left
            for j in left
            if i < j and fits(facts, facts.demand[i] + facts.demand[j], b)
        ]
        if pairs and min(pairs)[0] < 0:
            _, i, j = min(pairs)
            attached[i] = attached[j] = b
    for i in facts.users:
        if attached[i] < 0:
            load = loads_of(facts, attached)

            def worth(b, i=i):
                here = sum(between(facts, i, j) for j in facts.users if attached[j] == b)
                return (-_ratio(here, facts.access[i][b]), facts.access[i][b], b)

            attached[i] = _place(facts, load, i, worth)
    return attached


def grow(facts, users, source):
    """Alg. 3 read like Prim's: return the broker of each user in a tree from one of them."""
    ways = [
        (facts.access[source][a] + facts.core[a][b] + facts.access[v][b], v, b, a)
        for v in users
        if v != source
        for a in facts.brokers
        for b in facts.brokers
    ]
    if not ways:
        return {source: min(facts.brokers, key=lambda b: facts.access[source][b])}
    _, first, b, a = min(ways)
    found = {source: a, first: b}
    while len(found) < len(users):
        tree = set(found.values())
        _, v, b = min(
            (min(facts.core[r][b] for r in tree) + facts.access[v][b], v, b)
            for v in users
            if v not in found
            for b in facts.brokers
        )
        found[v] = b
    return found


def mixing_weights(facts, per_publisher):
    weight = [[0.0] * len(facts.core) for _ in facts.rates]
    for c in facts.channels:
        total = sum(facts.rates[i][c] for i in facts.users)
        if total <= 0:
            continue
        if not per_publisher:
            users = [i for i in facts.users if facts.rates[i][c] > 0 or facts.wants[i][c]]
            source = max(users, key=lambda i: (facts.rates[i][c], -i))
            for i, b in grow(facts, users, source).items():
                received = (total - facts.rates[i][c]) * facts.wants[i][c]
                weight[i][b] += facts.rates[i][c] + received
            continue
        for p in facts.users:
            if facts.rates[p][c] > 0:
                users = [i for i in facts.users if i == p or facts.wants[i][c]]
                for i, b in grow(facts, users, p).items():
                    weight[i][b] += facts.rates[p][c]
    return weight


def steiner_mixing(facts, draws, per_publisher=False):
    """``draws``: a number in [0, 1) for each user."""
    weight = mixing_weights(facts, per_publisher)
    load = [0.0] * len(facts.core)
    attached = []
    for i in facts.users:
        able = [b for b in facts.brokers
                if weight[i][b] > 0 and fits(facts, load[b] + facts.demand[i], b)]  # fmt: skip
        if able:
            mark, total = draws[i] * sum(weight[i][b] for b in able), 0.0
            for b in able:
                total += weight[i][b]
                if total > mark:
                    break
        else:
            b = _place(facts, load, i, lambda b, i=i: (facts.access[i][b], b))
        attached.append(b)
        load[b] += facts.demand[i]
    return attached


def migration(facts, start):
    attached = list(start)
    order = sorted(facts.users, key=lambda i: (-facts.demand[i], i))

    def prices(i):
        now = sum(cost_of(facts, attached))
        load = loads_of(facts, attached)
        for b in facts.brokers:
            if b != attached[i] and fits(facts, load[b] + facts.demand[i], b):
                moved = [b if j == i else at for j, at in enumerate(attached)]
                yield sum(cost_of(facts, moved)) - now, b

    for i in order:
        load = loads_of(facts, attached)
        if facts.demand[i] > 0 and not fits(facts, load[attached[i]], attached[i]):
            attached[i] = min(prices(i), default=(0, attached[i]))[1]
    moved = True
    while moved:
        moved = False
        for i in order:
            change, b = min(prices(i), default=(0, -1))
            if change < -1e-12 * sum(cost_of(facts, attached)):
                attached[i] = b
                moved = True
    return attached
