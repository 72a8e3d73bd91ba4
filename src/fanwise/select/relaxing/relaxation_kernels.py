"""Kernels of the relaxation: passes over some subscribers or topics, and the step of the shares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.select.relaxing.inequalities import Coefficients
from fanwise.select.relaxing.knapsack import Prices


@kernel
def scatter_values(
    indptr: LongArray,
    interests: IntArray,
    values: Coefficients,
    topic_indptr: LongArray,
    transposed: Coefficients,
) -> None:
    """Write the values of the subscriber CSR in the order of the topic CSR.

    Changes ``transposed``.
    """
    cursor = topic_indptr[:-1].copy()
    for subscriber in range(len(indptr) - 1):
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            topic = interests[i]
            transposed[cursor[topic]] = values[i]
            cursor[topic] += 1


@kernel
def sum_coefficients(
    indptr: LongArray, coefficients: Coefficients, first: int, last: int, sums: Prices
) -> None:
    """Add up the coefficients of some subscribers.

    Changes ``sums``.
    """
    for row in range(first, last):
        total = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            total += coefficients[i]
        sums[row] = total


@kernel
def move_prices(
    indptr: LongArray,
    interests: IntArray,
    coefficients: Coefficients,
    constants: Prices,
    shares: npt.NDArray[np.float32],
    prices: Prices,
    step: Prices,
    ceiling: Prices,
    first: int,
    last: int,
    moved: Prices,
) -> None:
    """Raise the prices of subscribers that the shares leave short, lower the others'.

    Changes ``moved``.
    """
    for subscriber in range(first, last):
        got = constants[subscriber]
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            got += coefficients[i] * shares[interests[i]]
        price = prices[subscriber] + step[subscriber] * (np.float32(1.0) - got)
        moved[subscriber] = min(max(price, np.float32(0.0)), ceiling[subscriber])


@kernel
def add_profits(
    indptr: LongArray,
    followers: IntArray,
    coefficients: Coefficients,
    prices: Prices,
    first: int,
    last: int,
    profit: FloatArray,
) -> None:
    """Add up what the followers of some topics pay for them.

    Changes ``profit``.
    """
    for topic in range(first, last):
        total = 0.0
        for i in range(indptr[topic], indptr[topic + 1]):
            total += coefficients[i] * prices[followers[i]]
        profit[topic] = total


@kernel
def project_shares(
    wish: FloatArray,
    weight: FloatArray,
    cost: FloatArray,
    limit: float,
    theta: float,
    shares: FloatArray,
) -> float:
    """Bring wished shares into [0, 1] and the capacity: x = wish - theta x weight, clipped.

    Changes ``shares``.

    Returns the theta found, the price of capacity, by Newton's method kept inside a bracket.
    """
    low, high = 0.0, np.inf
    for _ in range(60):
        used = 0.0
        slope = 0.0
        for topic in range(len(wish)):
            share = wish[topic] - theta * weight[topic]
            if share >= 1.0:
                used += cost[topic]
            elif share > 0.0:
                used += cost[topic] * share
                slope += cost[topic] * weight[topic]
        if abs(used - limit) <= 1e-6 * limit or (used < limit and theta == 0.0):
            break
        if used > limit:
            low = theta
        else:
            high = theta
        guess = theta + (used - limit) / slope if slope > 0.0 else -1.0
        if not low < guess < high:
            if low == 0.0 and guess <= 0.0 and used < limit:
                guess = 0.0 if high < 1e-30 else 0.5 * high
            elif np.isinf(high):
                guess = max(2.0 * theta, 1e-12)
            else:
                guess = 0.5 * (low + high)
        theta = guess
    for topic in range(len(wish)):
        share = wish[topic] - theta * weight[topic]
        shares[topic] = min(max(share, 0.0), 1.0)
    return theta
