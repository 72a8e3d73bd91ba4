"""The synthetic workloads of overlay design: Expo, Zipf and Unif [1]_.

.. [1] Chen, Tock, Jacobsen: Overlay design for topic-based publish/subscribe under node degree
   constraints, Sec. IX-B.

Every node draws how many topics it wants by a law of sizes, then that many different topics one
after the other, each with a probability in proportion to the popularity q(t) of those left. Topic 0
is the most popular. The paper draws q(t) "from" a distribution; we read that as the profile of
popularity over ranks, the only reading under which more topics leave Zipf as it is, which the paper
observes. It states no law of sizes: :data:`SIZE_LAWS` are ours.
"""

from __future__ import annotations

import math

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.errors import ParameterError
from fanwise.progress import SILENT, Progress
from fanwise.workload.generators.activity import (
    PERIOD_SECONDS,
    check_message_bytes,
    draw_positions,
    draw_rates,
    draw_regions,
)
from fanwise.workload.generators.laws import draw_strata
from fanwise.workload.topic import TopicWorkload

SIZE_LAWS = ("power", "uniform")
MIN_SIZE, MAX_SIZE = 20, 600
SIZE_EXPONENT = 2.0
ZIPF_ALPHA = 2.0
DECAY = 9.0
"""The paper gives no rate. This one is fitted, by interpolation from a few runs at 1,000 and 10,000
nodes, to the support that it reports of its algorithm for Expo at degree 4."""

MESSAGE_BYTES = 200.0

_MOST_IDS = 2**31 - 1
_MOST_DECAY = 80.0  # beyond, the least popular topics' weights would not fit float32
_CELLS_AT_ONCE = 4_000_000


def expo(
    nodes: int = 1000,
    topics: int = 1000,
    *,
    decay: float = DECAY,
    size_law: str = "power",
    min_size: int | None = None,
    max_size: int | None = None,
    size_exponent: float = SIZE_EXPONENT,
    net_dims: int = 0,
    message_bytes: float = MESSAGE_BYTES,
    seed: int = 0,
    progress: Progress = SILENT,
) -> TopicWorkload:
    """Generate a workload whose popularity falls exponentially: q(t) ~ exp(-decay * t / topics).

    Parameters
    ----------
    nodes, topics
        How many.
    decay
        From the first topic to the last, popularity falls by the factor exp(decay). It is relative
        to the number of topics, so that more topics spread interests more.
    size_law
        Of the number of topics a node wants: ``"power"``, P(k) ~ k ** -size_exponent between the
        two limits, or ``"uniform"``.
    min_size, max_size
        Least and most topics of a node; by default 20 and 600, or all topics where there are fewer.
    size_exponent
        Of the power law.
    net_dims
        Dimensions of the network space nodes are in; 0: no positions.
    message_bytes
        Size of every message.
    seed
        Makes every random choice repeatable.
    progress
        Hears of nodes done.
    """
    if not 0 < decay <= _MOST_DECAY:
        raise ParameterError("decay", f"a number > 0 and <= {_MOST_DECAY:g}", decay)
    _check_counts(nodes, topics)
    return _generate(
        "expo",
        nodes,
        -decay * np.arange(topics) / topics,
        {"decay": decay},
        _Sizes(size_law, min_size, max_size, size_exponent, topics),
        net_dims,
        message_bytes,
        seed,
        progress,
    )


def zipf(
    nodes: int = 1000,
    topics: int = 1000,
    *,
    alpha: float = ZIPF_ALPHA,
    size_law: str = "power",
    min_size: int | None = None,
    max_size: int | None = None,
    size_exponent: float = SIZE_EXPONENT,
    net_dims: int = 0,
    message_bytes: float = MESSAGE_BYTES,
    seed: int = 0,
    progress: Progress = SILENT,
) -> TopicWorkload:
    """Generate a workload whose popularity is Zipfian: q(t) ~ (t + 1) ** -alpha.

    The other parameters are those of :func:`expo`.
    """
    if not 0 < alpha <= 3:
        raise ParameterError("alpha", "a number > 0 and <= 3", alpha)
    _check_counts(nodes, topics)
    return _generate(
        "zipf",
        nodes,
        -alpha * np.log(np.arange(1, topics + 1)),
        {"alpha": alpha},
        _Sizes(size_law, min_size, max_size, size_exponent, topics),
        net_dims,
        message_bytes,
        seed,
        progress,
    )


def unif(
    nodes: int = 1000,
    topics: int = 1000,
    *,
    size_law: str = "power",
    min_size: int | None = None,
    max_size: int | None = None,
    size_exponent: float = SIZE_EXPONENT,
    net_dims: int = 0,
    message_bytes: float = MESSAGE_BYTES,
    seed: int = 0,
    progress: Progress = SILENT,
) -> TopicWorkload:
    """Generate a workload whose topics are all equally popular.

    The parameters are those of :func:`expo`.
    """
    _check_counts(nodes, topics)
    return _generate(
        "unif",
        nodes,
        np.zeros(topics),
        {},
        _Sizes(size_law, min_size, max_size, size_exponent, topics),
        net_dims,
        message_bytes,
        seed,
        progress,
    )


