"""A third party's check of trees and of the leaves of a search, given what else was read."""

from functools import cache

import numpy as np


def kruskal(core, members, is_allowed=lambda a, b: True):
    """What the links cost that join brokers, the cheapest first."""
    part, costs = {b: b for b in members}, []
    for cost, a, b in sorted((core[a, b], a, b) for a in part for b in part if a < b):
        if part[a] != part[b] and is_allowed(a, b):
            part = {v: part[b] if at == part[a] else at for v, at in part.items()}
            costs.append(cost)
    return costs


def tree_from(core, root, size, radius):
    """What a tree over so many brokers costs at least, by links near enough to its root."""
    near = kruskal(
        core, range(len(core)), lambda a, b: core[root, [a, b]].min() + core[a, b] <= radius
    )
    return min(radius, sum(near[: size - 1]) if len(near) >= size - 1 else np.inf)


def one_tree(core):
    links = set()
    kruskal(core, range(len(core)), lambda a, b: not links.add((a, b)))
    return links


def least_leaf(facts, proof, dear, off):
    """The least bound of any leaf; nodes come level by level, children by the ids of brokers."""
    links, brokers = one_tree(facts.core), range(len(facts.core))
    order = [row["subscriber"] for row in proof["order"]]

    @cache
    def cost(members):  # infinite where the one tree needs other brokers in between
        costs = kruskal(facts.core, members, lambda a, b: facts.is_mesh or (a, b) in links)
        return sum(costs) if len(costs) >= len(members) - 1 else np.inf

    @cache
    def least(members, size):  # of all sets that hold these brokers and are large enough
        more = [least(members | {b}, size) for b in brokers if b not in members]
        return min([cost(members)] * int(len(members) >= size) + more)

    def bound(chosen):
        here, rest = order[: len(chosen)], order[len(chosen) :]
        plain, priced = (
            facts.demand[here] @ of[here, chosen] + facts.demand[rest] @ of[rest].min(axis=1)
            for of in (facts.access, dear)
        )
        total = max(plain, priced - off) if rest else plain
        for c, size in enumerate(facts.needed):
            known = frozenset(b for i, b in zip(here, chosen, strict=True) if facts.wants[i, c])
            for i, b in zip(here, chosen, strict=True):
                if facts.rates[i, c] > 0:
                    is_final = facts.is_mesh and not rest
                    spanned = known | {b}
                    tree = cost(spanned) if is_final else least(spanned, size if rest else 0)
                    total += facts.rates[i, c] * tree
            total += facts.rates[rest, c].sum() * least(known, size)
        return total

    marks, level, found = iter(proof["nodes"]), [()], [np.inf]
    for depth, user in enumerate(order):
        branched = [
            node for node in level if next(marks)["is_branched"] or found.append(bound(list(node)))
        ]
        level = []
        for node in branched:
            load = np.bincount(np.array(node, int), facts.demand[order[:depth]], len(brokers))
            fits = load + facts.demand[user] <= facts.room
            level += [(*node, b) for b in brokers if fits[b]]
    return min(found + [bound(list(node)) for node in level])
