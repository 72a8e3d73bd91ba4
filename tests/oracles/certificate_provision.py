"""A third party's check of a provisioning's bound: files in, a number out, and no fanwise."""

from functools import cache
from itertools import product
from math import ceil, inf

import numpy as np
from tests.oracles.certificate_files import TOLERANCE, read_provisioning

GRID = 5040


def proven_bound(workload, plan):
    """Return the money that every plan costs at least, by the certificate of this one."""
    q, proof = read_provisioning(workload, plan)
    if "leaves" in proof:
        return least_of_leaves(q, proof["leaves"])
    if not q.enough.any():
        return 0.0
    spare = np.maximum((q.used @ q.rate) * (1 + 1e-13) - q.enough, 0)
    forced = q.used & (q.rate > spare[:, None])
    num_forced, num_pairs = forced.sum(axis=0), q.wants.sum()
    beside = [np.minimum(q.room // n - 1 if n else inf, q.max_pairs) for n in q.copy]
    held = np.maximum(np.max(beside, axis=1), 1)  # pairs that one copy is for, at most

    def traffic(name, price_in, price_out, size=q.copy):
        if f"{name}_even" not in proof:
            return 0.0
        weight = np.zeros(q.wants.shape)
        for row in proof[f"{name}_even"]:
            weight[:, row["topic"]] = q.wants[:, row["topic"]]
        for row in proof[f"{name}_shares"]:
            topic = np.flatnonzero(q.wants[row["subscriber"]])[row["place"]]
            weight[row["subscriber"], topic] = row["weight"]
        is_counted = np.arange(len(weight))[:, None] < held
        most = (np.sort(weight, axis=0)[::-1] * is_counted).sum(axis=0)
        price = (price_out + price_in * weight / np.maximum(most, 1)) * size
        copies = np.where(most > 0, 0, np.ceil(num_forced / held))  # of topics nobody shares
        total = price_in * (copies @ size) + price[forced].sum()
        lacks, tried = q.enough - forced @ q.rate, 12 if num_pairs <= 10_000 else 8
        for v in np.flatnonzero(lacks > 1e-13 * q.enough):
            others = q.used[v] & ~forced[v]
            total += cover(q.rate[others], price[v, others], lacks[v], tried)
        return total * (1 - 2.0**-52 * num_pairs)

    least_bytes, by_byte = traffic("bytes", 1, 1), (q.rent / q.room).min() * (1 + TOLERANCE)
    together = traffic("together", q.price_in + by_byte, q.price_out + by_byte)
    money = traffic("bytes" if q.price_in == q.price_out else "money", q.price_in, q.price_out)
    pairs = [cover(q.rate[own], np.ones(own.sum()), q.enough[v], 0) for v, own in enumerate(q.used)]
    widest = np.argmax(num_forced / held)
    counted, listed = q.copy.astype(float), proof.get("counted_sizes", [])
    for row in listed:
        counted[row["topic"]] = row["bytes"]
    topics = [row["topic"] for row in listed]
    loads = np.array([load(q, counted, topics, room) for room in q.room])
    rooms = q.room, beside[widest], q.max_pairs, q.max_topics, loads
    amounts = least_bytes, num_forced[widest], np.ceil(pairs).sum(), (num_forced > 0).sum()
    amounts = (*amounts, traffic("counted", 1, 1, counted))
    demands = zip(rooms, np.multiply(amounts, 1 - TOLERANCE), strict=True)
    rents = [cheapest(q.rent, *demand) for demand in demands]
    return max(max(q.rent.min(), *rents) + money, together * (1 - TOLERANCE))


def cover(rate, price, lacks, tried):
    """Return the least price of enough events: any choice of the largest, fractions of others."""
    order = np.lexsort((price, -rate))[(rate >= lacks).sum() :]
    large, small = order[:tried], order[tried:]
    small = small[np.argsort(price[small] / rate[small])]
    choices = np.array(list(product((0, 1), repeat=len(large))))
    events, paid = (np.cumsum([0, *of[small]]) for of in (rate, price))
    filled = np.interp(lacks - choices @ rate[large], events, paid, right=inf)
    return min(price[rate >= lacks].min(initial=inf), (choices @ price[large] + filled).min())


def load(q, counted, topics, room):
    """Return what a machine's load counts as at most: copies of some topics, bytes of others."""
    best = np.zeros(GRID + 1)
    for t in topics:
        step, was = int(q.copy[t] / room * GRID), best.copy()
        most = min(room / q.copy[t] * (1 + 1e-12), GRID // step, q.wants[:, t].sum() + 1)
        for n in range(2, int(most) + 1):
            more = was[: GRID + 1 - n * step] + n * counted[t]
            best[n * step :] = np.maximum(best[n * step :], more)
    return (best + room * (1 - np.arange(GRID + 1) / GRID)).max() * (1 + 1e-12)


def cheapest(rents, rooms, amount):
    """Return the least rent of machines with room for an amount, any number of each type."""
    if not len(rents):
        return inf if amount > 0 else 0.0
    room = min(rooms[0], amount)
    counts = range(1 + ceil(amount / room) if room > 0 else 1)
    return min(n * rents[0] + cheapest(rents[1:], rooms[1:], amount - n * room) for n in counts)


def least_of_leaves(q, table):
    """Return the price of the cheapest leaf, after a look whether leaves cover every case."""
    leaves = np.zeros((1 + max(row["leaf"] for row in table), len(q.rate)), dtype=int)
    for row in table:
        leaves[row["leaf"], row["topic"]] = row["pairs"]
    cases = np.zeros((1, len(q.rate)), dtype=int)
    for used, enough in zip(q.used, q.enough, strict=True):
        choices = np.array(list(product(*((0, 1) if is_used else (0,) for is_used in used))))
        covers = choices[choices @ q.rate >= enough * (1 - 1e-12)]
        grown = np.unique((cases[:, None] + covers).reshape(-1, len(q.rate)), axis=0)
        cases = grown[~(grown[:, None] >= leaves).all(axis=2).any(axis=1)]
    assert not len(cases), "some way to satisfy everybody is in no leaf"

    @cache
    def pack(pairs):  # the least price of machines for so many: one, and those for the rest
        loads = np.array(list(product(*(range(count + 1) for count in pairs))))[1:]
        copies, topics, total = (loads > 0) @ q.copy, (loads > 0).sum(axis=1), loads.sum(axis=1)
        fits = (copies + loads @ q.copy)[:, None] <= q.room  # loads by types
        fits &= (topics[:, None] <= q.max_topics) & (total[:, None] <= q.max_pairs)
        rent = np.where(fits, q.rent, inf).min(axis=1)
        rest = [pack(tuple(left)) for left in pairs - loads]
        return (rent + q.price_in * copies + rest).min() if any(pairs) else 0.0

    return min(pack(tuple(leaf)) + q.price_out * (leaf @ q.copy) for leaf in leaves)
