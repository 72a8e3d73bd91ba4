"""A workload and a plan of it, opened together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fanwise.planning.families import find_family
from fanwise.planning.family import Family, load
from fanwise.planning.plan import Plan, read_plan, read_plan_header
from fanwise.progress import SILENT, Progress
from fanwise.workload.content.files import read_content_workload
from fanwise.workload.files import local_path
from fanwise.workload.topic import TopicWorkload
from fanwise.workload.topic.files import read_workload


def read_for(family: Family, workload: Path) -> Any:
    """Read a workload of the kind that a family is about."""
    return (read_content_workload if family.reads == "content" else read_workload)(workload)


@contextmanager
def open_both(
    workload: Path, plan: Path, progress: Progress = SILENT
) -> Iterator[tuple[TopicWorkload | Any, Plan]]:
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
        loaded = read_for(family, workload)
    yield loaded, read
