"""Topic workloads: topics with rates, subscribers with interests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import Csr, FloatArray, IntArray, read_only, sum_rows, transpose
from fanwise.arrays.text import flat_text
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE as RELATIVE_TOLERANCE
from fanwise.errors import ParameterError

MOST_FOLLOWED = 5
"""Topics that a notebook shows of a workload."""
Tau = float | str
"""A threshold in events per period for everybody, or ``"column"``: each subscriber's own."""


@dataclass(frozen=True, eq=False)
class TopicWorkload:
    """Who publishes how much, and who subscribes to what, over one period.

    Instances are immutable: arrays are read-only. Make them of tables of events and subscriptions
    (:meth:`from_pandas`, :meth:`from_polars`, :meth:`from_arrow`), of graphs and matrices
    (:meth:`from_edges`, :meth:`from_networkx`, :meth:`from_sparse`), of arrays
    (:meth:`from_arrays`), by :func:`fanwise.read_workload` or by a generator.

    Attributes
    ----------
    rates
        Events per period of each topic.
    message_bytes
        Mean message size of each topic.
    interests
        The topics of each subscriber, ascending.
    topic_names, subscriber_names
        Unique names, Arrow string arrays.
    period_seconds
        Length of the period the rates are counted over.
    cost
        Cost of serving each topic where it is not rate x followers.
    change_price
        What switching each topic on or off must gain at least, where it has a price of its own.
    tau, weight, max_degree, positions
        Optional columns of subscribers: threshold, priority, link budget, network coordinates.
    origin
        Further entries of ``workload.json``: where the workload came from.

    Examples
    --------
    >>> import fanwise as fw
    >>> events = {"topic": ["rock", "jazz", "folk"], "events": [30, 10, 5]}
    >>> follows = {"subscriber": ["ann", "ann", "bob"], "topic": ["rock", "jazz", "jazz"]}
    >>> workload = fw.TopicWorkload.from_frames(events, follows)
    >>> workload
    TopicWorkload(2 topics, 2 subscribers, 3 pairs, 86400 s)
    >>> workload.topic_names.to_pylist()  # nobody follows folk: dropped, and counted
    ['jazz', 'rock']
    >>> workload.origin["ingest"]["topics"]["without_followers"]
    1
    """

    rates: FloatArray
    message_bytes: FloatArray
    interests: Csr
    topic_names: pa.Array
    subscriber_names: pa.Array
    period_seconds: float
    cost: FloatArray | None = None
    change_price: FloatArray | None = None
    tau: FloatArray | None = None
    weight: FloatArray | None = None
    max_degree: IntArray | None = None
    positions: FloatArray | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (
            self.rates,
            self.message_bytes,
            *self.interests,
            self.cost,
            self.change_price,
            self.tau,
            self.weight,
            self.max_degree,
            self.positions,
        ):
            if array is not None:
                read_only(array)

    @classmethod
    def from_arrays(
        cls,
        rates: npt.ArrayLike,
        subscriber: npt.ArrayLike,
        topic: npt.ArrayLike,
        *,
        num_subscribers: int | None = None,
        message_bytes: npt.ArrayLike = 200.0,
        topic_names: Any = None,
        subscriber_names: Any = None,
        period_seconds: float = 86400.0,
        cost: npt.ArrayLike | None = None,
        change_price: npt.ArrayLike | None = None,
        tau: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        max_degree: npt.ArrayLike | None = None,
        positions: npt.ArrayLike | None = None,
        origin: Mapping[str, Any] | None = None,
    ) -> TopicWorkload:
        """Make a workload from rates and (subscriber, topic) pairs, with the checks of a file.

        Names default to ``t0``, ``t1``, … and ``s0``, ``s1``, …
        """
        from fanwise.workload.topic.validation import build_topic_workload

        return build_topic_workload(
            rates=rates,
            subscriber=subscriber,
            topic=topic,
            num_subscribers=num_subscribers,
            message_bytes=message_bytes,
            topic_names=topic_names,
            subscriber_names=subscriber_names,
            period_seconds=period_seconds,
            cost=cost,
            change_price=change_price,
            tau=tau,
            weight=weight,
            max_degree=max_degree,
            positions=positions,
            origin=origin,
        )

    @classmethod
    def from_frames(
        cls,
        events: Any,
        subscriptions: Any,
        *,
        rename: Mapping[str, str] | None = None,
        start: Any = None,
        end: Any = None,
        period: str | float | None = None,
        message_bytes: float = 200.0,
        keep_empty: bool = False,
        mutual: bool = False,
        max_bad_rows: int | str = 0,
    ) -> TopicWorkload:
        """Make a workload of two tables, as ``fanwise ingest`` does of two files.

        ``from_pandas``, ``from_polars`` and ``from_arrow`` are other names of it. A table is a
        pandas frame; anything with Arrow's C stream or the data frame protocol, as Polars and
        DuckDB have; an Arrow table; or columns by name. Columns that have no meaning here are left
        alone. Identifiers are text, whole numbers or categories; ids follow them as text, in
        code-point order. Pairs that stand twice count once; topics without events or followers,
        and subscribers left without topics, are dropped. ``origin["ingest"]`` counts all this.

        Parameters
        ----------
        events
            ``topic`` and ``timestamp``, a row for each event; or ``topic`` and ``events``, ready
            counts. With both, a row stands for several events. Optional ``bytes``.
        subscriptions
            ``subscriber``, ``topic``, optional ``since`` and ``until``.
        rename
            What columns mean, where their names differ: ``{"user": "subscriber"}``.
        start, end
            Only events in [start, end) count, and subscriptions that overlap it.
        period
            Length of the period, in seconds or as in ``"1h"``. By default ``end - start``, else the
            time from the first to the last event, else a day.
        message_bytes
            Mean size where no event of a topic has one.
        keep_empty
            Keep subscribers whose topics were all dropped.
        mutual
            Each subscription holds both ways, as a friendship does.
        max_bad_rows
            How many rows with missing or unreadable values may be left out, or what share of all,
            as in ``"0.1%"``.

        Raises
        ------
        InputError
            Names the table, the first bad row (from 0) and its column, and what to do.

        Examples
        --------
        >>> import pandas as pd
        >>> plays = pd.DataFrame({"song": ["a", "b", "a"], "at": pd.date_range("2026", periods=3)})
        >>> follows = pd.DataFrame({"user": [7, 7, 8], "song": ["a", "b", "a"]})
        >>> names = {"song": "topic", "at": "timestamp", "user": "subscriber"}
        >>> workload = TopicWorkload.from_pandas(plays, follows, rename=names)
        >>> workload.rates.tolist(), workload.period_seconds / 86400
        ([2.0, 1.0], 2.0)
        """
        from fanwise.workload.topic.frames import workload_of_frames

        return workload_of_frames(
            events,
            subscriptions,
            rename=rename,
            start=start,
            end=end,
            period=period,
            message_bytes=message_bytes,
            keep_empty=keep_empty,
            mutual=mutual,
            max_bad_rows=max_bad_rows,
        )

    from_pandas = from_frames
    from_polars = from_frames
    from_arrow = from_frames

    @classmethod
    def from_edges(
        cls,
        edges: Any,
        *,
        mutual: bool = False,
        rate: float | Mapping[Any, float] = 1.0,
        message_bytes: float = 200.0,
        period_seconds: float = 86400.0,
    ) -> TopicWorkload:
        """Make the workload in which every follower subscribes to those it follows.

        Parameters
        ----------
        edges
            Pairs (follower, followee): a list, an array of two columns, or a table of two columns.
            Edges that stand twice count once.
        mutual
            Each edge holds both ways, as a friendship does.
        rate
            Events per period of every topic, or of each by name; topics that a mapping does not
            have, or has with 0, are dropped and counted in ``origin["ingest"]``.
        message_bytes, period_seconds
            Of every topic; what rates are counted over.

        Examples
        --------
        >>> follows = [("ann", "bob"), ("cy", "bob"), ("bob", "ann")]
        >>> workload = TopicWorkload.from_edges(follows, rate={"ann": 3, "bob": 20})
        >>> workload.topic_names.to_pylist(), workload.num_followers.tolist()
        (['ann', 'bob'], [1, 2])
        """
        from fanwise.workload.topic.graphs import workload_of_pairs

        return workload_of_pairs(
            edges,
            mutual=mutual,
            rate=rate,
            message_bytes=message_bytes,
            period_seconds=period_seconds,
        )

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        *,
        rate: float | str | Mapping[Any, float] = 1.0,
        topics: Iterable[Any] | None = None,
        message_bytes: float = 200.0,
        period_seconds: float = 86400.0,
    ) -> TopicWorkload:
        """Make a workload of a NetworkX graph.

        An edge u → v says that u follows v; without directions, both follow each other.

        Parameters
        ----------
        graph
            Nodes are text or whole numbers. Parallel edges count once.
        rate
            Events per period of every topic, of each by node, or the node attribute that has them.
        topics
            The nodes that are topics, for graphs with two sides; all others are subscribers then,
            and directions say nothing.
        message_bytes, period_seconds
            Of every topic; what rates are counted over.

        Examples
        --------
        >>> import networkx as nx
        >>> graph = nx.Graph([("ann", "rock"), ("ann", "jazz"), ("bob", "jazz")])
        >>> graph.nodes["rock"]["plays"], graph.nodes["jazz"]["plays"] = 30, 10
        >>> TopicWorkload.from_networkx(graph, topics=["rock", "jazz"], rate="plays")
        TopicWorkload(2 topics, 2 subscribers, 3 pairs, 86400 s)
        """
        from fanwise.workload.topic.graphs import workload_of_graph

        return workload_of_graph(
            graph,
            rate=rate,
            topics=topics,
            message_bytes=message_bytes,
            period_seconds=period_seconds,
        )

    @classmethod
    def from_sparse(
        cls,
        matrix: Any,
        rates: npt.ArrayLike,
        *,
        topic_names: Any = None,
        subscriber_names: Any = None,
        message_bytes: npt.ArrayLike = 200.0,
        period_seconds: float = 86400.0,
    ) -> TopicWorkload:
        """Make a workload of a SciPy sparse matrix, subscribers x topics.

        Row i is subscriber i and column j topic j, also where they are empty: nothing is dropped
        and nothing changes place.

        Parameters
        ----------
        matrix
            A subscriber follows the topics where its row is not zero.
        rates
            Events per period of each column, or one number for all.
        topic_names, subscriber_names
            By default ``t0``, ``t1``, … and ``s0``, ``s1``, …
        message_bytes, period_seconds
            Of every topic or of each; what rates are counted over.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> follows = csr_array([[1, 0, 1], [0, 0, 1]])
        >>> TopicWorkload.from_sparse(follows, rates=[30, 10, 5])
        TopicWorkload(3 topics, 2 subscribers, 3 pairs, 86400 s)
        """
        from fanwise.workload.topic.graphs import workload_of_matrix

        return workload_of_matrix(
            matrix,
            rates,
            topic_names=topic_names,
            subscriber_names=subscriber_names,
            message_bytes=message_bytes,
            period_seconds=period_seconds,
        )

    @property
    def num_topics(self) -> int:
        return len(self.rates)

    @property
    def num_subscribers(self) -> int:
        return len(self.interests.indptr) - 1

    @property
    def num_pairs(self) -> int:
        return len(self.interests.indices)

    @cached_property
    def followers(self) -> Csr:
        """The subscribers of each topic, ascending: the transpose of ``interests``."""
        return transpose(self.interests, self.num_topics)

    @cached_property
    def num_followers(self) -> npt.NDArray[np.int64]:
        counts = np.diff(self.followers.indptr)
        read_only(counts)
        return counts

    @cached_property
    def received(self) -> FloatArray:
        """Events per period of all the topics of each subscriber together."""
        sums = sum_rows(self.interests.indptr, self.interests.indices, self.rates)
        read_only(sums)
        return sums

    def serving_cost(self) -> FloatArray:
        """Cost of serving each topic: its ``cost`` column, else rate x followers."""
        if self.cost is not None:
            return self.cost
        return self.rates * self.num_followers

    def demand(self, tau: Tau) -> FloatArray:
        """Return tau_v = min(tau, sum of all its rates), the one place where it is defined.

        Parameters
        ----------
        tau
            Events per period, or ``"column"`` for the workload's own column.
        """
        if isinstance(tau, str):
            if tau != "column":
                raise ParameterError("tau", "a number >= 0 or 'column'", tau)
            if self.tau is None:
                raise ParameterError(
                    "tau", "a number: subscribers.parquet has no column 'tau'", "column"
                )
            wanted: FloatArray | float = self.tau
        else:
            if not (np.isfinite(tau) and tau >= 0):
                raise ParameterError("tau", "a finite number >= 0", tau)
            wanted = float(tau)
        return np.minimum(wanted, self.received)

    @cached_property
    def hash(self) -> str:
        """sha256 of every array and name, free of row order, part files and compression."""
        digest = hashlib.sha256(b"fanwise.workload 1\n")
        digest.update(f"{float(self.period_seconds)!r}\n".encode())
        columns: tuple[tuple[str, npt.NDArray[Any] | None], ...] = (
            ("rate", self.rates),
            ("bytes", self.message_bytes),
            ("cost", self.cost),
            ("change_price", self.change_price),
            ("tau", self.tau),
            ("weight", self.weight),
            ("max_degree", self.max_degree),
            ("net", self.positions),
            ("indptr", self.interests.indptr),
            ("indices", self.interests.indices),
        )
        for name, array in columns:
            if array is not None:
                digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
                digest.update(np.ravel(array).data.cast("B"))  # no rows of columns cannot be cast
        for name, names in (("topics", self.topic_names), ("subscribers", self.subscriber_names)):
            offsets, text = flat_text(names)
            digest.update(f"{name} {len(names)}\n".encode())
            digest.update(np.diff(offsets).astype(np.int64).data.cast("B"))
            digest.update(text[offsets[0] : offsets[-1]].data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        return (
            f"TopicWorkload({self.num_topics:,} topics, {self.num_subscribers:,} subscribers, "
            f"{self.num_pairs:,} pairs, {self.period_seconds:g} s)"
        )

    def _repr_html_(self) -> str:
        from fanwise import notebook
        from fanwise.workload.topic.statistics import count_followers
        from fanwise.workload.topic.tables import sizes

        followers = count_followers(self)
        order = np.argsort(-followers, kind="stable")[:MOST_FOLLOWED]
        rows = [
            (self.topic_names[topic].as_py(), int(followers[topic]), float(self.rates[topic]))
            for topic in order.tolist()
        ]
        return notebook.whole(
            notebook.facts("Topic workload", sizes(self)),
            notebook.table("Most followed topics", ("topic", "followers", "rate"), rows),
        )
