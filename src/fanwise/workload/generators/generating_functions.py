"""Random quadratic functions with their negative part cut, as means over the cells of a grid.

A function of d variables is drawn on the cube from -1 to 1 around its centre:
q(y) = c + sum_k b_k y_k + sum_{k <= l} a_kl y_k y_l, every coefficient uniform from -1 to 1. Where
q is negative nothing is published.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel

LINE_NODES = 3
"""Gauss points of a cell along every axis but the first: exact where nothing is cut."""


class Quadratics(NamedTuple):
    """One function a row: its constant, its linear and its (upper triangular) square terms."""

    constant: FloatArray
    linear: FloatArray
    square: FloatArray


def draw_quadratics(count: int, dims: int, rng: np.random.Generator) -> Quadratics:
    """Draw functions of ``dims`` variables, all coefficients uniform from -1 to 1."""
    coefficients = rng.uniform(-1, 1, (count, 1 + dims + dims * dims))
    square = coefficients[:, 1 + dims :].reshape(count, dims, dims)
    return Quadratics(
        np.ascontiguousarray(coefficients[:, 0]),
        np.ascontiguousarray(coefficients[:, 1 : 1 + dims]),
        np.ascontiguousarray(np.triu(square)),
    )


def split_axes(cells: int, dims: int) -> LongArray:
    """Return cells along each axis, ``cells`` together, as even as their factors allow."""
    counts = [1] * dims
    for prime in sorted(prime_factors(cells), reverse=True):
        counts[counts.index(min(counts))] *= prime
    return np.array(sorted(counts, reverse=True), dtype=np.int64)


def prime_factors(number: int) -> list[int]:
    """Return the primes whose product is ``number``, ascending."""
    found = []
    factor = 2
    while factor * factor <= number:
        while number % factor == 0:
            found.append(factor)
            number //= factor
        factor += 1
    return found + [number] * (number > 1)


def cell_means(functions: Quadratics, cells_of_axis: LongArray) -> FloatArray:
    """Return the mean of each cut function over each cell, the last axis running fastest.

    Along the first axis the mean is exact; along the others it is a Gauss rule of three points a
    cell. O(functions x cells x 3 ** (dims - 1)).
    """
    nodes, weights = np.polynomial.legendre.leggauss(LINE_NODES)
    return average_cells(*functions, cells_of_axis, nodes, weights / 2)


@kernel
def average_cells(
    constant: FloatArray,
    linear: FloatArray,
    square: FloatArray,
    cells_of_axis: LongArray,
    nodes: FloatArray,
    weights: FloatArray,
) -> FloatArray:
    """Return means of cut functions, summed over lines along the first axis. Changes nothing."""
    dims = len(cells_of_axis)
    num_columns, num_lines = 1, 1
    for axis in range(1, dims):
        num_columns *= cells_of_axis[axis]
        num_lines *= len(nodes)
    first = cells_of_axis[0]
    means = np.zeros((len(constant), first * num_columns))
    at = np.zeros(dims)
    for column in range(num_columns):
        for line in range(num_lines):
            weight = choose_line(column, line, cells_of_axis, nodes, weights, at)
            for i in range(len(constant)):
                a, b, c = restrict_to_line(constant[i], linear[i], square[i], at)
                start, end, start_again = positive_part(a, b, c)
                for cell in range(first):
                    u, v = -1 + 2 * cell / first, -1 + 2 * (cell + 1) / first
                    area = integrate(a, b, c, max(start, u), min(end, v))
                    area += integrate(a, b, c, max(start_again, u), v)
                    means[i, cell * num_columns + column] += weight * area / (v - u)
    return means


@kernel
def choose_line(
    column: int,
    line: int,
    cells_of_axis: LongArray,
    nodes: FloatArray,
    weights: FloatArray,
    at: FloatArray,
) -> float:
    """Put ``at`` on a line through a column of cells; return the line's weight in its column.

    Changes ``at``.
    """
    weight = 1.0
    for axis in range(len(cells_of_axis) - 1, 0, -1):
        cells = cells_of_axis[axis]
        node = line % len(nodes)
        at[axis] = -1 + (2 * (column % cells) + 1 + nodes[node]) / cells
        weight *= weights[node]
        column //= cells
        line //= len(nodes)
    return weight


@kernel
def restrict_to_line(
    constant: float, linear: FloatArray, square: FloatArray, at: FloatArray
) -> tuple[float, float, float]:
    """Return the coefficients of a t^2 + b t + c along the first axis through ``at``.

    Changes nothing.
    """
    b, c = linear[0], constant
    for k in range(1, len(at)):
        b += square[0, k] * at[k]
        c += linear[k] * at[k]
        for other in range(k, len(at)):
            c += square[k, other] * at[k] * at[other]
    return square[0, 0], b, c


@kernel
def positive_part(a: float, b: float, c: float) -> tuple[float, float, float]:
    """Return (s, e, s') such that a t^2 + b t + c > 0 on (s, e) and beyond s', and only there.

    Changes nothing.
    """
    infinity = math.inf
    if a == 0:
        if b == 0:
            return (-infinity, infinity, infinity) if c > 0 else (0.0, 0.0, infinity)
        root = -c / b
        return (root, infinity, infinity) if b > 0 else (-infinity, root, infinity)
    discriminant = b * b - 4 * a * c
    if discriminant <= 0:
        return (-infinity, infinity, infinity) if a > 0 else (0.0, 0.0, infinity)
    half = -0.5 * (b + math.copysign(math.sqrt(discriminant), b))
    one, two = half / a, c / half
    low, high = min(one, two), max(one, two)
    return (-infinity, low, high) if a > 0 else (low, high, infinity)


@kernel
def integrate(a: float, b: float, c: float, start: float, end: float) -> float:
    """Return the integral of a quadratic that is positive in between: Simpson's rule is exact.

    Changes nothing.
    """
    if start >= end:
        return 0.0
    middle = (start + end) / 2
    ends = (a * start + b) * start + c + (a * end + b) * end + c
    return max((end - start) / 6 * (ends + 4 * ((a * middle + b) * middle + c)), 0.0)
