"""Select for the yardstick: thresholds from what subscribers could get, tight capacities."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.public_data import topic_sources
from benchmarks.quality import Case
from fanwise.select.problem import Selection
from fanwise.workload.topic import TopicWorkload

PERCENTILES = (25, 50, 75)
CAPACITIES = ("5%", "10%", "30%")


def cases(folders: tuple[Path, ...]) -> Iterator[Case]:
    for name, load in topic_sources(folders):
        for metric in ("binary", "fractional"):
            for percentile in PERCENTILES:
                for capacity in CAPACITIES:
                    setting = f"{metric}, tau p{percentile}, capacity {capacity}"
                    yield Case(name, setting, partial(pose, load, metric, percentile, capacity))


def pose(load, metric: str, percentile: int, capacity: str) -> Selection:
    """Ask with tau at a percentile of what subscribers could get at all."""
    workload = load()
    tau = float(np.percentile(most_events(workload), percentile))
    return Selection(workload, tau=tau, capacity=capacity, metric=metric)  # type: ignore[arg-type]


def most_events(workload: TopicWorkload) -> np.ndarray:
    """What each subscriber gets if everything is served."""
    indptr, topics = workload.interests
    sums = np.append(0.0, np.cumsum(workload.rates[topics]))
    return sums[indptr[1:]] - sums[indptr[:-1]]
