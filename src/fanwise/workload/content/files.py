"""Content workloads on disk: ``workload.json`` and Parquet tables, most of them optional."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.arrays.csr import FloatArray, IntArray, row_of_entries
from fanwise.errors import WorkloadError
from fanwise.workload.content import validation as checks
from fanwise.workload.content.model import (
    SETTINGS,
    Cells,
    Channels,
    ContentWorkload,
    PublishRates,
)
from fanwise.workload.files import ParquetTable, local_path, output_path
from fanwise.workload.folders import atomic_folder
from fanwise.workload.headers import (
    CONTENT_FORMAT,
    VERSION,
    check_count,
    json_text,
    read_any_header,
)
from fanwise.workload.outputs import WORKLOAD
from fanwise.workload.validation import LARGEST, Source

COUNTS = ("subscribers", "brokers")
DIMS = ("event_dims", "network_dims")
MOST_DIMS = 1000


def read_content_workload(path: str | Path) -> ContentWorkload:
    """Read and check a content workload; see :func:`fanwise.read_workload`."""
    folder = local_path(path)
    header = read_content_header(folder)
    d, t = header["event_dims"], header["network_dims"]
    net = tuple(f"net_{axis}" for axis in range(t))
    subscribers = _Table(
        folder / "subscribers.parquet",
        ("subscriber", "name", *net, *_box_columns(d)),
        ("max_latency",),
    )
    brokers = _Table(
        folder / "brokers.parquet", ("broker", "name", *net), ("parent", "share", "capacity")
    )
    for table, entry in ((subscribers, "subscribers"), (brokers, "brokers")):
        check_count(folder, entry, header[entry], table.path.name, len(table))
    order = subscribers.order("subscriber")
    lo, hi = (_taken(side, order) for side in subscribers.boxes(d))
    broker_order = brokers.order("broker")
    parent = brokers.parents(broker_order)
    m, n = len(subscribers), len(brokers)
    channels = _read_channels(folder, d)
    return ContentWorkload(
        lo=lo,
        hi=hi,
        positions=subscribers.points(net, order),
        broker_positions=brokers.points(net, broker_order),
        subscriber_names=subscribers.names(order),
        broker_names=brokers.names(broker_order),
        publisher=None if header.get("publisher") is None else np.array(header["publisher"], float),
        parent=parent,
        share=brokers.shares(broker_order, parent),
        max_latency=subscribers.optional("max_latency", order),
        capacity=brokers.optional("capacity", broker_order),
        candidates=_read_candidates(folder, m, n, parent),
        density=_read_density(folder, d),
        channels=channels,
        rates=_read_rates(folder, m, channels),
        access_costs=_read_access_costs(folder, m, n),
        broker_costs=_read_broker_costs(folder, n),
        origin={
            key: value
            for key, value in header.items()
            if key not in ("format", "version", "publisher", *COUNTS, *DIMS)
        },
    )


def read_content_header(folder: Path) -> dict[str, Any]:
    """Read and check ``workload.json`` of a content workload."""
    file = folder / "workload.json"
    header = read_any_header(folder, CONTENT_FORMAT)
    for entry in (*COUNTS, *DIMS):
        least = 1 if entry == "event_dims" else 0
        value = header.get(entry)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            must = f"{entry} must be a whole number >= {least}"
            raise WorkloadError(f"{file}: {must}, got {value!r}.")
        if entry in DIMS and value > MOST_DIMS:
            raise WorkloadError(f"{file}: {entry} must be at most {MOST_DIMS}, got {value!r}.")
    publisher = header.get("publisher")
    if publisher is not None and not (
        isinstance(publisher, list)
        and len(publisher) == header["network_dims"]
        and all(_is_number(value) for value in publisher)
    ):
        raise WorkloadError(
            f"{file}: publisher must be a list of {header['network_dims']} finite numbers "
            f"(network_dims), got {publisher!r}."
        )
    for entry in SETTINGS:
        value = header.get(entry)
        if value is not None and not (_is_number(value) and value >= 0):
            raise WorkloadError(f"{file}: {entry} must be a number >= 0, got {value!r}.")
    return header


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


SIDES = ("lo", "hi")


def _taken(values: Any, order: IntArray | None) -> Any:
    return values if order is None else np.ascontiguousarray(values[order])


class _Table(ParquetTable):
    """A Parquet table with rectangles, points and a tree."""

    def has(self, name: str) -> bool:
        return name in self._table.column_names

    def place_of_ids(self, order: IntArray | None) -> Source:
        """Name the row of an id where rows are in another order."""

        def place(column: str, row: int | None = None) -> str:
            return self.place(column, row if row is None or order is None else int(order[row]))

        return place

    def points(self, columns: tuple[str, ...], order: IntArray | None) -> FloatArray:
        if not columns:
            return np.empty((len(self), 0))
        return np.column_stack([self.floats(column, order) for column in columns])

    def boxes(self, dims: int) -> tuple[FloatArray, FloatArray]:
        lo, hi = ([self._column(f"{s}_{axis}") for axis in range(dims)] for s in SIDES)
        return checks.optional_boxes(lo, hi, self.place)

    def full_boxes(self, dims: int) -> tuple[FloatArray, FloatArray]:
        lo, hi = (self.points(tuple(f"{s}_{axis}" for axis in range(dims)), None) for s in SIDES)
        checks.check_boxes(lo, hi, self.place)
        return lo, hi

    def parents(self, order: IntArray | None) -> IntArray | None:
        if not self.has("parent"):
            return None
        parent: IntArray = _taken(checks.parents(self._column("parent"), self.place), order)
        checks.check_parents(parent, self.place_of_ids(order))
        return parent

    def shares(self, order: IntArray | None, parent: IntArray | None) -> FloatArray | None:
        if not self.has("share"):
            return None
        column = self._column("share")
        missing = _taken(column.is_null().to_numpy(), order)
        filled = checks.fill_nulls(column, "share", self.place)
        return checks.check_shares(_taken(filled, order), missing, parent, self.place_of_ids(order))


def _box_columns(dims: int) -> tuple[str, ...]:
    return tuple(f"{side}_{axis}" for axis in range(dims) for side in SIDES)


def _optional(folder: Path, name: str, needed: tuple[str, ...]) -> _Table | None:
    path = folder / f"{name}.parquet"
    return _Table(path, needed, ()) if path.exists() else None


def _read_candidates(folder: Path, m: int, n: int, parent: IntArray | None) -> Any:
    table = _optional(folder, "candidates", ("subscriber", "broker"))
    if table is None:
        return None
    counts = {"subscriber": m, "broker": n}
    csr, rows = checks.ordered_pairs(
        table.ids("subscriber"), table.ids("broker"), counts, table.place
    )
    checks.check_candidates(csr, parent, rows, table.place)
    return csr


def _read_density(folder: Path, dims: int) -> Cells | None:
    table = _optional(folder, "density", (*_box_columns(dims), "rate"))
    if table is None:
        return None
    return checks.density_cells(*table.full_boxes(dims), table.floats("rate"), table.place)


def _read_channels(folder: Path, dims: int) -> Channels | None:
    table = _optional(folder, "channels", ("channel", *_box_columns(dims)))
    if table is None:
        return None
    order = table.order("channel")
    return Channels(*(_taken(side, order) for side in table.full_boxes(dims)))


def _read_rates(folder: Path, m: int, channels: Channels | None) -> PublishRates | None:
    table = _optional(folder, "rates", ("subscriber", "channel", "rate"))
    if table is None:
        return None
    if channels is None:
        raise WorkloadError(
            f"{table.path}: rates of channels, but there is no channels.parquet; add it."
        )
    ids = table.ids("subscriber"), table.ids("channel")
    counts = {"subscriber": m, "channel": len(channels.lo)}
    return checks.publish_rates(*ids, table.floats("rate"), counts, table.place)


def _read_access_costs(folder: Path, m: int, n: int) -> FloatArray | None:
    table = _optional(folder, "access_costs", ("subscriber", "broker", "cost"))
    if table is None:
        return None
    ids = table.ids("subscriber"), table.ids("broker")
    counts = {"subscriber": m, "broker": n}
    return checks.full_costs(*ids, table.floats("cost"), counts, table.place)


def _read_broker_costs(folder: Path, n: int) -> FloatArray | None:
    table = _optional(folder, "broker_costs", ("broker", "other", "cost"))
    if table is None:
        return None
    ids = table.ids("broker"), table.ids("other")
    return checks.symmetric_costs(*ids, table.floats("cost"), n, table.place)


def write_content_workload(
    workload: ContentWorkload, path: str | Path, *, overwrite: bool = False
) -> None:
    """Write a workload so that the folder appears whole or not at all."""
    with atomic_folder(output_path(path), WORKLOAD, overwrite=overwrite) as folder:
        for name, columns in content_tables(workload).items():
            pq.write_table(pa.table(columns), folder / f"{name}.parquet", compression="snappy")
        header = json_text(content_header(workload))
        (folder / "workload.json").write_text(header, encoding="utf-8")


def content_tables(workload: ContentWorkload) -> dict[str, dict[str, Any]]:
    """Return the columns of every table that a workload has."""
    m, n = workload.num_subscribers, workload.num_brokers
    nothing = workload.wants_nothing
    subscribers: dict[str, Any] = {
        "subscriber": np.arange(m, dtype=np.int32),
        "name": workload.subscriber_names,
        **_axes("net", workload.positions),
        **{
            name: pa.array(column, mask=nothing)
            for name, column in _sides(workload.lo, workload.hi).items()
        },
    }
    brokers: dict[str, Any] = {
        "broker": np.arange(n, dtype=np.int32),
        "name": workload.broker_names,
        **_axes("net", workload.broker_positions),
    }
    if workload.max_latency is not None:
        subscribers["max_latency"] = workload.max_latency
    if workload.parent is not None:
        brokers["parent"] = workload.parent
    if workload.share is not None:
        is_inner = np.ones(n, dtype=np.bool_)
        is_inner[workload.leaves] = False
        brokers["share"] = pa.array(workload.share, mask=is_inner)
    if workload.capacity is not None:
        brokers["capacity"] = workload.capacity
    return {"subscribers": subscribers, "brokers": brokers, **_optional_tables(workload)}


def _optional_tables(workload: ContentWorkload) -> dict[str, dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = {}
    m, n = workload.num_subscribers, workload.num_brokers
    if workload.candidates is not None:
        indptr, indices = workload.candidates
        tables["candidates"] = {"subscriber": row_of_entries(indptr), "broker": indices}
    if workload.density is not None:
        lo, hi, rate = workload.density
        tables["density"] = {**_sides(lo, hi), "rate": rate}
    if workload.channels is not None:
        ids = np.arange(len(workload.channels.lo), dtype=np.int32)
        tables["channels"] = {"channel": ids, **_sides(*workload.channels)}
    if workload.rates is not None:
        rows = row_of_entries(workload.rates.indptr)
        rates = {"channel": workload.rates.indices, "rate": workload.rates.rate}
        tables["rates"] = {"subscriber": rows, **rates}
    if workload.access_costs is not None:
        tables["access_costs"] = {
            "subscriber": np.repeat(np.arange(m, dtype=np.int32), n),
            "broker": np.tile(np.arange(n, dtype=np.int32), m),
            "cost": workload.access_costs.reshape(-1),
        }
    if workload.broker_costs is not None:
        one, two = (index.astype(np.int32) for index in np.triu_indices(n, 1))
        costs = workload.broker_costs[one, two]
        tables["broker_costs"] = {"broker": one, "other": two, "cost": costs}
    return tables


def content_header(workload: ContentWorkload) -> dict[str, Any]:
    """Return the entries of ``workload.json``; ``origin`` adds entries of its own."""
    header: dict[str, Any] = {
        "format": CONTENT_FORMAT,
        "version": VERSION,
        "event_dims": workload.event_dims,
        "network_dims": workload.network_dims,
        "subscribers": workload.num_subscribers,
        "brokers": workload.num_brokers,
    }
    if workload.publisher is not None:
        header["publisher"] = workload.publisher.tolist()
    return {**header, **{k: value for k, value in workload.origin.items() if k not in header}}


def _axes(name: str, points: FloatArray) -> dict[str, FloatArray]:
    columns = range(points.shape[1])
    return {f"{name}_{axis}": np.ascontiguousarray(points[:, axis]) for axis in columns}


def _sides(lo: FloatArray, hi: FloatArray) -> dict[str, FloatArray]:
    sides = {**_axes("lo", lo), **_axes("hi", hi)}
    return {name: sides[name] for name in _box_columns(lo.shape[1])}
