"""A generated follow graph: users are topics and subscribers, heavy-tailed and clustered.

Users arrive one after the other. Each links to a heavy-tailed number of earlier users, partly to
those its new acquaintances know, which closes triangles, and partly in proportion to popularity,
which makes celebrities; a share of the links is returned. As in the papers' Facebook and Twitter
instances a user subscribes to the topics of those it follows and not to its own.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.errors import ParameterError
from fanwise.progress import SILENT, Progress
from fanwise.workload.generators.activity import (
    PERIOD_SECONDS,
    check_message_bytes,
    draw_positions,
    draw_rates,
    draw_regions,
)
from fanwise.workload.generators.follow_kernels import ATTEMPTS, grow_links, inherit_regions
from fanwise.workload.generators.laws import power_law_counts
from fanwise.workload.topic import TopicWorkload
from fanwise.workload.validation import numbered_names

MEAN_FOLLOWINGS = 20.0
CLUSTERING = 0.7
RECIPROCITY = 0.22
MESSAGE_BYTES = 200.0

_COUNT_EXPONENT = 3.0  # P(k) ~ k ** -3, of the links a user makes by itself
_NEWCOMER_SHARE = 0.3  # of the links that close no triangle: to anybody, known or not
_FANS_KNOWN = 16  # the last followers through whom a user is found
_STAY_SHARE = 0.8  # of users who live where the first one they follow does
_MOST_IDS = 2**31 - 1
_CHANCES_AT_ONCE = 500_000


def follow(
    nodes: int = 10_000,
    *,
    mean_followings: float = MEAN_FOLLOWINGS,
    mutual: bool = False,
    reciprocity: float | None = None,
    clustering: float = CLUSTERING,
    net_dims: int = 0,
    message_bytes: float = MESSAGE_BYTES,
    seed: int = 0,
    progress: Progress = SILENT,
) -> TopicWorkload:
    """Generate a follow graph; topic i and subscriber i are one user, under one name.

    Followings and followers have power-law tails; rates are heavy-tailed and grow with followers.
    Ids tell nothing about the order of arrival. Takes O(links).

    Parameters
    ----------
    nodes
        Users; those whom nobody follows, or who follow nobody, stay.
    mean_followings
        How many others a user follows on average, at most what all pairs of users linked would
        give; dense graphs fall a little short of it.
    mutual
        Every link holds both ways, as among Facebook's friends.
    reciprocity
        Share of the linked pairs of users who follow each other, 0.22 by default as reported of
        Twitter; with ``mutual`` it is 1.
    clustering
        Share of a user's links after its first that go to somebody whom one already linked to has
        linked to.
    net_dims
        Dimensions of the network space users are in, mostly near someone they follow; 0: no
        positions.
    message_bytes
        Size of every message.
    seed
        Makes every random choice repeatable.
    progress
        Hears of links made.
    """
    if mutual and reciprocity not in (None, 1, 1.0):
        raise ParameterError("reciprocity", "left out where links are mutual", reciprocity)
    returned = 1.0 if mutual else RECIPROCITY if reciprocity is None else reciprocity
    if not 1 <= nodes <= _MOST_IDS:
        raise ParameterError("nodes", f"from 1 to {_MOST_IDS}", nodes)
    for name, share in (("reciprocity", returned), ("clustering", clustering)):
        if not 0 <= share <= 1:
            raise ParameterError(name, "a share from 0 to 1", share)
    most = (nodes - 1) * (1 + returned) / 2
    if not 0 <= mean_followings <= most:
        among = f"{nodes} users with reciprocity {returned:g}"
        raise ParameterError("mean_followings", f"from 0 to {most:g} for {among}", mean_followings)

    check_message_bytes(message_bytes)
    for_links, for_returns, for_ids, for_rates, for_positions = np.random.default_rng(seed).spawn(5)
    links = _grow(nodes, mean_followings, returned, clustering, for_links, progress)
    follower, followee = _return_links(links, returned, for_returns)
    regions = draw_regions(nodes, for_positions)
    inherit_regions(links.starts, links.targets, for_positions.random(nodes) < _STAY_SHARE, regions)
    positions = draw_positions(regions, net_dims, for_positions)
    user_of = for_ids.permutation(nodes).astype(np.int32)
    names = numbered_names("u", nodes)
    topic = user_of[followee]
    return TopicWorkload.from_arrays(
        draw_rates(np.bincount(topic, minlength=nodes), for_rates),
        user_of[follower],
        topic,
        num_subscribers=nodes,
        topic_names=names,
        subscriber_names=names,
        message_bytes=message_bytes,
        period_seconds=PERIOD_SECONDS,
        positions=None if positions is None else positions[np.argsort(user_of)],
        origin={
            "generator": "follow",
            "seed": seed,
            "mutual": mutual,
            "mean_followings": mean_followings,
            "reciprocity": returned,
            "clustering": clustering,
        },
    )


class _Links(NamedTuple):
    """Links in the order they were made; those of user u are ``[starts[u], starts[u + 1])``."""

    starts: LongArray
    sources: IntArray
    targets: IntArray


def _grow(
    nodes: int,
    mean_followings: float,
    reciprocity: float,
    clustering: float,
    rng: np.random.Generator,
    progress: Progress,
) -> _Links:
    counts = _draw_counts(nodes, nodes * mean_followings / (1 + reciprocity), rng)
    most = int(counts.sum())
    starts = np.zeros(nodes + 1, dtype=np.int64)
    sources, targets = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    last_linker = np.full(nodes, -1, dtype=np.int32)
    fans = np.empty((nodes, _FANS_KNOWN), dtype=np.int32)
    num_fans = np.zeros(nodes, dtype=np.int64)
    ends = np.cumsum(counts)
    first = 0
    with progress.step("Growing a follow graph", total=most) as step:
        while first < nodes:
            done = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, done + _CHANCES_AT_ONCE, "right")))
            part = counts[first:last]
            grow_links(
                np.arange(first, last),
                part,
                rng.random((int(part.sum()), 2 * ATTEMPTS)),
                clustering,
                _NEWCOMER_SHARE,
                reciprocity,
                starts,
                sources,
                targets,
                last_linker,
                fans,
                num_fans,
            )
            step.advance(int(part.sum()))
            first = last
    made = int(starts[-1])
    return _Links(starts, sources[:made], targets[:made])


def _draw_counts(nodes: int, total: float, rng: np.random.Generator) -> LongArray:
    """Draw how many earlier users each one links to: heavy-tailed, and never more than there are.

    What early users cannot have goes to later ones.
    """
    most = np.arange(nodes, dtype=np.int64)
    wanted = min(round(total), int(most.sum()))
    counts = np.zeros(nodes, dtype=np.int64)
    if nodes < 2 or wanted == 0:
        return counts
    drawn = min(max(wanted, nodes), nodes * (nodes // 2))
    largest = max(nodes // 10, math.ceil(2 * drawn / nodes))
    counts = power_law_counts(nodes, drawn, _COUNT_EXPONENT, largest, rng)
    counts = np.minimum(counts, most)
    while (missing := wanted - int(counts.sum())) != 0:
        movable = np.flatnonzero(counts < most if missing > 0 else counts > 0)
        chosen = rng.choice(movable, min(abs(missing), len(movable)), replace=False)
        counts[chosen] += 1 if missing > 0 else -1
    return counts


def _return_links(
    links: _Links, reciprocity: float, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Add the opposite of a share of the links. A link goes to an earlier user: none is doubled."""
    returned = rng.random(len(links.sources)) < reciprocity
    return (
        np.concatenate([links.sources, links.targets[returned]]),
        np.concatenate([links.targets, links.sources[returned]]),
    )
