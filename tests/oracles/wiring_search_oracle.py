"""Every attachment of a tiny wiring problem, priced by the definitions."""

from __future__ import annotations

import math
from itertools import combinations, product

TOLERANCE = 1e-9


def closure(costs):
    """Cheapest ways between brokers."""
    n = range(len(costs))
    ways = [list(row) for row in costs]
    for k, i, j in product(n, n, n):
        ways[i][j] = min(ways[i][j], ways[i][k] + ways[k][j])
    return ways


def spanning_tree(ways, members):
    """Links of the minimum spanning tree of a set of brokers, ties by ids (Kruskal)."""
    group = {b: b for b in members}
    links = []
    for _, one, two in sorted((ways[a][b], a, b) for a, b in combinations(sorted(members), 2)):
        if group[one] != group[two]:
            links.append((one, two))
            old, new = group[one], group[two]
            group = {b: new if g == old else g for b, g in group.items()}
    return links


def pruned(links, members):
    """The least part of a tree that holds some brokers: leaves outside of them are cut."""
    links = list(links)
    while True:
        ends = [b for link in links for b in link]
        bare = [
            link for link in links if any(ends.count(b) == 1 and b not in members for b in link)
        ]
        if not bare:
            return links
        links.remove(bare[0])


def tree_cost(ways, members, is_tree):
    """What a message costs between brokers that must reach all of them."""
    if is_tree:
        links = pruned(spanning_tree(ways, range(len(ways))), set(members))
    else:
        links = spanning_tree(ways, members)
    return sum(ways[a][b] for a, b in links)


def useful_rates(rates, wants):
    """Rates by [user][channel], 0 where nobody else wants the channel."""
    users = range(len(rates))
    return [
        [g if any(wants[j][c] for j in users if j != i) else 0.0 for c, g in enumerate(rates[i])]
        for i in users
    ]


def demands(rates, wants):
    """b_in + b_out of each user."""
    users = range(len(rates))
    kept = useful_rates(rates, wants)
    return [
        sum(kept[i])
        + sum(kept[j][c] for j in users if j != i for c, mine in enumerate(wants[i]) if mine)
        for i in users
    ]


def cost(rates, wants, access, ways, attachment, is_tree=False):
    """C1 and C2 of one attachment."""
    users = range(len(rates))
    c1 = sum(d * access[i][attachment[i]] for i, d in enumerate(demands(rates, wants)))
    c2 = 0.0
    for p, row in enumerate(useful_rates(rates, wants)):
        for c, g in enumerate(row):
            if g > 0:
                others = {attachment[j] for j in users if j != p and wants[j][c]}
                c2 += g * tree_cost(ways, others | {attachment[p]}, is_tree)
    return c1, c2


def feasible_costs(rates, wants, access, core, capacity, is_tree=False):
    """(C1, C2, attachment) of every attachment within capacity."""
    ways, needs = closure(core), demands(rates, wants)
    for attachment in product(range(len(capacity)), repeat=len(rates)):
        load = [0.0] * len(capacity)
        for i, b in enumerate(attachment):
            load[b] += needs[i]
        if all(used <= limit * (1 + TOLERANCE) for used, limit in zip(load, capacity, strict=True)):
            yield (*cost(rates, wants, access, ways, attachment, is_tree), attachment)


def least_tree(ways, root, size):
    """The cheapest tree over a broker and others, so many or more in all."""
    brokers = range(len(ways))
    best = math.inf
    for count in range(size, len(ways) + 1):
        for members in combinations(brokers, count):
            if root in members:
                best = min(best, tree_cost(ways, members, False))
    return best


def least_star(ways, access, root):
    """The cheapest tree of brokers from a root with all users hanging on it."""
    brokers = range(len(ways))
    best = math.inf
    for count in range(1, len(ways) + 1):
        for members in combinations(brokers, count):
            if root in members:
                links = sum(min(row[b] for b in members) for row in access)
                best = min(best, links + tree_cost(ways, members, False))
    return best
