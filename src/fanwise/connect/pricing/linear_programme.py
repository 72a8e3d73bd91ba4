"""The best prices of small instances, from the linear programme itself.

The programme that :mod:`fanwise.connect.bounds` prices is: choose shares x_e of links and joins y_t
of topics so that the sum of w_t y_t is largest, with y_t at most the shares of links inside topic t
and at most r_t, within the budgets. Its dual values are the best prices. They need not be exact:
any prices prove a bound, and the pass that evaluates them does the proving. HiGHS runs to the end:
``MAX_ENTRIES`` keeps that to about a second.

Guarantee
    None is needed: any prices prove a bound. They are the best ones where HiGHS ends with an
    optimum.

Complexity
    That of a linear programme with at most MAX_ENTRIES entries.

References
----------
    Our own; see :mod:`fanwise.connect.bounds`.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.connect.arrays import Budget, Network
from fanwise.planning.highs import Model, Solver, by_row

MAX_ENTRIES = 40_000
"""Common topics of all pairs, up to which the programme is solved: about a second."""


def best_prices(
    network: Network, budget: Budget, limits: FloatArray, joins: FloatArray
) -> FloatArray:
    """Return prices of topics, nodes, links and cost for the overlay without links."""
    num_topics, num_nodes = len(joins), len(limits)
    prices = np.zeros(num_topics + num_nodes + 2)
    column_of, entries = _list_pairs(network)
    num_pairs = len(column_of)
    if num_pairs == 0:
        return prices
    ends = np.array(list(column_of), dtype=np.int64)
    costs = network.costs(ends.astype(np.int32))
    topics, pairs = np.arange(num_topics), np.arange(num_pairs)
    # Rows: topics (y_t - shares inside <= 0), then the links of each node, all links, their cost.
    first = num_topics
    rows = [entries[:, 0], topics, first + ends[:, 0], first + ends[:, 1]]
    rows += [np.full(num_pairs, first + num_nodes), np.full(num_pairs, first + num_nodes + 1)]
    columns = [entries[:, 1], num_pairs + topics, pairs, pairs, pairs, pairs]
    one = np.ones(num_pairs)
    values = [-np.ones(len(entries)), np.ones(num_topics), one, one, one, costs]
    most_cost = budget.max_cost if np.isfinite(budget.max_cost) else float(costs.sum()) + 1
    most = np.concatenate([np.zeros(num_topics), limits, [float(budget.max_edges), most_cost]])
    model = Model(
        cost=np.concatenate([np.zeros(num_pairs), -network.weight]),
        lower=np.zeros(num_pairs + num_topics),
        upper=np.concatenate([one, joins]),
        matrix=by_row(
            np.concatenate(rows), np.concatenate(columns), np.concatenate(values), len(most)
        ),
        row_lower=np.full(len(most), -np.inf),
        row_upper=most,
    )
    answer = Solver(model).solve()
    if answer.status != "optimal":
        return prices
    duals = np.maximum(0.0, -answer.duals)
    prices[:num_topics] = np.clip(duals[:num_topics] / network.weight, 0.0, 1.0)
    prices[num_topics:] = duals[num_topics:]
    if not np.isfinite(budget.max_cost):
        prices[-1] = 0.0
    return prices


def _list_pairs(network: Network) -> tuple[dict[tuple[int, int], int], LongArray]:
    """Number the pairs that share a topic; list (topic, pair) for each topic of each."""
    column_of: dict[tuple[int, int], int] = {}
    entries: list[tuple[int, int]] = []
    for topic in range(len(network.weight)):
        nodes = network.nodes[network.topic_indptr[topic] : network.topic_indptr[topic + 1]]
        pairs = combinations(nodes.tolist(), 2)
        entries += [(topic, column_of.setdefault(pair, len(column_of))) for pair in pairs]
    return column_of, np.array(entries, dtype=np.int64).reshape(-1, 2)
