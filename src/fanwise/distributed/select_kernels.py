"""Kernels of select on Spark: one pass over the subscribers of one block, per-topic sums out.

Amounts are whole units (a power of two per unit of weight): their sums do not depend on how
subscribers are spread over blocks, and so neither does any choice made from them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.select.relaxing.inequalities import Rows

Flags = npt.NDArray[np.bool_]


@kernel
def add_benefits(
    rows: Rows,
    unit: FloatArray,
    grain: float,
    served: Flags,
    tolerance: float,
    amounts: LongArray,
) -> tuple[int, int]:
    """Binary: what topics promise or hold, per topic; returns (value, satisfied).

    An unserved topic is promised min(1, rate / what is missing) by each unsatisfied follower (Alg.
    1 of Setty et al.); a served one holds the followers that would not be satisfied without it.
    Amounts are in ``grain`` units of ``unit``. Changes ``amounts``.
    """
    indptr, interests, rates, demand = rows
    value, satisfied = 0, 0
    for row in range(len(indptr) - 1):
        start, stop = indptr[row], indptr[row + 1]
        need, slack = demand[row], tolerance * demand[row]
        got = 0.0
        for i in range(start, stop):
            if served[interests[i]]:
                got += rates[interests[i]]
        if need - got > slack:
            per_event = unit[row] / (need - got)
            for i in range(start, stop):
                topic = interests[i]
                if not served[topic]:
                    amounts[topic] += int(min(rates[topic] * per_event, unit[row]) * grain)
            continue
        value += int(unit[row])
        satisfied += 1
        for i in range(start, stop):
            topic = interests[i]
            if served[topic] and need - (got - rates[topic]) > slack:
                amounts[topic] += int(unit[row] * grain)
    return value, satisfied


@kernel
def add_gains(
    rows: Rows,
    unit: FloatArray,
    grain: float,
    served: Flags,
    tolerance: float,
    amounts: LongArray,
) -> tuple[int, int]:
    """Fractional: what serving or dropping each topic alone would change; (value, satisfied).

    Amounts are in ``grain`` units of ``unit``. Changes ``amounts``.
    """
    indptr, interests, rates, demand = rows
    value, satisfied = 0, 0
    for row in range(len(indptr) - 1):
        start, stop = indptr[row], indptr[row + 1]
        need = demand[row]
        got = 0.0
        for i in range(start, stop):
            if served[interests[i]]:
                got += rates[interests[i]]
        missing = need - got
        if missing <= tolerance * need:
            missing = 0.0
            satisfied += 1
        value += int(unit[row] * (1.0 - missing / need) + 0.5)
        for i in range(start, stop):
            topic = interests[i]
            if served[topic]:
                change = min(max(need - (got - rates[topic]), 0.0), need) - missing
            else:
                change = min(missing, rates[topic])
            amounts[topic] += int(unit[row] * grain * max(change, 0.0) / need)
    return value, satisfied


@kernel
def add_profits(
    indptr: LongArray,
    interests: IntArray,
    coefficients: npt.NDArray[np.float32],
    constants: npt.NDArray[np.float32],
    prices: npt.NDArray[np.float32],
    scale: float,
    amounts: LongArray,
) -> int:
    """Add up what subscribers pay for each topic, rounded up; returns what they pay in all.

    The latter is price x (1 - constant), rounded down: both ways keep the bound valid (see
    :mod:`fanwise.select.relaxing.relaxation`). Changes ``amounts``.
    """
    paid = 0
    for row in range(len(indptr) - 1):
        price = np.float64(prices[row]) * scale
        if price == 0.0:
            continue
        paid += int(np.floor(price * (1.0 - np.float64(constants[row]))))
        for i in range(indptr[row], indptr[row + 1]):
            if coefficients[i] > 0.0:
                amounts[interests[i]] += int(price * np.float64(coefficients[i])) + 1
    return paid
