"""Plain-Python twins of provision, in exact rational arithmetic. Imports nothing from fanwise."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import ceil


def demand(rates, interests, tau):
    """tau_v = min(tau, sum of the subscriber's rates)."""
    taus = tau if isinstance(tau, list) else [tau] * len(interests)
    return [
        min(Fraction(wanted), sum((Fraction(rates[t]) for t in topics), Fraction(0)))
        for wanted, topics in zip(taus, interests, strict=True)
    ]


def fits(need, capacity):
    """Whether a topic fits a machine: one copy in, one out."""
    return 2 * Fraction(need) <= Fraction(capacity)


def choose_pairs(rates, needs, interests, tau, capacity):
    """GSP by the paper's Alg. 1 and 2: again and again the topic of the best ratio.

    Ratios tie by falling rate, then id. Returns the topics of each subscriber in the order chosen,
    or None if somebody cannot be satisfied.
    """
    chosen = []
    for topics, need in zip(interests, demand(rates, interests, tau), strict=True):
        candidates = [t for t in topics if fits(needs[t], capacity)]
        taken, got = [], Fraction(0)
        while got < need:
            if not candidates:
                return None
            missing = need - got

            def ratio(topic, missing=missing):
                rate = Fraction(rates[topic])
                return min(Fraction(1), rate / missing) / (2 * rate)

            best = min(candidates, key=lambda t: (-ratio(t), -rates[t], t))
            candidates.remove(best)
            taken.append(best)
            got += Fraction(rates[best])
        chosen.append(taken)
    return chosen


def pack_first_fit(chosen, needs, capacity):
    """FFBP: every pair asks every machine in turn. Returns (vm, topic, subscriber), and loads."""
    machines, placed = [], []
    for subscriber, topics in enumerate(chosen):
        for topic in topics:
            need = Fraction(needs[topic])
            vm = 0
            while vm < len(machines):
                used, held = machines[vm]
                takes = need if topic in held else 2 * need
                if used + takes <= Fraction(capacity):
                    break
                vm += 1
            else:
                machines.append((Fraction(0), frozenset()))
                used, held = machines[vm]
                takes = 2 * need
            machines[vm] = (used + takes, held | {topic})
            placed.append((vm, topic, subscriber))
    return placed, [used for used, _ in machines]


def traffic(placed, needs):
    """Bytes in and out of an allocation."""
    copies = {(vm, topic) for vm, topic, _ in placed}
    in_bytes = sum((Fraction(needs[topic]) for _, topic in copies), Fraction(0))
    out_bytes = sum((Fraction(needs[topic]) for _, topic, _ in placed), Fraction(0))
    return in_bytes, out_bytes


def paper_bound(rates, sizes, interests, tau, capacity, rent, price_out):
    """Alg. 5; with sizes that differ, the cheapest fractional cover takes the place of tau_v."""
    total = Fraction(0)
    for topics, need in zip(interests, demand(rates, interests, tau), strict=True):
        if need == 0:
            continue
        cover, missing = Fraction(0), need
        for topic in sorted(topics, key=lambda t: sizes[t]):
            share = min(Fraction(rates[topic]), missing)
            cover += share * Fraction(sizes[topic])
            missing -= share
        total += max(cover, min(Fraction(rates[t]) * Fraction(sizes[t]) for t in topics))
    return ceil(total / Fraction(capacity)) * Fraction(rent) + total * Fraction(price_out)


def minimal_covers(rates, topics, need):
    """Every set of topics that reaches the need and no longer does without any one of them."""
    covers = []
    for size in range(len(topics) + 1):
        for subset in combinations(topics, size):
            got = sum((Fraction(rates[t]) for t in subset), Fraction(0))
            if got >= need and all(got - Fraction(rates[t]) < need for t in subset):
                covers.append(subset)
    return covers


def optimum(rates, needs, interests, tau, capacity, rent, price_in, price_out):
    """The least money of all plans, or None if there is none; for tiny instances.

    Pairs of a topic are alike, so a choice matters only by how many pairs each topic has, and a
    machine by how many of each it holds.
    """
    needs = [Fraction(need) for need in needs]
    capacity, rent = Fraction(capacity), Fraction(rent)
    num_topics = len(rates)
    counts = {(0,) * num_topics}
    for topics, need in zip(interests, demand(rates, interests, tau), strict=True):
        usable = [t for t in topics if fits(needs[t], capacity)]
        covers = minimal_covers(rates, usable, need)
        counts = {
            tuple(n + (t in cover) for t, n in enumerate(count))
            for count in counts
            for cover in covers
        }
    if not counts:
        return None

    def weight(load):
        return sum(((n + 1) * needs[t] for t, n in enumerate(load) if n), Fraction(0))

    @cache
    def cheapest(left):
        """Rent and incoming traffic of the cheapest machines for the pairs left."""
        if not any(left):
            return Fraction(0)
        copies = sum((needs[t] for t, n in enumerate(left) if n), Fraction(0))
        if weight(left) <= capacity:
            return rent + copies * Fraction(price_in)
        first = next(t for t, n in enumerate(left) if n)  # some machine holds it: this one
        ranges = [range(1 if t == first else 0, n + 1) for t, n in enumerate(left)]
        best = None
        for load in product(*ranges):
            if weight(load) > capacity:
                continue
            rest = cheapest(tuple(n - m for n, m in zip(left, load, strict=True)))
            incoming = sum((needs[t] for t, n in enumerate(load) if n), Fraction(0))
            cost = rent + incoming * Fraction(price_in) + rest
            best = cost if best is None else min(best, cost)
        return best

    def total(count):
        outgoing = sum((n * needs[t] for t, n in enumerate(count)), Fraction(0))
        return cheapest(count) + outgoing * Fraction(price_out)

    return min(map(total, counts))


def optimum_of(problem, instance):
    """The optimum of a provisioning problem (by its public attributes) on a small instance."""
    periods = Fraction(problem.horizon) / Fraction(problem.workload.period_seconds)
    best = optimum(
        instance.rates,
        [float(need) for need in problem.needs],
        instance.interests,
        instance.tau,
        Fraction(problem.capacity_bytes) * (1 + Fraction(1, 10**12)),
        Fraction(problem.machine.usd_per_hour) * Fraction(problem.horizon) / 3600,
        Fraction(problem.price_gb_in) / 10**9 * periods,
        Fraction(problem.price_gb_out) / 10**9 * periods,
    )
    return None if best is None else float(best)
