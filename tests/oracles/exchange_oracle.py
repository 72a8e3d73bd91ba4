"""What topics are worth while they come and go, from the definitions, in plain Python."""

from __future__ import annotations

from math import inf


def got(rates, interests, served):
    """What each subscriber gets."""
    return [sum(rates[t] for t in topics if t in served) for topics in interests]


def worth(topic, rates, interests, needs, weights, served, power, slack_power):
    """The benefit of a topic that is not served, the loss of one that is."""
    total = 0.0
    for topics, need, weight, has in zip(
        interests, needs, weights, got(rates, interests, served), strict=True
    ):
        if topic not in topics or need == 0:
            continue
        rate = rates[topic]
        if topic not in served:
            total += weight * min(1.0, rate / (need - has)) ** power if has < need else 0.0
        elif has >= need and has - rate < need:
            total += weight
        elif has >= need and slack_power:
            total += weight * (rate / (has - need)) ** slack_power
    return total


def filled(rates, interests, needs, weights, cost, capacity, power):
    """Serve the topic with the largest benefit per cost that fits, until none helps."""
    served = set()
    while True:
        room = capacity - sum(cost[t] for t in served)
        best, ratio = None, 0.0
        for t in range(len(rates)):
            if t in served or cost[t] > room:
                continue
            gain = worth(t, rates, interests, needs, weights, served, power, 0)
            this = inf if gain > 0 and cost[t] == 0 else gain / cost[t] if cost[t] else 0.0
            if this > ratio:
                best, ratio = t, this
        if best is None:
            return served
        served.add(best)
