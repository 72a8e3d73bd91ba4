"""The array form of a workload that the exact greedy works on, made on all cores."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, LongArray
from fanwise.arrays.threads import cut_rows, in_threads, num_threads
from fanwise.select.benefits.row_kernels import (
    AUDIENCE,
    HEAVY,
    SUBSCRIBER,
    SUM,
    BenefitArrays,
    Needs,
    fill_audience,
    fill_rows,
    lay_out_rows,
    number_subscribers,
)


def make_arrays(
    interests: Csr,
    followers: Csr,
    rates: FloatArray,
    cost: FloatArray,
    needs: Needs,
    *,
    heavy_degree: int,
    level: float,
) -> tuple[BenefitArrays, LongArray]:
    """Build rows and audiences, and add up the benefit of every topic. O(pairs).

    Subscribers with more than ``heavy_degree`` topics are heavy; their shares are entered for
    ``level`` times what they miss. Topics of rate 0 are left out.
    """
    # Large arrays are made by NumPy, which asks for huge pages, and never inside a kernel.
    numbers = np.empty(interests.num_rows, dtype=np.int32)
    num_heavy, num_numbered, heavy_pairs, num_pairs = number_subscribers(
        interests.indptr, needs, heavy_degree, numbers
    )
    arrays = BenefitArrays(
        subscribers=np.empty(num_numbered, dtype=SUBSCRIBER).view(np.recarray),
        slack=np.empty(num_numbered),
        heavy=np.empty(num_heavy, dtype=HEAVY).view(np.recarray),
        topics=np.empty(num_pairs, dtype=np.int32),
        settled=np.empty(heavy_pairs, dtype=np.int32),
        audience=np.empty(len(rates), dtype=AUDIENCE).view(np.recarray),
        followers=np.empty(len(followers.indices), dtype=np.int32),
    )
    lay_out_rows(interests.indptr, numbers, needs, level, arrays)

    def fill(job: tuple[bool, int, int]) -> tuple[LongArray, FloatArray] | None:
        is_audience, first, last = job
        if is_audience:
            fill_audience(first, last, *followers, rates, numbers, arrays)
            return None
        sums = np.zeros(len(rates), dtype=SUM).view(np.recarray)
        sums["rate"] = rates
        alone = np.zeros(len(rates))
        fill_rows(first, last, *interests, sums, numbers, needs, arrays, alone)
        return sums["benefit"], alone

    jobs = [(False, *piece) for piece in cut_rows(interests.indptr, num_threads())]
    jobs += [(True, *piece) for piece in cut_rows(followers.indptr, num_threads())]
    parts = [part for part in in_threads(fill, jobs) if part is not None]
    arrays.audience["cost"] = cost
    arrays.audience["alone"] = sum(alone for _, alone in parts)
    benefits: LongArray = np.sum([benefits for benefits, _ in parts], axis=0)
    return arrays, benefits
