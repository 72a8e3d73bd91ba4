"""The complete overlay that budget ratios are shares of, measured once per workload."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

from fanwise.connect.growing.grow import grow_in_phases
from fanwise.connect.problem import Connection
from fanwise.progress import SILENT, Progress
from fanwise.workload.topic import TopicWorkload


class Complete(NamedTuple):
    """Size of the complete overlay of ``minmax-oda``."""

    edges: int
    max_degree: int


_MEASURED: WeakKeyDictionary[TopicWorkload, dict[tuple[str, str | None], Complete]] = (
    WeakKeyDictionary()
)


def measure_complete(problem: Connection, progress: Progress = SILENT) -> Complete:
    """Run ``minmax-oda`` on a problem without its budgets; sweeps and comparisons pay once."""
    measured = _MEASURED.setdefault(problem.workload, {})
    key = problem.topic_weight, problem.link_cost
    if key not in measured:
        free = problem.posed_for("minmax-oda")
        grown = grow_in_phases(free, progress=progress)
        if grown.is_interrupted:
            raise KeyboardInterrupt
        degrees = free.network.degrees(grown.edges)
        measured[key] = Complete(len(grown.edges), int(degrees.max(initial=0)))
    return measured[key]
