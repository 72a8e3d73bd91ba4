"""Every algorithm against brute force on tiny random questions."""

from __future__ import annotations

import random

import pytest
from tests.assign.random_questions import draw_question, find_optimum
from tests.assign.small_places import verify_plan
from tests.oracles import assign_exact_oracle, assign_oracle
from tests.oracles.assign_brute_force_oracle import allowed_leaves

from fanwise.planning.families import find_family

ALGORITHMS = tuple(find_family("assign").stages["algorithm"])


@pytest.mark.parametrize("start", range(0, 40, 5))
def test_every_algorithm_against_brute_force(start):
    for seed in range(start, start + 5):
        problem, find = draw_question(random.Random(seed))
        check_question(problem, find(problem))


def check_question(problem, optimum):
    """Compare all algorithms with the optimum, and ``best`` with all others."""
    plans = {name: problem.solve(name) for name in ALGORITHMS}
    slack = 1e-9 * abs(optimum or 0.0) + 1e-12
    for plan in plans.values():
        verify_plan(plan)
        if plan.feasible:
            assert optimum is not None
            assert plan.objective >= optimum - slack
            assert plan.bound <= optimum + slack
    for name in ("exact", "best"):
        assert plans[name].feasible == (optimum is not None)
        if optimum is not None:
            assert plans[name].objective == pytest.approx(optimum, rel=1e-9, abs=1e-12)
            assert plans[name].gap == pytest.approx(0.0, abs=1e-9)
            assert plans[name].stopped == "exhausted"


def test_two_brute_forces_agree():
    """The quick one prunes; the other one tries everything."""
    compared = 0
    for seed in range(200):
        problem, _ = draw_question(random.Random(seed))
        size = problem.workload.num_subscribers * problem.alpha * problem.workload.event_dims
        if 0 < size <= 12:
            found, slow = find_optimum(problem), slow_optimum(problem)
            assert (found is None) == (slow is None)
            assert found is None or found == pytest.approx(slow, rel=1e-12)
            compared += found is not None
    assert compared > 20


def slow_optimum(problem):
    workload = problem.workload
    parent = workload.parent.tolist()
    boxes = [
        (tuple(lo), tuple(hi)) if lo[0] <= hi[0] else None
        for lo, hi in zip(workload.lo.tolist(), workload.hi.tolist(), strict=True)
    ]
    cells = None
    if workload.density is not None:
        cells = list(zip(*(part.tolist() for part in workload.density), strict=True))
    return assign_exact_oracle.optimum(
        boxes,
        parent,
        allowed_leaves(workload, parent, problem.max_delay, problem.latency),
        assign_oracle.limits_of(problem.lbf_max, workload.share.tolist(), len(boxes)),
        problem.alpha,
        cells,
    )
