"""Match subscribers to topics at random, with given numbers of pairs and in communities.

A workload is drawn in three steps: :func:`check_sizes`, :func:`draw_degrees`, :func:`match`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray, count_offsets, scatter_rows
from fanwise.errors import ParameterError
from fanwise.workload.generators.kernels import find_repeats, swap_repeats
from fanwise.workload.generators.laws import power_law_counts, split_counts

COMMUNITY_SUBSCRIBERS = 1000
"""Subscribers of a community, on average; sizes are lognormal around it."""

_SPREAD = 0.75  # standard deviation of the logarithm of a community's size
_ROUNDS_INSIDE, _ROUNDS = 20, 100  # of swapping repeated pairs away
_MOST_IDS = 2**31 - 1


@dataclass(frozen=True)
class Matching:
    """Pairs, and who belongs where.

    Attributes
    ----------
    subscriber, topic
        The pairs; none stands twice.
    community_of_subscriber, community_of_topic
        Ids of communities; -1 for those without any pair inside one.
    """

    subscriber: IntArray
    topic: IntArray
    community_of_subscriber: IntArray
    community_of_topic: IntArray

    def inside_share(self) -> float:
        """Share of the pairs whose two ends belong to one community."""
        if len(self.topic) == 0:
            return 0.0
        home = self.community_of_subscriber[self.subscriber]
        inside = (home >= 0) & (home == self.community_of_topic[self.topic])
        return float(inside.mean())


def check_sizes(topics: int, subscribers: int, pairs: int) -> None:
    """Raise unless everybody can have a pair and at most half of all possible pairs are asked."""
    for name, size in (("topics", topics), ("subscribers", subscribers), ("pairs", pairs)):
        if not 1 <= size <= _MOST_IDS:
            raise ParameterError(name, f"from 1 to {_MOST_IDS}", size)
    least, most = max(topics, subscribers), topics * subscribers // 2
    if not least <= pairs <= most:
        sizes = f"{topics} topics and {subscribers} subscribers"
        if least > most:
            raise ParameterError("pairs", f"possible, which it is not for {sizes}", pairs)
        raise ParameterError("pairs", f"from {least} to {most} for {sizes}", pairs)


def draw_degrees(
    topics: int,
    subscribers: int,
    pairs: int,
    follower_exponent: float,
    following_exponent: float,
    rng: np.random.Generator,
) -> tuple[LongArray, LongArray]:
    """Draw the followers of each topic and the followings of each subscriber, all at least 1.

    Both have power-law tails with the given exponents and end at a fifth of the other side (later
    only where the mean needs it).
    """

    def draw(count: int, others: int, exponent: float) -> LongArray:
        largest = min(others, max(others // 5, 3 * pairs // count))
        return power_law_counts(count, pairs, exponent, largest, rng)

    return (
        draw(topics, subscribers, follower_exponent),
        draw(subscribers, topics, following_exponent),
    )


def match(
    followings: LongArray, followers: LongArray, communities: float, rng: np.random.Generator
) -> Matching:
    """Draw a random set of pairs with the given degrees.

    Each end of a pair is a stub. A share of the stubs of both sides is laid on two lines of the
    same length, cut at the same places into communities, and matched at random inside each; the
    other stubs are matched at random over everything (the configuration model). Repeated pairs are
    swapped with random others of the same community, which changes no degree; the few that resist,
    in very dense or tiny workloads, are left out.

    Parameters
    ----------
    followings, followers
        Pairs of each subscriber and of each topic; the sums must be equal.
    communities
        Share of the pairs inside a community, from 0 to 1. A subscriber or topic takes part in its
        own community with at most a quarter of that community's usual size.
    """
    num_subscribers, num_topics = len(followings), len(followers)
    usual_topics = COMMUNITY_SUBSCRIBERS * num_topics // max(num_subscribers, 1)
    near_followings = split_counts(followings, communities, max(1, usual_topics // 4), rng)
    near_followers = split_counts(followers, communities, COMMUNITY_SUBSCRIBERS // 4, rng)
    num_inside = int(near_followings.sum())

    subscriber_order = rng.permutation(num_subscribers).astype(np.int32)
    topic_order = rng.permutation(num_topics).astype(np.int32)
    near_ends = np.cumsum(near_followings[subscriber_order])
    topic_ends = np.cumsum(near_followers[topic_order])
    edges = _cut_communities(topic_ends, num_inside, num_subscribers, rng)

    subscribers = np.concatenate(
        [
            np.repeat(subscriber_order, near_followings[subscriber_order]),
            np.repeat(np.arange(num_subscribers, dtype=np.int32), followings - near_followings),
        ]
    )
    far_topics = np.repeat(np.arange(num_topics, dtype=np.int32), followers - near_followers)
    rng.shuffle(far_topics)
    near_topics = np.repeat(topic_order, near_followers[topic_order])
    topics = np.concatenate([_shuffle_inside(near_topics, edges, rng), far_topics])

    starts = np.empty((num_subscribers, 2), dtype=np.int64)
    starts[subscriber_order, 0] = near_ends - near_followings[subscriber_order]
    far_ends = num_inside + np.cumsum(followings - near_followings)
    starts[:, 1] = far_ends - (followings - near_followings)
    ends = starts + np.column_stack([near_followings, followings - near_followings])

    left = _swap_away(starts, ends, subscribers, topics, num_topics, edges, rng)
    if len(left):
        subscribers, topics = np.delete(subscribers, left), np.delete(topics, left)
    topic_starts = np.empty(num_topics, dtype=np.int64)
    topic_starts[topic_order] = topic_ends - near_followers[topic_order]
    return Matching(
        subscribers,
        topics,
        _homes(starts[:, 0], near_followings, edges),
        _homes(topic_starts, near_followers, edges),
    )


def _cut_communities(
    topic_ends: LongArray, num_inside: int, num_subscribers: int, rng: np.random.Generator
) -> LongArray:
    """Cut the line of inside pairs where topics end, so that none straddles a border."""
    count = max(1, round(num_subscribers / COMMUNITY_SUBSCRIBERS))
    sizes = np.exp(_SPREAD * rng.standard_normal(count))
    wanted = np.cumsum(sizes)[:-1] / sizes.sum() * num_inside
    cuts = topic_ends[np.searchsorted(topic_ends, wanted)] if num_inside else np.zeros(0, np.int64)
    return np.unique(np.concatenate([[0], cuts, [num_inside]])).astype(np.int64)


def _shuffle_inside(topics: IntArray, edges: LongArray, rng: np.random.Generator) -> IntArray:
    """Put the topics of each stretch between two edges in random order."""
    community = np.repeat(np.arange(len(edges) - 1, dtype=np.int32), np.diff(edges))
    order = rng.permutation(len(topics))
    offsets = count_offsets(community, len(edges) - 1)
    # Shuffle everything, then sort it back by community: the sort is stable.
    shuffled: IntArray = scatter_rows(community[order], topics[order], offsets)
    return shuffled


def _swap_away(
    starts: LongArray,
    ends: LongArray,
    subscribers: IntArray,
    topics: IntArray,
    num_topics: int,
    edges: LongArray,
    rng: np.random.Generator,
) -> LongArray:
    """Swap repeated pairs with others until none is left; return those that resist."""
    left: LongArray = find_repeats(starts, ends, topics, num_topics)
    num_inside, num_pairs = int(edges[-1]), len(topics)
    for attempt in range(_ROUNDS):
        if len(left) == 0:
            break
        community = np.searchsorted(edges, left, side="right") - 1
        inside = left < num_inside
        last = len(edges) - 1
        low = np.where(inside, edges[np.minimum(community, last)], num_inside)
        high = np.where(inside, edges[np.minimum(community + 1, last)], num_pairs)
        if attempt >= _ROUNDS_INSIDE:  # no room there: take a partner from anywhere
            low, high = np.zeros_like(low), np.full_like(high, num_pairs)
        partners = rng.integers(low, high)
        settled = swap_repeats(left, partners, starts, ends, subscribers, topics)
        left = left[~settled]
    return left


def _homes(starts: LongArray, near: LongArray, edges: LongArray) -> IntArray:
    """Community in which each one's first inside pair lies, -1 without any."""
    home = np.searchsorted(edges, starts, side="right") - 1
    return np.where(near > 0, home, -1).astype(np.int32)
