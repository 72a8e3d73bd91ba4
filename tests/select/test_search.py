"""How searches for selections end: by work, whatever the clock says, or in time."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import numpy as np
import pytest

import fanwise as fw
from fanwise.planning import problem as problem_module
from fanwise.planning.problem import Run
from fanwise.progress import Step
from fanwise.select import best
from fanwise.select import search as searching
from fanwise.select.greedy import greedy
from fanwise.select.problem import METRICS, Selection
from fanwise.select.proving import branching
from fanwise.select.relaxing.tightening import plain_relaxation
from fanwise.select.search import CERTIFICATE_SWEEPS, SelectionSearch
from fanwise.select.stability.previous import Previous
from fanwise.workload.generators.spotify import spotify


def question(metric="binary", scale=0.001):
    return fw.Selection(spotify(scale=scale, seed=4), tau=276, capacity="7%", metric=metric)


def hard(num_draws=2500):
    """Too hard for HiGHS in a few nodes, so that rounds go on until they are idle."""
    rng = np.random.default_rng(4)
    pairs = np.column_stack([rng.integers(0, 250, num_draws), rng.integers(0, 60, num_draws)])
    workload = fw.TopicWorkload.from_arrays(
        rng.integers(1, 90, 60), *np.unique(pairs, axis=0).T, num_subscribers=250
    )
    return fw.Selection(workload, tau=90, capacity="22%")


class Clock:
    """Jumps by random amounts, up to an hour at a time."""

    def __init__(self, seed):
        self._random, self._now = random.Random(seed), 0.0

    def __call__(self):
        self._now += self._random.choice([0.0, 1e-6, 0.3, 40.0, 3600.0])
        return self._now


@pytest.mark.parametrize("weighs_changes", [False, True])
@pytest.mark.parametrize("pose", [question, lambda: question("fractional"), hard])
def test_the_clock_does_not_matter_without_a_time_limit(monkeypatch, pose, weighs_changes):
    monkeypatch.setattr(searching, "SOLVER_WORK", 1e5)
    problem = pose()
    if weighs_changes:
        before = Previous("before", np.arange(problem.workload.num_topics) % 5 == 0, 0)
        problem = replace(problem, capacity="50%", previous=before, max_changes=40)
    plans = [problem.solve("best", seed=3)]
    monkeypatch.setattr(time, "perf_counter", Clock(1))
    plans.append(problem.solve("best", seed=3))
    assert len({plan.id for plan in plans}) == 1
    assert len({(plan.bound, plan.stopped) for plan in plans}) == 1
    assert "time_limit" not in plans[0].limits


def test_a_search_that_finds_nothing_more_ends_by_work(monkeypatch):
    monkeypatch.setattr(searching, "SOLVER_WORK", 1e4)
    plan = hard().solve("best")
    plan.verify()
    assert plan.stopped == "work"
    assert plan.gap > plan.limits["gap"]
    assert plan.limits["nodes"] == int(1e4 / hard().num_pairs)


@pytest.mark.parametrize("metric", METRICS)
def test_all_work_is_limited(monkeypatch, metric):
    monkeypatch.setattr(best, "SMALL_PAIRS", 0)  # only rounds
    monkeypatch.setattr(best, "MIDDLING_PAIRS", 0)
    monkeypatch.setattr(searching, "MOST_WORK", 20.0 * searching.LEAST_PAIRS)
    plan = replace(hard(), metric=metric).solve("best", gap=0.0)
    plan.verify()
    assert plan.limits["work"] == 20
    assert plan.stopped == "work"


def begin(problem: Selection, time_limit: float | None) -> SelectionSearch:
    return SelectionSearch(problem, Run(time_limit=time_limit, started=0.0), Step(), 1e-4)


def test_what_would_not_end_in_time_is_not_begun(monkeypatch):
    monkeypatch.setattr(searching, "QUICK_PAIRS", 0)
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    problem = question()
    search = begin(problem, 100.0)
    with search.spending(10):
        now[0] += 20.0  # two seconds a sweep
    assert search.has_time_for(40 - CERTIFICATE_SWEEPS - 1)
    assert not search.is_over()
    assert not search.has_time_for(40 - CERTIFICATE_SWEEPS)
    assert search.is_over()
    assert search.stopped == "limit"
    relaxation = plain_relaxation(problem)
    prices = relaxation.prices
    search.iterate(relaxation, 3)
    assert relaxation.prices is prices


def test_a_look_at_what_would_not_fit_ends_nothing(monkeypatch):
    monkeypatch.setattr(searching, "QUICK_PAIRS", 0)
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    search = begin(question(), 100.0)
    with search.spending(10):
        now[0] += 20.0  # two seconds a sweep
    assert search.would_fit(40 - CERTIFICATE_SWEEPS - 1)
    assert not search.would_fit(40 - CERTIFICATE_SWEEPS)
    assert not search.is_over()


def test_the_certificate_keeps_its_time(monkeypatch):
    monkeypatch.setattr(searching, "QUICK_PAIRS", 0)
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    search = begin(question(), 100.0)
    with search.spending(10):
        now[0] += 10.0
    now[0] = 100.0 - CERTIFICATE_SWEEPS - 0.5
    assert not search.is_over()
    now[0] += 1.0
    assert search.is_over()
    assert search.share_used() == 1.0


@pytest.mark.parametrize("algorithm", ["best", "exact"])
@pytest.mark.parametrize("limit", [0.0, 0.5])
def test_a_time_limit_is_heeded_by_the_tree_search(monkeypatch, algorithm, limit):
    """The clock moves a second per look: a tree of many nodes would take minutes."""
    now = [time.perf_counter()]

    def tick():
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr(time, "perf_counter", tick)
    problem = hard(1500)
    assert problem.num_pairs <= branching.MAX_PAIRS
    plan = problem.solve(algorithm, time_limit=limit)
    plan.verify()
    assert plan.stopped == "limit"
    assert plan.seconds["total"] < 60


@pytest.mark.parametrize("metric", METRICS)
def test_a_greedy_run_that_is_late_serves_nothing_more(metric):
    problem = question(metric)
    assert len(greedy(problem, np.zeros(1, dtype=np.bool_)).order) == len(greedy(problem).order) > 0
    assert len(greedy(problem, np.ones(1, dtype=np.bool_)).order) == 0


@pytest.mark.parametrize("metric", METRICS)
def test_a_large_question_gets_a_plan_whatever_the_time_limit(monkeypatch, metric):
    monkeypatch.setattr(best, "QUICK_PAIRS", 0)
    monkeypatch.setattr(searching, "QUICK_PAIRS", 0)
    problem = question(metric)
    monkeypatch.setattr(problem_module, "GRACE_SECONDS", 60.0)  # more than greedy takes
    plan = problem.solve("best", time_limit=0.0)
    plan.verify()
    assert plan.warnings == {}
    assert plan.objective >= problem.solve("greedy").objective
    assert plan.stopped == "limit"

    def start_late(problem, is_late):
        is_late[0] = True
        return greedy(problem, is_late)

    monkeypatch.setattr(best, "greedy", start_late)
    plan = problem.solve("best", time_limit=0.0)
    plan.verify()
    assert plan.objective == problem.solve("cheapest").objective > 0
    assert "greedy" in plan.warnings["cut-short"]
    assert plan.bound < problem.trivial_bound()
    assert plan.stopped == "limit"
