"""Content workloads from arrays in memory, with the checks of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import Csr, FloatArray, IntArray
from fanwise.errors import WorkloadError
from fanwise.workload.content import validation as checks
from fanwise.workload.content.model import Cells, Channels, ContentWorkload, PublishRates
from fanwise.workload.validation import (
    check_not_negative,
    ids,
    names_or_default,
    refuse,
    refuse_wild,
)


def _place(column: str, row: int | None = None) -> str:
    return column if row is None else f"{column}[{row}]"


def build(
    lo: npt.ArrayLike,
    hi: npt.ArrayLike,
    positions: npt.ArrayLike,
    broker_positions: npt.ArrayLike,
    *,
    subscriber_names: Any = None,
    broker_names: Any = None,
    publisher: npt.ArrayLike | None = None,
    parent: npt.ArrayLike | None = None,
    share: npt.ArrayLike | None = None,
    max_latency: npt.ArrayLike | None = None,
    capacity: npt.ArrayLike | None = None,
    candidates: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    density: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike] | None = None,
    channels: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    rates: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike] | None = None,
    access_costs: npt.ArrayLike | None = None,
    broker_costs: npt.ArrayLike | None = None,
    origin: Mapping[str, Any] | None = None,
) -> ContentWorkload:
    """See :meth:`ContentWorkload.from_arrays`."""
    sides = _boxes(lo, hi, "lo", "hi")
    m, d = sides[0].shape
    points, broker_points = _points(positions, "positions"), _points(broker_positions, "brokers")
    n, t = broker_points.shape
    if len(points) != m or points.shape[1] != t:
        raise WorkloadError(
            f"positions: shape {points.shape}, where ({m}, {t}) is needed for {m} rectangles and "
            f"brokers in {t} dimensions."
        )
    tree = None if parent is None else _parents(parent, n)
    return ContentWorkload(
        lo=sides[0],
        hi=sides[1],
        positions=points,
        broker_positions=broker_points,
        subscriber_names=names_or_default(subscriber_names, "s", m, "subscriber_names", _place),
        broker_names=names_or_default(broker_names, "b", n, "broker_names", _place),
        publisher=None if publisher is None else _finite(publisher, "publisher", (t,)),
        parent=tree,
        share=None if share is None else _shares(share, tree, n),
        max_latency=_not_negative(max_latency, "max_latency", (m,)),
        capacity=_not_negative(capacity, "capacity", (n,)),
        candidates=None if candidates is None else _candidates(candidates, tree, m, n),
        density=None if density is None else _density(density, d),
        channels=None if channels is None else _channels(channels, d),
        rates=None if rates is None else _rates(rates, channels, m),
        access_costs=_not_negative(access_costs, "access_costs", (m, n)),
        broker_costs=None if broker_costs is None else _broker_costs(broker_costs, n),
        origin=dict(origin or {}),
    )


def _boxes(
    lo: npt.ArrayLike, hi: npt.ArrayLike, low: str, high: str
) -> tuple[FloatArray, FloatArray]:
    """Return rectangles; rows of NaN, or empty ones, want nothing."""
    arrays = _points(lo, low, finite=False), _points(hi, high, finite=False)
    if arrays[0].shape != arrays[1].shape or arrays[0].shape[1] == 0:
        raise WorkloadError(
            f"{low}, {high}: shapes {arrays[0].shape} and {arrays[1].shape}; give both the shape "
            "(rows, event dimensions), with at least one dimension."
        )
    nothing = (np.isnan(arrays[0]) & np.isnan(arrays[1])).all(axis=1)
    nothing |= ((arrays[0] == np.inf) & (arrays[1] == -np.inf)).all(axis=1)
    for array, name in zip(arrays, (low, high), strict=True):
        bad = np.asarray(~np.isfinite(array).all(axis=1) & ~nothing)
        refuse(bad, array[:, 0], name, _place, "sides must be finite")
        for side in np.where(nothing[:, None], 0.0, array).T:
            refuse_wild(side, name, _place)
    below, above = (np.where(nothing[:, None], 0.0, array) for array in arrays)
    checks.check_boxes(below, above, _place)
    below[nothing], above[nothing] = np.inf, -np.inf
    return below, above


def _points(values: npt.ArrayLike, name: str, *, finite: bool = True) -> FloatArray:
    array = np.array(values, dtype=np.float64, order="C")
    if array.ndim != 2:
        raise WorkloadError(f"{name}: {array.ndim} dimensions; give the shape (rows, dimensions).")
    if finite and not np.isfinite(array).all():
        bad = np.asarray(~np.isfinite(array).all(axis=1))
        refuse(bad, array.sum(axis=1), name, _place, "must be finite")
    if finite:
        for coordinate in array.T:
            refuse_wild(coordinate, name, _place)
    return array


def _finite(values: npt.ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    array = np.array(values, dtype=np.float64, order="C")
    if array.shape != shape:
        raise WorkloadError(f"{name}: shape {array.shape} where {shape} is needed.")
    refuse_wild(array.reshape(-1), name, _place)
    return array


def _not_negative(
    values: npt.ArrayLike | None, name: str, shape: tuple[int, ...]
) -> FloatArray | None:
    if values is None:
        return None
    array = _finite(values, name, shape)
    check_not_negative(array.reshape(-1), name, _place)
    return array


def _ids(values: Any, name: str) -> IntArray:
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int32)
    return ids(pa.chunked_array([pa.array(array.reshape(-1))]), name, _place)


def _parents(values: Any, count: int) -> IntArray:
    array = np.asarray(values).reshape(-1)
    if array.size == 0:
        array = array.astype(np.int32)
    tree = checks.parents(pa.chunked_array([pa.array(array)]), _place)
    if len(tree) != count:
        raise WorkloadError(f"parent: {len(tree)} entries for {count} brokers; give one each.")
    checks.check_parents(tree, _place)
    return tree


def _shares(values: Any, tree: IntArray | None, count: int) -> FloatArray:
    share = np.array(values, dtype=np.float64).reshape(-1)
    if len(share) != count:
        raise WorkloadError(f"share: {len(share)} entries for {count} brokers; give one each.")
    return checks.check_shares(share, np.isnan(share), tree, _place)


def _candidates(given: Any, tree: IntArray | None, m: int, n: int) -> Csr:
    subscriber, broker = _ids(given[0], "subscriber"), _ids(given[1], "broker")
    _same_length(subscriber=subscriber, broker=broker)
    csr, rows = checks.ordered_pairs(subscriber, broker, {"subscriber": m, "broker": n}, _place)
    checks.check_candidates(csr, tree, rows, _place)
    return csr


def _density(given: Any, dims: int) -> Cells:
    lo, hi = _boxes(given[0], given[1], "density lo", "density hi")
    _same_dims(lo, dims, "density")
    return checks.density_cells(lo, hi, _finite(given[2], "rate", (len(lo),)), _place)


def _channels(given: Any, dims: int) -> Channels:
    lo, hi = _boxes(given[0], given[1], "channels lo", "channels hi")
    _same_dims(lo, dims, "channels")
    return Channels(lo, hi)


def _rates(given: Any, channels: Any, m: int) -> PublishRates:
    if channels is None:
        raise WorkloadError("rates: of channels that are not given; give channels as well.")
    subscriber, channel = _ids(given[0], "subscriber"), _ids(given[1], "channel")
    _same_length(subscriber=subscriber, channel=channel)
    rate = _finite(given[2], "rate", (len(channel),))
    counts = {"subscriber": m, "channel": len(np.asarray(channels[0]))}
    return checks.publish_rates(subscriber, channel, rate, counts, _place)


def _broker_costs(values: Any, n: int) -> FloatArray:
    matrix = _finite(values, "broker_costs", (n, n))
    row, column = (index.astype(np.int32) for index in np.indices((n, n)).reshape(2, -1))
    return checks.symmetric_costs(row, column, matrix.reshape(-1), n, _place)


def _same_length(**columns: IntArray) -> None:
    (first, a), (second, b) = columns.items()
    if len(a) != len(b):
        raise WorkloadError(
            f"{first} and {second} must have the same length, got {len(a)} and {len(b)}."
        )


def _same_dims(lo: FloatArray, dims: int, name: str) -> None:
    if lo.shape[1] != dims:
        raise WorkloadError(
            f"{name}: {lo.shape[1]} dimensions where the event space has {dims}; use the same."
        )
