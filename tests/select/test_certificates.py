"""Certificates of select: what they prove, who else can check it, how large they are."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import certificate_select, select_oracle
from tests.select.random_questions import draw_question
from tests.strategies import Instance

import fanwise as fw
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.planning.families import FAMILIES
from fanwise.planning.proof import Proof, ProofError
from fanwise.planning.verify import examine
from fanwise.select.bounds import quick_proof
from fanwise.select.problem import METRICS
from fanwise.select.proving import branching, certificate
from fanwise.select.proving.branching import branch
from fanwise.select.proving.certificate import certify, size_of
from fanwise.select.relaxing.tightening import fit_to, plain_relaxation, tighten
from fanwise.select.verify_proof import may_rest_on_solver, proven_bound
from fanwise.workload.generators.spotify import spotify

ALGORITHMS = tuple(FAMILIES["select"].stages["algorithm"])


@pytest.fixture
def third_party(tmp_path):
    """Returns what the checker says of a plan, from files."""

    def check(plan):
        fw.write_workload(plan.source, tmp_path / "workload", overwrite=True)
        plan.save(tmp_path / "plan", overwrite=True)
        return certificate_select.proven_bound(tmp_path / "workload", tmp_path / "plan")

    return check


def with_proof(plan, bound):
    return replace(plan, bound=bound.value, gap=None, proof=bound.proof)


def solved(problem, algorithm):
    try:
        return problem.solve(algorithm)
    except (InfeasibleError, ParameterError):
        return None


@pytest.mark.parametrize("seed", range(60))
def test_a_third_party_finds_the_same_bound_and_it_holds(seed, third_party):
    problem, optimum_of = draw_question(random.Random(seed))
    optimum = optimum_of(problem)
    for algorithm in ("greedy", ALGORITHMS[seed % len(ALGORITHMS)]):
        plan = solved(problem, algorithm)
        if plan is None:
            continue
        assert plan.verify().is_bound_checked
        proven = proven_bound(plan.source, plan)
        assert third_party(plan) == pytest.approx(proven, rel=1e-9, abs=1e-12)
        assert proven >= optimum - 1e-8 * max(1.0, abs(optimum))
        assert proven == pytest.approx(plan.bound, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_every_kind_of_certificate_holds_and_a_third_party_agrees(seed, third_party):
    """Prices under sets fitted in every way, trees, and bounds that need no table."""
    rng = random.Random(1000 + seed)
    problem, optimum_of = draw_question(rng)
    optimum = optimum_of(problem)
    if optimum is None:
        return
    plan = problem.freed().solve("cheapest")
    relaxation = plain_relaxation(problem)
    served = plan.tables["topics"].column("served").to_numpy(zero_copy_only=False)
    if problem.max_changes is not None:
        relaxation.change_price = rng.choice([0.0, 0.4, 2.0])
        plan = problem.solve("greedy")
    bounds = [quick_proof(problem)]
    for step in range(6):
        relaxation.iterate(rng.randint(0, 9))
        relaxation.best = np.inf  # every iterate is to prove something
        relaxation.bound()
        bounds.append(certify(problem, relaxation.hints))
        if step == 1:
            fit_to(relaxation, served)
        tighten(relaxation)
    start = solved(problem, "best").tables["topics"].column("served").to_numpy(zero_copy_only=False)
    bounds.append(branch(problem, start).bound)
    for bound in bounds:
        claim = with_proof(plan, bound)
        proven = proven_bound(plan.source, claim)
        assert proven <= bound.value * (1 + 1e-9) + 1e-12
        assert proven >= optimum - 1e-8 * max(1.0, abs(optimum))
        assert third_party(claim) == pytest.approx(proven, rel=1e-9, abs=1e-12)


def test_the_third_party_sees_a_planted_bug(third_party, monkeypatch):
    """The agreement is no accident: with another threshold the checker finds another number."""
    workload = spotify(scale=0.0005, seed=2)
    plan = fw.Selection(workload, tau=60.5, capacity="12%", metric="fractional").solve("greedy")
    assert third_party(plan) == pytest.approx(proven_bound(workload, plan), rel=1e-9)
    monkeypatch.setattr(certificate_select, "ENOUGH", 0.97)
    assert third_party(plan) != pytest.approx(proven_bound(workload, plan), rel=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_fast_brute_force_is_right(seed):
    """The oracle of random questions against the one in rational numbers."""
    problem, optimum_of = draw_question(random.Random(5000 + seed))
    workload = problem.workload
    indptr, topics = workload.interests
    rows = [topics[first:last].tolist() for first, last in pairwise(indptr)]
    before = problem.before
    exact = select_oracle.best_near(
        workload.rates.tolist(),
        rows,
        problem.tau if workload.tau is None else workload.tau.tolist(),
        Fraction(problem.limit) * (1 + Fraction(1, 10**9)),
        problem.metric,
        cost=None if workload.cost is None else workload.cost.tolist(),
        weight=None if workload.weight is None else workload.weight.tolist(),
        pinned=np.flatnonzero(problem.is_pinned).tolist(),
        excluded=np.flatnonzero(problem.is_excluded).tolist(),
        before=np.flatnonzero(before).tolist(),
        max_changes=problem.max_changes,
    )
    found = optimum_of(problem)
    assert (found is None) == (exact is None)
    if exact is not None:
        assert found == pytest.approx(float(exact), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("metric", METRICS)
def test_a_certificate_is_small(metric, tmp_path):
    workload = spotify(scale=0.004, seed=1)
    assert workload.num_subscribers > 19_000
    plan = fw.Selection(workload, tau=276, capacity="10%", metric=metric).solve("best", gap=2e-3)
    assert plan.verify().is_bound_checked
    plan.save(tmp_path / "plan")
    proof = sum(file.stat().st_size for file in (tmp_path / "plan" / "proof").iterdir())
    tables = sum(file.stat().st_size for file in (tmp_path / "plan").glob("*.parquet"))
    assert proof <= tables / 10 + 16 * (workload.num_subscribers + workload.num_topics)


def test_a_certificate_that_would_be_too_large_keeps_fewer_sets(monkeypatch):
    workload = spotify(scale=0.0005, seed=2)
    problem = fw.Selection(workload, tau=276, capacity="10%")
    relaxation = plain_relaxation(problem)
    fit_to(relaxation, problem.solve("greedy").tables["topics"].column("served").to_numpy(False))
    for _ in range(4):
        relaxation.iterate(20)
        relaxation.bound()
        tighten(relaxation)
    sizes, bounds = [], []
    for allowed in (10**9, 12_000, 9_000, 0):
        monkeypatch.setattr(certificate, "allowed_bytes", lambda problem, most=allowed: most)
        bound = certify(problem, relaxation.hints)
        plan = with_proof(problem.solve("cheapest"), bound)
        assert proven_bound(workload, plan) <= bound.value
        sizes.append(size_of(bound.proof.tables))
        bounds.append(bound.value)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0]
    assert bounds[0] == min(bounds)


SMALL = Instance([5.0, 7.0, 9.0, 4.0], [[0, 1], [1, 2], [2, 3], [0, 3], [1]], tau=8.0)


def small_plan(algorithm="greedy", **options):
    return fw.Selection(SMALL.workload(), tau=8, capacity="55%", **options).solve(algorithm)


@pytest.mark.parametrize(
    ("table", "columns", "reason"),
    [
        ("prices", {"price": [1.0]}, "a row for every subscriber"),
        ("prices", {"price": [1.0, 1.0, 1.5, 0.0, 0.0]}, "between 0 and the weight"),
        ("prices", {"price": [1.0, 1.0, -0.5, 0.0, 0.0]}, "between 0 and the weight"),
        ("prices", {"price": [1.0, float("nan"), 0.5, 0.0, 0.0]}, "a number that is none"),
        ("prices", {"price": [1.0] * 5, "part_1": [1] * 5}, "neither price nor parts"),
        ("prices", {"price": [1.0] * 5, "part_0": [300] * 5}, "within 0 to 255"),
        ("prices", {"price": [1.0] * 5, "part_0": [0.5] * 5}, "is double"),
        ("sets", {"sets": [1, 2]}, "a row for every pair"),
        ("sets", {"sets": [-1] * 9}, "within 0 to 255"),
        ("rule", {"rule": ["faith"]}, "paper or alone"),
        ("rule", {"rule": []}, "paper or alone"),
        ("tree", {"topic": [0, -1]}, "no tree"),
        ("tree", {"topic": [0, 0, -1, -1, -1]}, "branches twice"),
        ("tree", {"topic": [-1, 0, -1]}, "goes on after its last leaf"),
        ("tree", {"topic": [9, -1, -1]}, "no tree"),
        ("tree", {"topic": []}, "no tree"),
    ],
)
def test_malformed_tables_are_refused(table, columns, reason):
    plan = small_plan()
    num_leaves = columns.get("topic", []).count(-1)
    leaves = pa.table({"price": pa.array([0.0] * 5 * num_leaves, pa.float32())})
    kinds = {"topic": pa.int32(), "rule": pa.string()}
    made = pa.table({name: pa.array(column, kinds.get(name)) for name, column in columns.items()})
    tables = {"prices": pa.table({"price": [1.0] * 5}), "leaves": leaves, table: made}
    claim = replace(plan, proof=Proof("duals", tables, 1.0))
    with pytest.raises(ProofError, match=reason):
        proven_bound(plan.source, claim)


def test_a_set_that_reaches_the_demand_proves_nothing():
    plan = small_plan()
    tables = {"prices": pa.table({"price": [1.0] * 5}), "sets": pa.table({"sets": [255] * 9})}
    assert proven_bound(plan.source, replace(plan, proof=Proof("duals", tables, 1.0))) == 5


def test_only_small_plans_of_exact_and_best_may_rest_on_a_solver(monkeypatch):
    for algorithm in ALGORITHMS:
        plan = small_plan(algorithm)
        assert may_rest_on_solver(plan.source, plan) is (algorithm in ("exact", "best"))
    monkeypatch.setattr(branching, "MAX_PAIRS", 0)
    rng = np.random.default_rng(3)
    pairs = np.unique(np.column_stack([rng.integers(0, 60, 400), rng.integers(0, 30, 400)]), axis=0)
    workload = fw.TopicWorkload.from_arrays(rng.integers(1, 40, 30), *pairs.T)
    plan = fw.Selection(workload, tau=50, capacity="37%").solve("exact")
    result = examine(workload, plan)
    assert result.holds
    assert plan.proof.kind == "solver"
    assert not result.is_bound_checked
    assert "HiGHS" in " ".join(result.remarks)
    assert plan.proof.proves >= plan.bound


@pytest.mark.parametrize("metric", METRICS)
def test_a_price_of_changes_has_its_own_certificate(metric):
    before = small_plan("cheapest")
    for algorithm in ("greedy", "exact", "best"):
        plan = small_plan(algorithm, metric=metric, previous=before, change_price=0.3)
        assert plan.verify().is_bound_checked
        if plan.metrics["net_bound"] is not None:
            worse = {**plan.metrics, "net_bound": plan.metrics["net_bound"] - 0.01}
            assert "net_bound" in examine(plan.source, replace(plan, metrics=worse)).first
        more = plan.metrics["free_value"] + 0.5
        given_up = plan.metrics["given_up"] + 0.5
        false = {**plan.metrics, "free_value": more, "given_up": given_up}
        assert "free_value" in examine(plan.source, replace(plan, metrics=false)).first
    assert plan.metrics["net_bound"] == pytest.approx(plan.metrics["net_value"], rel=1e-8)
