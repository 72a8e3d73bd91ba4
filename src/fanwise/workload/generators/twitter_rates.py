"""Events of a topic in ten days, as in the Twitter trace: nearly lognormal, more with followers."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.workload.generators.laws import draw_strata
from fanwise.workload.generators.twitter_degrees import TOPICS

EVENTS = 455_000_000
BOT_EVENTS = 120_000.0
MOST_EVENTS = 1e5  # of all others

_BELOW_TEN, _ABOVE_THOUSAND = 4_000_000, 46_000  # topics at full size
_BORDER_EVENTS = 1500.0  # that followers add at the border to celebrities: 0.015 each at full size
_CELEBRITY_SHARE = 0.1  # of what the linear law would add
_SPREAD, _SPREAD_POPULAR = (
    1.8,
    0.9,
)  # of the logarithm of the rate, up to 1e2 and from 1e4 followers
_SMALLEST_WITH_BOT = 80_000  # topics: fewer, and one bot would publish most of everything
_BOT_FOLLOWERS = 20
_GOLDEN = (math.sqrt(5) - 1) / 2
_BISECTIONS = 40
_ROUNDS = 4
_CLASSES = 40


def draw_rates(followers: LongArray, celebrity: float, rng: np.random.Generator) -> FloatArray:
    """Draw whole rates with the trace's distribution, whose mean is linear in the followers.

    The rates themselves are the quantiles of one law. Each topic gets a score, the logarithm of
    the mean it should have plus noise, and the rates are dealt out in the order of scores. That
    bends the means a little: scores are corrected until they are right.

    The noise follows a golden-ratio sequence in the order of followers, so that any run of
    neighbours in that order gets small and large rates in due proportion.

    Parameters
    ----------
    celebrity
        Followers beyond which topics publish less than the linear law says.
    """
    count = len(followers)
    has_bot = count >= _SMALLEST_WITH_BOT
    total = EVENTS / TOPICS * count
    rates = rate_quantiles(count - has_bot, total - has_bot * BOT_EVENTS, rng)
    by_followers = np.argsort(followers + rng.random(count))
    bot = -1
    if has_bot:
        num_small = int(np.searchsorted(followers[by_followers], _BOT_FOLLOWERS, side="right"))
        rank = int(rng.integers(max(num_small, 1)))
        bot, by_followers = by_followers[rank], np.delete(by_followers, rank)
    dealt = np.empty(count, dtype=np.float64)
    dealt[by_followers] = _deal(rates, followers[by_followers].astype(np.float64), celebrity, rng)
    if has_bot:
        dealt[bot] = BOT_EVENTS
    return dealt


def rate_quantiles(count: int, total: float, rng: np.random.Generator) -> FloatArray:
    """Draw ascending whole rates that add up to about ``total``.

    On the axes of a normal quantile plot the logarithm is a straight line from the median, just
    below 10, to the share of topics above 1,000, bent upwards in between until the sum is right,
    and another straight line from there to the largest rate.
    """
    normal = normal_quantiles(draw_strata(count, rng))
    below = np.array([_BELOW_TEN, TOPICS - _ABOVE_THOUSAND, TOPICS - 0.5]) / TOPICS
    knots = normal_quantiles(below)
    logs = np.log([9.5, 1000.5, MOST_EVENTS])
    first = (logs[1] - logs[0]) / (knots[1] - knots[0])
    straight = np.where(
        normal < knots[1],
        logs[0] + first * (normal - knots[0]),
        logs[1] + (logs[2] - logs[1]) * (normal - knots[1]) / (knots[2] - knots[1]),
    )
    bend = np.maximum(0.0, (normal - knots[0]) * (knots[1] - normal))

    def values(strength: float) -> FloatArray:
        rates = np.round(np.exp(straight + strength * bend))
        return np.asarray(np.clip(rates, 1.0, MOST_EVENTS))

    low, high = -0.3, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if values(middle).sum() < total else (low, middle)
    return values(high)


def normal_quantiles(u: FloatArray) -> FloatArray:
    """Quantiles of the standard normal law, to about six digits and within -8 and 8."""
    z = np.linspace(-8, 8, 16_001)
    return np.interp(u, [NormalDist().cdf(x) for x in z.tolist()], z)


def wanted_means(followers: FloatArray, celebrity: float, mean: float) -> FloatArray:
    """Mean rate of topics with these followers, linear up to ``celebrity`` and lower beyond."""
    ordinary = _BORDER_EVENTS * np.minimum(followers / celebrity, 1.0)
    above = np.where(followers <= celebrity, ordinary, _CELEBRITY_SHARE * ordinary)
    return np.asarray(above + max(1.0, mean - float(above.mean())))


def _deal(
    rates: FloatArray, followers: FloatArray, celebrity: float, rng: np.random.Generator
) -> FloatArray:
    """Deal ascending rates out to topics, given in the order of their followers."""
    means = wanted_means(followers, celebrity, float(rates.mean()))
    popularity = np.clip(np.log10(followers) / 2 - 1, 0.0, 1.0)
    spread: FloatArray = _SPREAD + popularity * (_SPREAD_POPULAR - _SPREAD)
    sequence: FloatArray = (rng.random() + _GOLDEN * np.arange(len(rates), dtype=np.float64)) % 1.0
    noise = spread * normal_quantiles(sequence) - spread**2 / 2
    starts = _class_starts(followers, celebrity)
    sizes = np.diff(starts, append=len(rates))
    correction = np.zeros(len(starts))
    dealt = np.empty_like(rates)
    for _ in range(_ROUNDS):
        scores = np.log(means) + noise + np.repeat(correction, sizes)
        dealt[np.argsort(scores)] = rates
        correction += np.log(np.add.reduceat(means, starts) / np.add.reduceat(dealt, starts))
    return dealt


def _class_starts(followers: FloatArray, celebrity: float) -> LongArray:
    """Cut ascending followers into classes of equal width in logarithms, and at ``celebrity``."""
    edges = np.geomspace(1, followers[-1] + 1, _CLASSES)[:-1]
    edges = np.sort(np.append(edges, np.nextafter(celebrity, np.inf)))
    return np.unique(np.minimum(np.searchsorted(followers, edges), len(followers) - 1))
