"""What channels and rates look like in numbers: who wants them, and what brokers must carry."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.workload.content.model import ContentWorkload
from fanwise.workload.content.traffic import measure_traffic


class ChannelStatistics(NamedTuple):
    """Totals, and one array for each thing that varies over subscribers or channels."""

    counts: dict[str, Any]
    by_subscriber: dict[str, FloatArray]
    by_channel: dict[str, FloatArray]


def channel_statistics(workload: ContentWorkload) -> ChannelStatistics:
    """Measure what is published on channels, by whom it is wanted, and what that asks of brokers.

    Demand is what passes the links of subscribers, in and out; events that nobody but their
    publisher wants are no part of it.
    """
    assert workload.rates is not None
    traffic = measure_traffic(workload)
    published = workload.rates.rate
    demand = traffic.demand
    counts: dict[str, Any] = {
        "channels": len(traffic.num_wanting),
        "channels nobody wants": int((traffic.num_wanting == 0).sum()),
        "publishers": int((traffic.outbound > 0).sum()),
        "events published per period": float(published.sum()),
        "events nobody else wants": float((published - traffic.rate).sum()),
        "demand": float(demand.sum()),
    }
    if workload.capacity is not None:
        counts["capacity"] = float(workload.capacity.sum())
        if counts["demand"] > 0:
            counts["capacity over demand"] = counts["capacity"] / counts["demand"]
    by_subscriber = {
        "channels": np.diff(traffic.wanted.indptr).astype(np.float64),
        "demand": demand,
    }
    by_channel = {
        "subscribers": traffic.num_wanting.astype(np.float64),
        "events": traffic.channel_rate,
    }
    if workload.num_brokers:
        by_channel["subscribers per broker"] = traffic.num_wanting / workload.num_brokers
    return ChannelStatistics(counts, by_subscriber, by_channel)