class _Sizes:
    """The law of how many topics a node wants."""

    def __init__(
        self,
        law: str,
        min_size: int | None,
        max_size: int | None,
        exponent: float,
        topics: int,
    ) -> None:
        if law not in SIZE_LAWS:
            raise ParameterError("size_law", f"one of {', '.join(SIZE_LAWS)}", law)
        if not (math.isfinite(exponent) and exponent >= 0):
            raise ParameterError("size_exponent", "a finite number >= 0", exponent)
        most = min(MAX_SIZE, topics) if max_size is None else max_size
        if not 0 <= most <= topics:
            raise ParameterError("max_size", f"from 0 to {topics}, the number of topics", most)
        least = min(MIN_SIZE, most) if min_size is None else min_size
        if not 0 <= least <= most:
            raise ParameterError("min_size", f"from 0 to {most}, the most topics of a node", least)
        if law == "power" and least == 0 < most:
            raise ParameterError("min_size", "at least 1 for the power law", least)
        self.law, self.least, self.most = law, least, most
        self.exponent = exponent if law == "power" else 0.0

    def draw(self, count: int, rng: np.random.Generator) -> LongArray:
        """Draw sizes in strata, so that even few of them follow the law; in random order."""
        values = np.arange(self.least, self.most + 1)
        weights = np.maximum(values, 1) ** -self.exponent
        drawn = draw_strata(count, rng) * weights.sum()
        sizes = values[np.searchsorted(np.cumsum(weights)[:-1], drawn, side="right")]
        return rng.permutation(sizes.astype(np.int64))

    def facts(self) -> dict[str, object]:
        exponent = {"size_exponent": self.exponent} if self.law == "power" else {}
        return {
            "size_law": self.law,
            "min_size": self.least,
            "max_size": self.most,
            **exponent,
        }


def _check_counts(nodes: int, topics: int) -> None:
    for name, count in (("nodes", nodes), ("topics", topics)):
        if not 1 <= count <= _MOST_IDS:
            raise ParameterError(name, f"from 1 to {_MOST_IDS}", count)


def _generate(
    name: str,
    nodes: int,
    log_weights: FloatArray,
    law: dict[str, float],
    sizes: _Sizes,
    net_dims: int,
    message_bytes: float,
    seed: int,
    progress: Progress,
) -> TopicWorkload:
    check_message_bytes(message_bytes)
    # Streams of their own: positions or another law of popularity leave the sizes as they are.
    for_sizes, for_topics, for_rates, for_positions = np.random.default_rng(seed).spawn(4)
    positions = draw_positions(draw_regions(nodes, for_positions), net_dims, for_positions)
    wanted = sizes.draw(nodes, for_sizes)
    topic = draw_different(wanted, log_weights, for_topics, progress)
    num_topics = len(log_weights)
    return TopicWorkload.from_arrays(
        draw_rates(np.bincount(topic, minlength=num_topics), for_rates),
        np.repeat(np.arange(nodes, dtype=np.int32), wanted),
        topic,
        num_subscribers=nodes,
        message_bytes=message_bytes,
        period_seconds=PERIOD_SECONDS,
        positions=positions,
        origin={"generator": name, "seed": seed, **law, **sizes.facts()},
    )


def draw_different(
    sizes: LongArray,
    log_weights: FloatArray,
    rng: np.random.Generator,
    progress: Progress = SILENT,
) -> IntArray:
    """Draw so many different topics for each node, one after the other by weight; all in a row.

    Such draws are the first arrivals of a race in which topic t arrives after an exponential time
    of rate q(t) (Efraimidis and Spirakis 2006). O(nodes x topics) time, in chunks of nodes.
    """
    num_nodes, num_topics = len(sizes), len(log_weights)
    delay = np.exp(log_weights.max() - log_weights).astype(np.float32)
    ends = np.cumsum(sizes)
    chosen = np.empty(int(ends[-1]), dtype=np.int32)
    at_once = max(1, _CELLS_AT_ONCE // num_topics)
    with progress.step("Drawing topics", total=num_nodes) as step:
        for first in range(0, num_nodes, at_once):
            nodes = range(first, min(first + at_once, num_nodes))
            arrival = rng.standard_exponential((len(nodes), num_topics), dtype=np.float32)
            arrival *= delay
            for node, times in zip(nodes, arrival, strict=True):
                size = sizes[node]
                if size:
                    earliest = np.argpartition(times, size - 1)[:size]
                    chosen[ends[node] - size : ends[node]] = earliest
            step.advance(len(nodes))
    return chosen
