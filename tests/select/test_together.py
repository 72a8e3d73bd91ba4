"""What followers pay that are satisfied together: it holds, and proves more where all is needed."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import certificate_select
from tests.select.random_questions import draw_question

import fanwise as fw
from fanwise.planning.proof import Proof, ProofError
from fanwise.select.proving.certificate import certify
from fanwise.select.relaxing.slots import SlotRelaxation
from fanwise.select.relaxing.together import TogetherRelaxation
from fanwise.select.verify_proof import proven_bound

pytestmark = pytest.mark.kernels


def binary_question(seed):
    """A question of the binary metric with its optimum."""
    rng = random.Random(seed)
    while True:
        problem, optimum_of = draw_question(rng)
        problem = problem.freed()
        if problem.metric == "binary" and problem.num_pairs:
            return problem, optimum_of(problem)


def worked(problem):
    slots = SlotRelaxation(problem)
    for _ in range(3):
        slots.separate()
        slots.iterate(5)
        slots.bound()
    together = TogetherRelaxation(slots)
    for _ in range(4):
        together.separate()
        together.iterate(5)
        together.best = np.inf  # every round is to prove something
        together.bound()
    return slots, together


@pytest.mark.parametrize("seed", range(30))
def test_what_is_certified_encloses_the_optimum_and_a_third_party_agrees(seed, tmp_path):
    problem, optimum = binary_question(seed)
    _, together = worked(problem)
    bound = certify(problem, together.hints)
    assert bound.value >= optimum * (1 - 1e-8)
    plan = replace(problem.solve("cheapest"), proof=bound.proof)
    proven = proven_bound(plan.source, plan)
    assert proven >= optimum * (1 - 1e-8)
    assert proven <= bound.value * (1 + 1e-9)
    fw.write_workload(plan.source, tmp_path / "workload")
    plan.save(tmp_path / "plan")
    found = certificate_select.proven_bound(tmp_path / "workload", tmp_path / "plan")
    assert found == pytest.approx(proven, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_any_prices_and_sets_hold_together(seed, tmp_path):
    """Tables that nobody fitted to anything: sets that reach the demand, and every topic named."""
    problem, optimum = binary_question(300 + seed)
    rng, pairs = np.random.default_rng(seed), problem.num_pairs
    many = len(problem.weight)
    tables = {
        "prices": pa.table(
            {
                "price": problem.weight * rng.choice([0.0, 0.4, 1.0], many),
                "part_0": rng.integers(0, 3, many).astype(np.uint8),
                "part_1": rng.integers(0, 3, many).astype(np.uint8),
            }
        ),
        "sets": pa.table({"sets": rng.integers(0, 4, pairs).astype(np.uint8)}),
    }
    plan = problem.solve("cheapest")
    plain = proven_bound(plan.source, replace(plan, proof=Proof("duals", tables, 0.0)))
    tables["together"] = pa.table({"topic": np.arange(len(problem.cost), dtype=np.int32)})
    plan = replace(plan, proof=Proof("duals", tables, 0.0))
    proven = proven_bound(plan.source, plan)
    assert optimum * (1 - 1e-8) <= proven <= plain * (1 + 1e-12)
    fw.write_workload(plan.source, tmp_path / "workload")
    plan.save(tmp_path / "plan")
    found = certificate_select.proven_bound(tmp_path / "workload", tmp_path / "plan")
    assert found == pytest.approx(proven, rel=1e-9, abs=1e-12)


def test_it_proves_more_where_everything_is_needed():
    rng = np.random.default_rng(5)
    pairs = [(v, t) for v in range(200) for t in rng.choice(60, 6, replace=False)]
    workload = fw.TopicWorkload.from_arrays(
        rng.integers(1, 30, 60).astype(float),
        np.array([v for v, _ in pairs]),
        np.array([t for _, t in pairs]),
        num_subscribers=200,
    )
    problem = fw.Selection(workload, tau=1e9, capacity="20%")
    slots, _ = worked(problem)
    for _ in range(20):
        slots.separate()
        slots.iterate(20)
        slots.bound()
    together = TogetherRelaxation(slots)
    assert together.best == slots.best
    for _ in range(10):
        together.separate()
        together.iterate(20)
        together.bound()
    assert certify(problem, together.hints).value < 0.9 * certify(problem, slots.hints).value


@pytest.mark.parametrize(
    ("metric", "topics", "reason"),
    [
        ("fractional", [0], "for the binary metric"),
        ("binary", [4], "a topic that there is not"),
        ("binary", [-1], "a topic that there is not"),
    ],
)
def test_malformed_tables_are_refused(metric, topics, reason):
    workload = fw.TopicWorkload.from_arrays([5.0, 7.0, 9.0, 4.0], [0, 0, 1, 2], [0, 1, 2, 3])
    plan = fw.Selection(workload, tau=8, capacity="55%", metric=metric).solve("cheapest")
    tables = {
        "prices": pa.table({"price": [1.0] * 3}),
        "together": pa.table({"topic": pa.array(topics, pa.int32())}),
    }
    with pytest.raises(ProofError, match=reason):
        proven_bound(workload, replace(plan, proof=Proof("duals", tables, 1.0)))
