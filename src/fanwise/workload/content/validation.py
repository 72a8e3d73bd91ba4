"""Checks that make a content workload out of columns, with messages that name the place.

As in :mod:`fanwise.workload.validation`, a place is a function that names a column and a row.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import Csr, FloatArray, IntArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.errors import WorkloadError
from fanwise.workload import validation
from fanwise.workload.content.model import Cells, PublishRates
from fanwise.workload.validation import MAX_IDS, Source, numbers, refuse

LARGEST_VOLUME = 1e150
"""No box around all rectangles has more: volumes and their products with rates stay finite."""


def check_boxes(
    lo: FloatArray, hi: FloatArray, place: Source, *, must_be_solid: bool = False
) -> None:
    """Refuse rectangles whose sides are the wrong way round, or without a volume if need be."""
    for axis in range(lo.shape[1]):
        low, high = lo[:, axis], hi[:, axis]
        bad = (low >= high) if must_be_solid else (low > high) & np.isfinite(low)
        if bad.any():
            row = int(np.argmax(bad))
            relation = "<" if must_be_solid else "<="
            raise WorkloadError(
                f"{place(f'lo_{axis}', row)}: must be {relation} hi_{axis}, got {low[row]} and "
                f"{high[row]}; swap or widen them."
            )
    finite = np.isfinite(lo).all(axis=1) & np.isfinite(hi).all(axis=1)
    if finite.any():
        extent = hi[finite].max(axis=0) - lo[finite].min(axis=0)
        with np.errstate(over="ignore"):
            volume = float(np.prod(extent))
        if volume > LARGEST_VOLUME:
            raise WorkloadError(
                f"{place('lo_0')}: the rectangles span a volume of {volume:g}, above "
                f"{LARGEST_VOLUME:g}, beyond which sums and products overflow; use larger units."
            )


def optional_boxes(
    lo: list[pa.ChunkedArray], hi: list[pa.ChunkedArray], place: Source
) -> tuple[FloatArray, FloatArray]:
    """Return rectangles; a row whose sides are all null wants nothing: (+inf, -inf)."""
    columns = [(f"lo_{axis}", values) for axis, values in enumerate(lo)]
    columns += [(f"hi_{axis}", values) for axis, values in enumerate(hi)]
    missing = [values.is_null().to_numpy() for _, values in columns]
    nothing = np.logical_and.reduce(missing)
    for (column, _), is_null in zip(columns, missing, strict=True):
        bad = is_null & ~nothing
        if bad.any():
            raise WorkloadError(
                f"{place(column, int(np.argmax(bad)))}: is null while other sides are not; "
                "give all sides, or null in all for a subscriber who wants nothing."
            )
    dims = len(lo)
    sides = [fill_nulls(values, column, place) for column, values in columns]
    arrays = np.column_stack(sides[:dims]), np.column_stack(sides[dims:])
    check_boxes(*arrays, place)
    arrays[0][nothing], arrays[1][nothing] = np.inf, -np.inf
    return arrays


def fill_nulls(values: pa.ChunkedArray, column: str, place: Source) -> FloatArray:
    """Return a column of finite numbers with 0 where it is null."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values))
    if values.null_count and (
        pa.types.is_floating(values.type) or pa.types.is_integer(values.type)
    ):
        values = values.fill_null(0)
    return numbers(values, column, place)


def check_parents(parent: IntArray, place: Source) -> None:
    """Refuse unknown parents, and brokers that no path connects to the publisher."""
    count = len(parent)
    refuse(
        (parent < -1) | (parent >= count),
        parent,
        "parent",
        place,
        f"unknown broker: must be -1 for the publisher, or from 0 to {count - 1}",
    )
    connected = parent == -1
    while True:
        grown = connected | (connected[parent] & (parent >= 0))
        if (grown == connected).all():
            break
        connected = grown
    if not connected.all():
        on_cycle = int(np.argmax(~connected))
        for _ in range(count):  # as many steps up surely end on the cycle itself
            on_cycle = int(parent[on_cycle])
        raise WorkloadError(
            f"{place('parent', on_cycle)}: broker {on_cycle} is its own ancestor; cut the cycle "
            "with -1, which attaches a broker to the publisher."
        )


def check_shares(
    share: FloatArray,
    is_missing: npt.NDArray[np.bool_],
    parent: IntArray | None,
    place: Source,
) -> FloatArray:
    """Return shares with 0 for inner brokers; leaves need one each, and 1 together.

    Without a tree nobody knows which brokers are inner ones: any share may be missing.
    """
    is_inner = np.zeros(len(share), dtype=np.bool_)
    if parent is not None:
        is_inner[parent[parent >= 0]] = True
    bad = is_missing & ~is_inner
    if parent is not None and bad.any():
        raise WorkloadError(
            f"{place('share', int(np.argmax(bad)))}: is null, but this broker is a leaf; give its "
            "capacity fraction, 0 if it serves nobody."
        )
    share = np.where(is_missing, 0.0, share)
    refuse(~np.isfinite(share), share, "share", place, "must be finite")
    refuse((share < 0) | (share > 1), share, "share", place, "must be from 0 to 1")
    wrong = is_inner & (share > 0)
    refuse(wrong, share, "share", place, "must be null for an inner broker, which serves nobody")
    total = float(share.sum())
    if abs(total - 1) > RELATIVE_TOLERANCE:
        raise WorkloadError(
            f"{place('share')}: the shares of the leaves add up to {total!r}, not 1; divide each "
            "by that sum."
        )
    return share


def ordered_pairs(
    subscriber: IntArray, other: IntArray, counts: Mapping[str, int], place: Source
) -> tuple[Csr, npt.NDArray[np.int64]]:
    """Return pairs as a CSR and the row of each; see :func:`fanwise.workload.validation.pairs`."""
    csr = validation.pairs(subscriber, other, counts, place)
    return csr, np.lexsort((other, subscriber))


