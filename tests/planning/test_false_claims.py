"""Verification accepts no false statement: hundreds of lies for every family, none believed."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.families import ALGORITHMS, CASES
from tests.planning.mutations import lies
from tests.planning.test_common_suite import TIE_FREE
from tests.strategies import Instance

from fanwise.planning.verify import examine

LEAST_LIES = 300

SPLIT = Instance(
    rates=[7.0, 11.0, 3.0, 19.0, 5.0],
    interests=[[0, 1, 2], [1, 3], [0, 3, 4], [2, 4], [0, 1, 2, 3, 4], [1, 2], [3]],
    tau=13.0,
)
"""Small enough for brute force, and with plans that are not the best."""


def believed(family: str, algorithm: str, instance: Instance, seed: int) -> tuple[list[str], int]:
    """Return the lies about an algorithm's plan that were believed, and how many were told."""
    case = CASES[family]
    problem = case.pose(case.workload(instance), instance).posed_for(algorithm)
    plan = problem.solve(algorithm, seed=seed)
    assert examine(plan.source, plan).holds
    optimum = case.optimum(problem, instance)
    wrong, told = [], 0
    for lie in lies(problem, plan, plan.objective if optimum is None else optimum, seed):
        told += 1
        result = examine(plan.source, lie.plan)
        if result.holds and (result.is_bound_checked or not lie.is_about_bound):
            wrong.append(f"{algorithm}: {lie.name}")
    return wrong, told


@pytest.mark.parametrize("family", CASES)
def test_no_false_statement_is_believed(family):
    told: Counter[str] = Counter()
    for number, algorithm in enumerate(name for of, name in ALGORITHMS if of == family):
        wrong, count = believed(family, algorithm, SPLIT, seed=number)
        assert not wrong, f"{len(wrong)} of {count}: {wrong[:10]}"
        told[family] += count
        if told[family] >= 3 * LEAST_LIES:
            break
    assert told[family] >= LEAST_LIES


@pytest.mark.soak
@pytest.mark.parametrize(("family", "algorithm"), ALGORITHMS)
def test_no_false_statement_about_any_algorithm_is_believed(family, algorithm, keep_counts):
    told = 0
    for seed, instance in enumerate((TIE_FREE, SPLIT)):
        wrong, count = believed(family, algorithm, instance, seed)
        assert not wrong, f"{len(wrong)} of {count}: {wrong[:10]}"
        told += count
    keep_counts(told=told, believed=0)
