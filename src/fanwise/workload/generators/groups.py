"""Subscriptions to a hierarchy of topics from three continents, like those of Google Groups [1]_.

.. [1] Yu, Agarwal, Yang: Subscriber assignment for wide-area content-based publish/subscribe,
   Sec. VI, workload set #1.

The paper's own generator is not public; this one follows what is told of it. Topics form a tree
whose nodes are nested rectangles. A topic's popularity is a Zipfian share of its parent's, less
uneven from level to level, so that hot spots lie inside hot spots; the hottest topics are removed.
Exponent and extent are chosen so that bandwidths resemble the paper's Table I. Its two knobs:

- interest skewness IS: *diffusion* goes down the tree and moves the popularities of siblings
  towards their mean, so that their variance falls by a factor (IS:L 55%, IS:H none);
- broad interests BI: *generalisation* goes up the tree and moves a fraction of every topic's
  popularity to its parent (BI:L 1%, BI:H 10%).

Subscribers live in Asia, North America and Europe as 4 : 1 : 4, in cities of unequal size; what
they want depends on the continent. The publisher is in North America.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.errors import ParameterError
from fanwise.progress import SILENT, Progress
from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.instances import (
    Audience,
    Setup,
    check_subscribers,
    make_instance,
)

FACTORS = 1.5, 1.8
DIFFUSION = {"L": 0.55, "H": 0.0}
GENERALISATION = {"L": 0.01, "H": 0.10}
REGIONS = {"Asia": 4, "North America": 1, "Europe": 4}

CENTRES = np.array([[-37.5, 145.2], [0.0, 0.0], [100.0, 0.0]])  # ms: 150, 200 and 100 apart
_CITIES = 25  # of each continent
_CITY_SPREAD, _LOCAL_SPREAD = 20.0, 3.0  # ms, along each axis
_AFFINITY = 0.7  # of continents to topics, in logarithms, at each level


class Topics(NamedTuple):
    """A tree of topics, parents before children; the children of one are next to each other."""

    parent: IntArray
    level: IntArray
    lo: FloatArray
    hi: FloatArray


def groups(
    subscribers: int = 100_000,
    *,
    interest_skew: str = "H",
    broad_interests: str = "L",
    depth: int = 5,
    branching: int = 7,
    exponent: float = 10.0,
    removed: int = 100,
    extent: float = 20_000.0,
    progress: Progress = SILENT,
    **setup: Any,
) -> ContentWorkload:
    """Generate subscriptions to a hierarchy of topics.

    Parameters
    ----------
    interest_skew, broad_interests
        ``"L"`` or ``"H"``: the paper's IS and BI.
    depth, branching
        Levels of topics, and subtopics of each.
    exponent
        Of the Zipf law that shares popularity out among the topics of the first level; at level k
        it is a k-th of that.
    removed
        How many of the hottest topics are left out.
    extent
        Side of the event space, which has two dimensions.
    setup
        Of brokers, network and limits: see :class:`~fanwise.workload.generators.instances.Setup`.
    """
    asked = Setup(**setup)
    check_subscribers(subscribers)
    _check(interest_skew, broad_interests, depth, branching, exponent, removed, extent)
    rng = np.random.default_rng([asked.seed, 0])
    topics = draw_topics(depth, branching, extent, rng)
    popularity = draw_popularity(topics, branching, exponent, removed, rng)
    popularity = diffuse(topics, popularity, DIFFUSION[interest_skew])
    popularity = generalise(topics, popularity, GENERALISATION[broad_interests])
    region = _deal_regions(subscribers, rng)
    topic = _choose_topics(topics, popularity, region, rng)
    positions, publisher = _draw_positions(asked, region, rng)
    origin = {
        "generator": "groups",
        "interest_skew": interest_skew,
        "broad_interests": broad_interests,
        "depth": depth,
        "branching": branching,
        "exponent": exponent,
        "removed": removed,
        "extent": extent,
    }
    audience = Audience(topics.lo[topic], topics.hi[topic], positions, publisher)
    return make_instance(audience, asked, FACTORS, origin, progress)


def _check(
    skew: str, broad: str, depth: int, branching: int, exponent: float, removed: int, extent: float
) -> None:
    for name, value in (("interest_skew", skew), ("broad_interests", broad)):
        if value not in ("L", "H"):
            raise ParameterError(name, "L or H", value)
    if not 1 <= depth <= 8:
        raise ParameterError("depth", "a whole number from 1 to 8", depth)
    if branching < 2 or branching**depth > 1_000_000:
        must = "a whole number >= 2 with at most 1,000,000 topics at the last level"
        raise ParameterError("branching", must, branching)
    if not 0 <= removed < branching**depth:
        raise ParameterError("removed", f"a whole number from 0 to {branching**depth - 1}", removed)
    for name, number in (("exponent", exponent), ("extent", extent)):
        if not (np.isfinite(number) and number > 0):
            raise ParameterError(name, "a finite number > 0", number)


def draw_topics(depth: int, branching: int, extent: float, rng: np.random.Generator) -> Topics:
    """Cut the event space into rectangles, each into smaller ones, level by level.

    A rectangle is cut along its longer side over and over, at uneven places; each part then keeps
    a margin, so that a topic is more than its subtopics together.
    """
    parents, levels = [np.array([-1])], [np.array([0])]
    boxes = [np.array([[0.0, 0.0, extent, extent]])]
    first, total = 0, 1
    for level in range(1, depth + 1):
        cut = np.concatenate([_cut(box, branching, rng) for box in boxes[-1]])
        parents.append(np.repeat(np.arange(first, total), branching))
        levels.append(np.full(len(cut), level))
        boxes.append(cut)
        first, total = total, total + len(cut)
    both = np.concatenate(boxes)
    return Topics(
        np.concatenate(parents).astype(np.int32),
        np.concatenate(levels).astype(np.int32),
        np.ascontiguousarray(both[:, :2]),
        np.ascontiguousarray(both[:, 2:]),
    )


def _cut(box: FloatArray, parts: int, rng: np.random.Generator) -> FloatArray:
    waiting, done = [(box, parts)], []
    while waiting:
        piece, wanted = waiting.pop()
        if wanted == 1:
            margin = 0.03 * (piece[2:] - piece[:2])
            done.append(np.concatenate([piece[:2] + margin, piece[2:] - margin]))
            continue
        axis = int(piece[3] - piece[1] > piece[2] - piece[0])
        half = wanted // 2
        share = np.clip(half / wanted + 0.15 * (rng.random() - 0.5), 0.1, 0.9)
        at = piece[axis] + share * (piece[2 + axis] - piece[axis])
        left, right = piece.copy(), piece.copy()
        left[2 + axis] = right[axis] = at
        waiting += [(left, half), (right, wanted - half)]
    return np.array(done)


def draw_popularity(
    topics: Topics, branching: int, exponent: float, removed: int, rng: np.random.Generator
) -> FloatArray:
    """Return each topic's share of subscribers: all at the last level, and the hottest gone."""
    popularity = np.ones(len(topics.parent))
    for first in range(1, len(popularity), branching):
        weights = np.arange(1, branching + 1) ** (-exponent / topics.level[first])
        shares = rng.permutation(weights / weights.sum())
        popularity[first : first + branching] = popularity[topics.parent[first]] * shares
    popularity[topics.level < topics.level.max()] = 0.0
    popularity[np.argsort(-popularity, kind="stable")[:removed]] = 0.0
    return np.asarray(popularity / popularity.sum())


