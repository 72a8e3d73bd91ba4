"""What a content workload looks like in numbers: subscriptions, latencies, who may serve whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.flows import group_alike, least_lbf
from fanwise.arrays.latencies import shortest_latencies
from fanwise.arrays.rectangles import bounding_box
from fanwise.progress import SILENT, Progress
from fanwise.workload.content.channel_statistics import channel_statistics
from fanwise.workload.content.latency import allowed_brokers, path_latencies
from fanwise.workload.content.model import ContentWorkload
from fanwise.workload.summaries import SUMMARY, StatisticsTable

MAX_DELAY = 0.3
"""Of the candidates that are counted where a workload does not say what it is meant for."""

_QUANTILES = {"q25": 25, "median": 50, "q75": 75, "p90": 90, "p99": 99}
_NAMES = {"q25": "25%", "q75": "75%", "p90": "90%", "p99": "99%"}


@dataclass(frozen=True, eq=False)
class ContentStatistics:
    """Counts, and one array for each thing that varies over subscribers or brokers.

    Attributes
    ----------
    counts
        Sizes and totals by name.
    spread
        Values by name: sides and volumes of rectangles, latencies, candidates.
    least_lbf
        Least load-balance factor that serves everybody within the delay; None where that is
        unknown, for want of a tree, or impossible.
    channel_spread
        Values by name that vary over channels: subscribers, and events somebody else wants.
    """

    workload: ContentWorkload
    counts: dict[str, Any]
    spread: dict[str, FloatArray]
    least_lbf: float | None
    channel_spread: dict[str, FloatArray] = field(default_factory=dict)

    def summaries(self) -> dict[str, dict[str, float | None]]:
        """Return mean and quantiles of everything that varies."""
        return {name: summarise(values) for name, values in self.spread.items()}

    def channel_summaries(self) -> dict[str, dict[str, float | None]]:
        """Return mean and quantiles of what varies over channels."""
        return {name: summarise(values) for name, values in self.channel_spread.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        least = {"least_lbf": self.least_lbf}
        names = {name.replace(" ", "_"): value for name, value in self.counts.items()}
        told = {
            **names,
            **least,
            "settings": self.workload.settings,
            "distributions": _as_json(self.summaries()),
        }
        if self.channel_spread:
            told["channel_distributions"] = _as_json(self.channel_summaries())
        return told


def _as_json(summaries: dict[str, dict[str, float | None]]) -> dict[str, Any]:
    return {name.replace(" ", "_"): value for name, value in summaries.items()}


def summarise(values: npt.NDArray[Any]) -> dict[str, float | None]:
    """Return mean and quantiles, all None where there are no values."""
    if not len(values):
        return dict.fromkeys(SUMMARY)
    found = {"min": values.min(), "mean": values.mean(), "max": values.max()}
    found |= dict(zip(_QUANTILES, np.percentile(values, list(_QUANTILES.values())), strict=True))
    return {name: float(found[name]) for name in SUMMARY}


def content_statistics(
    workload: ContentWorkload, *, progress: Progress = SILENT
) -> ContentStatistics:
    """Measure a content workload."""
    wanted = ~workload.wants_nothing
    lo, hi = workload.lo[wanted], workload.hi[wanted]
    spread = {f"side {axis}": hi[:, axis] - lo[:, axis] for axis in range(workload.event_dims)}
    spread["volume"] = (hi - lo).prod(axis=1)
    box_lo, box_hi = bounding_box(lo, hi)
    counts: dict[str, Any] = {
        "subscribers": workload.num_subscribers,
        "want nothing": int(workload.wants_nothing.sum()),
        "different subscriptions": len(np.unique(np.hstack([lo, hi]), axis=0)),
        "brokers": workload.num_brokers,
        "leaf brokers": len(workload.leaves),
        "event dimensions": workload.event_dims,
        "network dimensions": workload.network_dims,
        "volume of the bounding box": float((box_hi - box_lo).prod()) if len(lo) else 0.0,
    }
    for name in ("density", "channels"):
        part = getattr(workload, name)
        if part is not None:
            counts[f"{name} cells" if name == "density" else name] = len(part.lo)
    channel_spread: dict[str, FloatArray] = {}
    if workload.channels is not None and workload.rates is not None:
        with progress.step("Measuring channels"):
            found, by_subscriber, channel_spread = channel_statistics(workload)
            counts |= found
            spread |= by_subscriber
    least = None
    if workload.parent is not None:
        counts["levels"] = count_levels(workload)
    if workload.publisher is not None and workload.parent is not None and workload.num_brokers:
        path = path_latencies(workload.publisher, workload.broker_positions, workload.parent)
        spread["shortest latency"] = shortest_latencies(
            workload.positions, workload.broker_positions, path, workload.leaves
        )
    if "shortest latency" in spread or workload.candidates is not None:
        with progress.step("Counting candidates"):
            delay = float(workload.settings.get("max_delay", MAX_DELAY))
            candidates = allowed_brokers(workload, delay)
            spread["candidate brokers"] = np.diff(candidates.indptr).astype(np.float64)
        if workload.share is not None:
            with progress.step("Balancing by a maximum flow"):
                least, _ = least_lbf(group_alike(candidates, workload.num_brokers), workload.share)
    return ContentStatistics(workload, counts, spread, least, channel_spread)


def count_levels(workload: ContentWorkload) -> int:
    """Return how many brokers the longest path from the publisher passes."""
    assert workload.parent is not None
    levels = 0
    at = np.arange(workload.num_brokers, dtype=np.int32)
    while len(at):
        levels += 1
        above = workload.parent[at]
        at = np.unique(above[above >= 0])
    return levels


def content_counts(statistics: ContentStatistics) -> list[tuple[str, Any]]:
    """Return sizes, totals and settings with their names."""
    facts = list(statistics.counts.items())
    if statistics.least_lbf is not None:
        facts.append(("least load-balance factor", statistics.least_lbf))
    settings = statistics.workload.settings
    return [*facts, *((f"meant for {name}", value) for name, value in settings.items())]


def content_statistics_tables(statistics: ContentStatistics) -> list[StatisticsTable]:
    """Return mean and quantiles of what varies over subscribers, and over channels if any."""
    tables = [_table("Distributions over subscribers", statistics.summaries())]
    if statistics.channel_spread:
        tables.append(_table("Distributions over channels", statistics.channel_summaries()))
    return tables


def _table(title: str, summaries: dict[str, dict[str, float | None]]) -> StatisticsTable:
    rows = [
        [_NAMES.get(name, name), *(summary[name] for summary in summaries.values())]
        for name in SUMMARY
    ]
    return StatisticsTable(title, ["", *summaries], rows)
