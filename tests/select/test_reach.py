"""Who is out of reach: never anybody that some selection satisfies, and found by both sides."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest
from tests.select.random_questions import draw_question

import fanwise as fw
from fanwise.select.reach import case_of
from fanwise.select.verify_question import read_question
from fanwise.select.verify_reach import case_of as checked_case

pytestmark = pytest.mark.kernels


def satisfied_by_some(problem, served, dropped):
    """Who is satisfied by any selection of a case, by looking at all of them."""
    left = np.flatnonzero(~served & ~dropped)
    found = np.zeros(len(problem.demand), dtype=bool)
    for some in chain.from_iterable(combinations(left, k) for k in range(len(left) + 1)):
        chosen = served.copy()
        chosen[list(some)] = True
        if problem.fits(float(problem.cost[chosen].sum())):
            found |= problem.satisfaction(chosen) > 0
    return found


def drawn_case(seed):
    rng = random.Random(seed)
    problem, _ = draw_question(rng)
    sides = [rng.choice((0, 0, 0, 1, 2)) for _ in problem.cost]
    served = problem.is_pinned | (np.array(sides, dtype=int) == 1)
    dropped = (problem.is_excluded | (np.array(sides, dtype=int) == 2)) & ~served
    return replace(problem, metric="binary"), served, dropped


@pytest.mark.parametrize("seed", range(40))
def test_nobody_that_can_be_satisfied_is_out_of_reach(seed):
    problem, served, dropped = drawn_case(seed)
    case = case_of(problem, served, dropped)
    if case.room < 0:
        return
    is_satisfied = satisfied_by_some(problem, served, dropped)
    assert not (is_satisfied & (case.weight < problem.weight)).any()
    assert (problem.cost[case.dropped & ~dropped] > case.room).all()


@pytest.mark.parametrize("seed", range(40))
def test_the_check_finds_the_same(seed):
    problem, served, dropped = drawn_case(seed)
    plan = problem.freed().solve("cheapest")
    case = case_of(problem, served, dropped)
    checked = checked_case(read_question(plan.source, plan), served, dropped)
    assert checked.is_empty == (case.room < 0 or bool((served & problem.is_excluded).any()))
    if not checked.is_empty:
        assert checked.weight.tolist() == case.weight.tolist()
        assert checked.dropped.tolist() == case.dropped.tolist()


def test_subscribers_whose_cheapest_topics_do_not_fit_count_nowhere():
    # Ten times more events than the capacity allows, followed by one; and one small topic.
    rates = np.array([100.0, 100.0, 100.0, 1.0])
    workload = fw.TopicWorkload.from_arrays(
        rates, np.array([0, 0, 0, 1]), np.array([0, 1, 2, 3]), num_subscribers=2
    )
    problem = fw.Selection(workload, tau=200, capacity=150)
    assert problem.case.weight.tolist() == [0.0, 1.0]
    plan = problem.solve("best")
    assert (plan.objective, plan.bound) == (1, 1)
    # Two of the three topics are enough for it, and they fit.
    assert fw.Selection(workload, tau=200, capacity=200).case.weight.tolist() == [1.0, 1.0]
    assert fw.Selection(workload, tau=200, capacity=199).case.weight.tolist() == [0.0, 1.0]
