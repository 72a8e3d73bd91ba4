"""Plain-Python twins of select, in exact rational arithmetic. Imports nothing from fanwise."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import fsum


def demand(rates, interests, tau):
    """tau_v = min(tau, sum of the subscriber's rates)."""
    taus = tau if isinstance(tau, list) else [tau] * len(interests)
    return [
        min(Fraction(wanted), sum((Fraction(rates[t]) for t in topics), Fraction(0)))
        for wanted, topics in zip(taus, interests, strict=True)
    ]


def normal_cost(rates, interests):
    return [
        Fraction(rate) * sum(topic in topics for topics in interests)
        for topic, rate in enumerate(rates)
    ]


def value(rates, interests, tau, served, metric="binary", weight=None):
    total = Fraction(0)
    for v, (topics, need) in enumerate(zip(interests, demand(rates, interests, tau), strict=True)):
        if need == 0:
            continue
        got = sum((Fraction(rates[t]) for t in topics if t in served), Fraction(0))
        share = min(Fraction(1), got / need)
        gain = share if metric == "fractional" or share == 1 else Fraction(0)
        total += gain * (1 if weight is None else Fraction(weight[v]))
    return total


def greedy(rates, interests, tau, capacity, cost=None, weight=None):
    """Alg. 2 with the examined topic removed; ties to the smaller id. Returns the order."""
    cost = normal_cost(rates, interests) if cost is None else [Fraction(c) for c in cost]
    weight = [1] * len(interests) if weight is None else weight
    remaining = demand(rates, interests, tau)
    left = set(range(len(rates)))
    served, used = [], Fraction(0)

    def ratio(topic):
        benefit = sum(
            (
                Fraction(weight[v]) * min(Fraction(1), Fraction(rates[topic]) / remaining[v])
                for v, topics in enumerate(interests)
                if topic in topics and remaining[v] > 0
            ),
            Fraction(0),
        )
        if benefit == 0:
            return Fraction(0)
        return benefit / cost[topic] if cost[topic] > 0 else Fraction(10**30)

    while left:
        topic = min(left, key=lambda t: (-ratio(t), t))
        if ratio(topic) == 0:
            break
        left.remove(topic)
        if used + cost[topic] <= Fraction(capacity):
            used += cost[topic]
            served.append(topic)
            for v, topics in enumerate(interests):
                if topic in topics:
                    remaining[v] = max(Fraction(0), remaining[v] - Fraction(rates[topic]))
    return served


def paper_bound(rates, interests, tau, capacity, metric="binary"):
    prices = sorted(
        max(need, min(Fraction(rates[t]) for t in topics))
        for topics, need in zip(interests, demand(rates, interests, tau), strict=True)
        if need > 0
    )
    spent, count = Fraction(0), 0
    for price in prices:
        if spent + price > Fraction(capacity):
            break
        spent += price
        count += 1
    return count + (metric == "fractional")


def optimum(rates, interests, tau, capacity, metric="binary", cost=None, weight=None):
    """The best value over all subsets of topics."""
    cost = normal_cost(rates, interests) if cost is None else [Fraction(c) for c in cost]
    best = Fraction(0)
    for size in range(len(rates) + 1):
        for served in combinations(range(len(rates)), size):
            if sum((cost[t] for t in served), Fraction(0)) <= Fraction(capacity):
                best = max(best, value(rates, interests, tau, set(served), metric, weight))
    return best


def best_near(
    rates,
    interests,
    tau,
    capacity,
    metric="binary",
    *,
    cost=None,
    weight=None,
    pinned=(),
    excluded=(),
    before=(),
    max_changes=None,
    change_price=0,
):
    """The best value less the price of changes over all subsets that are allowed, or None.

    A list has the price of each topic.
    """
    prices = change_price if isinstance(change_price, list) else [change_price] * len(rates)
    cost = normal_cost(rates, interests) if cost is None else [Fraction(c) for c in cost]
    best = None
    for size in range(len(rates) + 1):
        for chosen in combinations(range(len(rates)), size):
            served = set(chosen)
            changes = len(served ^ set(before))
            if (
                not set(pinned) <= served
                or served & set(excluded)
                or sum((cost[t] for t in served), Fraction(0)) > Fraction(capacity)
                or (max_changes is not None and changes > max_changes)
            ):
                continue
            net = value(rates, interests, tau, served, metric, weight)
            net -= sum((Fraction(prices[t]) for t in served ^ set(before)), Fraction(0))
            best = net if best is None else max(best, net)
    return best


def best_of_all(
    rates,
    interests,
    tau,
    capacity,
    metric="binary",
    *,
    cost=None,
    weight=None,
    pinned=(),
    excluded=(),
    before=(),
    max_changes=None,
    change_price=0.0,
):
    """The best value less the price of changes over all allowed subsets, in floating point.

    Fast: sums of a subset grow topic by topic. Limits and thresholds have the contract's relative
    tolerance. None if no subset is allowed.
    """
    taus = tau if isinstance(tau, list) else [tau] * len(interests)
    need = [
        min(wanted, fsum(rates[t] for t in row))
        for wanted, row in zip(taus, interests, strict=True)
    ]
    followers = [[v for v, row in enumerate(interests) if t in row] for t in range(len(rates))]
    cost = (
        [rate * len(own) for rate, own in zip(rates, followers, strict=True)]
        if cost is None
        else cost
    )
    weight = [1.0] * len(interests) if weight is None else weight
    before = list(before) or [False] * len(rates)
    best = None

    def reached(got):
        total = 0.0
        for v, wanted in enumerate(need):
            if wanted > 0 and got[v] >= wanted * (1 - 1e-9):
                total += weight[v]
            elif wanted > 0 and metric == "fractional":
                total += weight[v] * got[v] / wanted
        return total

    def go_on(topic, spent, changes, got):
        nonlocal best
        if spent > capacity * (1 + 1e-9) or (max_changes is not None and changes > max_changes):
            return
        if topic == len(rates):
            net = reached(got) - change_price * changes
            best = net if best is None else max(best, net)
            return
        if topic not in pinned:
            go_on(topic + 1, spent, changes + before[topic], got)
        if topic not in excluded:
            more = list(got)
            for v in followers[topic]:
                more[v] += rates[topic]
            go_on(topic + 1, spent + cost[topic], changes + (not before[topic]), more)

    go_on(0, 0.0, 0, [0.0] * len(interests))
    return best
