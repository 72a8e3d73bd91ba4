"""Follow graphs that come as edges, made into workloads in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import LongArray
from fanwise.errors import InputError
from fanwise.workload.columns import number_names
from fanwise.workload.topic.model import TopicWorkload


def workload_of_edges(
    follower: Any,
    followee: Any,
    *,
    mutual: bool = False,
    rate: float = 1.0,
    message_bytes: float = 200.0,
    period_seconds: float = 86_400.0,
    origin: Mapping[str, Any] | None = None,
) -> TopicWorkload:
    """Make the workload in which every follower subscribes to those it follows.

    The same as ``fanwise ingest --edges`` makes with ``rate`` events for everybody: repeated edges
    are merged, whoever is followed is a topic and whoever follows a subscriber, and ids follow the
    names in code-point order. O(edges log edges).

    Parameters
    ----------
    follower, followee
        The ends of each edge: integers or strings, in an Arrow, NumPy or plain sequence.
    mutual
        Each edge holds both ways, as a friendship does.
    rate, message_bytes
        Of every topic.
    period_seconds
        What the rate refers to.
    origin
        Entries of ``workload.json``: where the graph came from.
    """
    first, second = _as_ends(follower), _as_ends(followee)
    if len(first) != len(second):
        raise InputError(
            f"edges: {len(first)} followers and {len(second)} followees; each edge has both."
        )
    names, users = _number_names(first, second)
    source, target = users[: len(first)], users[len(first) :]
    if mutual:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
    keys = np.sort(source * len(names) + target)
    keys = keys[np.diff(keys, prepend=-1) > 0]
    source, target = np.divmod(keys, max(len(names), 1))
    topics, topic = _renumber(target, len(names))
    subscribers, subscriber = _renumber(source, len(names))
    return TopicWorkload.from_arrays(
        np.full(len(topics), rate),
        subscriber,
        topic,
        topic_names=names.take(pa.array(topics)),
        subscriber_names=names.take(pa.array(subscribers)),
        message_bytes=message_bytes,
        period_seconds=period_seconds,
        origin=origin,
    )


def _number_names(first: pa.Array, second: pa.Array) -> tuple[pa.Array, LongArray]:
    """Return the different names in code-point order, and the rank of each end's among them."""
    if first.type != second.type:
        first, second = first.cast(pa.large_string()), second.cast(pa.large_string())
    return number_names(pa.concat_arrays([first, second]))


def _renumber(users: LongArray, num_users: int) -> tuple[LongArray, LongArray]:
    """Return the different users in order, and the rank of each user among them."""
    is_there = np.zeros(num_users, dtype=np.bool_)
    is_there[users] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[users]


def _as_ends(values: Any) -> pa.Array:
    """Return integers or strings as one Arrow array."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    array = values if isinstance(values, pa.Array) else pa.array(values)
    kind = array.type
    if len(array) == 0:
        return array.cast(pa.large_string())
    if not (
        pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
    ):
        raise InputError(f"edges: ends of type {kind} where integers or strings are needed.")
    if array.null_count:
        raise InputError("edges: an end is null; every edge needs both.")
    return array
