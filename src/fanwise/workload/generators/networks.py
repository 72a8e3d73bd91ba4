"""Places in a network space: measured ones, where brokers stand, and trees that connect them."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.errors import InputError, ParameterError

PLACEMENTS = ("like", "uniform", "publisher")
"""Brokers: where subscribers are; anywhere in their space; halfway towards the publisher."""

_AXIS_NAMES = ("x", "y", "z")


def read_coordinates(path: str | Path) -> FloatArray:
    """Read measured network coordinates: a CSV (.gz) with a header, one node a row.

    Axes are the columns ``x0``, ``x1``, … or ``net_0``, ``net_1``, … or ``x``, ``y``, ``z``; other
    columns are ignored.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: coordinates cannot be read: {reason}.") from None
    rows = csv.reader(io.StringIO(text))
    header = next(rows, [])
    axes = _find_axes(header)
    if not axes:
        raise InputError(
            f"{path}: no columns x0, x1, … or net_0, … or x, y; it has "
            f"{', '.join(map(repr, header)) or 'none'}."
        )
    points = []
    for line, row in enumerate(rows, start=2):
        try:
            point = [float(row[axis]) for axis in axes]
        except (ValueError, IndexError):
            point = [float("nan")]
        if not np.isfinite(point).all():
            raise InputError(f"{path}: line {line}: needs {len(axes)} finite numbers, got {row}.")
        points.append(point)
    if not points:
        raise InputError(f"{path}: no coordinates below the header; give a node in each row.")
    return np.array(points)


def _find_axes(header: list[str]) -> list[int]:
    for prefix in ("x", "net_"):
        axes: list[int] = []
        while f"{prefix}{len(axes)}" in header:
            axes.append(header.index(f"{prefix}{len(axes)}"))
        if axes:
            return axes
    return [header.index(name) for name in _AXIS_NAMES if name in header]


def choose_broker_positions(
    placement: str,
    count: int,
    positions: FloatArray,
    order: IntArray,
    publisher: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return where brokers stand.

    Parameters
    ----------
    placement
        One of :data:`PLACEMENTS`.
    order
        Subscribers with neighbours next to each other: brokers like subscribers are drawn from
        equally long stretches of it, so that every region gets its share of them.
    """
    if placement not in PLACEMENTS:
        raise ParameterError("placement", f"one of {', '.join(PLACEMENTS)}", placement)
    if placement == "uniform":
        low, high = positions.min(axis=0), positions.max(axis=0)
        return np.asarray(rng.uniform(low, high, (count, positions.shape[1])))
    stretch = (np.arange(count) + rng.random(count)) / count
    chosen = positions[order[(stretch * len(order)).astype(np.int64)]]
    return chosen if placement == "like" else (chosen + publisher) / 2


def order_by_position(positions: FloatArray) -> IntArray:
    """Order points so that neighbours in space are mostly neighbours in the order.

    Halving along the widest axis, over and over: the leaves of a k-d tree from left to right.
    """
    order = np.arange(len(positions), dtype=np.int32)
    pieces = [(0, len(order))]
    while pieces:
        first, end = pieces.pop()
        if end - first <= 64:
            continue
        part = positions[order[first:end]]
        axis = int(np.argmax(np.ptp(part, axis=0)))
        middle = (first + end) // 2
        order[first:end] = order[first:end][np.argpartition(part[:, axis], middle - first)]
        pieces += [(first, middle), (middle, end)]
    return order


def build_tree(positions: FloatArray, publisher: FloatArray, out_degree: int | None) -> IntArray:
    """Connect brokers to the publisher by a tree that follows the network space.

    Brokers are cut into groups of neighbours, as few as a tree of this out-degree needs and of
    about equal size; the one nearest to what is above leads each group and serves no subscribers.

    Parameters
    ----------
    out_degree
        Most children of a broker and of the publisher; None: all brokers are attached to the
        publisher.
    """
    parent = np.full(len(positions), -1, dtype=np.int32)
    if out_degree is None:
        return parent
    if out_degree < 2:
        raise ParameterError("out_degree", "a whole number >= 2", out_degree)
    waiting = [(np.arange(len(positions)), -1)]
    while waiting:
        members, above = waiting.pop()
        if len(members) <= out_degree:
            parent[members] = above
            continue
        reach = out_degree  # how many each child can hold at the depth this tree needs
        while (1 + reach) * out_degree < len(members):
            reach = (1 + reach) * out_degree
        num_groups = -(-len(members) // (1 + reach))
        at = publisher if above < 0 else positions[above]
        for group in _cut_evenly(members, positions, max(num_groups, 2)):
            gaps = ((positions[group] - at) ** 2).sum(axis=1)
            head = group[int(np.argmin(gaps))]
            parent[head] = above
            rest = group[group != head]
            if len(rest):
                waiting.append((rest, int(head)))
    return parent


def _cut_evenly(members: np.ndarray, positions: FloatArray, num_groups: int) -> list[np.ndarray]:
    """Cut points into groups whose sizes differ by one at most, along the widest axes."""
    sizes = [len(part) for part in np.array_split(members, num_groups)]
    groups = []
    waiting = [(members, sizes)]
    while waiting:
        part, wanted = waiting.pop()
        if len(wanted) == 1:
            groups.append(part)
            continue
        axis = int(np.argmax(np.ptp(positions[part], axis=0)))
        ordered = part[np.argsort(positions[part, axis], kind="stable")]
        half = len(wanted) // 2
        cut = sum(wanted[:half])
        waiting += [(ordered[:cut], wanted[:half]), (ordered[cut:], wanted[half:])]
    return groups