def diffuse(topics: Topics, popularity: FloatArray, factor: float) -> FloatArray:
    """Reduce the variance among siblings by a factor, from the top of the tree down.

    What moves is the popularity of whole subtrees. Siblings whose subtree is empty stay so.
    """
    if factor == 0:
        return popularity
    held = _subtree_sums(topics, popularity)
    scale = np.ones(len(popularity))  # of each topic's subtree, against before
    keep = np.sqrt(1 - factor)
    starts = np.flatnonzero(np.diff(topics.parent, prepend=-2))
    for first, end in zip(starts, [*starts[1:], len(popularity)], strict=True):
        if topics.parent[first] < 0:
            continue
        siblings = np.arange(first, end)[held[first:end] > 0]
        mean = held[siblings].mean() if len(siblings) else 0.0
        inherited = scale[topics.parent[first]]
        scale[siblings] = inherited * (mean + keep * (held[siblings] - mean)) / held[siblings]
    return popularity * scale


def generalise(topics: Topics, popularity: FloatArray, fraction: float) -> FloatArray:
    """Move a fraction of every topic's popularity to its parent, from the bottom of the tree up.

    The root stands for everything and is no topic: nothing moves to it.
    """
    result = popularity.copy()
    for level in range(int(topics.level.max()), 1, -1):
        at = topics.level == level
        np.add.at(result, topics.parent[at], fraction * result[at])
        result[at] *= 1 - fraction
    return result


