"""A third party's check of a provisioning's bound: files in, a number out, and no fanwise."""

import heapq
import json
import math
from functools import reduce
from itertools import product
from operator import add, itemgetter
from pathlib import Path

import pyarrow.parquet as pq
from tests.oracles import certificate_provision_leaves as leaves

TOLERANCE, ROUNDING, CONNECTIONS = 1e-9, 1e-13, "max_connections"
add_up = lambda numbers: reduce(add, numbers, 0.0)  # noqa: E731  newer sum()s round otherwise


def proven_bound(workload, plan):
    """Return the money that every plan costs at least, by the certificate of this one."""
    if (Path(plan) / "proof" / "leaves.parquet").exists():
        return leaves.proven_bound(workload, plan)
    read = lambda *path: pq.read_table(Path(*path)).to_pylist()  # noqa: E731
    period = json.loads((Path(workload) / "workload.json").read_text())["period_seconds"]
    asked = json.loads((Path(plan) / "plan.json").read_text())["parameters"]
    topics = sorted(read(workload, "topics.parquet"), key=itemgetter("topic"))
    people = sorted(read(workload, "subscribers.parquet"), key=itemgetter("subscriber"))
    pairs = sorted(read(workload, "interests.parquet"), key=itemgetter("topic"))
    wants = [[one["topic"] for one in pairs if one["subscriber"] == v] for v in range(len(people))]
    rate = [one["rate"] for one in topics]
    need = [one["rate"] * (asked["message_bytes"] or one["bytes"]) for one in topics]
    catalogue, name = asked["catalog"] or leaves.BUILT_IN, asked["instance"]
    types = list(catalogue.values()) if name == "auto" else [catalogue[name]]
    kept = (1 - asked["reserve"]) * (1 + TOLERANCE)
    room = [kind["mbps"] * 125_000 * period * kept for kind in types]
    rents = [kind["usd_per_hour"] * asked["horizon_seconds"] / 3600 for kind in types]
    held = [[min(math.floor(most / size) - 1 if size else math.inf, kind.get(CONNECTIONS, math.inf))
             for most, kind in zip(room, types, strict=True)] for size in need]  # fmt: skip
    sharers = [max(1, *each) for each in held]  # how many pairs one copy is for, at most
    forced, others, lacks, fewest, tried = [], [], [], 0, 12 if len(pairs) <= 10_000 else 8
    for person, theirs in zip(people, wants, strict=True):
        tau = person["tau"] if asked["tau"] == "column" else asked["tau"]
        enough = min(tau, add_up(rate[t] for t in theirs)) * (1 - TOLERANCE)
        enough = math.ceil(enough) if all(one == int(one) for one in rate) else enough
        used = [t for t in theirs if enough > 0 and 2 * need[t] <= max(room)]
        spare = max(add_up(rate[t] for t in used) * (1 + ROUNDING) - enough, 0)
        forced.append([t for t in used if rate[t] > spare])
        others.append([t for t in used if rate[t] <= spare])
        left = enough - add_up(rate[t] for t in forced[-1])
        lacks.append(left if left > ROUNDING * enough else 0)
        largest, missing = sorted(rate[t] for t in used), enough
        while missing > 1e-12 * enough and largest:
            fewest, missing = fewest + 1, missing - largest.pop()
    num_forced, followers = ([sum(t in one for one in lists) for t in range(len(rate))]
                             for lists in (forced, wants))  # fmt: skip

    def traffic(kind, in_price, out_price):
        file = Path(plan) / "proof" / f"{kind}_topics.parquet"
        if not file.exists():
            return 0.0
        even = {one["topic"]: one["even"] for one in read(file)}
        weights = {t: {} for t in even if not even[t]}
        for one in read(plan, "proof", f"{kind}_shares.parquet"):
            weights[wants[one["subscriber"]][one["place"]]][one["subscriber"]] = one["weight"]

        def price(v, t):
            share = 1 / min(followers[t], sharers[t]) if even.get(t) else 0
            if v in weights.get(t, ()):
                largest = sorted(weights[t].values(), reverse=True)
                share = weights[t][v] / max(sum(largest[: int(min(sharers[t], len(pairs)))]), 1)
            return (out_price + share * in_price) * need[t]

        paid = sum(math.ceil(num_forced[t] / sharers[t]) * in_price * need[t]
                   for t in range(len(rate)) if t not in even)  # fmt: skip
        for v, theirs in enumerate(others):
            paid += cover([(rate[t], price(v, t)) for t in theirs], lacks[v], tried)
            paid += sum(price(v, t) for t in forced[v])
        return paid * (1 - 2.0**-52 * len(pairs))

    in_price, out_price = (asked[f"price_gb_{way}"] / 1e9 * asked["horizon_seconds"] / period
                           for way in ("in", "out"))  # fmt: skip
    by_byte = min(rent / most * (1 + TOLERANCE) for rent, most in zip(rents, room, strict=True))
    least = traffic("bytes", 1.0, 1.0)
    money = in_price * least if in_price == out_price else traffic("money", in_price, out_price)
    widest = max(range(len(rate)), key=lambda t: num_forced[t] / sharers[t], default=0)
    demands = [(least, room), *([(num_forced[widest], held[widest])] if rate else [])]
    for limit, amount in ((CONNECTIONS, fewest), ("max_topics", sum(map(bool, num_forced)))):
        demands += [(amount, [k[limit] for k in types])] if all(limit in k for k in types) else []
    rent = max(min(rents), *(cheapest(rents, rooms, amount) for amount, rooms in demands))
    with_rent = traffic("together", in_price + by_byte, out_price + by_byte) * (1 - TOLERANCE)
    return max(rent + money, with_rent) if any(lacks) or any(forced) else 0.0


# The least price of (rate, price) with enough events: all choices of the largest, then fractions.
def cover(items, lacks, tried):
    best = min((price for rate, price in items if rate >= lacks > 0), default=math.inf)
    small = sorted((-rate, price) for rate, price in items if rate < lacks)
    rest = sorted((price / -rate, -rate) for rate, price in small[tried:])
    for taken in product((0, 1), repeat=min(tried, len(small))):
        missing = lacks + sum(rate for yes, (rate, _) in zip(taken, small, strict=False) if yes)
        paid = sum(price for yes, (_, price) in zip(taken, small, strict=False) if yes)
        for ratio, rate in rest if paid < best else ():
            paid, missing = paid + ratio * max(min(rate, missing), 0), missing - rate
        best = min(best, paid) if missing <= 0 else best
    return best if best < math.inf and lacks > 0 else 0.0


# The least rent of machines with this much room, any number of each type.
def cheapest(rents, rooms, amount):
    queue, most = [(0.0, 0.0)], -1.0
    while queue and queue[0][1] < amount * (1 - TOLERANCE):
        paid, has = heapq.heappop(queue)
        if has > most:
            most = has
            for rent, each in zip(rents, rooms, strict=True):
                heapq.heappush(queue, (paid + rent, has + max(each, 0)))
    return queue[0][0] if queue else 0.0
