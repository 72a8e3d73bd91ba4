"""A random order of a huge range that needs no memory of its size.

A Feistel network whose round functions are tables of true random numbers: the number ``x`` is
written as a pair (left, right), and each half in turn is shifted by what the table holds for the
other. Every step can be undone, so the whole is a permutation, and any of its values is found
alone: what a chunk holds does not depend on how the range was cut into chunks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.arrays.jit import kernel

_ROUNDS = 3


class ShuffledRange(NamedTuple):
    """A permutation of ``range(size)``; its values are found by :func:`shuffled`.

    Attributes
    ----------
    bits
        The right half of a number is its lowest ``bits`` bits.
    left_shifts, right_shifts
        In each round, how far a half moves for each value of the other; one row a round.
    """

    size: int
    bits: int
    left_shifts: IntArray
    right_shifts: IntArray


def shuffle_range(size: int, rng: np.random.Generator) -> ShuffledRange:
    """Draw a permutation of ``range(size)``; memory O(sqrt(size))."""
    bits = max(1, (max(size, 1) - 1).bit_length() // 2)
    num_right = 1 << bits
    num_left = max(1, -(-size // num_right))
    return ShuffledRange(
        size,
        bits,
        rng.integers(num_left, size=(_ROUNDS, num_right), dtype=np.int32),
        rng.integers(num_right, size=(_ROUNDS, num_left), dtype=np.int32),
    )


@kernel
def shuffled(order: ShuffledRange, x: int) -> int:
    """Return where ``x`` goes.

    The halves can name a few numbers beyond the range; from there the walk goes on until it is back
    inside, which keeps it a permutation. Changes nothing.
    """
    num_left = order.right_shifts.shape[1]
    mask = (1 << order.bits) - 1
    while True:
        left, right = x >> order.bits, x & mask
        for step in range(order.left_shifts.shape[0]):
            left += order.left_shifts[step, right]
            if left >= num_left:
                left -= num_left
            right = (right + order.right_shifts[step, left]) & mask
        x = (left << order.bits) | right
        if x < order.size:
            return x
