"""What subscribers publish on channels and receive from them.

A subscriber wants every channel that its rectangle overlaps with positive volume, as a whole: the
histogram's false positives count. Messages that nobody but their publisher wants are removed first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.workload.content.model import ContentWorkload


class Traffic(NamedTuple):
    """Who wants which channel, and what passes the link of each subscriber.

    Attributes
    ----------
    wanted
        The channels of each subscriber.
    num_wanting
        Subscribers of each channel.
    rate
        Of the workload's rates those that somebody else wants; 0 elsewhere.
    channel_rate
        What is published on each channel and wanted by somebody else.
    inbound, outbound
        What each subscriber receives from others, and sends.
    """

    wanted: Csr
    num_wanting: LongArray
    rate: FloatArray
    channel_rate: FloatArray
    inbound: FloatArray
    outbound: FloatArray

    @property
    def demand(self) -> FloatArray:
        """Load that each subscriber puts on its broker."""
        return self.inbound + self.outbound


def measure_traffic(workload: ContentWorkload) -> Traffic:
    """Return the traffic of a workload with channels and rates. O(subscribers x channels)."""
    workload.need("channels", "rates")
    assert workload.channels is not None
    assert workload.rates is not None
    channels, rates = workload.channels, workload.rates
    wanted = overlapped_channels(workload.lo, workload.hi, channels.lo, channels.hi)
    num_wanting = np.bincount(wanted.indices, minlength=len(channels.lo)).astype(np.int64)
    rate = drop_unwanted(wanted.indptr, wanted.indices, num_wanting, *rates)
    total = np.bincount(rates.indices, weights=rate, minlength=len(channels.lo))
    channel_rate = np.asarray(total, dtype=np.float64)
    inbound, outbound = sum_traffic(
        wanted.indptr, wanted.indices, channel_rate, rates.indptr, rates.indices, rate
    )
    return Traffic(wanted, num_wanting, rate, channel_rate, inbound, outbound)


def overlapped_channels(
    lo: FloatArray, hi: FloatArray, channel_lo: FloatArray, channel_hi: FloatArray
) -> Csr:
    """Return the channels with which each rectangle shares a volume."""
    counts = count_overlaps(lo, hi, channel_lo, channel_hi)
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    return Csr(indptr, list_overlaps(lo, hi, channel_lo, channel_hi, indptr))


@kernel
def shares_volume(
    lo: FloatArray, hi: FloatArray, other_lo: FloatArray, other_hi: FloatArray
) -> bool:
    """Whether two rectangles overlap by more than their sides. Changes nothing."""
    for axis in range(len(lo)):
        if max(lo[axis], other_lo[axis]) >= min(hi[axis], other_hi[axis]):
            return False
    return True


@kernel
def count_overlaps(
    lo: FloatArray, hi: FloatArray, channel_lo: FloatArray, channel_hi: FloatArray
) -> LongArray:
    """Return how many channels each rectangle overlaps. Changes nothing."""
    counts = np.zeros(lo.shape[0], dtype=np.int64)
    for i in range(lo.shape[0]):
        for c in range(channel_lo.shape[0]):
            if shares_volume(lo[i], hi[i], channel_lo[c], channel_hi[c]):
                counts[i] += 1
    return counts


@kernel
def list_overlaps(
    lo: FloatArray,
    hi: FloatArray,
    channel_lo: FloatArray,
    channel_hi: FloatArray,
    indptr: LongArray,
) -> IntArray:
    """Return the channels that each rectangle overlaps, in rows that start at ``indptr``.

    Changes nothing.
    """
    found = np.empty(indptr[-1], dtype=np.int32)
    at = 0
    for i in range(lo.shape[0]):
        for c in range(channel_lo.shape[0]):
            if shares_volume(lo[i], hi[i], channel_lo[c], channel_hi[c]):
                found[at] = c
                at += 1
    return found


@kernel
def drop_unwanted(
    wanted_indptr: LongArray,
    wanted: IntArray,
    num_wanting: LongArray,
    indptr: LongArray,
    indices: IntArray,
    rate: FloatArray,
) -> FloatArray:
    """Return rates with 0 where nobody but the publisher wants the channel. Changes nothing."""
    kept = rate.copy()
    for i in range(len(indptr) - 1):
        mine = wanted_indptr[i]
        for j in range(indptr[i], indptr[i + 1]):
            while mine < wanted_indptr[i + 1] and wanted[mine] < indices[j]:
                mine += 1
            own = mine < wanted_indptr[i + 1] and wanted[mine] == indices[j]
            if num_wanting[indices[j]] == int(own):
                kept[j] = 0.0
    return kept


@kernel
def sum_traffic(
    wanted_indptr: LongArray,
    wanted: IntArray,
    channel_rate: FloatArray,
    indptr: LongArray,
    indices: IntArray,
    rate: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return what each subscriber receives and sends; nobody receives its own messages.

    Changes nothing.
    """
    num_publishing = np.zeros(len(channel_rate), dtype=np.int64)
    for j in range(len(indices)):
        if rate[j] > 0:
            num_publishing[indices[j]] += 1
    inbound, outbound = np.zeros(len(indptr) - 1), np.zeros(len(indptr) - 1)
    for i in range(len(indptr) - 1):
        j = indptr[i]
        for k in range(wanted_indptr[i], wanted_indptr[i + 1]):
            c = wanted[k]
            while j < indptr[i + 1] and indices[j] < c:
                j += 1
            own = rate[j] if j < indptr[i + 1] and indices[j] == c else 0.0
            if num_publishing[c] > int(own > 0):  # else the difference is rounding alone
                inbound[i] += max(channel_rate[c] - own, 0.0)
        for j in range(indptr[i], indptr[i + 1]):
            outbound[i] += rate[j]
    return inbound, outbound
