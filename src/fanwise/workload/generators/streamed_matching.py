"""Match subscribers to topics at random, any stretch of subscribers on its own.

For follow graphs too large for memory. Each topic has as many stubs as it should have followers; a
:class:`ShuffledRange` deals all stubs out to the subscribers, so that each one's topics can be
found without those of the others (the configuration model). A subscriber that is dealt a topic
twice keeps one and draws further stubs, from a second random order of all of them, until its
topics are as many as it should have.

That takes followers from the most popular topics and gives them to the others, up to two fifths of
what the largest should have; :func:`balance_stubs` hands out stubs so that on average nothing
changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.workload.generators.shuffled_range import ShuffledRange, shuffle_range, shuffled

_EXACT = 64  # degrees up to here have a class of their own, larger ones share one
_CLASS_WIDTH = 0.02  # in logarithms
_BALANCING_ROUNDS = 60
_GUIDE_SHIFT = 12
_SHORT = 64  # up to here insertion sort is quicker


class Deal(NamedTuple):
    """How stubs are dealt; all that :func:`fill_rows` needs.

    Topics stand in the order of their stubs, where those with equally many form a class: the topic
    of a stub is then found by arithmetic, and in tables small enough for the processor's cache.

    Attributes
    ----------
    class_starts
        First stub of each class, and the number of stubs at the end.
    class_ranks
        Place of each class's first topic in the order.
    topics_per_stub
        One over the number of stubs of a topic, for each class.
    guide
        Class of every 4,096th stub, to find the others from there.
    topic_of_rank
        The topics in the order.
    first, further
        The order in which stubs are dealt, and the one of further draws.
    """

    class_starts: LongArray
    class_ranks: LongArray
    topics_per_stub: FloatArray
    guide: IntArray
    topic_of_rank: IntArray
    first: ShuffledRange
    further: ShuffledRange


def balance_stubs(
    followers: LongArray, followings: IntArray, rng: np.random.Generator
) -> LongArray:
    """Choose how many stubs each topic needs for these followers on average.

    With shares q_t of the stubs and lambda_v draws, subscriber v follows topic t with probability
    1 - exp(-q_t lambda_v). Shares and draws are scaled in turn until both kinds of degrees come out
    right (iterative proportional fitting), over classes of about equal degrees.

    Returns at least one stub for each topic, as many in all as ``followings`` add up to.
    """
    topic_degrees, topic_counts = _classes(followers)
    degrees, counts = _classes(followings)
    total = int(followings.sum(dtype=np.int64))
    wanted = topic_degrees * (total / float(topic_degrees @ topic_counts))
    shares, draws = wanted / total, degrees.copy()
    for _ in range(_BALANCING_ROUNDS):
        shares *= wanted / (-np.expm1(-np.outer(shares, draws)) @ counts)
        draws *= degrees / (topic_counts @ -np.expm1(-np.outer(shares, draws)))
    stubs_per_follower = shares / float(shares @ topic_counts) * total / topic_degrees
    stubs = followers * np.interp(np.log(followers), np.log(topic_degrees), stubs_per_follower)
    return settle(
        np.maximum(1, np.floor(stubs + rng.random(len(stubs)))).astype(np.int64), total, 1, rng
    )


def _classes(degrees: npt.NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
    """Group degrees; return the mean and the size of each group."""
    histogram = np.bincount(degrees)
    values = np.flatnonzero(histogram)
    weights = histogram[values].astype(np.float64)
    group = np.where(
        values <= _EXACT,
        values,
        _EXACT + 1 + np.floor(np.log(np.maximum(values, 1) / _EXACT) / _CLASS_WIDTH),
    )
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    sizes = np.add.reduceat(weights, starts)
    return np.add.reduceat(weights * values, starts) / sizes, sizes


def settle(counts: LongArray, total: int, smallest: int, rng: np.random.Generator) -> LongArray:
    """Move random counts by one, none below ``smallest``, until they add up to ``total``."""
    while (missing := total - int(counts.sum())) != 0:
        step = 1 if missing > 0 else -1
        chosen = np.unique(rng.integers(len(counts), size=abs(missing)))
        chosen = chosen[counts[chosen] + step >= smallest]
        counts[chosen] += step
    return counts


def deal_stubs(stubs: LongArray, rng: np.random.Generator) -> Deal:
    """Shuffle the stubs of all topics; memory O(topics + stubs / 4096)."""
    order = np.argsort(stubs, kind="stable")
    sizes, ranks, counts = np.unique(stubs[order], return_index=True, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(sizes * counts)])
    total = int(starts[-1])
    guide = np.searchsorted(starts, np.arange(0, total, 1 << _GUIDE_SHIFT), side="right") - 1
    return Deal(
        starts,
        ranks.astype(np.int64),
        1 / sizes,
        guide.astype(np.int32),
        order.astype(np.int32),
        shuffle_range(total, rng),
        shuffle_range(total, rng),
    )


@kernel
def fill_rows(deal: Deal, indptr: LongArray, topics: IntArray) -> None:
    """Find the topics of consecutive subscribers, ascending for each.

    ``indptr`` is their stretch of the whole graph's row starts; ``topics`` holds the rows.
    Changes ``topics``.
    """
    for position in range(indptr[-1] - indptr[0]):
        topics[position] = find_topic(deal, shuffled(deal.first, indptr[0] + position))
    for row in range(len(indptr) - 1):
        start = indptr[row] - indptr[0]
        end = indptr[row + 1] - indptr[0]
        found = sort_distinct(topics, start, end)
        draw = indptr[row]
        while found < end:
            draw = draw_others(deal, topics, start, found, end, draw)
            distinct = sort_distinct(topics, found, end)
            merge(topics, start, found, distinct)
            found = distinct


@kernel
def draw_others(deal: Deal, topics: IntArray, start: int, found: int, end: int, draw: int) -> int:
    """Fill ``found:end`` with topics that are not in the sorted ``start:found``.

    Draws go through the second order from ``draw`` on; returns where the next one starts. All stubs
    come up in time, so it ends as long as nobody follows more topics than there are. Changes
    ``topics``.
    """
    position = found
    while position < end:
        topic = find_topic(deal, shuffled(deal.further, draw % deal.further.size))
        draw += 1
        at = start + np.searchsorted(topics[start:found], topic)
        if at == found or topics[at] != topic:
            topics[position] = topic
            position += 1
    return draw


@kernel
def find_topic(deal: Deal, stub: int) -> int:
    """Return the topic to which a stub belongs. Changes nothing."""
    group = deal.guide[stub >> _GUIDE_SHIFT]
    while deal.class_starts[group + 1] <= stub:
        group += 1
    # Half a stub keeps the product away from whole numbers: no rounding error can reach one.
    ahead = (stub - deal.class_starts[group] + 0.5) * deal.topics_per_stub[group]
    topic: int = deal.topic_of_rank[deal.class_ranks[group] + int(ahead)]
    return topic


@kernel
def sort_distinct(values: IntArray, start: int, end: int) -> int:
    """Sort a stretch, its distinct values first; return where they end. Changes ``values``."""
    if end - start <= _SHORT:
        for i in range(start + 1, end):
            value = values[i]
            j = i
            while j > start and values[j - 1] > value:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value
    else:
        values[start:end].sort()
    last = start
    for i in range(start + 1, end):
        if values[i] != values[last]:
            last += 1
            values[last] = values[i]
    return last + 1


@kernel
def merge(values: IntArray, start: int, middle: int, end: int) -> None:
    """Merge the sorted stretches ``start:middle`` and ``middle:end`` in place.

    Changes ``values``.
    """
    second = values[middle:end].copy()
    i, j = middle - 1, len(second) - 1
    for write in range(end - 1, start - 1, -1):
        if j < 0:
            return
        if i >= start and values[i] > second[j]:
            values[write] = values[i]
            i -= 1
        else:
            values[write] = second[j]
            j -= 1
