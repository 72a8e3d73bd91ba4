"""Stage 1 in blocks: the chosen pairs go to a file, their number by topic stays in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray, sum_rows
from fanwise.arrays.threads import num_threads
from fanwise.arrays.tolerance import is_enough
from fanwise.progress import Progress
from fanwise.provision.pairs.pair_kernels import choose_greedily
from fanwise.provision.problem import SOLVER_TOLERANCE, Provisioning
from fanwise.provision.streamed.kernels import add_counts
from fanwise.provision.streamed.source import Block, blocks, map_ids

Job = TypeVar("Job")
Result = TypeVar("Result")


class Chosen(NamedTuple):
    """Chosen pairs.

    Attributes
    ----------
    rows
        The topics of each subscriber, mapped from a file, in the order they were chosen.
    counts
        By topic: how many pairs it has.
    is_enough
        Whether everybody gets its threshold.
    """

    rows: Csr
    counts: LongArray
    is_enough: bool


def choose_greedily_in_blocks(problem: Provisioning, file: Path, progress: Progress) -> Chosen:
    """Choose what :mod:`fanwise.provision.pairs.greedy_pairs` would, block by block to a file."""
    workload, demand = problem.workload, problem.demand
    rates = np.where(problem.is_usable, workload.rates, 0.0)
    indptr = np.zeros(workload.num_subscribers + 1, dtype=np.int64)
    counts = np.zeros(workload.num_topics, dtype=np.int64)
    is_satisfied = True

    def choose(block: Block) -> tuple[Block, LongArray, IntArray, FloatArray]:
        wanted = demand[block.first : block.last]
        found, topics = choose_greedily(*block.rows, rates, wanted, SOLVER_TOLERANCE)
        return block, found, topics, sum_rows(found, topics, rates)

    with (
        file.open("wb") as out,
        progress.step("choosing pairs", float(workload.num_pairs)) as step,
    ):
        for block, found, topics, delivered in in_order(choose, blocks(workload.interests)):
            wanted = demand[block.first : block.last]
            is_satisfied &= bool(is_enough(delivered, wanted).all())
            indptr[block.first + 1 : block.last + 1] = np.diff(found)
            add_counts(topics, counts)
            topics.tofile(out)
            step.advance(len(block.rows.indices))
    np.cumsum(indptr, out=indptr)
    return Chosen(Csr(indptr, map_ids(file)), counts, is_satisfied)


def in_order(function: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
    """Yield results in the order of their jobs, with one job per core under way and one ahead."""
    ahead = num_threads() + 1
    with ThreadPoolExecutor(num_threads()) as pool:
        waiting: deque[Future[Result]] = deque()
        for job in jobs:
            waiting.append(pool.submit(function, job))
            if len(waiting) == ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
