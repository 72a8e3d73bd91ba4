"""Content workloads: subscribers who want rectangles of an event space, and brokers to serve them.

Both live in a network space, where the distance of two points stands for the latency between them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray, read_only
from fanwise.arrays.rectangle_kernels import Density
from fanwise.arrays.rectangles import make_density, uniform_density
from fanwise.arrays.text import flat_text
from fanwise.errors import WorkloadError

SETTINGS = ("lbf", "lbf_max", "max_delay", "alpha")
"""Entries of ``workload.json`` that say what an instance is meant for."""


class Cells(NamedTuple):
    """Cells of the event space, ascending by their sides, and events per period in each."""

    lo: FloatArray
    hi: FloatArray
    rate: FloatArray


class Channels(NamedTuple):
    """Rectangles of the event space that are published on as a whole."""

    lo: FloatArray
    hi: FloatArray


class PublishRates(NamedTuple):
    """What each subscriber publishes: its channels, ascending, and the rate on each."""

    indptr: LongArray
    indices: IntArray
    rate: FloatArray


@dataclass(frozen=True, eq=False)
class ContentWorkload:
    """Who wants which events from where, and which brokers there are.

    Instances are immutable: arrays are read-only. Make them with :meth:`from_arrays`,
    :func:`fanwise.read_workload` or a generator.

    Attributes
    ----------
    lo, hi
        Sides of each subscriber's rectangle in the event space; (+inf, -inf): wants nothing.
    positions, broker_positions
        Points of the network space.
    subscriber_names, broker_names
        Unique names, Arrow string arrays.
    publisher
        Where events come from.
    parent
        Of each broker in the dissemination tree; -1: attached to the publisher.
    share
        Capacity fraction of each leaf broker, 1 together; 0 for inner brokers.
    max_latency
        Each subscriber's own limit on the latency of its path.
    capacity
        Most traffic of the subscribers attached to each broker.
    candidates
        The allowed brokers of each subscriber, in place of the latency test.
    density
        Cells with events; None: events are uniform.
    channels, rates
        What is published on, and by whom.
    access_costs, broker_costs
        Cost between subscribers and brokers, and between brokers; None: their distance.
    origin
        Further entries of ``workload.json``: where the workload came from, what it is meant for.

    Examples
    --------
    >>> import fanwise as fw
    >>> fw.ContentWorkload.from_arrays(
    ...     lo=[[0, 0], [5, 5]], hi=[[2, 2], [9, 9]],  # what two subscribers want
    ...     positions=[[0, 0], [10, 0]], broker_positions=[[1, 0], [9, 0]],
    ... )
    ContentWorkload(2 subscribers, 2 brokers, 2-d events, 2-d network)
    """

    lo: FloatArray
    hi: FloatArray
    positions: FloatArray
    broker_positions: FloatArray
    subscriber_names: pa.Array
    broker_names: pa.Array
    publisher: FloatArray | None = None
    parent: IntArray | None = None
    share: FloatArray | None = None
    max_latency: FloatArray | None = None
    capacity: FloatArray | None = None
    candidates: Csr | None = None
    density: Cells | None = None
    channels: Channels | None = None
    rates: PublishRates | None = None
    access_costs: FloatArray | None = None
    broker_costs: FloatArray | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for _, array in self._arrays():
            read_only(array)

    @classmethod
    def from_arrays(
        cls,
        lo: npt.ArrayLike,
        hi: npt.ArrayLike,
        positions: npt.ArrayLike,
        broker_positions: npt.ArrayLike,
        **columns: Any,
    ) -> ContentWorkload:
        """Make a workload from arrays, with the checks of a file.

        Parameters
        ----------
        lo, hi
            Of the shape (subscribers, event dimensions); rows of NaN want nothing.
        positions, broker_positions
            Of the shape (subscribers or brokers, network dimensions).
        columns
            Any other attribute. ``candidates`` as two arrays (subscriber, broker); ``density`` as
            (lo, hi, rate); ``channels`` as (lo, hi); ``rates`` as (subscriber, channel, rate);
            costs as matrices. ``share`` may be NaN for inner brokers. Names default to ``s0``, …
            and ``b0``, …
        """
        from fanwise.workload.content.arrays import build

        return build(lo, hi, positions, broker_positions, **columns)

    @property
    def num_subscribers(self) -> int:
        return len(self.lo)

    @property
    def num_brokers(self) -> int:
        return len(self.broker_positions)

    @property
    def event_dims(self) -> int:
        return int(self.lo.shape[1])

    @property
    def network_dims(self) -> int:
        return int(self.positions.shape[1])

    @cached_property
    def wants_nothing(self) -> npt.NDArray[np.bool_]:
        """Which subscribers have no rectangle."""
        return np.asarray((self.lo > self.hi).any(axis=1))

    @cached_property
    def leaves(self) -> IntArray:
        """The brokers that no other one is attached to, ascending; all of them without a tree."""
        is_leaf = np.ones(self.num_brokers, dtype=np.bool_)
        if self.parent is not None:
            is_leaf[self.parent[self.parent >= 0]] = False
        return np.flatnonzero(is_leaf).astype(np.int32)

    @cached_property
    def event_density(self) -> Density:
        """Where events happen, as the kernels on rectangles take it."""
        if self.density is None:
            return uniform_density(self.event_dims)
        return make_density(*self.density)

    @property
    def settings(self) -> dict[str, Any]:
        """What the instance is meant for, of :data:`SETTINGS` those that are known."""
        return {name: self.origin[name] for name in SETTINGS if name in self.origin}

    def need(self, *names: str) -> None:
        """Raise unless these optional parts are there, naming the file that lacks one."""
        homes = {
            "publisher": "workload.json has no entry 'publisher'",
            "parent": "brokers.parquet has no column 'parent'",
            "share": "brokers.parquet has no column 'share'",
            "capacity": "brokers.parquet has no column 'capacity'",
            "channels": "there is no channels.parquet",
            "rates": "there is no rates.parquet",
        }
        for name in names:
            if getattr(self, name) is None:
                raise WorkloadError(f"{homes[name]}, which is needed here; add it to the workload.")

    @cached_property
    def hash(self) -> str:
        """sha256 of every array and name, free of row order, part files and compression."""
        digest = hashlib.sha256(b"fanwise.content 1\n")
        for name, array in self._arrays():
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        for name, names in (
            ("brokers", self.broker_names),
            ("subscribers", self.subscriber_names),
        ):
            offsets, text = flat_text(names)
            digest.update(f"{name} {len(names)}\n".encode())
            digest.update(np.diff(offsets).astype(np.int64).data.cast("B"))
            digest.update(text[offsets[0] : offsets[-1]].data)
        return digest.hexdigest()

    def _arrays(self) -> list[tuple[str, npt.NDArray[Any]]]:
        """Return every array with a name, in a fixed order; those of a part by its fields."""
        found: list[tuple[str, npt.NDArray[Any]]] = []
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                found.append((name, value))
            elif isinstance(value, Csr | Cells | Channels | PublishRates):
                found += [(f"{name}.{part}", array) for part, array in value._asdict().items()]
        return found

    def __repr__(self) -> str:
        return (
            f"ContentWorkload({self.num_subscribers:,} subscribers, {self.num_brokers:,} brokers, "
            f"{self.event_dims}-d events, {self.network_dims}-d network)"
        )

    def _repr_html_(self) -> str:
        from fanwise import notebook

        pairs = [
            ("subscribers", self.num_subscribers),
            ("brokers", self.num_brokers),
            ("event dimensions", self.event_dims),
            ("network dimensions", self.network_dims),
        ]
        return notebook.whole(notebook.facts("Content workload", pairs))
