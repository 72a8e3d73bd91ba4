"""Graphs and matrices that say who follows whom, made into workloads.

They are read through their own methods: neither NetworkX nor SciPy is imported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.errors import InputError, ParameterError
from fanwise.workload.columns import number_names, read_columns
from fanwise.workload.topic.edges import workload_of_edges
from fanwise.workload.topic.frames import MESSAGE_BYTES, UNTOLD_SECONDS, Rates, join_rates
from fanwise.workload.topic.model import TopicWorkload

RateOf = float | Mapping[Any, float]
"""Events per period: the same for every topic, or of each by name."""


def workload_of_pairs(
    edges: Any,
    *,
    mutual: bool = False,
    rate: RateOf = 1.0,
    message_bytes: float = MESSAGE_BYTES,
    period_seconds: float = UNTOLD_SECONDS,
) -> TopicWorkload:
    """Make a workload of edges; see :meth:`TopicWorkload.from_edges`."""
    follower, followee = _ends_of(edges)
    if not isinstance(rate, Mapping):
        return workload_of_edges(
            follower,
            followee,
            mutual=mutual,
            rate=rate,
            message_bytes=message_bytes,
            period_seconds=period_seconds,
        )
    rates = _rates_by_name(
        ((_name(topic, "a topic of rate"), each) for topic, each in rate.items()), message_bytes
    )
    if mutual:
        follower, followee = (
            pa.concat_arrays([follower, followee]),
            pa.concat_arrays([followee, follower]),
        )
    return join_rates(rates, follower, followee, period_seconds=period_seconds)


def workload_of_graph(
    graph: Any,
    *,
    rate: float | str | Mapping[Any, float] = 1.0,
    topics: Iterable[Any] | None = None,
    message_bytes: float = MESSAGE_BYTES,
    period_seconds: float = UNTOLD_SECONDS,
) -> TopicWorkload:
    """Make a workload of a NetworkX graph; see :meth:`TopicWorkload.from_networkx`."""
    named: dict[str, Any] = {}
    for node in graph.nodes():
        other = named.setdefault(_name(node, "a node"), node)
        if other != node:
            raise InputError(
                f"graph: the nodes {other!r} and {node!r} have the same name; rename one."
            )
    edges = [(str(one), str(other)) for one, other in graph.edges()]
    is_mutual = not graph.is_directed()
    if topics is not None:
        sides = {_name(node, "a topic") for node in topics}
        if unknown := sides - named.keys():
            raise InputError(f"topics: {min(unknown)!r} is no node of the graph.")
        edges, is_mutual = _between(edges, sides), False
    by_name: RateOf
    if isinstance(rate, str):
        held = {name: graph.nodes[node].get(rate) for name, node in named.items()}
        by_name = {name: value for name, value in held.items() if value is not None}
        if named and not by_name:
            known = sorted({str(key) for node in graph.nodes() for key in graph.nodes[node]})
            raise InputError(
                f"graph: no node has the attribute {rate!r}; they have {', '.join(known) or 'none'}"
                ". Give another, or a number as the rate of all."
            )
    else:
        by_name = rate
    return workload_of_pairs(
        edges,
        mutual=is_mutual,
        rate=by_name,
        message_bytes=message_bytes,
        period_seconds=period_seconds,
    )


def workload_of_matrix(matrix: Any, rates: npt.ArrayLike, **columns: Any) -> TopicWorkload:
    """Make a workload of a sparse matrix; see :meth:`TopicWorkload.from_sparse`."""
    if not hasattr(matrix, "tocoo"):
        raise ParameterError("matrix", "a SciPy sparse matrix or array", type(matrix).__name__)
    entries = matrix.tocoo()
    if len(entries.shape) != 2:
        raise ParameterError("matrix", "of subscribers x topics", f"shape {entries.shape}")
    num_subscribers, num_topics = entries.shape
    each = np.asarray(rates, dtype=np.float64)
    if each.ndim == 0:
        each = np.full(num_topics, each)
    if each.shape != (num_topics,):
        raise InputError(
            f"rates: shape {each.shape} where one for each of the {num_topics} columns is needed."
        )
    if entries.data.dtype.kind in "fc" and np.isnan(entries.data).any():
        at = int(np.argmax(np.isnan(entries.data)))
        raise InputError(
            f"matrix: the entry in row {entries.row[at]}, column {entries.col[at]} is NaN; write 1 "
            "where a subscriber follows a topic, and nothing where not."
        )
    is_set = entries.data != 0
    keys = entries.row[is_set].astype(np.int64) * max(num_topics, 1) + entries.col[is_set]
    subscriber, topic = np.divmod(np.unique(keys), max(num_topics, 1))
    return TopicWorkload.from_arrays(
        each, subscriber, topic, num_subscribers=num_subscribers, **columns
    )


def _ends_of(edges: Any) -> tuple[pa.Array, pa.Array]:
    """Return both ends of edges as text: of pairs, of an array of two columns, or of a table."""
    is_table = isinstance(edges, Mapping) or any(
        hasattr(edges, name) for name in ("iloc", "__arrow_c_stream__", "__dataframe__")
    )
    if not is_table:
        pairs = edges.tolist() if isinstance(edges, np.ndarray) else list(edges)
        for row, pair in enumerate(pairs):
            if isinstance(pair, str) or not isinstance(pair, Collection) or len(pair) != 2:
                raise InputError(
                    f"edges: row {row} is {pair!r}; each is a follower and a followee."
                )
        edges = {
            "follower": [one for one, _ in pairs],
            "followee": [other for _, other in pairs],
        }
    columns = read_columns(edges, "edges")
    if len(columns.raw) != 2:
        raise InputError(
            f"edges: {len(columns.raw)} columns ({columns.present()}) where two are needed, "
            "follower and followee; choose them."
        )
    ends = [columns.identifiers(name) for name in columns.raw]
    for name, end in zip(columns.raw, ends, strict=True):
        if end.null_count:
            row = int(np.argmax(end.is_null().to_numpy(zero_copy_only=False)))
            raise InputError(
                f"edges: row {row}, column {name!r} has no name; drop the row or give it one."
            )
    return ends[0], ends[1]


def _between(edges: list[tuple[str, str]], topics: set[str]) -> list[tuple[str, str]]:
    """Return edges of a graph with two sides as subscriber and topic."""
    turned = []
    for one, other in edges:
        if (one in topics) == (other in topics):
            both = "topics" if one in topics else "no topics"
            raise InputError(
                f"graph: the link {one!r} – {other!r} joins two nodes that are {both}; "  # noqa: RUF001
                "with topics given, each link is between a subscriber and a topic."
            )
        turned.append((other, one) if one in topics else (one, other))
    return turned


def _rates_by_name(entries: Iterable[tuple[str, Any]], message_bytes: float) -> Rates:
    named: dict[str, float] = {}
    for name, value in entries:
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not 0 <= float(value) < float("inf"):
            raise InputError(f"rate of {name!r} must be a finite number >= 0, got {value!r}.")
        if name in named:
            raise InputError(f"rate of {name!r} is given twice, as a number and as text.")
        named[name] = float(value)
    names, ranks = number_names(pa.array(list(named), pa.large_string()))
    events = np.zeros(len(names))
    events[ranks] = np.array(list(named.values()), dtype=np.float64)
    return Rates(names, events, np.full(len(names), float(message_bytes)))


def _name(value: Any, what: str) -> str:
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not (is_whole or (isinstance(value, str) and value)):
        raise InputError(f"graph: {what} is {value!r}; names are text or whole numbers.")
    return str(value)
