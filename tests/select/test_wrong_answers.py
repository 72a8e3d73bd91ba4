"""Answers that were wrong or fragile once, each found by a brute force."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from tests.select.random_questions import draw_question
from tests.strategies import Instance

import fanwise as fw
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.planning.families import FAMILIES
from fanwise.planning.verify import examine
from fanwise.select import search
from fanwise.select.milp import solve_milp
from fanwise.select.problem import METRICS, served_topics
from fanwise.select.stability.previous import Previous
from fanwise.workload.generators.spotify import spotify

ALGORITHMS = tuple(FAMILIES["select"].stages["algorithm"])


def overfull():
    """Both topics together are over the capacity by a third of HiGHS's tolerance."""
    workload = fw.TopicWorkload.from_arrays(
        [1e6, 1.0], [0, 1, 2, 3], [0, 0, 0, 1], num_subscribers=4
    )
    return fw.Selection(workload, tau=1, capacity=3e6)


def test_a_hair_over_the_capacity_does_not_cost_the_optimum():
    problem = overfull()
    assert problem.solve("exact").objective == 3
    answer = solve_milp(problem)  # without the search that follows
    assert problem.admits(answer.served)
    assert problem.value(answer.served) == 3


def test_many_overfull_selections_are_cut_off_one_by_one():
    rates = [1e6, *[0.1 + 0.01 * i for i in range(5)]]
    interests = [[0], [0], [0], *[[i] for i in range(1, 6)]]
    problem = fw.Selection(Instance(rates, interests, tau=0.05).workload(), 0.05, capacity=3e6)
    answer = solve_milp(problem)
    assert problem.admits(answer.served)
    assert problem.value(answer.served) == 5  # the five small ones


def test_nobody_is_satisfied_by_what_a_solver_takes_for_enough():
    # Topic 0 alone is a ten-millionth short of what everybody wants: for HiGHS that is enough.
    instance = Instance([1e7, 1.0, 3.0], [[0, 1], [0, 1], [2]], tau=1e7 + 1, cost=[5.0, 1.0, 4.0])
    problem = fw.Selection(instance.workload(), tau=1e7 + 1, capacity=5.5)
    answer = solve_milp(problem)
    assert problem.value(answer.served) == 1
    assert problem.solve("exact").objective == 1


def medium(metric="binary", **options):
    rng = np.random.default_rng(4)
    pairs = np.column_stack([rng.integers(0, 900, 4000), rng.integers(0, 120, 4000)])
    workload = fw.TopicWorkload.from_arrays(
        rng.integers(1, 90, 120), *np.unique(pairs, axis=0).T, num_subscribers=900
    )
    return fw.Selection(workload, tau=70, capacity="22%", metric=metric, **options)


def test_a_gap_of_zero_is_honoured_with_limited_changes(monkeypatch):
    problem = medium()
    before = Previous("before", np.arange(120) % 3 == 0, 0)
    near = replace(problem, capacity="60%", previous=before, max_changes=6)
    asked = []

    def listen(problem, **options):
        asked.append(options["gap"])
        return solve_milp(problem, **options)

    monkeypatch.setattr(search, "solve_milp", listen)
    plan = near.solve("best", gap=0.0, time_limit=6)
    plan.verify()
    assert asked == [0.0, 0.0]  # free to change, and with few changes
    assert plan.limits["gap"] == 0.0
    assert plan.stopped != "gap" or plan.gap < 1e-8


@pytest.mark.parametrize("limit", [0.0, 0.2, None])
@pytest.mark.parametrize("seed", range(25))
def test_best_is_never_worse_than_another_whatever_the_limit(seed, limit):
    problem, _ = draw_question(random.Random(300 + seed))
    plans = {}
    for algorithm in ALGORITHMS:
        try:
            time_limit = limit if algorithm == "best" else None
            plans[algorithm] = problem.solve(algorithm, seed=seed, time_limit=time_limit)
        except (ParameterError, InfeasibleError):
            continue
    for name, plan in plans.items():
        assert plans["best"].objective >= plan.objective - 1e-9, name


