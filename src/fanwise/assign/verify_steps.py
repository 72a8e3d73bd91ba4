"""How far the load-balance factor of the greedy algorithms rose, from who ended up where.

The factor rises from the desired to the allowed one in four steps, whenever somebody has no broker
with room. Who is assigned when is known: Gr goes by ids; Gr* takes whoever has the fewest brokers
with room, which depends on loads alone. So the steps can be told from the assignment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fanwise.assign.verify_limits import Ints, Question, load_limits, pose

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.content import ContentWorkload

STEPS = 4
MOST_WORK = 5_000_000
"""Subscribers times brokers above which the order of Gr* is not gone through again."""


def factors(parameters: Mapping[str, Any]) -> list[float]:
    """Return the load-balance factor of each step."""
    low, high = float(parameters["lbf"]), float(parameters["lbf_max"])
    return [low + (high - low) * step / STEPS for step in range(STEPS + 1)]


def find_step(workload: ContentWorkload, plan: Plan, broker: Ints) -> int | None:
    """Return the step that a greedy algorithm without evictions reached; None if it is too long."""
    limits = [load_limits(workload, factor) for factor in factors(plan.parameters)]
    question = pose(workload, plan.parameters)
    if plan.algorithm == "gr-star":
        if question.num_subscribers * question.num_brokers > MOST_WORK:
            return None
        return _fewest_first(question, broker, limits)
    return _in_order(question, broker, limits, is_free=plan.algorithm == "gr-no-latency")


def _in_order(question: Question, broker: Ints, limits: list[Ints], *, is_free: bool) -> int:
    """Find the last step whose limits left somebody without room, those before being assigned."""
    count = question.num_subscribers
    order = np.argsort(broker, kind="stable")
    starts = np.searchsorted(broker[order], np.arange(question.num_brokers + 1))
    usable = np.unique(question.brokers) if not is_free else question.leaves
    reached = 0
    for step in range(STEPS):
        # Who is the last for whom each broker has room: -1 for nobody, count for everybody.
        last = np.full(question.num_brokers, -1, dtype=np.int64)
        for b in usable.tolist():
            mine, limit = order[starts[b] : starts[b + 1]], int(limits[step][b])
            last[b] = (mine[limit - 1] if limit <= len(mine) else count) if limit > 0 else -1
        if is_free:
            is_stuck = bool((last[usable].max(initial=-1) < np.arange(count)).any())
        else:
            filled = np.flatnonzero(np.diff(question.indptr) > 0)
            most = (
                np.maximum.reduceat(last[question.brokers], question.indptr[filled])
                if len(filled)
                else np.empty(0)
            )
            is_stuck = bool((most < filled).any())
        if is_stuck:
            reached = step + 1
    return reached


def _fewest_first(question: Question, broker: Ints, limits: list[Ints]) -> int:
    """Go through the order of Gr*: by brokers with room, then ids, sorted anew when one fills."""
    may_use = np.zeros((question.num_subscribers, question.num_brokers), dtype=bool)
    row = np.repeat(np.arange(question.num_subscribers), np.diff(question.indptr))
    may_use[row, question.brokers] = True
    loads, step = np.zeros(question.num_brokers, dtype=np.int64), 0
    waiting = np.arange(question.num_subscribers)
    while len(waiting):
        has_room = (may_use[waiting] & (loads < limits[step])).sum(axis=1)
        order = waiting[np.lexsort([waiting, has_room])]
        count = 1
        if has_room.min() == 0:
            while step < STEPS and not (may_use[order[0]] & (loads < limits[step])).any():
                step += 1
        else:
            count = _until_full(broker[order], limits[step] - loads)
        loads += np.bincount(broker[order[:count]], minlength=len(loads))
        waiting = np.sort(order[count:])
    return step


def _until_full(brokers: Ints, room: Ints) -> int:
    """Return how many can be assigned until one of the brokers is full, that one included."""
    order = np.argsort(brokers, kind="stable")
    starts = np.searchsorted(brokers[order], brokers[order], "left")
    rank = np.empty(len(brokers), dtype=np.int64)
    rank[order] = np.arange(len(brokers)) - starts + 1
    fills = rank >= room[brokers]
    return int(np.argmax(fills)) + 1 if fills.any() else len(brokers)
