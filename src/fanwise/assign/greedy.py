"""Gr and Gr*: one subscriber after the other, each where the filters grow least.

A subscriber costs what the filters grow by on the way from the publisher to its broker. It is free
where one rectangle holds it already. Otherwise it becomes a rectangle of its own, while there are
fewer than alpha, or one grows to the bounding box, whatever adds least to the union; the rectangle
that grew must then fit the parent in the same way. Ties: least load for its share, then the id.

The load-balance factor starts at the desired value and rises to the allowed one in four equal
steps, whenever somebody has no broker with room left. Who has none even then is put where it costs
least all the same, and the plan is not feasible.

Complexity: O(choices x alpha^2 x depth) in the plane.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import Csr, IntArray
from fanwise.arrays.flow_kernels import turn_edges
from fanwise.assign import kernels
from fanwise.assign.evicting import place_and_evict
from fanwise.assign.filters import tighten_filters
from fanwise.assign.kernels import EVICTED, FORCED, STEP, Choices, State
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
        kernels.place_in_order(problem.ground, state, choices, order)
    else:
        place_and_evict(problem.ground, state, choices, run.random(), is_next=evict == "next")
        if state.now[EVICTED]:
            state = tighten(problem, state)
    return finish(problem, state)


def solve_offline(problem: Assignment, run: Run) -> Outcome:
    """Gr*: first whoever has the fewest brokers with room, counted anew when a broker fills."""
    state, choices = start(problem), choices_of(problem)
    rows = rows_of(choices)
    indptr, subscribers, _ = turn_edges(*rows, problem.workload.num_brokers)
    kernels.place_fewest_first(problem.ground, state, choices, indptr, subscribers)
    return finish(problem, state)


def solve_without_latency(problem: Assignment, run: Run) -> Outcome:
    """Gr without looking at latency: every leaf broker is a choice for everybody."""
    state, choices = start(problem), everybody(problem)
    order = np.arange(problem.workload.num_subscribers, dtype=np.int32)
    kernels.place_in_order(problem.ground, state, choices, order)
    return finish(problem, state)


def start(problem: Assignment) -> State:
    """Return an assignment of nobody, with the steps of the load-balance factor."""
    ground = problem.ground
    rise = problem.lbf_max - problem.lbf
    limits = np.array([problem.limits(problem.lbf + rise * k / STEPS) for k in range(STEPS + 1)])
    return State(
        np.full(ground.num_subscribers, -1, dtype=np.int32),
        np.zeros(ground.num_brokers, dtype=np.int64),
        ground.no_filters(),
        limits,
        np.zeros(3, dtype=np.int64),
        np.empty((2, ground.event_dims)),
        ground.scratch(),
    )


def tighten(problem: Assignment, state: State) -> State:
    """Return the state with rectangles no larger than who is left needs."""
    filters = tighten_filters(problem.ground, state.broker_of_subscriber, state.filters)
    return state._replace(filters=filters)


def finish(problem: Assignment, state: State) -> Outcome:
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


def usable_leaves(problem: Assignment) -> IntArray:
    """Return the leaf brokers that have a share."""
    ground = problem.ground
    return np.ascontiguousarray(ground.leaves[ground.share[ground.leaves] > 0])


def everybody(problem: Assignment) -> Choices:
    """Return every leaf broker with a share as the choices of each subscriber."""
    count, leaves = problem.workload.num_subscribers, usable_leaves(problem)
    return Choices(np.zeros(count, np.int64), np.full(count, len(leaves), np.int64), leaves)


def choices_of(problem: Assignment) -> Choices:
    """Return the brokers in time that have a share; where there are none, who else might do.

    Then those without a share, and for whom nobody is in time every leaf with a share: such an
    assignment breaks a limit, but no more limits than it must.
    """
    ground = problem.ground
    first, end = ground.indptr[:-1].copy(), ground.indptr[1:].copy()
    brokers = ground.brokers
    has_share = ground.share[brokers] > 0
    if not has_share.all():
        row = np.repeat(np.arange(ground.num_subscribers), np.diff(ground.indptr))
        usable = np.bincount(row[has_share], minlength=ground.num_subscribers)
        keep = has_share | (usable[row] == 0)
        lengths = np.bincount(row[keep], minlength=ground.num_subscribers)
        end = np.cumsum(lengths).astype(np.int64)
        first, brokers = end - lengths, np.ascontiguousarray(brokers[keep])
    stranded = first == end
    if stranded.any():
        leaves = usable_leaves(problem)
        first[stranded], end[stranded] = len(brokers), len(brokers) + len(leaves)
        brokers = np.concatenate([brokers, leaves])
    return Choices(first, end, brokers)


def rows_of(choices: Choices) -> Csr:
    """Return choices as a CSR whose rows share nothing."""
    lengths = choices.end - choices.first
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    if np.array_equal(indptr[:-1], choices.first) and indptr[-1] == len(choices.brokers):
        return Csr(indptr, choices.brokers)
    places = np.repeat(choices.first - indptr[:-1], lengths) + np.arange(indptr[-1])
    return Csr(indptr, np.ascontiguousarray(choices.brokers[places]))
