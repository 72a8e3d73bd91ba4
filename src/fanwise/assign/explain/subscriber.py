"""Why a subscriber is on its broker, and what every other one in time would cost."""

from __future__ import annotations

import numpy as np

from fanwise.assign.explain.facts import Choice, SubscriberFacts
from fanwise.assign.explain.reasons import REASONS, WORDS, find_reasons, growths
from fanwise.assign.greedy_kernels import holds_box
from fanwise.assign.problem import Assignment, read_tables
from fanwise.planning.explanation import MOST_LISTED, find_name
from fanwise.planning.plan import Plan

MOST_OUT_OF_TIME = 2
"""Brokers that are listed although they are too late."""


def explain_subscriber(problem: Assignment, plan: Plan, name: str) -> SubscriberFacts:
    """Say why a subscriber is on its broker, and what every other one in time would cost.

    Raises
    ------
    InputError
        If no subscriber has that name; close ones are suggested.
    """
    workload, arrays = problem.workload, problem.arrays
    j = find_name(workload.subscriber_names, name, "subscriber")
    assigned, filters = read_tables(arrays, plan.tables)
    loads = np.bincount(assigned, minlength=arrays.num_brokers)
    limits = problem.limits(problem.lbf_max)
    reason = int(find_reasons(arrays, filters, assigned, loads, limits)[j])
    hop = workload.broker_positions[arrays.leaves] - workload.positions[j]
    latency = problem.path[arrays.leaves] + np.sqrt((hop**2).sum(axis=1))
    in_time = arrays.brokers[arrays.indptr[j] : arrays.indptr[j + 1]]
    growth = growths(arrays, filters, j, arrays.leaves)
    own, choices = int(assigned[j]), []
    for leaf, way, grows in zip(arrays.leaves.tolist(), latency.tolist(), growth, strict=True):
        choices.append(
            Choice(
                broker=str(workload.broker_names[leaf]),
                is_own=leaf == own,
                in_time=bool((in_time == leaf).any()),
                latency=way,
                serves=int(loads[leaf]),
                limit=int(limits[leaf]),
                is_full=bool(loads[leaf] >= limits[leaf]),
                holds=bool(holds_box(arrays, filters, leaf, j)),
                growth=0.0 if leaf == own else grows,
            )
        )
    wants = arrays.lo[j, 0] <= arrays.hi[j, 0]
    return SubscriberFacts(
        subscriber=name,
        broker=str(workload.broker_names[own]),
        wants=np.column_stack([arrays.lo[j], arrays.hi[j]]).tolist() if wants else None,
        reason=REASONS[reason],
        says=WORDS[reason],
        limit=latency_limit(problem, j),
        shortest=float(problem.shortest[j]),
        num_in_time=len(in_time),
        choices=_shorten(choices),
    )


def latency_limit(problem: Assignment, j: int) -> float | None:
    """Return the most latency a subscriber may have; None where candidates are listed instead."""
    workload = problem.workload
    if workload.candidates is not None:
        return None
    if workload.max_latency is not None:
        return float(workload.max_latency[j])
    return float((1 + problem.max_delay) * problem.shortest[j])


def _shorten(choices: list[Choice]) -> list[Choice]:
    """Return its broker, the cheapest ones in time, and a few that are just too late."""
    ranked = sorted(
        (choice for choice in choices if choice.in_time or choice.is_own),
        key=lambda choice: (not choice.is_own, choice.is_full, choice.growth, choice.latency),
    )
    late = sorted(
        (choice for choice in choices if not choice.in_time and not choice.is_own),
        key=lambda choice: choice.latency,
    )
    return ranked[:MOST_LISTED] + late[:MOST_OUT_OF_TIME]
