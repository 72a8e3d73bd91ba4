"""Compile every kernel ahead of time by solving a tiny instance with every algorithm."""

from __future__ import annotations

import time

from fanwise.planning.families import FAMILIES, load
from fanwise.planning.problem import Problem
from fanwise.progress import SILENT, Progress
from fanwise.workload.topic import TopicWorkload


def warm_kernels(progress: Progress = SILENT) -> tuple[float, int]:
    """Solve a tiny instance of each family with each algorithm; return seconds and how many."""
    workload = TopicWorkload.from_arrays([3, 5, 8, 2], [1, 0, 0, 1, 2, 2], [1, 0, 1, 2, 2, 3])
    start = time.perf_counter()
    jobs: list[tuple[Problem, str]] = []
    for family in FAMILIES.values():
        problems = load(family.problem).examples(workload)
        names = [""]
        for stage in family.stages.values():
            names = [f"{name}+{other}".lstrip("+") for name in names for other in stage]
        jobs.extend((one.posed_for(name), name) for one in problems for name in names)
    with progress.step("compiling kernels", total=len(jobs)) as step:
        for problem, algorithm in jobs:
            problem.solve(algorithm)
            step.advance()
    return time.perf_counter() - start, len(jobs)
