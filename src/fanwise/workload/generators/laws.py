"""Heavy-tailed laws, drawn in strata so that a small sample looks like a large one.

A plain sample of a heavy-tailed law is ruled by its few largest values, which differ from seed to
seed and from size to size. Here value ``i`` of ``n`` is drawn from the ``i``-th of ``n`` equally
likely slices of the law: seeds still differ, but means and quantiles hardly do.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.errors import ParameterError

_BISECTIONS = 50


def draw_strata(count: int, rng: np.random.Generator) -> FloatArray:
    """Return ``count`` ascending uniform numbers, one from each slice of (0, 1)."""
    return (np.arange(count) + rng.random(count)) / max(count, 1)


def double_pareto(u: FloatArray, tail: float, head: float, mean: float) -> FloatArray:
    """Quantiles of a double Pareto law, rescaled to have this mean exactly.

    Above its mode P(X > x) falls as ``x ** -tail``; below it P(X < x) falls as ``x ** head``. It is
    what growth at random rates, stopped at a random time, leads to (Reed 2001), and so a usual
    model of activity.

    Parameters
    ----------
    u
        Where to evaluate, in (0, 1).
    tail
        Exponent of the upper tail; the mean is finite above 1.
    head
        Exponent of the lower tail.
    """
    if len(u) == 0:
        return u
    below = tail / (tail + head)  # probability below the mode
    u = np.clip(u, 1e-15, 1 - 1e-15)
    values: FloatArray = np.where(
        u < below, (u / below) ** (1 / head), ((1 - u) / (1 - below)) ** (-1 / tail)
    )
    values *= mean / values.mean()
    return values


def power_law_counts(
    count: int, total: int, exponent: float, largest: int, rng: np.random.Generator
) -> LongArray:
    """Draw ``count`` whole numbers from 1 to ``largest`` that add up to ``total``, in random order.

    The law is the shifted power law P(x) ~ (x + s) ** -exponent, with s solved so that the mean is
    right: the tail has the given exponent whatever the mean.
    """
    if not count <= total <= count * (1 + largest) / 2:
        raise ParameterError(
            "total", f"from {count} to {count * (1 + largest) // 2} for {count} counts", total
        )
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    values = np.arange(1, largest + 1, dtype=np.float64)
    cumulative = _shifted_power_law(values, exponent, total / count)
    counts = np.searchsorted(cumulative, draw_strata(count, rng), side="right") + 1
    counts = np.minimum(counts, largest).astype(np.int64)
    return rng.permutation(_settle(counts, total, np.ones_like(counts), largest, rng))


def split_counts(
    counts: LongArray, share: float, largest: int, rng: np.random.Generator
) -> LongArray:
    """Choose a part of each count, at most ``largest``, so that together they make up ``share``.

    The same fraction is taken of every count, at random to whole numbers, as far as ``largest``
    allows; where it does not, the others give more. ``largest`` itself grows if even taking all
    below it would not be enough.
    """
    total = round(share * int(counts.sum()))
    limit = np.minimum(counts, largest)
    while int(limit.sum()) < total:
        largest *= 2
        limit = np.minimum(counts, largest)
    fraction = _common_fraction(counts, total, largest)
    parts = np.floor(np.minimum(fraction * counts, limit) + rng.random(len(counts))).astype(
        np.int64
    )
    parts = np.minimum(parts, limit)
    return _settle(parts, total, np.zeros_like(parts), limit, rng)


def _common_fraction(counts: LongArray, total: int, largest: int) -> float:
    """Solve sum of min(fraction * count, largest) = total by bisection on the histogram."""
    histogram = np.bincount(counts)
    values = np.flatnonzero(histogram)
    weights = histogram[values]
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if float(weights @ np.minimum(middle * values, largest)) < total:
            low = middle
        else:
            high = middle
    return high


def _shifted_power_law(values: FloatArray, exponent: float, mean: float) -> FloatArray:
    """Cumulative probabilities of (x + s) ** -exponent with s such that the mean is ``mean``."""

    def weights(log_shift: float) -> FloatArray:
        # s runs from -1 (all mass on 1) upwards; relative to 1 + s nothing overflows.
        shift = np.exp(log_shift)
        return np.asarray((1 + (values - 1) / shift) ** -exponent)

    low, high = -60.0, float(np.log(values[-1])) + 60.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        weight = weights(middle)
        if float(weight @ values) < mean * float(weight.sum()):
            low = middle
        else:
            high = middle
    cumulative = np.cumsum(weights(high))
    return np.asarray(cumulative / cumulative[-1])


def _settle(
    counts: LongArray,
    total: int,
    smallest: LongArray,
    largest: LongArray | int,
    rng: np.random.Generator,
) -> LongArray:
    """Move random counts by one, within their limits, until they add up to ``total``."""
    while (missing := total - int(counts.sum())) != 0:
        movable = np.flatnonzero(counts < largest if missing > 0 else counts > smallest)
        chosen = rng.choice(movable, min(abs(missing), len(movable)), replace=False)
        counts[chosen] += 1 if missing > 0 else -1
    return counts
