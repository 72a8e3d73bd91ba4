"""The least money of all provisionings of a tiny instance, by trying everything.

Every cover of every subscriber, and every way to share the pairs out over machines: a machine is
told by how many pairs of each topic it holds, as pairs of a topic are alike. Whether something is
enough, or fits, is decided in exact arithmetic, with the tolerance of 1e-9 that plans are checked
with. Imports nothing from fanwise.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from math import inf

TOLERANCE = Fraction(1, 10**9)


def enough_sets(rates, topics, wanted):
    """Every set of topics that is enough, and is not without any one of them."""
    if wanted <= 0:
        return [()]
    least = wanted * (1 - TOLERANCE)
    found = []
    for size in range(1, len(topics) + 1):
        for some in combinations(topics, size):
            if sum(rates[t] for t in some) >= least and not any(
                set(other) <= set(some) for other in found
            ):
                found.append(some)
    return found


def reachable_counts(rates, interests, wanted, usable):
    """How many pairs each topic can have, in all, when everybody has enough and nothing more."""
    counts = {(0,) * len(rates)}
    for topics, least in zip(interests, wanted, strict=True):
        sets = enough_sets(rates, [t for t in topics if usable[t]], least)
        counts = {
            tuple(n + (t in some) for t, n in enumerate(count)) for count in counts for some in sets
        }
    return counts


def least_money(rates, needs, interests, wanted, types, price_in, price_out):
    """The least rent and traffic of all plans, or None if there is none.

    ``rates``, ``needs`` (bytes of one copy) and ``wanted`` are fractions; ``types`` are (bytes,
    rent, most topics, most pairs), bytes being what is usable.
    """
    limits = [(usable * (1 + TOLERANCE), *rest) for usable, *rest in types]
    usable = [any(2 * need <= limit for limit, *_ in limits) for need in needs]
    counts = reachable_counts(rates, interests, wanted, usable)
    if not counts:
        return None
    topics = range(len(rates))

    @cache
    def machine_money(load):
        """The least rent for a machine with so many pairs of each topic, with what comes in."""
        held = [t for t in topics if load[t]]
        weight = sum((load[t] + 1) * needs[t] for t in held)
        rents = [
            rent
            for limit, rent, most_topics, most_pairs in limits
            if weight <= limit and len(held) <= most_topics and sum(load) <= most_pairs
        ]
        return float(min(rents) + price_in * sum(needs[t] for t in held)) if rents else inf

    @cache
    def loads_below(first, room):
        """Every load with the first topic and none before it that some machine holds."""
        found = [()]
        for t, most in enumerate(room):
            numbers = range(1, most + 1) if t == first else range(most + 1 if t > first else 1)
            found = [(*load, n) for load in found for n in numbers]
        return [(load, machine_money(load)) for load in found if machine_money(load) < inf]

    @cache
    def cheapest(left):
        if not any(left):
            return 0.0
        first = next(t for t in topics if left[t])
        return min(
            (
                money + cheapest(tuple(n - m for n, m in zip(left, load, strict=True)))
                for load, money in loads_below(first, left)
            ),
            default=inf,
        )

    def total(count):
        outgoing = sum(n * need for n, need in zip(count, needs, strict=True))
        return cheapest(count) + float(price_out * outgoing)

    best = min(map(total, counts))
    return best if best < inf else None


BUILT_IN = {
    "c3.large": {"usd_per_hour": 0.15, "mbps": 64.0},
    "c3.xlarge": {"usd_per_hour": 0.3, "mbps": 128.0},
}


def optimum_of(workload, parameters):
    """The optimum from a workload's arrays and a plan's parameters."""
    period = Fraction(workload.period_seconds)
    rates = [Fraction(rate) for rate in workload.rates.tolist()]
    size = parameters["message_bytes"]
    sizes = workload.message_bytes.tolist() if size is None else [size] * len(rates)
    needs = [rate * Fraction(each) for rate, each in zip(rates, sizes, strict=True)]
    indptr, indices = (array.tolist() for array in workload.interests)
    interests = [indices[i:j] for i, j in pairwise(indptr)]
    tau = parameters["tau"]
    taus = workload.tau.tolist() if tau == "column" else [tau] * len(interests)
    wanted = [
        min(Fraction(each), sum((rates[t] for t in topics), Fraction(0)))
        for each, topics in zip(taus, interests, strict=True)
    ]
    horizon = Fraction(parameters["horizon_seconds"])
    catalogue = parameters["catalog"] or BUILT_IN
    name = parameters["instance"]
    entries = catalogue.values() if name == "auto" else [catalogue[name]]
    share = 1 - Fraction(parameters["reserve"])
    types = [
        (
            Fraction(entry["mbps"]) * 10**6 / 8 * period * share,
            Fraction(entry["usd_per_hour"]) * horizon / 3600,
            entry.get("max_topics", inf),
            entry.get("max_connections", inf),
        )
        for entry in entries
    ]
    price_in, price_out = (
        Fraction(parameters[key]) / 10**9 * horizon / period
        for key in ("price_gb_in", "price_gb_out")
    )
    return least_money(rates, needs, interests, wanted, types, price_in, price_out)
