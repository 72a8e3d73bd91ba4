"""What was counted in a window as a workload, without Spark.

The same definitions as of ``fanwise ingest``: ids follow names in code-point order, topics without
events or followers are left out, and so are subscribers whose topics are all left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.service.records import ClosedWindow, Window
from fanwise.workload.topic import TopicWorkload


@dataclass(frozen=True, eq=False)
class Traffic:
    """Events of topics in a window, counted or foretold.

    Attributes
    ----------
    topics
        Names in code-point order.
    events
        Events of each in a window; a forecast may have parts of one.
    size
        Mean size of its messages in bytes; not a number where none is known.
    """

    topics: pa.Array
    events: npt.NDArray[np.float64]
    size: npt.NDArray[np.float64]


def traffic_of(closed: ClosedWindow) -> Traffic:
    """Return what was counted in a window."""
    return Traffic(closed.topics, closed.events.astype(np.float64), closed.size)


def make_workload(
    traffic: Traffic, pairs: pa.Table, window: Window, *, message_bytes: float
) -> TopicWorkload:
    """Return the workload of a window: its traffic, and who wants what.

    Parameters
    ----------
    traffic
        Events of topics, the counted or the foretold ones.
    pairs
        ``subscriber`` and ``topic``, each combination once.
    message_bytes
        Size of messages where none is known.
    """
    has_events = traffic.events > 0
    names = traffic.topics.filter(pa.array(has_events))
    wanted = pc.index_in(pairs.column("topic"), value_set=names).combine_chunks()
    is_known = pc.is_valid(wanted)
    topic = np.asarray(pc.drop_null(wanted), dtype=np.int64)
    subscribers, subscriber = _number_names(pairs.column("subscriber").filter(is_known))
    is_followed = np.zeros(len(names), dtype=bool)
    is_followed[topic] = True
    new_id = np.cumsum(is_followed) - 1
    events, size = traffic.events[has_events][is_followed], traffic.size[has_events][is_followed]
    return TopicWorkload.from_arrays(
        events,
        subscriber,
        new_id[topic],
        num_subscribers=len(subscribers),
        message_bytes=np.where(np.isnan(size), message_bytes, size),
        topic_names=names.filter(pa.array(is_followed)),
        subscriber_names=subscribers,
        period_seconds=window.seconds,
        origin={"window": {"start": window.start, "end": window.end}},
    )


def _number_names(names: pa.ChunkedArray) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """Return distinct names in code-point order, and where each name is among them."""
    encoded = pc.dictionary_encode(names.combine_chunks())
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    distinct = encoded.dictionary
    order = np.asarray(pc.sort_indices(distinct), dtype=np.int64)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return distinct.take(pa.array(order)), rank[np.asarray(encoded.indices, dtype=np.int64)]