def _subtree_sums(topics: Topics, popularity: FloatArray) -> FloatArray:
    held = popularity.copy()
    for level in range(int(topics.level.max()), 0, -1):
        at = topics.level == level
        np.add.at(held, topics.parent[at], held[at])
    return held


def _deal_regions(subscribers: int, rng: np.random.Generator) -> LongArray:
    cumulative = np.cumsum(list(REGIONS.values())) / sum(REGIONS.values())
    u = (np.arange(subscribers) + 0.5) / subscribers
    return rng.permutation(np.searchsorted(cumulative, u))


def _choose_topics(
    topics: Topics, popularity: FloatArray, region: LongArray, rng: np.random.Generator
) -> LongArray:
    affinity = np.zeros((len(popularity), len(REGIONS)))
    for level in range(1, int(topics.level.max()) + 1):
        at = topics.level == level
        noise = _AFFINITY * rng.standard_normal((int(at.sum()), len(REGIONS)))
        affinity[at] = affinity[topics.parent[at]] + noise
    topic = np.empty(len(region), dtype=np.int64)
    for which in range(len(REGIONS)):
        here = np.flatnonzero(region == which)
        cumulative = np.cumsum(popularity * np.exp(affinity[:, which]))
        u = (np.arange(len(here)) + rng.random(len(here))) / max(len(here), 1)
        chosen = np.searchsorted(cumulative, u * cumulative[-1], side="right")
        topic[here] = rng.permutation(chosen)
    return topic


def _draw_positions(
    setup: Setup, region: LongArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return where subscribers are and the publisher is; measured positions are cut 4 : 1 : 4."""
    nodes = setup.nodes()
    if nodes is not None:
        return _draw_from_nodes(nodes, region, rng)
    dims = setup.dims
    centres = np.zeros((len(REGIONS), dims))
    centres[:, : min(dims, 2)] = CENTRES[:, : min(dims, 2)]
    cities = centres[:, None] + _CITY_SPREAD * rng.standard_normal((len(REGIONS), _CITIES, dims))
    weights = np.arange(1, _CITIES + 1) ** -0.5
    cumulative = np.cumsum(weights) / weights.sum()
    city = np.minimum(np.searchsorted(cumulative, rng.random(len(region))), _CITIES - 1)
    noise = _LOCAL_SPREAD * rng.standard_normal((len(region), dims))
    return cities[region, city] + noise, centres[1]


def _draw_from_nodes(
    nodes: FloatArray, region: LongArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    centred = nodes - nodes.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    along = np.argsort(centred @ axes[0], kind="stable")
    cuts = np.round(np.cumsum([0, *REGIONS.values()]) / 9 * len(nodes)).astype(np.int64)
    positions = np.empty((len(region), nodes.shape[1]))
    publisher = nodes[along[len(nodes) // 2]]
    for which, (first, end) in enumerate(pairwise(cuts.tolist())):
        here = np.flatnonzero(region == which)
        if len(here):
            inside = along[first : max(end, first + 1)]
            positions[here] = nodes[inside[rng.integers(0, len(inside), len(here))]]
    return positions, publisher
