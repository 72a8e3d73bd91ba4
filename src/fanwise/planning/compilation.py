"""Compile every kernel ahead of time by solving a tiny instance with every algorithm."""

from __future__ import annotations

import time

import numpy as np

from fanwise.planning.families import FAMILIES
from fanwise.planning.family import load
from fanwise.planning.problem import Problem
from fanwise.progress import SILENT, Progress
from fanwise.workload.content import ContentWorkload
from fanwise.workload.topic import TopicWorkload


def _tiny_content() -> ContentWorkload:
    corners = [[0.0, 0.0], [1.0, 0.0], [4.0, 5.0], [0.0, 3.0], [2.0, 2.0], [5.0, 1.0]]
    lo = np.array(corners)
    return ContentWorkload.from_arrays(
        lo,
        lo + 1.5,
        lo,
        corners[:4],
        publisher=[1.0, 1.0],
        parent=[-1, 0, 0, -1],
        share=[np.nan, 0.3, 0.3, 0.4],
        channels=([[0.0, 0.0], [0.0, 3.0]], [[6.0, 3.0], [6.0, 6.0]]),
        rates=([0, 1, 2, 3], [0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0]),
    )


def compile_kernels(progress: Progress = SILENT) -> tuple[float, int]:
    """Solve a tiny instance of each family with each algorithm; return seconds and how many."""
    topics = TopicWorkload.from_arrays([3, 5, 8, 2], [1, 0, 0, 1, 2, 2], [1, 0, 1, 2, 2, 3])
    workloads = {"topic": topics, "content": _tiny_content()}
    start = time.perf_counter()
    jobs: list[tuple[Problem, str]] = []
    for family in FAMILIES.values():
        problems = load(family.problem).examples(workloads[family.reads])
        names = [""]
        for stage in family.stages.values():
            names = [f"{name}+{other}".lstrip("+") for name in names for other in stage]
        jobs.extend((one.posed_for(name), name) for one in problems for name in names)
    with progress.step("compiling kernels", total=len(jobs)) as step:
        for problem, algorithm in jobs:
            problem.solve(algorithm)
            step.advance()
    return time.perf_counter() - start, len(jobs)
