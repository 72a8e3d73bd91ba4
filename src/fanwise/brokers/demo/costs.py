"""What the network costs now, if nobody had ever moved, and if it were solved centrally."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.wire.arrays import build_arrays
from fanwise.wire.problem import Wiring
from fanwise.wire.state import make_state
from fanwise.workload.content import ContentWorkload


@dataclass(frozen=True)
class Costs:
    """At a moment, in the prices of the workload.

    Attributes
    ----------
    central
        Of a plan by ``fanwise wire`` for what clients want at that moment.
    """

    seconds: float
    now: float
    never: float
    central: float | None = None


def cost_of(workload: ContentWorkload, broker_of_client: IntArray) -> float:
    """Return C1 + C2 of an attachment."""
    return float(make_state(build_arrays(workload)[0], broker_of_client).cost)


def solve_centrally(workload: ContentWorkload, time_limit: float, current: IntArray) -> float:
    """Return the cost of the best plan found in a time, or as things are if that costs less."""
    logging.getLogger("fanwise.wire").setLevel(logging.ERROR)
    plan = Wiring(workload).solve("best", seed=1, time_limit=time_limit)
    found = float(plan.objective)
    return min(found, cost_of(workload, current)) if plan.feasible else found


def loads_of(
    workload: ContentWorkload, broker_of_client: IntArray
) -> tuple[list[int], list[float]]:
    """Return how many clients and what load each broker has."""
    demand = build_arrays(workload)[0].demand
    count = workload.num_brokers
    clients = np.bincount(broker_of_client, minlength=count)
    load = np.bincount(broker_of_client, weights=demand, minlength=count)
    return clients.tolist(), load.tolist()