def check_candidates(
    candidates: Csr, parent: IntArray | None, rows: npt.NDArray[np.int64], place: Source
) -> None:
    """Refuse candidates that are inner brokers of the tree."""
    if parent is None or not len(candidates.indices):
        return
    is_inner = np.isin(candidates.indices, parent[parent >= 0])
    if is_inner.any():
        found = int(np.argmax(is_inner))
        raise WorkloadError(
            f"{place('broker', int(rows[found]))}: broker {candidates.indices[found]} is an inner "
            "one; subscribers attach to leaves, so remove the pair."
        )


def density_cells(lo: FloatArray, hi: FloatArray, rate: FloatArray, place: Source) -> Cells:
    """Return cells in a fixed order; they must have a volume and not overlap."""
    if not len(lo):
        raise WorkloadError(
            f"{place('rate')}: no cells, so no events; remove the file for uniform events."
        )
    check_boxes(lo, hi, place, must_be_solid=True)
    refuse(rate < 0, rate, "rate", place, "must be >= 0")
    order = np.lexsort(np.hstack([hi, lo]).T[::-1])
    cells = Cells(*(np.ascontiguousarray(column[order]) for column in (lo, hi, rate)))
    first, second = find_overlap(cells.lo, cells.hi)
    if first >= 0:
        one, other = sorted((int(order[first]), int(order[second])))
        raise WorkloadError(
            f"{place('lo_0', other)}: the cell overlaps that of row {one}; cut cells so that no "
            "event is counted twice."
        )
    return cells


@kernel
def find_overlap(lo: FloatArray, hi: FloatArray) -> tuple[int, int]:
    """Return two cells that share a volume, or (-1, -1); cells ascend by their first side.

    Changes nothing.
    """
    for i in range(lo.shape[0]):
        for j in range(i + 1, lo.shape[0]):
            if lo[j, 0] >= hi[i, 0]:
                break
            overlaps = True
            for axis in range(lo.shape[1]):
                if max(lo[i, axis], lo[j, axis]) >= min(hi[i, axis], hi[j, axis]):
                    overlaps = False
                    break
            if overlaps:
                return i, j
    return -1, -1


def publish_rates(
    subscriber: IntArray,
    channel: IntArray,
    rate: FloatArray,
    counts: Mapping[str, int],
    place: Source,
) -> PublishRates:
    """Return rates as rows of channels, refusing negative ones, unknown ids and duplicates."""
    refuse(rate < 0, rate, "rate", place, "must be >= 0")
    csr, rows = ordered_pairs(subscriber, channel, counts, place)
    return PublishRates(csr.indptr, csr.indices, np.ascontiguousarray(rate[rows]))


def full_costs(
    subscriber: IntArray,
    broker: IntArray,
    cost: FloatArray,
    counts: Mapping[str, int],
    place: Source,
) -> FloatArray:
    """Return a matrix of costs; every pair must be there."""
    refuse(cost < 0, cost, "cost", place, "must be >= 0")
    (_, num_rows), (_, num_columns) = counts.items()
    csr, rows = ordered_pairs(subscriber, broker, counts, place)
    short = np.flatnonzero(np.diff(csr.indptr) < num_columns)
    if len(short):
        row = int(short[0])
        present = csr.indices[csr.indptr[row] : csr.indptr[row + 1]]
        first, second = counts
        absent = int(np.setdiff1d(np.arange(num_columns), present)[0])
        raise WorkloadError(
            f"{place('cost')}: no row for {first} {row} and {second} {absent}; every pair needs a "
            "cost, or remove the file to use distances."
        )
    return np.ascontiguousarray(cost[rows].reshape(num_rows, num_columns))


def symmetric_costs(
    broker: IntArray, other: IntArray, cost: FloatArray, num_brokers: int, place: Source
) -> FloatArray:
    """Return the matrix of costs between brokers from rows in one direction or in both."""
    refuse(cost < 0, cost, "cost", place, "must be >= 0")
    counts = {"broker": num_brokers, "other": num_brokers}
    validation.pairs(broker, other, counts, place)
    matrix = np.full((num_brokers, num_brokers), np.nan)
    np.fill_diagonal(matrix, 0.0)
    matrix[broker, other] = cost
    one_way = np.isnan(matrix)
    matrix[one_way] = matrix.T[one_way]
    own = (broker == other) & (cost != 0)
    refuse(own, cost, "cost", place, "must be 0 from a broker to itself")
    uneven = matrix[broker, other] != matrix[other, broker]
    refuse(uneven, cost, "cost", place, "must be the same in both directions")
    if np.isnan(matrix).any():
        one, two = (int(i) for i in np.argwhere(np.isnan(matrix))[0])
        raise WorkloadError(
            f"{place('cost')}: no row for brokers {one} and {two}; every pair needs a cost, or "
            "remove the file to use distances."
        )
    return matrix


def parents(values: pa.ChunkedArray, place: Source) -> IntArray:
    """Return an int32 column of broker ids, or -1."""
    if not pa.types.is_integer(values.type):
        raise WorkloadError(
            f"{place('parent')}: type {values.type} where int32 is needed; cast it to int32."
        )
    if values.null_count:
        row = int(np.argmax(values.is_null().to_numpy()))
        raise WorkloadError(
            f"{place('parent', row)}: is null; write -1 for a broker attached to the publisher."
        )
    array = values.to_numpy().astype(np.int64)
    refuse((array < -1) | (array > MAX_IDS), array, "parent", place, "must fit int32 and be >= -1")
    return np.ascontiguousarray(array, dtype=np.int32)
