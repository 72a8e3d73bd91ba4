"""Tiny random questions with odd features, and their true optimum by brute force."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.oracles import assign_brute_force_oracle

import fanwise as fw

TREES = (
    ((-1,), (1.0,)),
    ((-1, -1), (0.5, 0.5)),
    ((-1, -1), (1.0, 0.0)),
    ((-1, -1, -1), (1 / 3, 1 / 3, 1 / 3)),
    ((-1, -1, -1), (0.6, 0.25, 0.15)),
    ((-1, -1, -1), (0.5, 0.0, 0.5)),
    ((-1, 0), (None, 1.0)),
    ((-1, 0, 0), (None, 0.5, 0.5)),
    ((-1, 0, 0, -1), (None, 0.25, 0.25, 0.5)),
    ((1, -1, 1, -1), (0.3, None, 0.3, 0.4)),
    ((-1, 0, 1, 1, 0), (None, None, 0.5, 0.25, 0.25)),
    ((-1, -1, 0, 1, 1), (None, None, 0.4, 0.3, 0.3)),
    ((2, 2, -1, 2), (0.0, 0.5, None, 0.5)),
)
"""Parents and shares: one level and several, leaves of unequal depth, leaves without a share."""

PLACES = (
    ((0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0), (0.0, 1.0, 2.0, 3.0)),
    ((0.0, 0.1, 0.3, 1.0, 1.1, 1.7, 2.9), (0.0, 0.2, 0.7, 1.0)),
    ((-9.0, -3.0, 0.0, 1e-3, 5.0, 6.0, 60.0), (-1.0, 0.0, 1.0)),
    ((1e6, 1e6 + 1, 1e6 + 4, 1e6 + 5, 2e6, 3e6), (0.0, 1e-6, 1.0)),
    ((0.0, 1e-9, 1.0, 2.0, 1e3, 1e9), (0.0, 1.0, 1e3)),
)
"""Coordinates of sides along the first axis and the others."""

FACTORS = (
    *((1.0, 1.0), (1.0, 1.5), (1.5, 1.5), (2.0, 2.0), (1.2, 1.4), (1.0, 3.0), (2.5, 2.5)),
    *((4.0, 4.0), (0.5, 0.8)),
)
"""Load-balance factors, desired and allowed; the last cannot be held."""


def draw_question(
    rng: random.Random,
) -> tuple[fw.Assignment, Callable[[fw.Assignment], float | None]]:
    """Return a random tiny question, and a function that finds its optimum.

    The function takes the question, or the same as an algorithm poses it, and returns None where no
    assignment keeps the limits.
    """
    parent, shares = rng.choice(TREES)
    leaves = [broker for broker in range(len(parent)) if broker not in parent]
    alpha = rng.choice((1, 1, 2, 2, 2, 3, 3, 4))
    count = rng.choice((0, 1, 2, 3, 4, 5, 5, 6, 6, 7, 8))
    if len(leaves) > 2:
        count = min(count, 7)
    dims = rng.choice((1, 1, 2, 2, 2, 3))
    axes = draw_axes(rng, dims)
    boxes = draw_boxes(rng, axes, count)
    columns: dict[str, Any] = {}
    if rng.random() < 0.3:
        columns["density"] = draw_cells(rng, axes)
    limit = rng.random()
    if limit < 0.4:
        columns["candidates"] = draw_candidates(rng, count, leaves)
    span = rng.choice((0, 1, 4))  # at 0 everybody is at the same place
    if 0.4 <= limit < 0.6:
        far = (2.0 * span, 4.0 * span, 9.0 * span, 9.0 * span)
        columns["max_latency"] = [rng.choice(far) for _ in range(count)]
    brokers = draw_spots(rng, len(parent), span)
    positions = draw_spots(rng, count, span)
    nothing = [np.nan] * dims
    workload = fw.ContentWorkload.from_arrays(
        np.reshape([nothing if box is None else box[0] for box in boxes], (count, dims)),
        np.reshape([nothing if box is None else box[1] for box in boxes], (count, dims)),
        np.reshape(positions, (count, 2)),
        brokers,
        publisher=draw_spots(rng, 1, span)[0],
        parent=list(parent),
        share=[np.nan if share is None else share for share in shares],
        **columns,
    )
    lbf, lbf_max = rng.choice(FACTORS)
    problem = fw.Assignment(
        workload,
        alpha=alpha,
        max_delay=rng.choice((0.0, 0.3, 1.0, 1e6)),
        lbf=lbf,
        lbf_max=lbf_max,
        latency=rng.choice(("path", "path", "last-hop")),
    )
    return problem, find_optimum


def find_optimum(problem: fw.Assignment) -> float | None:
    """Return the least bandwidth of a tiny question; None where no assignment keeps the limits."""
    return assign_brute_force_oracle.optimum(
        problem.workload,
        alpha=problem.alpha,
        max_delay=problem.max_delay,
        lbf_max=problem.lbf_max,
        latency=problem.latency,
    )


def draw_axes(rng: random.Random, dims: int) -> list[list[float]]:
    """Return the places of sides along each axis: few enough to list all unions."""
    first, other = rng.choice(PLACES)
    sizes = {1: (6,), 2: (4, 3), 3: (3, 2, 2)}
    return [
        sorted(rng.sample(other if axis else first, size)) for axis, size in enumerate(sizes[dims])
    ]


def draw_boxes(rng: random.Random, axes: list[list[float]], count: int) -> list[Any]:
    """Return boxes, points and flat ones among them, some of them equal; None wants nothing."""
    boxes: list[Any] = []
    is_flat = rng.random() < 0.15
    for _ in range(count):
        if boxes and rng.random() < 0.15:
            boxes.append(rng.choice(boxes))
        elif rng.random() < 0.12:
            boxes.append(None)
        else:
            sides = []
            for axis in axes:
                ends = sorted((rng.choice(axis), rng.choice(axis)))
                sides.append((ends[0], ends[0]) if is_flat and rng.random() < 0.5 else ends)
            boxes.append(tuple(zip(*sides, strict=True)))
    return boxes


def draw_cells(rng: random.Random, axes: list[list[float]]) -> Any:
    """Return two cells of events side by side along the first axis, over all or a part of it."""
    middle = axes[0][1]
    start, end = axes[0][0] - 1.0, axes[0][-1]
    if end == middle or rng.random() < 0.5:
        end += 2.0
    lows = [[start], [middle]]
    highs = [[middle], [end]]
    for axis in axes[1:]:
        for some in lows:
            some.append(axis[0])
        for some in highs:
            some.append(axis[-1])
    return lows, highs, [rng.choice((0.0, 1.0, 7.5)), rng.choice((0.25, 3.0))]


def draw_candidates(rng: random.Random, count: int, leaves: list[int]) -> Any:
    """Return allowed pairs; now and then somebody has none."""
    rows, brokers = [], []
    for j in range(count):
        least = 0 if rng.random() < 0.03 else 1
        for broker in sorted(rng.sample(leaves, rng.randint(least, len(leaves)))):
            rows.append(j)
            brokers.append(broker)
    return rows, brokers


def draw_spots(rng: random.Random, count: int, span: int) -> list[list[float]]:
    """Return points of the network space, often at the same place."""
    return [[float(rng.randint(0, span)), float(rng.randint(0, span))] for _ in range(count)]
