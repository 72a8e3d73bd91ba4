"""The one tolerance: by how much an amount may pass its limit and still be within it.

Plain functions of numbers and arrays, which kernels may call as well.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.jit import callable_in_kernels

RELATIVE_TOLERANCE = 1e-9
"""Relative to the limit. Sums of the same numbers in another order differ by less."""

ROUNDING = 1e-12
"""Relative: sums of the same numbers in another order differ by less, so that what is better by no
more than this is not better."""

Amount = TypeVar("Amount", float, FloatArray)
BoolArray = npt.NDArray[np.bool_]


@callable_in_kernels
def most_within(limit: Amount) -> Amount:
    """Return the largest amount that is within a limit. Changes nothing."""
    return limit * (1 + RELATIVE_TOLERANCE)


@callable_in_kernels
def least_enough(demand: Amount) -> Amount:
    """Return the smallest amount that is enough for a demand. Changes nothing."""
    return demand * (1 - RELATIVE_TOLERANCE)


@overload
def fits(amount: float, limit: float) -> bool: ...
@overload
def fits(amount: npt.NDArray[Any], limit: FloatArray) -> BoolArray: ...
@callable_in_kernels
def fits(amount: Any, limit: Any) -> Any:
    """Whether an amount is within a limit. Changes nothing."""
    return amount <= limit * (1 + RELATIVE_TOLERANCE)


@overload
def is_enough(amount: float, demand: float) -> bool: ...
@overload
def is_enough(amount: npt.NDArray[Any], demand: FloatArray) -> BoolArray: ...
@callable_in_kernels
def is_enough(amount: Any, demand: Any) -> Any:
    """Whether an amount is enough for a demand. Changes nothing."""
    return amount >= demand * (1 - RELATIVE_TOLERANCE)
