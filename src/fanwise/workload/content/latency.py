"""Which brokers may serve a subscriber: by a list, by its own limit, or by the maximum delay."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, IntArray
from fanwise.arrays.latencies import candidates_by_delay, candidates_by_limit
from fanwise.workload.content.model import ContentWorkload


def path_latencies(
    publisher: FloatArray, broker_positions: FloatArray, parent: IntArray
) -> FloatArray:
    """Return the latency from the publisher to each broker through the tree."""
    has_parent = parent >= 0
    above = np.where(has_parent[:, None], broker_positions[parent], publisher)
    hop = np.sqrt(((broker_positions - above) ** 2).sum(axis=1))
    path: FloatArray = hop.copy()
    ancestor = parent.copy()
    while (ancestor >= 0).any():
        path += np.where(ancestor >= 0, hop[ancestor], 0.0)
        ancestor = np.where(ancestor >= 0, parent[ancestor], -1).astype(parent.dtype)
    return path


def allowed_brokers(workload: ContentWorkload, max_delay: float, *, last_hop: bool = False) -> Csr:
    """Return the leaf brokers that each subscriber may be assigned to.

    The workload's candidates if it has any; else those within each subscriber's ``max_latency``;
    else those within (1 + max_delay) times its shortest latency over all leaf brokers.

    Parameters
    ----------
    last_hop
        Latency is that from the broker alone, not of the whole path from the publisher.
    """
    if workload.candidates is not None:
        return workload.candidates
    if last_hop:
        path = np.zeros(workload.num_brokers)
    else:
        workload.need("publisher", "parent")
        assert workload.publisher is not None
        assert workload.parent is not None
        path = path_latencies(workload.publisher, workload.broker_positions, workload.parent)
    where = workload.positions, workload.broker_positions, path, workload.leaves
    if workload.max_latency is not None:
        return candidates_by_limit(*where, workload.max_latency)
    return candidates_by_delay(*where, max_delay)