@pytest.mark.parametrize("metric", METRICS)
def test_without_time_best_is_as_good_as_every_heuristic(metric):
    problem = fw.Selection(spotify(scale=0.002, seed=5), tau=276, capacity="3%", metric=metric)
    plan = problem.solve("best", seed=3, time_limit=0.0)
    plan.verify()
    assert plan.stopped in ("gap", "limit")
    for name in ("greedy", "popular", "cheapest", "cuckoo", "random"):
        assert plan.objective >= problem.solve(name, seed=3).objective, name
    before = Previous("before", problem.is_pinned, 0)
    near = replace(problem, previous=before, max_changes=25)
    assert near.solve("best", time_limit=0.0).objective >= near.solve("greedy").objective


def test_plans_say_which_limits_were_in_force_and_which_one_ended_them():
    problem = medium()
    plan = problem.solve("best", gap=0.9)
    assert plan.stopped == "gap"
    work = {"work": search.most_sweeps(problem), "idle_work": search.most_idle(problem)}
    assert plan.limits == {"gap": 0.9, **work}
    assert problem.solve("best", time_limit=0.0).stopped == "limit"
    late = problem.solve("exact", time_limit=0.0)
    assert late.stopped == "limit"
    assert late.limits == {"time_limit": 0.0, "gap": 0.0}
    before = Previous("before", np.arange(120) % 3 == 0, 0)
    near = replace(problem, capacity="60%", previous=before, max_changes=6)
    plan = near.solve("best", time_limit=1.0)
    del work["work"]  # who gives a time wants it used
    assert plan.limits == {"time_limit": 1.0, "gap": search.DEFAULT_GAP, **work}
    assert near.solve("greedy").stopped == "exhausted"


@pytest.mark.parametrize("over", [0.0, 0.9e-9, 1.1e-9])
def test_the_edge_of_a_capacity_is_the_same_everywhere(over):
    """What the problem admits is what algorithms use and verification accepts."""
    instance = Instance([3.0, 5.0], [[0], [1]], tau=1, cost=[3.0, 5.0])
    problem = fw.Selection(instance.workload(), tau=1, capacity=8 / (1 + over))
    fits = problem.fits(8.0)
    assert fits == (over < 1e-9)
    for algorithm in ALGORITHMS:
        plan = problem.solve(algorithm)
        plan.verify()
        assert plan.feasible
        assert plan.bound >= plan.objective
        if algorithm in ("exact", "best"):
            assert plan.objective == (2 if fits else 1)
        served = served_topics(plan.tables["topics"], 2)
        assert problem.admits(served)


def test_a_plan_over_the_capacity_fails_whether_it_admits_it_or_not():
    problem = overfull()
    both = problem.table(np.array([True, True]))
    measured = problem.measure({"topics": both})
    assert not measured.is_feasible
    plan = problem.solve("greedy")
    for feasible in (False, True):
        false = replace(
            plan,
            tables={"topics": both},
            objective=measured.objective,
            metrics={**plan.metrics, **measured.metrics},
            feasible=feasible,
            gap=None,
        )
        assert "capacity" in examine(problem.workload, false).first


def test_who_is_just_about_satisfied_counts_either_way():
    """1e6 of 1e6 + 0.001 is short by the tolerance itself: sums decide, and both are right."""
    workload = fw.TopicWorkload.from_arrays([1e-3, 1e6], [0, 0], [0, 1], cost=[2.5, 0.0])
    for metric in ("binary", "fractional"):
        for algorithm in ("best", "exact", "greedy"):
            problem = fw.Selection(workload, tau=1e7, capacity=1.0, metric=metric)
            problem.solve(algorithm).verify()


def test_tiny_questions_leave_no_gap():
    """A gap of 1e-4 may be left, but not where all selections are searched anyway."""
    workload = fw.TopicWorkload.from_arrays(
        [100.0, 100.001, 57.0], [0, 1, 2], [0, 1, 2], cost=[1.0, 1.0, 1.0], weight=[1.0, 1.00001, 1]
    )
    problem = fw.Selection(workload, tau=200, capacity=1.0)
    assert problem.solve("best").objective == problem.solve("exact").objective == 1.00001
    assert problem.solve("best").limits["gap"] == 0.0


def test_the_papers_bound_knows_the_tolerance():
    """Whoever lacks less than the tolerance is satisfied, and costs as much less."""
    workload = fw.TopicWorkload.from_arrays([1 - 0.9e-9, 1.0], [0, 0], [0, 1])
    problem = fw.Selection(workload, tau=1.0, capacity=0.9999999986)
    for algorithm in ("greedy", "popular", "exact", "best"):
        plan = problem.solve(algorithm)
        assert plan.verify().is_bound_checked
        assert plan.bound >= 1
