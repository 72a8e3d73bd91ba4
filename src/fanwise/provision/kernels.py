"""Kernels of measuring a provisioning: arrays in, arrays out."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel


@kernel
def deliver_events(
    indptr: LongArray,
    topics: IntArray,
    rates: FloatArray,
    pair_subscriber: IntArray,
    pair_topic: IntArray,
) -> FloatArray:
    """Return the events that each subscriber gets from allocated pairs, each counted once.

    All pairs must be real interests. Changes nothing.
    """
    is_allocated = np.zeros(len(topics), dtype=np.bool_)
    for i in range(len(pair_topic)):
        low = indptr[pair_subscriber[i]]
        high = indptr[pair_subscriber[i] + 1] - 1
        while low < high:
            middle = (low + high) // 2
            if topics[middle] < pair_topic[i]:
                low = middle + 1
            else:
                high = middle
        is_allocated[low] = True
    delivered = np.zeros(len(indptr) - 1)
    for subscriber in range(len(indptr) - 1):
        total = 0.0
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            if is_allocated[i]:
                total += rates[topics[i]]
        delivered[subscriber] = total
    return delivered
