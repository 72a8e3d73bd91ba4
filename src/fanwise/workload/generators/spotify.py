"""A synthetic twin of the Spotify trace that the papers use."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.errors import ParameterError
from fanwise.progress import SILENT, Progress
from fanwise.workload.generators.laws import double_pareto, draw_strata, power_law_counts
from fanwise.workload.generators.matching import Matching, match
from fanwise.workload.topic import TopicWorkload

TOPICS, SUBSCRIBERS, PAIRS = 1_100_000, 4_900_000, 12_000_000
MEAN_RATE = 2763.0
PERIOD_SECONDS = 864_000.0

FOLLOWER_EXPONENT = 2.4
FOLLOWING_EXPONENT = 2.6
RATE_TAIL = 2.0
RATE_HEAD = 0.36
RATE_POPULARITY = -0.1
"""Correlation of the (normal scores of the) rate of a topic and of its number of followers."""


GOLDEN = (5**0.5 - 1) / 2

def draw_matching(topics,subscribers,pairs,communities,rng):
    widest = lambda others, mean: min(others, max(others // 5, int(3 * mean)))
    followers = power_law_counts(topics, pairs, FOLLOWER_EXPONENT, widest(subscribers, pairs / topics), rng)
    followings = power_law_counts(subscribers, pairs, FOLLOWING_EXPONENT, widest(topics, pairs / subscribers), rng)
    return followers, match(followings, followers, communities, rng)

def draw_rates(followers, rng):
    count = len(followers)
    normal = np.sort(rng.standard_normal(count))
    spread = (rng.random() + GOLDEN * np.arange(count)) % 1.0
    by_popularity = np.argsort(-(followers + rng.random(count)))
    activity = np.empty(count)
    activity[by_popularity] = RATE_POPULARITY * normal[::-1] + np.sqrt(1 - RATE_POPULARITY**2) * normal[(spread * count).astype(np.int64)]
    rates = np.empty(count)
    rates[np.argsort(activity)] = double_pareto(draw_strata(count, rng), RATE_TAIL, RATE_HEAD, MEAN_RATE)
    return np.maximum(1, np.round(rates))
