"""What a topic workload looks like in numbers: counts, distributions, and how they hang together.

The curves are those that the analysis of traces in Setty et al., "Cost-Effective Resource
Allocation for Deploying Pub/Sub on Cloud" (ICDCS 2014), appendix D, draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray, sum_rows
from fanwise.progress import SILENT, Progress
from fanwise.workload.summaries import SUMMARY
from fanwise.workload.topic.model import TopicWorkload

CHUNK = 1 << 22
"""Pairs counted at a time: ``np.bincount`` widens its input to eight bytes each."""

JSON_POINTS = 200
"""Points of a curve that :meth:`Statistics.to_dict` keeps."""


@dataclass(frozen=True, eq=False)
class Ccdf:
    """A complementary cumulative distribution function, P[X > x].

    Attributes
    ----------
    x
        The distinct values, ascending. The function is constant from one to the next, and 1 before
        the first.
    p
        Share of all values that are larger than ``x``; the last one is 0.
    """

    x: FloatArray
    p: FloatArray

    def at(self, x: float) -> float:
        """Return P[X > x]; 0 where there are no values at all."""
        if len(self.x) == 0:
            return 0.0
        position = int(np.searchsorted(self.x, x, side="right")) - 1
        return 1.0 if position < 0 else float(self.p[position])

    def thin(self, max_points: int) -> Ccdf:
        """Return a curve of at most ``max_points`` points that looks the same on log-log axes.

        The points that stay are exact: those where the curve enters a new cell of a logarithmic
        grid, and both ends.
        """
        if len(self.x) <= max_points:
            return self
        num_cells = max(1, (max_points - 4) // 2)
        cell_x = _log_cells(self.x, num_cells)
        cell_p = _log_cells(self.p, num_cells)
        stays = np.ones(len(self.x), dtype=bool)
        stays[1:-1] = (np.diff(cell_x)[:-1] != 0) | (np.diff(cell_p)[:-1] != 0)
        return Ccdf(self.x[stays], self.p[stays])


@dataclass(frozen=True, eq=False)
class Means:
    """The mean of one quantity for each distinct value of another.

    Attributes
    ----------
    x
        The distinct values, ascending.
    mean
        Mean of the other quantity there.
    count
        How many were averaged.
    """

    x: FloatArray
    mean: FloatArray
    count: LongArray

    def thin(self, max_points: int) -> Means:
        """Return at most ``max_points`` means, of neighbours on a logarithmic axis together."""
        if len(self.x) <= max_points:
            return self
        return self._merge(_log_cells(self.x, max(1, max_points - 2)))

    def decades(self) -> Means:
        """Return one mean for zero, one for 1 to 9, one for 10 to 99, and so on.

        ``x`` is where each starts: 0, 1, 10, …
        """
        starts = np.append(0.0, 10.0 ** np.arange(19))
        decade = np.searchsorted(starts, self.x, side="right") - 1
        merged = self._merge(decade)
        return Means(starts[np.unique(decade)], merged.mean, merged.count)

    def _merge(self, cells: npt.NDArray[Any]) -> Means:
        _, cell = np.unique(cells, return_inverse=True)
        count = np.bincount(cell, weights=self.count).astype(np.int64)
        return Means(
            np.bincount(cell, weights=self.x * self.count) / count,
            np.bincount(cell, weights=self.mean * self.count) / count,
            count,
        )


@dataclass(frozen=True, eq=False)
class Distribution:
    """How values spread; quantiles interpolate linearly, and are None where there are no values."""

    count: int
    min: float | None
    q25: float | None
    median: float | None
    mean: float | None
    q75: float | None
    p90: float | None
    p99: float | None
    max: float | None
    ccdf: Ccdf

    def summary(self) -> dict[str, float | None]:
        """Return the eight numbers of :data:`SUMMARY` by name."""
        return {name: getattr(self, name) for name in SUMMARY}


@dataclass(frozen=True, eq=False)
class Statistics:
    """Counts, distributions and curves of a topic workload; see :func:`workload_statistics`.

    Attributes
    ----------
    period_seconds
        Length of the period that rates, events, deliveries and bytes are counted over.
    num_topics, num_subscribers, num_pairs
        Sizes.
    events
        Events published: the sum of all rates.
    deliveries
        Events delivered when everything is served: the sum of rate x followers.
    bytes_published, bytes_delivered
        The same two in bytes, by each topic's mean message size.
    followers
        Followers of each topic.
    followings
        Topics of each subscriber.
    rates
        Events per period of each topic.
    received
        Events per period of all the topics of each subscriber together.
    subscription_cardinality
        Share of all events that each subscriber receives, in percent.
    rate_by_followers
        Mean rate of the topics with a number of followers.
    cardinality_by_followings
        Mean subscription cardinality of the subscribers with a number of topics.
    """

    period_seconds: float
    num_topics: int
    num_subscribers: int
    num_pairs: int
    events: float
    deliveries: float
    bytes_published: float
    bytes_delivered: float
    followers: Distribution
    followings: Distribution
    rates: Distribution
    received: Distribution
    subscription_cardinality: Distribution
    rate_by_followers: Means
    cardinality_by_followings: Means

    def to_dict(self, max_points: int = JSON_POINTS) -> dict[str, Any]:
        """Return everything as JSON values, curves thinned to ``max_points`` points.

        Numbers too large for a float are null.
        """
        result: dict[str, Any] = {
            "period_seconds": self.period_seconds,
            "topics": self.num_topics,
            "subscribers": self.num_subscribers,
            "pairs": self.num_pairs,
        }
        for name in ("events", "deliveries", "bytes_published", "bytes_delivered"):
            result[name] = _json_number(getattr(self, name))
        for name in ("followers", "followings", "rates", "received", "subscription_cardinality"):
            distribution: Distribution = getattr(self, name)
            curve = distribution.ccdf.thin(max_points)
            result[name] = {
                **{key: _json_number(value) for key, value in distribution.summary().items()},
                "ccdf": {"x": _json_list(curve.x), "p": _json_list(curve.p)},
            }
        rate = self.rate_by_followers.thin(max_points)
        result["rate_by_followers"] = {
            "followers": _json_list(rate.x),
            "mean_rate": _json_list(rate.mean),
            "topics": rate.count.tolist(),
        }
        cardinality = self.cardinality_by_followings.thin(max_points)
        result["subscription_cardinality_by_followings"] = {
            "followings": _json_list(cardinality.x),
            "mean_subscription_cardinality": _json_list(cardinality.mean),
            "subscribers": cardinality.count.tolist(),
        }
        return result


def workload_statistics(workload: TopicWorkload, *, progress: Progress = SILENT) -> Statistics:
    """Measure a workload: O(pairs) for the counts, then sorting topics and subscribers.

    Parameters
    ----------
    workload
        Any topic workload, an empty one too.
    progress
        Told about long work.
    """
    followers = count_followers(workload, progress=progress)
    followings = np.diff(workload.interests.indptr)
    with (
        progress.step("Summing up", total=6) as step,
        # Sums of huge rates may be infinite, which to_dict() writes as null.
        np.errstate(over="ignore", invalid="ignore"),
    ):
        cardinality = subscription_cardinality(workload)
        step.advance()
        published = workload.rates * workload.message_bytes
        distributions = {}
        for name, values in (
            ("followers", followers),
            ("followings", followings),
            ("rates", workload.rates),
            ("received", workload.received),
            ("subscription_cardinality", cardinality),
        ):
            distributions[name] = distribution(values)
            step.advance()
        return Statistics(
            period_seconds=workload.period_seconds,
            num_topics=workload.num_topics,
            num_subscribers=workload.num_subscribers,
            num_pairs=workload.num_pairs,
            events=float(workload.rates.sum()),
            deliveries=float((workload.rates * followers).sum()),
            bytes_published=float(published.sum()),
            bytes_delivered=float((published * followers).sum()),
            rate_by_followers=mean_by(followers, workload.rates),
            cardinality_by_followings=mean_by(followings, cardinality),
            **distributions,
        )


def count_followers(workload: TopicWorkload, *, progress: Progress = SILENT) -> LongArray:
    """Count the followers of each topic without building the transpose."""
    counts = np.zeros(workload.num_topics, dtype=np.int64)
    indices = workload.interests.indices
    with progress.step("Counting followers", total=len(indices)) as step:
        for start in range(0, len(indices), CHUNK):
            chunk = indices[start : start + CHUNK]
            counts += np.bincount(chunk, minlength=len(counts))
            step.advance(len(chunk))
    return counts


def subscription_cardinality(workload: TopicWorkload) -> FloatArray:
    """Return SC_v = 100 x (sum of the subscriber's rates) / (sum of all rates), in percent."""
    if workload.num_topics == 0:
        return np.zeros(workload.num_subscribers)
    relative = workload.rates / workload.rates.max()  # at most 1: their sums cannot overflow
    sums: FloatArray = sum_rows(workload.interests.indptr, workload.interests.indices, relative)
    sums *= 100.0 / relative.sum()
    return sums


def ccdf(values: npt.NDArray[Any]) -> Ccdf:
    """Return P[X > x] at each distinct x of the values."""
    return _ccdf_of_sorted(np.sort(values).astype(np.float64))


def distribution(values: npt.NDArray[Any]) -> Distribution:
    """Summarise values by quantiles, mean and CCDF."""
    ordered = np.sort(values).astype(np.float64)
    curve = _ccdf_of_sorted(ordered)
    if len(ordered) == 0:
        return Distribution(count=0, **dict.fromkeys(SUMMARY), ccdf=curve)
    low, q25, median, q75, p90, p99, high = np.quantile(
        ordered, [0, 0.25, 0.5, 0.75, 0.9, 0.99, 1]
    ).tolist()
    return Distribution(
        count=len(ordered),
        min=low,
        q25=q25,
        median=median,
        mean=float(ordered.mean()),
        q75=q75,
        p90=p90,
        p99=p99,
        max=high,
        ccdf=curve,
    )


def mean_by(keys: LongArray, values: FloatArray) -> Means:
    """Average ``values`` over each distinct key (a count, >= 0)."""
    count = np.bincount(keys)
    total = np.bincount(keys, weights=values)
    present = np.flatnonzero(count)
    return Means(
        present.astype(np.float64),
        total[present] / count[present],
        count[present].astype(np.int64),
    )


def _ccdf_of_sorted(ordered: FloatArray) -> Ccdf:
    if len(ordered) == 0:
        return Ccdf(np.empty(0), np.empty(0))
    is_last = np.append(ordered[1:] != ordered[:-1], True)
    position = np.flatnonzero(is_last)
    return Ccdf(ordered[position], (len(ordered) - 1 - position) / len(ordered))


def _log_cells(values: FloatArray, num_cells: int) -> FloatArray:
    """Cell of each value on a logarithmic axis, ``num_cells`` from end to end; -1 for zero."""
    positive = values > 0
    cells = np.full(len(values), -1.0)
    if positive.any():
        logs = np.log(values[positive])
        width = (logs.max() - logs.min()) / num_cells or 1.0
        cells[positive] = np.minimum((logs - logs.min()) // width, num_cells - 1)
    return cells


def _json_number(value: float | None) -> float | int | None:
    if value is None or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value)


def _json_list(values: FloatArray) -> list[float | int | None]:
    return [_json_number(value) for value in values.tolist()]
