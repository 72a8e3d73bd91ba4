"""The partners of each node whose links would add most: where moves look for new links."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.jit import kernel
from fanwise.connect.arrays import Network
from fanwise.connect.components import sum_gains
from fanwise.connect.kernels import NOBODY, cost_of


def best_partners(
    network: Network, edges: IntArray, length: int, most_work: float = np.inf
) -> IntArray:
    """Return, per node, partners whose links would add most to an overlay, whatever their degree.

    One count over all pairs that share a topic, the most wanted topics left out where that is too
    much work: what is hard to connect are the others. Unused entries hold ``NOBODY``.
    """
    followers = network.followers
    rare_first = np.argsort(followers, kind="stable")
    is_counted = np.zeros(len(followers), dtype=bool)
    # Counting takes the square of a topic's followers: rare topics first, as far as the work goes.
    is_counted[rare_first] = np.cumsum(followers[rare_first] ** 2) <= most_work
    partner = np.full((network.num_nodes, length), NOBODY, dtype=np.int32)
    weight = np.where(is_counted, network.weight, 0.0)
    rank_partners(network, network.components(edges).label, weight, partner)
    return partner


@kernel
def rank_partners(network: Network, label: IntArray, weight: FloatArray, partner: IntArray) -> None:
    """Write the best partners of each node by gain per cost. Changes ``partner``."""
    num_nodes, length = partner.shape
    gains, found = np.zeros(num_nodes), np.empty(num_nodes, dtype=np.int32)
    keys = np.zeros(length)
    for node in range(num_nodes):
        num_found = sum_gains(network, label, weight, node, False, gains, found)
        keys[:] = 0.0
        for k in range(num_found):
            other = found[k]
            key = gains[other] / cost_of(network.positions, node, other)
            gains[other] = 0.0
            keep_best(partner[node], keys, other, key)


@kernel
def keep_best(partner: IntArray, keys: FloatArray, other: int, key: float) -> None:
    """Put a partner into a list by falling key; the last one falls out.

    Changes ``partner`` and ``keys``.
    """
    k = len(keys) - 1
    if key <= keys[k]:
        return
    while k > 0 and keys[k - 1] < key:
        keys[k], partner[k] = keys[k - 1], partner[k - 1]
        k -= 1
    keys[k], partner[k] = key, other
