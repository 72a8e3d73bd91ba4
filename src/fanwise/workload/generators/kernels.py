"""Kernels of the generators: repeated pairs found and swapped away.

The pairs of a subscriber stand in two runs of one array of topics: first those inside its
community, then the others. ``starts`` and ``ends`` have a row per subscriber, a column per run.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.arrays.jit import kernel


@kernel
def find_repeats(
    starts: LongArray, ends: LongArray, topics: IntArray, num_topics: int
) -> LongArray:
    """Positions of pairs whose subscriber has the same topic at an earlier position.

    Changes nothing.
    """
    last_subscriber = np.full(num_topics, -1, dtype=np.int32)
    repeats = np.zeros(len(topics), dtype=np.bool_)
    for subscriber in range(len(starts)):
        for run in range(2):
            for position in range(starts[subscriber, run], ends[subscriber, run]):
                topic = topics[position]
                repeats[position] = last_subscriber[topic] == subscriber
                last_subscriber[topic] = subscriber
    return np.flatnonzero(repeats)


@kernel
def swap_repeats(
    positions: LongArray,
    partners: LongArray,
    starts: LongArray,
    ends: LongArray,
    subscribers: IntArray,
    topics: IntArray,
) -> npt.NDArray[np.bool_]:
    """Exchange the topic at each position with its partner's where both sides then are new.

    Swaps keep every topic's and every subscriber's number of pairs. Changes ``topics``; returns
    whether each position was settled.
    """
    settled = np.zeros(len(positions), dtype=np.bool_)
    for i in range(len(positions)):
        here, there = positions[i], partners[i]
        mine, yours = topics[here], topics[there]
        if not has_topic(starts, ends, topics, subscribers[here], yours) and not has_topic(
            starts, ends, topics, subscribers[there], mine
        ):
            topics[here] = yours
            topics[there] = mine
            settled[i] = True
    return settled


@kernel
def has_topic(
    starts: LongArray, ends: LongArray, topics: IntArray, subscriber: int, topic: int
) -> bool:
    """Whether one of the subscriber's pairs has this topic. Changes nothing."""
    for run in range(2):
        for position in range(starts[subscriber, run], ends[subscriber, run]):
            if topics[position] == topic:
                return True
    return False
