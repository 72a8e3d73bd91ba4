"""The optimum by inequalities that answers break, against trying everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.connect.small_networks import Posed, posed_problems

from fanwise.connect import exact
from fanwise.connect.cutting import least_partition
from fanwise.connect.problem import edges_of


@settings(max_examples=40)
@given(posed_problems(max_nodes=6))
def test_cuts_find_the_optimum(posed: Posed):
    """As on large instances: no instance is small, so that cuts decide."""
    problem, best = posed.problem(), posed.optimum()
    if not exact._is_limited(problem):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "MAX_PAIRS", -1)
        plan = problem.solve("exact")
    assert plan.objective == pytest.approx(best, rel=1e-9)
    assert plan.bound == pytest.approx(best, rel=1e-9)
    assert plan.metrics["proven"]
    assert problem.admits(edges_of(plan.tables["edges"]))
    plan.verify()


def test_cuts_prove_more_pairs_than_trees_of_cases_could():
    rng = np.random.default_rng(11)
    interests = [sorted(rng.choice(10, 3, replace=False).tolist()) for _ in range(22)]
    problem = Posed(interests, [1.0] * 10, max_degree=2).problem()
    assert exact.count_pairs(problem, 1000) > 3 * exact.MAX_PAIRS
    plan = problem.solve("exact")
    best = problem.solve("best", seed=0)
    assert plan.metrics["proven"]
    assert plan.stopped == "exhausted"
    assert plan.bound == plan.objective >= best.objective
    assert best.bound >= plan.objective
    plan.verify()


@given(st.integers(2, 6), st.randoms(use_true_random=False))
def test_no_partition_allows_less_than_components_of_whole_links(num_nodes, random):
    share = np.zeros((num_nodes, num_nodes))
    label = list(range(num_nodes))
    for u in range(num_nodes):
        for v in range(u):
            if random.random() < 0.4:
                share[u, v] = share[v, u] = 1.0
                label = [label[u] if one == label[v] else one for one in label]
    joins, block = least_partition(share)
    assert joins == num_nodes - len(set(label))
    crossing = share[block[:, None] != block].sum() / 2
    assert joins == num_nodes - len(set(block.tolist())) + crossing
