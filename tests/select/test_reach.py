"""Who is out of reach: never anybody that some selection satisfies, and found by both sides."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import certificate_select
from tests.select.random_questions import draw_question

import fanwise as fw
from fanwise.planning.proof import Proof, ProofError
from fanwise.select.reach import case_of
from fanwise.select.verify_proof import proven_bound
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


@pytest.mark.parametrize("seed", range(60))
def test_nobody_that_can_be_satisfied_is_out_of_reach(seed):
    problem, served, dropped = drawn_case(seed)
    case = case_of(problem, served, dropped)
    if case.room < 0:
        return
    is_satisfied = satisfied_by_some(problem, served, dropped)
    assert not (is_satisfied & (case.weight < problem.weight)).any()
    assert (problem.cost[case.dropped & ~dropped] > case.room).all()


@pytest.mark.parametrize("seed", range(60))
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


def leaves_with_sets(seed):
    """A question, a plan, and tables of a tree of one topic whose leaves have sets of their own."""
    rng, random_bits = random.Random(seed), np.random.default_rng(seed)
    while True:
        problem, optimum_of = draw_question(rng)
        problem = problem.freed()
        free = np.flatnonzero(~problem.is_pinned & ~problem.is_excluded)
        if len(free) and problem.num_pairs:
            break
    weight, pairs = problem.weight, problem.num_pairs
    prices = np.tile(weight, 2) * random_bits.random(2 * len(weight))
    parts = random_bits.integers(0, 4, (2, 2 * len(weight))).astype(np.uint8)
    tables = {
        "tree": pa.table({"topic": pa.array([int(free[0]), -1, -1], pa.int32())}),
        "leaves": pa.table({"price": prices, "part_0": parts[0], "part_1": parts[1]}),
        "leaf_sets": pa.table({"sets": random_bits.integers(0, 4, 2 * pairs).astype(np.uint8)}),
    }
    return problem, optimum_of(problem), tables


@pytest.mark.parametrize("seed", range(30))
def test_leaves_with_any_sets_hold_and_a_third_party_agrees(seed, tmp_path):
    problem, optimum, tables = leaves_with_sets(seed)
    plan = replace(problem.solve("cheapest"), proof=Proof("leaves", tables, 0.0))
    proven = proven_bound(plan.source, plan)
    assert proven >= optimum * (1 - 1e-8) - 1e-8
    fw.write_workload(plan.source, tmp_path / "workload")
    plan.save(tmp_path / "plan")
    found = certificate_select.proven_bound(tmp_path / "workload", tmp_path / "plan")
    assert found == pytest.approx(proven, rel=1e-9, abs=1e-12)


def test_sets_of_leaves_must_be_whole():
    problem, _, tables = leaves_with_sets(3)
    tables["leaf_sets"] = tables["leaf_sets"].slice(1)
    plan = replace(problem.solve("cheapest"), proof=Proof("leaves", tables, 0.0))
    with pytest.raises(ProofError, match="a row for every pair"):
        proven_bound(plan.source, plan)
