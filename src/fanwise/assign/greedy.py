"""Gr and Gr*: one subscriber after the other, each where the filters grow least.

A subscriber costs what the filters grow by on the way from the publisher to its broker. It is free
where one rectangle holds it already. Otherwise it becomes a rectangle of its own, while there are
fewer than alpha, or one grows to the bounding box, whatever adds least to the union; the rectangle
that grew must then fit the parent in the same way. Ties: least load for its share, then the id.

The load-balance factor starts at the desired value and rises to the allowed one in four equal
steps, whenever somebody has no broker with room left. Who has none even then is put where it costs
least all the same, and the plan is not feasible.

Guarantee
    In time wherever anybody can be, but for the variant that does not look at latency. Loads may
    end up above the limit where another order would keep it.

Complexity
    O(choices x alpha^2 x depth) in the plane; Gr* adds O(subscribers) whenever a broker fills.

References
----------
    A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based
    publish/subscribe. IEEE ICDE 2011.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.flow_kernels import turn_edges
from fanwise.assign.choices import choices_of, every_leaf, pairs_of
from fanwise.assign.filters import tighten_filters
from fanwise.assign.greedy_evictions import assign_and_evict
from fanwise.assign.greedy_kernels import (
    EVICTED,
    FORCED,
    STEP,
    GreedyState,
    assign_fewest_first,
    assign_in_order,
)
from fanwise.assign.problem import Assignment, make_tables
from fanwise.planning.problem import Outcome, Run

STEPS = 4
"""How often the load-balance factor rises between the desired and the allowed value."""


def solve_online(problem: Assignment, run: Run) -> Outcome:
    """Gr: subscribers in the order of their ids.

    ``evict``: ``none``, or the paper's variants. Where all brokers of a subscriber are full, it
    takes the place of a random one there, who is assigned again ``next`` or ``later``.
    """
    state, choices = start(problem), choices_of(problem)
    evict = run.settings.get("evict", "none")
    if evict == "none":
        order = np.arange(problem.workload.num_subscribers, dtype=np.int32)
        assign_in_order(problem.arrays, state, choices, order)
    else:
        assign_and_evict(problem.arrays, state, choices, run.random(), is_next=evict == "next")
        if state.now[EVICTED]:
            state = tighten(problem, state)
    return finish(problem, state)


def solve_offline(problem: Assignment, run: Run) -> Outcome:
    """Gr*: first whoever has the fewest brokers with room, counted anew when a broker fills."""
    state, choices = start(problem), choices_of(problem)
    indptr, subscribers, _ = turn_edges(*pairs_of(problem), problem.workload.num_brokers)
    assign_fewest_first(problem.arrays, state, choices, indptr, subscribers)
    return finish(problem, state)


def solve_without_latency(problem: Assignment, run: Run) -> Outcome:
    """Gr without looking at latency: every leaf broker is a choice for everybody."""
    state, choices = start(problem), every_leaf(problem)
    order = np.arange(problem.workload.num_subscribers, dtype=np.int32)
    assign_in_order(problem.arrays, state, choices, order)
    return finish(problem, state)


def start(problem: Assignment) -> GreedyState:
    """Return an assignment of nobody, with the steps of the load-balance factor."""
    arrays = problem.arrays
    rise = problem.lbf_max - problem.lbf
    # Sec. III: the factor starts at the desired one and rises, if need be, to the maximum.
    limits = np.array([problem.limits(problem.lbf + rise * k / STEPS) for k in range(STEPS + 1)])
    return GreedyState(
        np.full(arrays.num_subscribers, -1, dtype=np.int32),
        np.zeros(arrays.num_brokers, dtype=np.int64),
        arrays.no_filters(),
        limits,
        np.zeros(3, dtype=np.int64),
        np.empty((2, arrays.event_dims)),
        arrays.scratch(),
    )


def tighten(problem: Assignment, state: GreedyState) -> GreedyState:
    """Return the state with rectangles no larger than who is left needs."""
    filters = tighten_filters(problem.arrays, state.broker_of_subscriber, state.filters)
    return state._replace(filters=filters)


def finish(problem: Assignment, state: GreedyState) -> Outcome:
    """Return the plan's tables, and how it went."""
    rise = problem.lbf_max - problem.lbf
    return Outcome(
        make_tables(state.broker_of_subscriber, state.filters),
        metrics={
            "forced": int(state.now[FORCED]),
            "evicted": int(state.now[EVICTED]),
            "lbf_reached": problem.lbf + rise * int(state.now[STEP]) / STEPS,
        },
    )
