"""Limits: by default work alone, so no clock shapes a plan; a time limit may end it anywhere."""

import time

import numpy as np
import pytest
from tests.provision.small_machines import machine, pose, tens_of_topics

from fanwise.planning.problem import Run
from fanwise.provision import best as best_plans
from fanwise.provision import time_shares
from fanwise.provision.bounds import prove_bound
from fanwise.provision.machines import best_packing
from fanwise.provision.pairs import passes
from fanwise.provision.tiny import table


def some_problem(seed=3, num_topics=40, has_types=True):
    instance, capacity = tens_of_topics(seed, num_topics)
    kinds = [machine(capacity), machine(1.6 * capacity, 1.5, "other")]
    return pose(instance, kinds, 0.002, instance="auto" if has_types else "small")


class Clock:
    """Tells a time that jumps ahead at random, or at one of the looks at it."""

    def __init__(self, seed=None, over_at=None):
        self.begun = self.now = time.perf_counter() + 1.0  # runs begin by the true clock
        self.looks = 0
        self._random = np.random.default_rng(seed)
        self._over_at = over_at

    def __call__(self):
        self.looks += 1
        if self._over_at is None:
            self.now += float(self._random.exponential(1000.0))
        else:
            self.now = self.begun + (1e6 if self.looks >= self._over_at else 0.0)
        return self.now


@pytest.mark.parametrize("algorithm", ["best+best", "exact+best", "gsp+exact", "best+cbp"])
def test_no_clock_shapes_a_plan_without_a_time_limit(monkeypatch, algorithm):
    monkeypatch.setattr(table, "MAX_PAIRS", -1)
    monkeypatch.setattr(time_shares, "QUICK_PAIRS", 0)
    monkeypatch.setattr(best_plans, "QUICK_PAIRS", 0)
    monkeypatch.setattr(best_packing, "QUICK_PAIRS", 0)
    num_topics = 5 if "exact" in algorithm else 40
    plain = some_problem(num_topics=num_topics).solve(algorithm, seed=4)
    for seed in range(3):
        monkeypatch.setattr(time, "perf_counter", Clock(seed))
        plan = some_problem(num_topics=num_topics).solve(algorithm, seed=4)
        assert plan.id == plain.id
        assert plan.stopped == plain.stopped
        assert plan.bound == plain.bound
        assert plan.limits == plain.limits


@pytest.mark.parametrize("algorithm", ["best+best", "best+cbp", "gsp+best"])
@pytest.mark.parametrize("prices", [{}, {"price_gb_in": 3.0}])
def test_the_time_may_be_over_at_any_moment(monkeypatch, algorithm, prices):
    """Whenever that is, the plan is one, its bound is proven, and no dearer than the start."""
    for module in (time_shares, best_plans, best_packing):
        monkeypatch.setattr(module, "QUICK_PAIRS", 0)
    monkeypatch.setattr(passes, "PAIRS_EACH", 4)
    problem = some_problem()
    if prices:
        problem = problem.changed(prices)
    best, bound = problem.solve("best+best"), problem.bound()
    start = problem.solve("gsp+cbp").objective
    reasons = set()
    for over_at in (*range(1, 60, 4), *range(60, 600, 45), 10**6):
        again = problem.changed({})
        with monkeypatch.context() as patched:
            patched.setattr(time, "perf_counter", Clock(over_at=over_at))
            plan = again.solve(algorithm, seed=1, time_limit=100.0)
        reasons.add(plan.stopped)
        report = plan.verify()
        assert report.is_bound_checked
        assert plan.bound <= bound * (1 + 1e-9)
        assert plan.bound <= best.objective * (1 + 1e-9)
        if algorithm == "best+best":
            assert plan.objective <= start * (1 + 1e-12)
    assert ("limit" in reasons) == (algorithm != "best+cbp"), "the first stage alone says nothing"


def test_passes_end_with_the_time_and_do_one_piece_at_least(monkeypatch):
    monkeypatch.setattr(passes, "PAIRS_EACH", 1)
    indptr = np.arange(0, 101, 2, dtype=np.int64)
    pieces, num_seen = passes.pass_over(indptr, lambda first, last: (first, last))
    assert num_seen == 50
    assert [row for first, last in pieces for row in range(first, last)] == list(range(50))
    pieces, num_seen = passes.pass_over(indptr, lambda first, last: (first, last), lambda: True)
    assert pieces == [(0, num_seen)]


def test_subscribers_that_were_not_seen_take_what_the_greedy_chooses(monkeypatch):
    monkeypatch.setattr(passes, "PAIRS_EACH", 1)
    monkeypatch.setattr(time_shares, "QUICK_PAIRS", 0)
    problem = some_problem()
    over = passes.Deadlines(lambda: True, lambda: True)
    full, partial = prove_bound(problem), prove_bound(problem, deadlines=over)
    assert 0 < partial.value <= full.value
    plan = problem.solve("best+cbp", time_limit=0.0)
    assert plan.feasible
    plan.verify()


def test_a_gap_ends_the_search_at_the_start():
    problem = some_problem()
    plan = problem.solve("best+best", gap=0.9)
    assert plan.stopped == "gap"
    assert plan.verify().is_bound_checked
    assert plan.objective == pytest.approx(problem.solve("gsp+cbp").objective)
    tight = problem.solve("best+best", gap=0.0)
    assert tight.objective == problem.solve("best+best").objective
    assert tight.bound == problem.bound()


def test_time_is_kept_for_what_comes_later():
    run = Run(time_limit=100.0)
    assert time_shares.keep_time(run, 10.0).time_limit == pytest.approx(90.0, abs=0.5)
    assert time_shares.keep_time(run, 1000.0).time_limit == pytest.approx(25.0, abs=0.5)
    assert time_shares.keep_time(Run(), 10.0).time_limit is None
