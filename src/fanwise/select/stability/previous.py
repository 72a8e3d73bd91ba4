"""What was served before: a previous plan carried over to today's topics by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.errors import ParameterError, PlanError

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.topic import TopicWorkload

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Previous:
    """Which of today's topics a previous plan served.

    Attributes
    ----------
    plan
        The id of the previous plan.
    was_served
        One flag per topic of today's workload; a topic that is new was not served.
    num_vanished
        Topics that it served and that are there no more. They count as no change.
    """

    plan: str
    was_served: Mask
    num_vanished: int


def carry_over(plan: Plan, workload: TopicWorkload) -> Previous:
    """Match a previous plan's topics to a workload's by name.

    The plan must come with the workload it was made for (``read_plan(path, workload)``), unless
    that is this very workload.

    Raises
    ------
    PlanError
        If the names of its topics are not known, or it is a plan of another kind.
    """
    if plan.problem != "select":
        raise PlanError(f"the previous plan must be of problem 'select', got {plan.problem!r}.")
    then = plan.source
    if then is None and plan.workload == workload.hash:
        then = workload
    if then is None:
        raise PlanError(
            f"the previous plan {plan.id[:12]} was made for another workload "
            f"({plan.workload[:12]}…), and topics are matched by name; give that workload too "
            "(--previous-workload DIR)."
        )
    if plan.workload != then.hash:
        raise PlanError(
            f"the previous plan {plan.id[:12]} was made for workload {plan.workload[:12]}…, not "
            f"for the previous workload given ({then.hash[:12]}…)."
        )
    table = plan.tables["topics"]
    ids = table.column("topic").to_numpy()[table.column("served").to_numpy(zero_copy_only=False)]
    if then is workload:
        was_served = np.zeros(workload.num_topics, dtype=bool)
        was_served[ids] = True
        return Previous(plan.id, was_served, 0)
    names = then.topic_names.take(pa.array(ids))
    was_served = _is_named(workload.topic_names, names)
    return Previous(plan.id, was_served, len(ids) - int(np.count_nonzero(was_served)))


def mark_topics(workload: TopicWorkload, names: Iterable[str], parameter: str) -> Mask:
    """Return a flag per topic, set for those named.

    Raises
    ------
    ParameterError
        Names the first one that no topic has.
    """
    wanted = pa.array(sorted(set(names)), pa.string())
    marked = _is_named(workload.topic_names, wanted)
    if int(np.count_nonzero(marked)) < len(wanted):
        is_known = pc.is_in(wanted, value_set=workload.topic_names.cast(pa.string()))
        unknown = wanted.filter(pc.invert(is_known))
        more = f" (and {len(unknown) - 1:,} more)" if len(unknown) > 1 else ""
        raise ParameterError(
            parameter, "names of topics of this workload", unknown[0].as_py() + more
        )
    return marked


def _is_named(topics: pa.Array, names: pa.Array) -> Mask:
    if not len(topics) or not len(names):
        return np.zeros(len(topics), dtype=bool)
    found: Mask = pc.is_in(topics, value_set=names.cast(topics.type)).to_numpy(zero_copy_only=False)
    return found
