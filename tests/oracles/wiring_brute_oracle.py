"""The least cost of any wiring that keeps the capacities: every attachment, by the definition."""

from __future__ import annotations

import math
from itertools import product


def cheapest_ways(core):
    """Costs, or those of the cheapest ways where one is cheaper than its link."""
    count = len(core)
    ways = [list(row) for row in core]
    for m, a, b in product(range(count), repeat=3):
        ways[a][b] = min(ways[a][b], ways[a][m] + ways[m][b])
    pairs = product(range(count), repeat=2)
    return ways if any(ways[a][b] < core[a][b] * (1 - 1e-9) for a, b in pairs) else core


def tree_links(core, members):
    """Kruskal's algorithm, links by (cost, ids)."""
    part = {b: b for b in members}
    links = []
    for _, a, b in sorted((core[a][b], a, b) for a in members for b in members if a < b):
        if part[a] != part[b]:
            old, new = part[a], part[b]
            part = {v: new if at == old else at for v, at in part.items()}
            links.append((a, b))
    return links


def tree_cost(core, members, is_tree):
    """What a tree over brokers costs; on the one tree of all brokers, its part between them."""
    if len(members) < 2:
        return 0.0
    if not is_tree:
        return sum(core[a][b] for a, b in tree_links(core, members))
    links = tree_links(core, set(range(len(core))))
    total = 0.0
    for cut in links:
        side, grown = {cut[0]}, True
        while grown:
            grown = {b for link in links if link != cut and side & set(link) for b in link} - side
            side |= grown
        if members & side and members - side:
            total += core[cut[0]][cut[1]]
    return total


def optimum(rates, wants, access, core, capacity, is_tree):
    """Return the least C1 + C2, or None where no attachment keeps the capacities."""
    users, brokers = range(len(rates)), range(len(core))
    channels = range(len(rates[0]) if rates else 0)
    sent = [[rates[p][c] if any(wants[j][c] for j in users if j != p) else 0.0 for c in channels]
            for p in users]  # fmt: skip
    demand = [
        sum(sent[i]) + sum(sent[j][c] for c in channels if wants[i][c] for j in users if j != i)
        for i in users
    ]
    ways, known = cheapest_ways(core), {}
    best = None
    for attached in product(brokers, repeat=len(rates)):
        load = [0.0] * len(core)
        for i in users:
            load[attached[i]] += demand[i]
        if any(load[b] > capacity[b] * (1 + 1e-9) for b in brokers):
            continue
        cost = math.fsum(demand[i] * access[i][attached[i]] for i in users)
        for c in channels:
            members = frozenset(attached[j] for j in users if wants[j][c])
            for p in users:
                if sent[p][c] > 0:
                    spanned = members | {attached[p]}
                    if spanned not in known:
                        known[spanned] = tree_cost(ways, set(spanned), is_tree)
                    cost += sent[p][c] * known[spanned]
        best = cost if best is None else min(best, cost)
    return best
