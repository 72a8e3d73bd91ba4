"""Why each topic is switched: what serving it adds or leaving it out loses, in a sentence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.formatting import number
from fanwise.select.explain.ranking import missing_events, weigh
from fanwise.select.improve import topic_losses
from fanwise.select.problem import Selection
from fanwise.service.records import Change

Mask = npt.NDArray[np.bool_]


def list_changes(problem: Selection, was_served: Mask, served: Mask) -> list[Change]:
    """Return every topic that is switched, the costliest first, with the reason.

    Two passes over the pairs, however many topics are switched.
    """
    switched = np.flatnonzero(was_served != served)
    if not len(switched):
        return []
    workload, cost = problem.workload, problem.cost
    gains, added = weigh(problem, served, missing_events(problem, served))
    losses = topic_losses(problem, served)
    order = switched[np.lexsort((switched, -cost[switched]))]
    return [
        Change(
            topic=workload.topic_names[topic].as_py(),
            served=bool(served[topic]),
            cost=float(cost[topic]),
            followers=int(workload.num_followers[topic]),
            reason=_say(problem, topic, bool(served[topic]), gains, added, losses),
        )
        for topic in order.tolist()
    ]


def _say(
    problem: Selection,
    topic: int,
    is_served: bool,
    gains: npt.NDArray[np.float64],
    added: npt.NDArray[np.int64],
    losses: npt.NDArray[np.float64],
) -> str:
    cost = f"costs {number(float(problem.cost[topic]))}"
    if is_served:
        if problem.is_pinned[topic]:
            return f"pinned; {cost}"
        return f"{cost}; without it the plan would lose {_amount(problem, losses[topic])}"
    if problem.is_excluded[topic]:
        return f"excluded; {cost}"
    if gains[topic] <= 0:
        return f"{cost} and would add nothing: its followers are satisfied without it"
    satisfied = (
        f"would satisfy {number(int(added[topic]))} more at once"
        if added[topic]
        else ("would satisfy nobody alone")
    )
    return f"{cost} and {satisfied}; other topics give more for the same capacity"


def _amount(problem: Selection, value: float) -> str:
    what = "satisfied subscribers" if problem.metric == "binary" else "of the total satisfaction"
    return f"{number(float(value))} {what}"
