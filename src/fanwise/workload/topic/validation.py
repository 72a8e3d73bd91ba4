"""Checks that make a topic workload out of columns; see :mod:`fanwise.workload.validation`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr, FloatArray, IntArray
from fanwise.errors import ParameterError, WorkloadError
from fanwise.workload.topic.model import TopicWorkload
from fanwise.workload.validation import (
    LARGEST,
    Source,
    as_chunked,
    check_not_negative,
    ids,
    names_or_default,
    pairs,
    refuse,
    refuse_wild,
)

SMALLEST_RATE = 1 / LARGEST


def interests(
    subscriber: IntArray,
    topic: IntArray,
    num_subscribers: int,
    num_topics: int,
    place: Source,
) -> Csr:
    """Build the subscriber CSR, refusing unknown ids and duplicate pairs."""
    return pairs(subscriber, topic, {"subscriber": num_subscribers, "topic": num_topics}, place)


def check_rates(rates: FloatArray, place: Source) -> None:
    """Refuse rates that are not positive, or so small that one over them overflows."""
    refuse(rates <= 0, rates, "rate", place, "must be > 0")
    reason = f"must be at least {SMALLEST_RATE:g}, below which quotients overflow"
    refuse(rates < SMALLEST_RATE, rates, "rate", place, reason)


def check_period(period_seconds: float, place: str) -> None:
    """Refuse a length of the period that is not positive, or beyond all reason."""
    if not SMALLEST_RATE <= period_seconds <= LARGEST:  # also NaN
        raise WorkloadError(
            f"{place}: period_seconds must be a finite number > 0, from {SMALLEST_RATE:g} to "
            f"{LARGEST:g}, got {period_seconds!r}."
        )


def build_topic_workload(
    *,
    rates: npt.ArrayLike,
    subscriber: npt.ArrayLike,
    topic: npt.ArrayLike,
    num_subscribers: int | None,
    message_bytes: npt.ArrayLike,
    topic_names: Any,
    subscriber_names: Any,
    period_seconds: float,
    cost: npt.ArrayLike | None,
    change_price: npt.ArrayLike | None,
    tau: npt.ArrayLike | None,
    weight: npt.ArrayLike | None,
    max_degree: npt.ArrayLike | None,
    positions: npt.ArrayLike | None,
    origin: Mapping[str, Any] | None,
) -> TopicWorkload:
    """Check arrays as a file would be checked; see :meth:`TopicWorkload.from_arrays`."""

    def place(column: str, row: int | None = None) -> str:
        return f"{column}" if row is None else f"{column}[{row}]"

    def column(values: npt.ArrayLike | None, name: str, count: int) -> FloatArray | None:
        if values is None:
            return None
        array = np.array(np.broadcast_to(np.asarray(values), (count,)), dtype=np.float64)
        refuse_wild(array, name, place)
        check_not_negative(array, name, place)
        return array

    if not (np.isfinite(period_seconds) and period_seconds > 0):
        raise ParameterError("period_seconds", "a finite number > 0", period_seconds)
    check_period(float(period_seconds), "from_arrays")
    rate = np.array(rates, dtype=np.float64).reshape(-1)
    refuse_wild(rate, "rates", place)
    check_rates(rate, place)
    rows = ids(as_chunked(subscriber), "subscriber", place)
    columns = ids(as_chunked(topic), "topic", place)
    if len(rows) != len(columns):
        raise WorkloadError(
            f"subscriber and topic must have the same length, got {len(rows)} and {len(columns)}."
        )
    if num_subscribers is None:
        if subscriber_names is not None:
            num_subscribers = len(subscriber_names)
        else:
            num_subscribers = int(rows.max()) + 1 if len(rows) else 0
    sizes = column(message_bytes, "message_bytes", len(rate))
    if sizes is None:
        raise ParameterError("message_bytes", "a number >= 0, or one for each topic", None)
    return TopicWorkload(
        rates=rate,
        message_bytes=sizes,
        interests=interests(rows, columns, num_subscribers, len(rate), place),
        topic_names=names_or_default(topic_names, "t", len(rate), "topic_names", place),
        subscriber_names=names_or_default(
            subscriber_names, "s", num_subscribers, "subscriber_names", place
        ),
        period_seconds=float(period_seconds),
        cost=column(cost, "cost", len(rate)),
        change_price=column(change_price, "change_price", len(rate)),
        tau=column(tau, "tau", num_subscribers),
        weight=column(weight, "weight", num_subscribers),
        max_degree=None if max_degree is None else _degrees(max_degree, num_subscribers, place),
        positions=None if positions is None else _points(positions, num_subscribers, place),
        origin=dict(origin or {}),
    )


def _degrees(values: npt.ArrayLike, count: int, place: Source) -> IntArray:
    degrees = ids(as_chunked(values), "max_degree", place)
    if len(degrees) != count:
        raise WorkloadError(f"max_degree: {len(degrees)} entries for {count} subscribers.")
    refuse(degrees < 0, degrees, "max_degree", place, "must be >= 0")
    return degrees.copy()


def _points(values: npt.ArrayLike, count: int, place: Source) -> FloatArray:
    points = np.array(values, dtype=np.float64, order="C")
    if points.ndim != 2 or len(points) != count:
        raise WorkloadError(
            f"positions: shape {points.shape} where ({count}, dimensions) is needed."
        )
    for coordinate in points.T:
        refuse_wild(coordinate, "positions", place)
    return points
