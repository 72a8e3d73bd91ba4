"""Where to draw the nodes of a small overlay: springs along links, charges between all nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray

STEPS = 150
"""Rounds in which nodes are moved."""
FIRST_STEP = 0.12
"""Farthest move of the first round, in widths of the picture; it shrinks to nothing."""
ALONE_PER_ROW, ROW_HEIGHT = 40, 0.03
"""How nodes without links stand at the bottom."""
GRAVITY = 0.8
"""Pull to the middle: keeps pieces that no link holds together in the picture."""


def lay_out_nodes(num_nodes: int, edges: IntArray, *, steps: int = STEPS) -> FloatArray:
    """Return coordinates in the unit square; nodes without links stand in rows at the bottom.

    The others by the method of Fruchterman and Reingold (1991), from a spiral in the order of a
    breadth-first walk, so that the same overlay gives the same picture. O(steps x nodes squared).
    """
    positions = np.full((num_nodes, 2), 0.5)
    linked = np.unique(edges)
    alone = np.setdiff1d(np.arange(num_nodes), linked)
    rows = -(-len(alone) // ALONE_PER_ROW)
    floor = ROW_HEIGHT * (rows + 1) if len(alone) and len(linked) else 0.0
    if len(linked):
        spread = _spread(len(linked), np.searchsorted(linked, edges), steps)
        positions[linked] = [0, floor] + spread * [1, 1 - floor]
    if len(alone):
        row, column = np.divmod(np.arange(len(alone)), ALONE_PER_ROW)
        positions[alone] = np.column_stack([(column + 0.5) / ALONE_PER_ROW, row * ROW_HEIGHT])
    return positions


def _spread(num_nodes: int, edges: npt.NDArray[np.integer[Any]], steps: int) -> FloatArray:
    x, y = _spiral(num_nodes, edges).T.copy()
    ideal = 1 / np.sqrt(num_nodes)
    u, v = edges[:, 0], edges[:, 1]
    for step in range(steps):
        dx, dy = x[:, None] - x, y[:, None] - y
        strength = ideal**2 / np.maximum(dx * dx + dy * dy, 1e-6)
        along_x, along_y = x[u] - x[v], y[u] - y[v]
        pull = np.hypot(along_x, along_y) / ideal
        forces = []
        for offset, along, position in ((dx, along_x, x), (dy, along_y, y)):
            force = np.einsum("ij,ij->i", strength, offset) - GRAVITY * (position - 0.5)
            force -= np.bincount(u, pull * along, num_nodes)
            force += np.bincount(v, pull * along, num_nodes)
            forces.append(force)
        length = np.hypot(*forces)
        reach = FIRST_STEP * (1 - step / steps) + 1e-4
        scale = np.minimum(length, reach) / np.maximum(length, 1e-12)
        x, y = x + scale * forces[0], y + scale * forces[1]
    positions = np.column_stack([x, y])
    positions -= positions.min(axis=0)
    return np.asarray(positions / np.maximum(positions.max(axis=0), 1e-12))


def _spiral(num_nodes: int, edges: npt.NDArray[np.integer[Any]]) -> FloatArray:
    neighbours: list[list[int]] = [[] for _ in range(num_nodes)]
    for u, v in edges.tolist():
        neighbours[u].append(v)
        neighbours[v].append(u)
    order: list[int] = []
    is_seen = [False] * num_nodes
    for root in sorted(range(num_nodes), key=lambda node: -len(neighbours[node])):
        if is_seen[root]:
            continue
        is_seen[root] = True
        first = len(order)
        order.append(root)
        while first < len(order):
            for other in neighbours[order[first]]:
                if not is_seen[other]:
                    is_seen[other] = True
                    order.append(other)
            first += 1
    # The golden angle spreads points evenly over the disc.
    turn = np.arange(num_nodes) * np.pi * (3 - np.sqrt(5))
    radius = 0.5 * np.sqrt((np.arange(num_nodes) + 0.5) / num_nodes)
    positions = np.empty((num_nodes, 2))
    positions[order] = 0.5 + np.column_stack([radius * np.cos(turn), radius * np.sin(turn)])
    return positions
