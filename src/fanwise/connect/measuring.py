"""How much of the topics an overlay connects, and what it uses of the budgets."""

from __future__ import annotations

from typing import Any

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.connect.problem import Connection
from fanwise.planning.problem import Measurement


def measure(problem: Connection, edges: IntArray) -> Measurement:
    """Measure an overlay; see :meth:`Problem.measure`.

    ``support`` is the paper's TcoSuppR, mu(E) / mu(K), and 1 where there is nothing to connect.
    """
    network = problem.network
    gains = network.gains(edges)
    value, complete = float(gains.sum()), network.complete_value
    degrees = network.degrees(edges)
    components = network.components(edges).num_components
    metrics: dict[str, Any] = {
        "support": value / complete if complete else 1.0,
        "edges": len(edges),
        "max_degree": int(degrees.max(initial=0)),
        "mean_degree": float(degrees.mean()) if len(degrees) else 0.0,
        "useless_edges": int(np.count_nonzero(gains == 0)),
        "connected_topics": int(np.count_nonzero(components == 1)),
        "topics": int(np.count_nonzero(components)),
        "complete_value": complete,
    }
    if network.has_costs:
        metrics["link_cost"] = float(network.costs(edges).sum())
    if problem.budget_ratio is not None:
        metrics["complete_edges"] = problem.complete.edges
        metrics["complete_degree"] = problem.complete.max_degree
    return Measurement(objective=value, is_feasible=problem.admits(edges), metrics=metrics)
