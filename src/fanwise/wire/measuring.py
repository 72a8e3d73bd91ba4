"""What an attachment costs, and which brokers it overloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.arrays.tolerance import most_within
from fanwise.planning.problem import Measurement
from fanwise.wire.state import ACCESS, CORE, make_state
from fanwise.wire.steiner_trees import THOROUGH, steiner_cost

if TYPE_CHECKING:
    from fanwise.wire.arrays import WiringArrays
    from fanwise.wire.problem import Wiring

STEPS_PER_SECOND = 1e9
"""Of the search for Steiner trees."""


def measuring_seconds(arrays: WiringArrays) -> float:
    """Return about how long it takes to measure an attachment, generously."""
    if arrays.is_tree:
        return 0.0
    steps = min(4 / 27 * float(arrays.num_brokers) ** 3, THOROUGH)  # the most of (B - k)^2 k
    return arrays.num_channels * steps / STEPS_PER_SECOND


def measure(problem: Wiring, broker_of_user: IntArray) -> Measurement:
    """Measure an attachment; see :meth:`Problem.measure`.

    ``access`` is C1 and ``core`` C2; ``overloaded`` counts brokers above their capacity,
    ``max_load`` is the largest share of a capacity in use (None without capacities);
    ``core_steiner`` bounds C2 by Steiner trees from above (None on one tree, which leaves no
    choice); ``shortened`` counts links that cost more than a way around them.
    """
    arrays = problem.arrays
    state = make_state(arrays, broker_of_user)
    over = np.flatnonzero(state.load > most_within(arrays.capacity))
    metrics: dict[str, Any] = {
        "access": float(state.totals[ACCESS]),
        "core": float(state.totals[CORE]),
        "overloaded": len(over),
        "max_load": _largest_share(state.load, arrays.capacity),
        "core_steiner": None if arrays.is_tree else float(steiner_cost(arrays, state)),
        "shortened": problem.num_shortened,
    }
    return Measurement(state.cost, not len(over), metrics)


def _largest_share(load: Any, capacity: Any) -> float | None:
    """Return the largest load as a share of its capacity; None if none of either is limited.

    None as well where a capacity is so small, 0 say, that no number tells the share.
    """
    used = np.isfinite(capacity) & (load > 0)
    if not np.isfinite(capacity).any():
        return None
    with np.errstate(divide="ignore", over="ignore"):
        share = float((load[used] / capacity[used]).max(initial=0.0))
    return share if np.isfinite(share) else None
