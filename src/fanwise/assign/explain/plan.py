"""Which brokers are full, which limits bind, what is carried for nobody.

One pass over the pairs of subscribers and brokers in time, a max-flow, and a union of rectangles
for each broker.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.rectangles import union_mass
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.assign.arrays import Filters
from fanwise.assign.explain.facts import BrokerFacts, PlanFacts
from fanwise.assign.explain.reasons import REASONS, count_only_choices, find_reasons
from fanwise.assign.measuring import delays, explain_trouble, find_late, load_factor
from fanwise.assign.problem import Assignment, read_tables
from fanwise.planning.explanation import MOST_LISTED
from fanwise.planning.plan import Plan


def explain_plan(problem: Assignment, plan: Plan) -> PlanFacts:
    """Say which brokers are full, what keeps subscribers, and what is carried for nobody."""
    arrays = problem.arrays
    assigned, filters = read_tables(arrays, plan.tables)
    loads = np.bincount(assigned, minlength=arrays.num_brokers)
    limits, desired = problem.limits(problem.lbf_max), problem.limits(problem.lbf)
    leaf = arrays.leaves[arrays.share[arrays.leaves] > 0]
    is_late = find_late(*arrays.candidates, assigned)
    over = arrays.leaves[loads[arrays.leaves] > limits[arrays.leaves]]
    reasons = np.bincount(
        find_reasons(arrays, filters, assigned, loads, limits), minlength=len(REASONS)
    )
    lines = broker_lines(problem, assigned, filters, loads)
    is_leaf = np.isin(np.arange(arrays.num_brokers), arrays.leaves)
    carried = arrays.measures(filters)
    delay = delays(problem, assigned)
    delay = delay[~np.isnan(delay)]
    return PlanFacts(
        feasible=plan.feasible,
        trouble=None if plan.feasible else explain_trouble(problem),
        late=int(is_late.sum()),
        late_names=_names(problem.workload.subscriber_names, np.flatnonzero(is_late)),
        overloaded=len(over),
        overloaded_names=_names(problem.workload.broker_names, over),
        subscribers=arrays.num_subscribers,
        leaves=len(leaf),
        full=int(np.count_nonzero(loads[leaf] >= limits[leaf])),
        full_at_desired=int(np.count_nonzero(loads[leaf] >= desired[leaf])),
        lbf=load_factor(problem, loads),
        lbf_desired=problem.lbf,
        lbf_max=problem.lbf_max,
        least_lbf=problem.least[0],
        one_choice=int(count_only_choices(arrays).sum()),
        mean_choices=float(np.diff(arrays.indptr).mean()) if arrays.num_subscribers else 0.0,
        quickest=int(np.count_nonzero(delay <= RELATIVE_TOLERANCE)),
        mean_delay=float(delay.mean()) if len(delay) else 0.0,
        most_delay=float(delay.max(initial=0.0)),
        reasons={REASONS[code]: int(count) for code, count in enumerate(reasons)},
        bandwidth=float(carried.sum()),
        bandwidth_inner=float(carried[~is_leaf].sum()),
        unwanted=sum(line.unwanted for line in lines),
        brokers=sorted(lines, key=lambda line: -line.bandwidth)[:MOST_LISTED],
        num_brokers=len(lines),
    )


def broker_lines(
    problem: Assignment, assigned: IntArray, filters: Filters, loads: LongArray
) -> list[BrokerFacts]:
    """Describe every broker that carries or serves anything."""
    arrays = problem.arrays
    limits = problem.limits(problem.lbf_max)
    carried, wanted = arrays.measures(filters), wanted_below(problem, assigned)
    only = count_only_choices(arrays)
    is_leaf = np.isin(np.arange(arrays.num_brokers), arrays.leaves)
    below = loads.copy()
    for broker in arrays.bottom_up:
        if arrays.parent[broker] >= 0:
            below[arrays.parent[broker]] += below[broker]
    return [
        BrokerFacts(
            broker=str(problem.workload.broker_names[b]),
            serves=int(below[b]),
            limit=int(limits[b]) if is_leaf[b] else None,
            only_choice_of=int(only[b]) if is_leaf[b] else None,
            rectangles=int(filters.counts[b]),
            bandwidth=float(carried[b]),
            unwanted=max(float(carried[b] - wanted[b]), 0.0),
        )
        for b in np.flatnonzero((below > 0) | (carried > 0)).tolist()
    ]


def wanted_below(problem: Assignment, assigned: IntArray) -> FloatArray:
    """Return the measure of what anybody below each broker wants: no filter can have less."""
    arrays = problem.arrays
    wanted = np.zeros(arrays.num_brokers)
    at = assigned.copy()
    wants = arrays.lo[:, 0] <= arrays.hi[:, 0]
    members: dict[int, list[LongArray]] = {}
    while (at >= 0).any():
        rows = np.flatnonzero((at >= 0) & wants)
        rows = rows[np.argsort(at[rows], kind="stable")]
        for part in np.split(rows, np.flatnonzero(np.diff(at[rows])) + 1):
            if len(part):
                members.setdefault(int(at[part[0]]), []).append(part)
        at = np.where(at >= 0, arrays.parent[at], -1).astype(np.int32)
    for broker, parts in members.items():
        rows = np.concatenate(parts)
        both = np.unique(np.hstack([arrays.lo[rows], arrays.hi[rows]]), axis=0)
        lo, hi = np.hsplit(both, 2)
        wanted[broker] = union_mass(lo, hi, arrays.density)
    return wanted


def _names(names: Any, ids: Any) -> list[str]:
    return [str(names[int(i)]) for i in ids[:MOST_LISTED]]
