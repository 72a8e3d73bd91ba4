"""A third party's check of the certificates of wirings, from the files alone."""

from functools import cache

import numpy as np
from tests.oracles.certificate_content_files import spread
from tests.oracles.certificate_wiring_files import read_wiring


def proven_bound(workload, plan):
    """Return what every wiring costs at least, by the certificate of this one."""
    q, proof = read_wiring(workload, plan)
    if not q.rates.size:
        return 0.0  # nobody, or nothing to want
    price = spread(proof["prices"], "broker", "price", np.zeros(len(q.core)))
    if "tree" in proof or "ways" in proof:
        return max(0.0, (least_leaf if "tree" in proof else pass_on)(q, price, proof))
    trees = np.array([[first_links(q, size) for size in q.needed]] * len(q.core))
    for row in proof["trees"]:
        here, least = row["broker"], first_links(q, row["brokers"], row["broker"], row["radius"])
        trees[here] = np.maximum(trees[here], (q.needed == row["brokers"]) * least)
    dear = q.access + price
    paid = q.load[:, None] * dear + q.rates @ trees.T
    if "gathering" in proof:
        part = spread(proof["gathering"], "channel", "part", np.ones(len(q.needed)))
        stars = [ascend(dear[who], part[c] * q.core) for c, who in enumerate(q.wants.T)]
        paid = q.rates @ (np.array(stars) + (1 - part)[:, None] * trees.T)
        paid += np.where(q.wants, 0.0, q.rates).sum(axis=1)[:, None] * dear
    return max(0.0, at_cheapest(q, price, paid))


def at_cheapest(q, price, paid):
    """Return what all users pay at least, each where that is least, less what prices take off."""
    return paid.min(axis=1).sum() - price[price > 0] @ q.room[price > 0]


def pass_on(q, price, proof):
    """Return what all users pay at least, who pass on in turn what they cost to their pairs."""
    users, outer = np.arange(len(q.load)), np.multiply.outer
    ways, kept = 0 * q.core, [0 * price]
    owed, told = np.zeros((len(users), len(users))), np.zeros((len(users), *q.access.shape))
    for sender, channel in np.argwhere(q.rates > 0):
        to = users[q.wants[:, channel] & (users != sender)]
        owed[sender, to] += q.rates[sender, channel] / len(to)
        owed[np.ix_(to, to)] += q.rates[sender, channel] / len(to) ** 2 / 2
    np.fill_diagonal(owed, 0.0)
    for row in proof["ways"]:
        ways[row["root"], row["broker"]] = row["price"]
    share = owed.sum(axis=1) / max(owed.sum(), 1e-300)
    alone = q.load[:, None] * (q.access + price + share[:, None] * np.diag(ways))
    alone -= np.outer(share, ways @ np.where(ways.any(axis=0), q.room, 0.0))
    for turn in range(2 * proof["pairs"][0]["rounds"]):
        order, kept = users[:: 1 - turn % 2 * 2], []
        for at, user in enumerate(order):
            cost = outer(owed[user] + owed[:, user], q.core * (1 - 1e-9)) - told[:, user, None]
            cost += outer(share[user] * q.load, ways) + outer(share * q.load[user], ways.T)
            told[user], told[user, user] = cost.min(axis=2), 0.0
            later, paid = order[at + 1 :], alone[user] + told[user].sum(axis=0)
            told[user, later] -= paid / max(at, len(later), 1)
            kept.append((1 - len(later) / max(at, len(later), 1)) * paid)
    return at_cheapest(q, price, np.array(kept))


def kruskal(q, is_allowed):
    """Return what the links cost that join brokers, the cheapest first, of those allowed."""
    part, costs = np.arange(len(q.core)), []
    for cost, a, b in sorted((q.core[a, b], a, b) for a in part for b in part if a < b):
        if part[a] != part[b] and is_allowed(a, b):
            part[part == part[a]] = part[b]
            costs.append(cost)
    return costs


def first_links(q, size, root=0, radius=np.inf):
    """Return what a tree over so many brokers costs at least, by links near enough to its root."""
    near = kruskal(q, lambda a, b: q.core[root, [a, b]].min() + q.core[a, b] <= radius)
    return min(radius, sum(near[: size - 1]) if len(near) >= size - 1 else np.inf)


def ascend(links, core):
    """Return what a tree to all users costs at least, from each broker, by dual ascent."""
    owed, is_raised = np.zeros(len(core)), True
    while is_raised:
        is_raised = False
        for mine in links:
            inside = mine <= 0
            for _ in core:
                inside = inside | (core[:, inside] <= 0).any(axis=1)
            if not inside[owed.argmin()]:
                cut, is_raised = np.ix_(~inside, inside), True
                least = min(mine[~inside].min(), core[cut].min(initial=np.inf))
                owed[~inside] += least
                mine[~inside] -= least
                core[cut] -= least
    return owed


def least_leaf(q, price, proof):
    """Return the least bound of any leaf of a search, given in preorder, brokers by their ids."""
    brokers, links, marks = range(len(q.core)), set(), iter(proof["tree"])
    kruskal(q, lambda a, b: not links.add((a, b)))  # the one tree of all brokers

    @cache
    def tree(members, size):  # the cheapest over these and maybe more, so many; -1: these alone
        joined = kruskal(q, lambda a, b: {a, b} <= members and (q.is_mesh or (a, b) in links))
        is_tree = len(members) >= size and len(joined) == len(members) - 1
        more = [tree(members | {b}, size) for b in brokers if size >= 0 and b not in members]
        return min([sum(joined) if is_tree else np.inf, *more])

    def bound(chosen):
        known = [frozenset(b for i, b in chosen.items() if who[i]) for who in q.wants.T]
        sizes = np.where(q.is_mesh and len(chosen) == len(q.load), -1, q.needed)
        trees = [[tree(has | {b}, n) for has, n in zip(known, sizes, strict=True)] for b in brokers]
        paid = q.load[:, None] * q.access + q.rates @ np.transpose(trees)
        for user, broker in chosen.items():
            paid[user, np.arange(len(brokers)) != broker] = np.inf
        return max(at_cheapest(q, of, paid + q.load[:, None] * of) for of in (price, 0 * price))

    def walk(chosen):
        if len(chosen) == len(q.load) or not next(marks)["is_branched"]:
            return bound(chosen)
        user = proof["order"][len(chosen)]["subscriber"]
        load = [q.load[[user, *(i for i in chosen if chosen[i] == b)]].sum() for b in brokers]
        open_to = np.flatnonzero((load <= q.room) & q.may[user])
        return min([walk({**chosen, user: b}) for b in open_to] + [np.inf])

    return walk({})
