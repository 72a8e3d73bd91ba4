"""Followers and followings as in the Twitter trace: power laws with glitches.

Both laws have a body, P(X >= k) = ((1 + s) / (k + s)) ** a, whose two parameters are solved from
the mean and from the share of values above the body, and a tail: straight lines from knot to knot
on the log-log axes of a CCDF.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.workload.generators.laws import draw_strata

TOPICS, SUBSCRIBERS, PAIRS = 8_000_000, 30_000_000, 683_500_000

_BISECTIONS = 60
_GRID = 100_000

# (followers, topics with more); the last one is where the law ends. The slope is 0.6 beyond 1e5,
# less than before it: the glitch. The paper gives the numbers above 1e4 and 1e6.
_POPULAR = ((1e4, 4000), (1e5, 270), (1e6, 66), (2e6, 0))
_DEFAULT_FOLLOWINGS, _DEFAULT_SHARE = 20, 0.05
_LIMIT = 2000
_AT_LIMIT = 9000  # subscribers at full size
_ABOVE_LIMIT = 14_000
_EAGER = (1e4, 550)  # followings, subscribers with more
_MOST_FOLLOWINGS = 250_000
_LARGEST_SHARE = 5  # nobody follows, or is followed by, more than a fifth of the other side


@dataclass(frozen=True)
class Law:
    """A law of whole numbers from 1.

    Attributes
    ----------
    survival
        P(X >= k) for k from 1 to the end of the body.
    tail_values, tail_survival
        The knots of the tail: P(X > x) at falling shares, the last one 0.
    """

    survival: FloatArray
    tail_values: FloatArray
    tail_survival: FloatArray

    def draw(self, count: int, rng: np.random.Generator) -> IntArray:
        """Draw ``count`` values in strata, ascending."""
        above = 1.0 - draw_strata(count, rng)
        in_tail = int(np.searchsorted(-above, -self.tail_survival[0], side="right"))
        body = len(self.survival) - np.searchsorted(
            self.survival[::-1], above[:in_tail], side="left"
        )
        tail = np.ceil(_tail_quantiles(above[in_tail:], self.tail_values, self.tail_survival))
        return np.concatenate([body, tail]).astype(np.int32)


@dataclass(frozen=True)
class TwitterLaws:
    """The laws at one scale.

    Attributes
    ----------
    followers, followings
        The laws.
    celebrity
        Followers from which topics count as celebrities: 1e5 at full size.
    """

    followers: Law
    followings: Law
    celebrity: float


def twitter_laws(topics: int, subscribers: int, pairs: int) -> TwitterLaws:
    """Return the laws for these sizes; see :func:`~.twitter.twitter` for what scaling does."""
    popular = np.array(_POPULAR)
    most_followers = min(popular[-1, 0], max(subscribers / _LARGEST_SHARE, 30 * pairs / topics))
    knots = _compress(popular[:, 0], most_followers)
    followers = _solve(pairs / topics, knots, popular[:, 1] / TOPICS, np.zeros(0), np.zeros(0))

    most_followings = min(_MOST_FOLLOWINGS, max(topics / _LARGEST_SHARE, 30 * pairs / subscribers))
    limit = min(float(_LIMIT), most_followings / 2)
    eager = min(_EAGER[0], 0.8 * most_followings)
    followings = _solve(
        pairs / subscribers,
        np.array([limit, limit, eager, most_followings]),
        np.array([_AT_LIMIT + _ABOVE_LIMIT, _ABOVE_LIMIT, _EAGER[1], 0]) / SUBSCRIBERS,
        np.array([_DEFAULT_FOLLOWINGS]),
        np.array([_DEFAULT_SHARE]),
    )
    return TwitterLaws(followers, followings, float(knots[1]))


def draw_followings(law: Law, count: int, total: int, rng: np.random.Generator) -> IntArray:
    """Draw followings that add up to ``total``, in random order.

    What the draw misses is made up by ones, at random among those without a glitch.
    """
    counts = law.draw(count, rng)
    rng.shuffle(counts)
    missing = total - int(counts.sum(dtype=np.int64))
    while missing:
        step = 1 if missing > 0 else -1
        chosen = np.unique(rng.integers(count, size=min(abs(missing), count // 2 + 1)))
        values = counts[chosen]
        ordinary = (values > 1) & (values < len(law.survival) - 1)
        ordinary &= np.abs(values - _DEFAULT_FOLLOWINGS) > 1
        chosen = chosen[ordinary]
        counts[chosen] += np.int32(step)
        missing -= step * len(chosen)
    return counts


def draw_followers(law: Law, count: int, rng: np.random.Generator) -> LongArray:
    """Draw followers, in random order."""
    counts = law.draw(count, rng).astype(np.int64)
    rng.shuffle(counts)
    return counts


def _compress(values: FloatArray, largest: float) -> FloatArray:
    """Move knots closer together, on a logarithmic axis, until the last one is ``largest``."""
    first = min(values[0], largest / 2)
    power = np.log(largest / first) / np.log(values[-1] / values[0])
    return np.asarray(first * (values / values[0]) ** power)


def _solve(
    mean: float,
    tail_values: FloatArray,
    tail_survival: FloatArray,
    atoms: LongArray | FloatArray,
    weights: FloatArray,
) -> Law:
    """Find the body for which the law has this mean.

    ``atoms`` are values that more have than the body says, by the shares ``weights``.
    """
    pivot = int(tail_values[0])
    above = np.linspace(0, tail_survival[0], _GRID, endpoint=False) + tail_survival[0] / _GRID / 2
    in_tail = np.ceil(_tail_quantiles(above[::-1], tail_values, tail_survival))
    excess = float(np.mean(in_tail - pivot)) * tail_survival[0]
    values = np.arange(1, pivot + 1)

    def body(log_exponent: float) -> FloatArray:
        exponent = np.exp(log_exponent)
        rest = tail_survival[0] / (1 - weights.sum())
        ratio = rest ** (1 / exponent)
        shift = (ratio * (pivot + 1) - 1) / (1 - ratio)
        survival = np.asarray(((1 + shift) / (values + shift)) ** exponent)
        survival *= 1 - weights.sum()
        for atom, weight in zip(atoms, weights, strict=True):
            survival[: int(atom)] += weight
        return survival

    low, high = np.log(0.05), np.log(50.0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if float(body(middle).sum()) + excess < mean:
            low = middle
        else:
            high = middle
    return Law(body(high), tail_values, tail_survival)


def _tail_quantiles(above: FloatArray, values: FloatArray, survival: FloatArray) -> FloatArray:
    """Values that the shares ``above``, falling, exceed; between two knots a Pareto law.

    The last stretch, which ends at a share of 0, goes on with the slope before it, cut off.
    """
    result = np.empty_like(above)
    slope = 1.0
    for i in range(len(values) - 1):
        inside = (above <= survival[i]) & (above > survival[i + 1])
        share = above[inside] / survival[i]
        ratio = values[i + 1] / values[i]
        if ratio == 1:
            result[inside] = values[i]
        elif survival[i + 1] > 0:
            slope = np.log(survival[i] / survival[i + 1]) / np.log(ratio)
            result[inside] = values[i] * share ** (-1 / slope)
        else:
            cut = ratio**-slope
            result[inside] = values[i] * (cut + (1 - cut) * share) ** (-1 / slope)
    return result
