"""Subscribers on brokers by plain augmenting paths, one subscriber at a time."""

from __future__ import annotations

import math


def most_served(candidates, limits):
    """Return how many subscribers can be served together (Kuhn's method, brokers with room)."""
    on_broker = [[] for _ in limits]

    def place(subscriber, tried):
        for broker in candidates[subscriber]:
            if broker in tried:
                continue
            tried.add(broker)
            if len(on_broker[broker]) < limits[broker]:
                on_broker[broker].append(subscriber)
                return True
            for index, other in enumerate(on_broker[broker]):
                if place(other, tried):
                    on_broker[broker][index] = subscriber
                    return True
        return False

    return sum(place(subscriber, set()) for subscriber in range(len(candidates)))


def least_lbf(candidates, shares):
    """Try every factor at which some broker's limit rises, ascending."""
    total = len(candidates)
    factors = {0.0}
    for share in shares:
        if share > 0:
            factors |= {count / (share * total) for count in range(1, total + 1)}
    for factor in sorted(factors):
        limits = [math.floor(factor * share * total * (1 + 1e-9)) for share in shares]
        if most_served(candidates, limits) == total:
            return factor
    return None
