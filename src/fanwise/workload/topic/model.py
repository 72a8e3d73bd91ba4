"""Topic workloads: topics with rates, subscribers with interests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
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

Tau = float | str
"""A threshold in events per period for everybody, or ``"column"``: each subscriber's own."""


@dataclass(frozen=True, eq=False)
class TopicWorkload:
    """Who publishes how much, and who subscribes to what, over one period.

    Instances are immutable: arrays are read-only. Make them with :meth:`from_arrays`,
    :func:`fanwise.read_workload` or a generator.

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
