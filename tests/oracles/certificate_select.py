"""A third party's check of a selection's bound: files in, a number out, and no fanwise."""

from math import floor, inf

import numpy as np
from tests.oracles.certificate_files import TOLERANCE, column, read_selection

ENOUGH = 1 - 1e-9 - 1e-12


def proven_bound(workload, plan):
    """Return the satisfaction that no selection exceeds, by the certificate of this one."""
    q, proof = read_selection(workload, plan)
    rule = proof["rule"][0]["rule"] if "rule" in proof else None
    changes = column(proof.get("changes", []), "price")
    if rule == "paper":
        return bound_of_the_paper(q)
    if "tree" in proof:
        tree = [row["topic"] for row in proof["tree"]]
        prices = column(proof["leaves"], "price").reshape(tree.count(-1), len(q.weight))
        leaves = zip(prices, [*changes, *[0.0] * len(prices)], strict=False)
        bound = max(0.0, walk(q, iter(tree), leaves, q.pinned, q.excluded))
    else:
        table = proof.get("prices", [])
        prices = column(table, "price") if table else q.weight * (rule == "alone")
        sets = stored_sets(q, table, proof.get("sets", []))
        together = [row["topic"] for row in proof.get("together", [])]
        bound = bound_of_case(q, prices, sum(changes), sets, q.pinned, q.excluded, together)
    is_whole = q.is_binary and "weight" not in (q.people[0] if q.people else {})
    return floor(bound * (1 + TOLERANCE)) if is_whole else bound


def bound_of_the_paper(q):
    """Return how many can be satisfied if each pays for its least events alone (Alg. 3)."""
    least = np.where(q.wants, q.rate, inf).min(axis=1, initial=inf)
    paid = np.cumsum(np.sort(np.maximum(q.needs, least)[q.needs > 0]))
    return int((paid <= q.capacity / ENOUGH).sum()) + (not q.is_binary)


def stored_sets(q, table, masks):
    """Return the sets of each subscriber, by subscriber and topic, and the share of each."""
    bits = np.zeros(q.wants.shape, dtype=int)
    bits[q.wants] = column(masks, "sets") if masks else 0
    parts = [column(table, f"part_{k}") for k in range(len(table[0]) - 1 if table else 0)]
    parts = np.array([*parts, np.zeros(len(bits))])
    parts[0, parts.sum(axis=0) == 0] = 1
    shares = parts / parts.sum(axis=0)
    return [(share, bits >> k & 1 == 1) for k, share in enumerate(shares)]


def inequality(q, chosen):
    """Return constants and slopes: satisfaction <= constant + slopes of what is served."""
    enough, inside = (q.needs * ENOUGH)[:, None], q.wants & chosen
    enough = np.where(enough > 0, enough, 1)
    lack = enough - (inside @ q.rate)[:, None]
    if q.is_binary:
        slopes = np.minimum(1, q.rate / np.where(lack > 0, lack, inf)) * (q.wants & ~chosen)
        return (lack <= 0)[:, 0], slopes
    lack = np.maximum(lack, 0)
    last = np.maximum(0, 1 - ((q.wants @ q.rate)[:, None] - q.rate) / enough) * inside
    slopes = np.where(inside, last, np.minimum(q.rate, lack) / enough) * q.wants
    return np.maximum(0, 1 - (lack / enough)[:, 0] - last.sum(axis=1)), slopes


def least_cost(q, topics, lack):
    """Return what topics that carry so much cost at least, the last one taken in part."""
    total = 0.0
    for t in sorted(topics, key=lambda t: q.cost[t] / min(q.rate[t], lack)):
        share = min(1.0, lack / q.rate[t])
        total, lack = total + share * q.cost[t], lack - share * q.rate[t]
        if lack <= 0:
            return total
    return inf if lack > 1e-12 else total


def weights_within_reach(q, left, served, dropped):
    """Return what subscribers count, 0 for those that so much capacity cannot satisfy."""
    lacks = q.needs * ENOUGH - (q.wants & served) @ q.rate
    open_to = q.wants & ~served & ~dropped
    rows = zip(open_to, lacks, strict=True)
    least = [least_cost(q, np.flatnonzero(row), lack) if lack > 0 else 0.0 for row, lack in rows]
    return np.where(q.is_binary & (np.array(least) > left), 0.0, q.weight)


def bound_of_case(q, prices, change, sets, served, dropped, together=()):
    """Return what no selection exceeds that serves some topics and leaves out others."""
    left = q.capacity - q.cost[served].sum()
    dropped = dropped | ~served & (q.cost > left)
    switched = (served & ~q.was).sum() + (dropped & q.was).sum()
    most = inf if q.max_changes is None else q.max_changes
    if left < 0 or (served & dropped).any() or switched > most:
        return -inf
    assert ((prices >= 0) & (prices <= q.weight)).all(), "a price out of range"
    weight = weights_within_reach(q, left, served, dropped)
    prices = np.where(weight > 0, prices, 0.0)
    total = weight.sum() + change * ((q.max_changes or 0) - q.was.sum())
    total -= prices.sum()
    back, pay = np.zeros(len(prices)), np.zeros(q.wants.shape)
    for share, chosen in sets:
        constant, slopes = inequality(q, chosen)
        back, pay = back + prices * share * constant, pay + (prices * share)[:, None] * slopes
    profit = pay.sum(axis=0)
    for t in together:
        part = pay[:, t] / np.where(prices > 0, prices, 1)
        too = served | (np.arange(len(profit)) == t)
        most = part @ back + fill(q, part @ pay, left - q.cost[too & ~served].sum(), too, dropped)
        profit[t] = min(profit[t], most)
    profit += np.where(q.was, change, -change)
    return total + back.sum() + fill(q, profit, left, served, dropped)


def fill(q, profit, left, served, dropped):
    """Return the profit of what is served and of as much else as fits, the last in part."""
    total = profit[served].sum()
    free = np.flatnonzero(~served & ~dropped & (profit > 0))
    for t in free[np.argsort(q.cost[free] / profit[free])]:
        total += profit[t] * (1 if q.cost[t] <= left else max(0.0, left) / q.cost[t])
        left = max(0.0, left - q.cost[t])
    return total


def walk(q, tree, leaves, served, dropped):
    """Return the largest bound of any leaf of a tree in preorder, served sides first."""
    topic = np.arange(len(q.rate)) == next(tree)
    if not topic.any():
        return bound_of_case(q, *next(leaves), [(1.0, served)], served, dropped)
    sides = (served | topic, dropped), (served, dropped | topic)
    return max([walk(q, tree, leaves, *side) for side in sides])
