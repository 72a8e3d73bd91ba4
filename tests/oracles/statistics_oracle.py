"""Statistics of a workload by their definitions, one value at a time."""

from __future__ import annotations

from fractions import Fraction
from math import floor


def ccdf(values):
    """P[X > x] at each distinct x."""
    points = {}
    for x in values:
        points[x] = sum(1 for other in values if other > x) / len(values)
    return sorted(points.items())


def quantile(values, q):
    """Linear interpolation between the two neighbours of rank q (n - 1)."""
    ordered = [Fraction(value) for value in sorted(values)]
    rank = Fraction(q) * (len(ordered) - 1)
    low = floor(rank)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (ordered[high] - ordered[low]) * (rank - low))


def summary(values):
    if not values:
        return dict.fromkeys(("min", "q25", "median", "mean", "q75", "p90", "p99", "max"))
    return {
        "min": min(values),
        "q25": quantile(values, "0.25"),
        "median": quantile(values, "0.5"),
        "mean": float(sum(map(Fraction, values)) / len(values)),
        "q75": quantile(values, "0.75"),
        "p90": quantile(values, "0.9"),
        "p99": quantile(values, "0.99"),
        "max": max(values),
    }


def mean_by(keys, values):
    """(key, mean of its values, how many) for each distinct key."""
    groups = {}
    for key, value in zip(keys, values, strict=True):
        groups.setdefault(key, []).append(value)
    return [
        (key, float(sum(map(Fraction, group)) / len(group)), len(group))
        for key, group in sorted(groups.items())
    ]


def statistics(rates, sizes, interests):
    """Everything; ``interests`` holds the topics of each subscriber."""
    topics = range(len(rates))
    followers = [sum(1 for wanted in interests if topic in wanted) for topic in topics]
    followings = [len(wanted) for wanted in interests]
    received = [float(sum(Fraction(rates[t]) for t in wanted)) for wanted in interests]
    everything = sum(map(Fraction, rates))
    cardinality = [
        float(100 * sum(Fraction(rates[t]) for t in wanted) / everything) if everything else 0.0
        for wanted in interests
    ]
    exact = [Fraction(rate) for rate in rates]
    return {
        "events": float(everything),
        "deliveries": float(sum(exact[t] * followers[t] for t in topics)),
        "bytes_published": float(sum(exact[t] * Fraction(sizes[t]) for t in topics)),
        "bytes_delivered": float(sum(exact[t] * Fraction(sizes[t]) * followers[t] for t in topics)),
        "values": {
            "followers": followers,
            "followings": followings,
            "rates": list(rates),
            "received": received,
            "subscription_cardinality": cardinality,
        },
        "rate_by_followers": mean_by(followers, rates),
        "cardinality_by_followings": mean_by(followings, cardinality),
    }
