"""A workload and a plan of it, opened together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fanwise.planning.families import find_family, load
from fanwise.planning.plan import Plan, read_plan, read_plan_header
from fanwise.progress import SILENT, Progress
from fanwise.workload.files import local_path, read_workload
from fanwise.workload.topic import TopicWorkload


@contextmanager
def open_both(
    workload: Path, plan: Path, progress: Progress = SILENT
) -> Iterator[tuple[TopicWorkload, Plan]]:
    """Open a workload and a plan of it, pairs on disk where they do not fit in memory.

    Raises
    ------
    WorkloadError, PlanError
        In one line: which file breaks the format, where, and what is needed there.
    """
    family = find_family(read_plan_header(local_path(plan))["problem"])
    large = None
    if family.open_large is not None:
        large = load(family.open_large)(workload, plan, progress)
    if large is not None:
        with large as both:
            yield both
        return
    read = read_plan(plan)
    with progress.step(f"reading {workload}"):
        loaded = read_workload(workload)
    yield loaded, read
