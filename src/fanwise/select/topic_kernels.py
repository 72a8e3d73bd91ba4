"""Kernels that add up what topics give their followers, or would take from them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel


@kernel
def topic_benefit(
    topic: int,
    rate: float,
    indptr: LongArray,
    followers: IntArray,
    remaining: FloatArray,
    weight: FloatArray,
) -> float:
    """Add up min(1, rate / remaining) over the unsatisfied followers (the paper's Alg. 1).

    Changes nothing.
    """
    benefit = 0.0
    for i in range(indptr[topic], indptr[topic + 1]):
        subscriber = followers[i]
        if remaining[subscriber] > 0.0:
            benefit += weight[subscriber] * min(1.0, rate / remaining[subscriber])
    return benefit


@kernel
def smallest_rates(indptr: LongArray, interests: IntArray, rates: FloatArray) -> FloatArray:
    """Return the smallest rate of each subscriber's topics; 0 without topics. Changes nothing."""
    smallest = np.zeros(len(indptr) - 1)
    for subscriber in range(len(indptr) - 1):
        if indptr[subscriber] < indptr[subscriber + 1]:
            least = np.inf
            for i in range(indptr[subscriber], indptr[subscriber + 1]):
                least = min(least, rates[interests[i]])
            smallest[subscriber] = least
    return smallest


@kernel
def topic_profits(
    indptr: LongArray,
    followers: IntArray,
    rates: FloatArray,
    demand: FloatArray,
    weight: FloatArray,
) -> FloatArray:
    """Return what each topic alone gives: the sum of weight x min(1, rate / tau_v).

    Changes nothing.
    """
    profits = np.zeros(len(rates))
    for topic in range(len(rates)):
        profits[topic] = topic_benefit(topic, rates[topic], indptr, followers, demand, weight)
    return profits


@kernel
def weigh_topics(
    indptr: LongArray,
    followers: IntArray,
    rates: FloatArray,
    served: npt.NDArray[np.bool_],
    missing: FloatArray,
    demand: FloatArray,
    weight: FloatArray,
    is_binary: bool,
    tolerance: float,
) -> tuple[FloatArray, LongArray]:
    """Add up what each offloaded topic would give its followers, and how many it satisfies.

    Changes nothing.
    """
    benefits = np.zeros(len(rates))
    added = np.zeros(len(rates), dtype=np.int64)
    for topic in range(len(rates)):
        if served[topic]:
            continue
        rate = rates[topic]
        for i in range(indptr[topic], indptr[topic + 1]):
            subscriber = followers[i]
            lacks = missing[subscriber]
            if lacks <= 0.0:
                continue
            whole = lacks if is_binary else demand[subscriber]
            benefits[topic] += weight[subscriber] * min(rate, lacks) / whole
            if lacks - rate <= tolerance * demand[subscriber]:
                added[topic] += 1
    return benefits, added


@kernel
def add_losses(
    indptr: LongArray,
    followers: IntArray,
    rates: FloatArray,
    served: npt.NDArray[np.bool_],
    demand: FloatArray,
    delivered: FloatArray,
    weight: FloatArray,
    is_binary: bool,
    enough: float,
    first: int,
    last: int,
    losses: FloatArray,
) -> None:
    """Add up, for some topics, what their followers would lose without them.

    Changes ``losses``.
    """
    for topic in range(first, last):
        if not served[topic]:
            continue
        rate = rates[topic]
        loss = 0.0
        for i in range(indptr[topic], indptr[topic + 1]):
            subscriber = followers[i]
            need = demand[subscriber]
            if need <= 0.0:
                continue
            got = delivered[subscriber]
            if is_binary:
                if got >= need * enough and got - rate < need * enough:
                    loss += weight[subscriber]
            else:
                before = min(1.0, got / need)
                loss += weight[subscriber] * (before - min(1.0, (got - rate) / need))
        losses[topic] = loss
