"""A workload and its plan, opened with their pairs on disk where both do not fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from fanwise.planning.plan import Plan
from fanwise.progress import Progress
from fanwise.provision.streamed import needs
from fanwise.provision.streamed.plan import StreamedPlan, read_plan_in_chunks
from fanwise.provision.streamed.scratch import Scratch
from fanwise.provision.streamed.source import UnsortedError, map_workload
from fanwise.workload.files import local_path
from fanwise.workload.topic import TopicWorkload
from fanwise.workload.topic.files import read_header, read_workload

SHARE_OF_MEMORY = 0.5
"""How much of the machine's memory a workload and a plan may fill."""
LOCAL_BYTES_PER_ROW = 30.0
PILED_BYTES = 8.0 + 12.0
"""Bytes of a row on disk: by subscriber, and at worst in order."""


def open_if_large(
    workload: Path, plan: Path, progress: Progress
) -> AbstractContextManager[tuple[TopicWorkload, Plan]] | None:
    """Return what opens both with their pairs on disk; None where memory holds them."""
    read = read_plan_in_chunks(plan)
    num_rows = read.num_rows
    header = read_header(local_path(workload))
    needed = needs.local_memory(header) + LOCAL_BYTES_PER_ROW * num_rows
    if needed <= SHARE_OF_MEMORY * needs.memory_of_machine():
        return None
    disk = needs.MAPPED_BYTES * header["pairs"] + PILED_BYTES * num_rows
    return _open(workload, read, progress, disk)


@contextmanager
def _open(
    workload: Path, plan: StreamedPlan, progress: Progress, disk: float
) -> Iterator[tuple[TopicWorkload, Plan]]:
    temporary = Scratch(None)
    try:
        needs.refuse_full_disk(temporary.folder.parent, disk, "checking a plan of this size")
        yield _read(workload, temporary.folder / "interests.bin", progress), plan
    finally:
        temporary.close()


def _read(workload: Path, file: Path, progress: Progress) -> TopicWorkload:
    try:
        return map_workload(workload, file, progress)
    except UnsortedError:
        return read_workload(workload)
