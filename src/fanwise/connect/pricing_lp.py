"""The best prices of small instances, from the linear programme itself.

The programme that :mod:`fanwise.connect.bounds` prices is: choose shares x_e of links and joins y_t
of topics so that the sum of w_t y_t is largest, with y_t at most the shares of links inside topic t
and at most r_t, within the budgets. Its dual values are the best prices. They need not be exact:
any prices prove a bound, and the pass that evaluates them does the proving.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.connect.improving.ground import Budget, Ground

MAX_ENTRIES = 40_000
"""Common topics of all pairs, up to which the programme is solved: about a second."""


def best_prices(
    ground: Ground, budget: Budget, limits: FloatArray, joins: FloatArray
) -> FloatArray:
    """Return prices of topics, nodes, links and cost for the overlay without links."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    num_topics, num_nodes = len(joins), len(limits)
    prices = np.concatenate([np.zeros(num_topics), np.zeros(num_nodes + 2)])
    column_of, entries = _list_pairs(ground)
    num_pairs = len(column_of)
    if num_pairs == 0:
        return prices
    ends = np.array(list(column_of), dtype=np.int64)
    columns = np.arange(num_pairs)
    ones = np.ones(num_pairs)
    costs = _lengths(ground, ends)
    inside = coo_array(
        (
            np.concatenate([-np.ones(len(entries)), np.ones(num_topics)]),
            (
                np.concatenate([entries[:, 0], np.arange(num_topics)]),
                np.concatenate([entries[:, 1], num_pairs + np.arange(num_topics)]),
            ),
        ),
        shape=(num_topics, num_pairs + num_topics),
    )
    shape = num_nodes + 2, num_pairs + num_topics
    rows = np.concatenate([ends[:, 0], ends[:, 1], np.full(num_pairs, num_nodes)])
    values = np.concatenate([ones, ones, ones, costs])
    rows = np.concatenate([rows, np.full(num_pairs, num_nodes + 1)])
    limited = coo_array((values, (rows, np.tile(columns, 4))), shape=shape)
    most_cost = budget.max_cost if np.isfinite(budget.max_cost) else float(costs.sum()) + 1
    answer = linprog(
        np.concatenate([np.zeros(num_pairs), -ground.weight]),
        A_ub=vstack([inside, limited]).tocsr(),
        b_ub=np.concatenate([np.zeros(num_topics), limits, [float(budget.max_edges), most_cost]]),
        bounds=np.column_stack([np.zeros(num_pairs + num_topics), np.concatenate([ones, joins])]),
        method="highs",
    )
    if answer.status != 0:
        return prices
    duals = np.maximum(0.0, -np.asarray(answer.ineqlin.marginals))
    prices[:num_topics] = np.clip(duals[:num_topics] / ground.weight, 0.0, 1.0)
    prices[num_topics:] = duals[num_topics:]
    if not np.isfinite(budget.max_cost):
        prices[-1] = 0.0
    return prices


def _list_pairs(ground: Ground) -> tuple[dict[tuple[int, int], int], LongArray]:
    """Number the pairs that share a topic; list (topic, pair) for each topic of each."""
    column_of: dict[tuple[int, int], int] = {}
    entries: list[tuple[int, int]] = []
    for topic in range(len(ground.weight)):
        nodes = ground.nodes[ground.topic_indptr[topic] : ground.topic_indptr[topic + 1]]
        pairs = combinations(nodes.tolist(), 2)
        entries += [(topic, column_of.setdefault(pair, len(column_of))) for pair in pairs]
    return column_of, np.array(entries, dtype=np.int64).reshape(-1, 2)


def _lengths(ground: Ground, ends: LongArray) -> FloatArray:
    if ground.positions.shape[1] == 0:
        return np.zeros(len(ends))
    steps = ground.positions[ends[:, 0]] - ground.positions[ends[:, 1]]
    return np.asarray(np.sqrt((steps**2).sum(axis=1)))
