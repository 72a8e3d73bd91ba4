"""Certificates of wirings: accepted, small, the same to a third party, and never false."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import certificate_wire
from tests.planning.mutations import other_proofs
from tests.wire.random_questions import draw_question

import fanwise as fw
from fanwise.arrays.csr import Csr
from fanwise.errors import InfeasibleError, WorkloadError
from fanwise.planning.families import FAMILIES
from fanwise.planning.proof import Proof, ProofError
from fanwise.planning.verify import examine
from fanwise.wire import bounds
from fanwise.wire.branching import leaves
from fanwise.wire.proving.certificates import tables_of_pairs
from fanwise.wire.proving.pairs_bound import Pairs
from fanwise.wire.verify_proof import may_rest_on_solver, proven_bound
from fanwise.workload.generators.quadratic import quadratic
from fanwise.workload.generators.sparse import sparse

ALGORITHMS = tuple(FAMILIES["wire"].stages["algorithm"])
SEARCHED = fw.Wiring(sparse(12, brokers=4, channels=6, audience=1, capacity_factor=2.5, seed=1))


def plan_of(problem, algorithm, seed=0, **limits):
    """Return a plan, or None where there is none."""
    try:
        return problem.solve(algorithm, seed=seed, **limits)
    except InfeasibleError:
        return None


def kind_of(plan):
    rule = set(plan.proof.tables) & {"tree", "gathering", "ways"}
    return next(iter(rule), "prices")


def test_a_third_party_gets_the_same_number(tmp_path):
    seen = set()
    for seed in range(60):
        problem, optimum_of = draw_question(random.Random(seed))
        plan = plan_of(problem, ALGORITHMS[seed % len(ALGORITHMS)], seed)
        if plan is None:
            continue
        home = tmp_path / str(seed)
        home.mkdir()
        fw.write_workload(problem.workload, home / "workload")
        plan.save(home / "plan")
        found = certificate_wire.proven_bound(home / "workload", home / "plan")
        assert found == pytest.approx(proven_bound(problem.workload, plan), rel=1e-9, abs=1e-12)
        assert found >= plan.bound * (1 - 1e-9) - 1e-12
        optimum = optimum_of(problem)
        assert optimum is None or found <= optimum * (1 + 1e-9) + 1e-12
        seen.add(kind_of(plan))
    assert seen == {"tree", "gathering", "prices", "ways"}


@pytest.mark.parametrize("topology", ["mesh", "tree"])
@pytest.mark.parametrize(
    ("workload", "kind"),
    [
        (sparse(80, brokers=8, channels=20, seed=4), "ways"),
        (sparse(80, brokers=8, channels=20, seed=4), "gathering"),
        (quadratic(300, brokers=10, channels=6, capacity_factor=1.1, cost_law="uniform"), "prices"),
    ],
    ids=["sparse", "gathering", "dense"],
)
def test_a_third_party_on_middle_sizes(workload, kind, topology, tmp_path, monkeypatch):
    if kind != "ways":  # as for what is too large for it
        monkeypatch.setattr(bounds, "MOST_PAIRED", 0)
    if kind == "prices":
        monkeypatch.setattr(bounds, "MOST_STEPS", 0)
    problem = fw.Wiring(workload, topology=topology, core_factor=2.0, capacity_factor=1.5)
    plan = problem.solve("packing")
    assert kind_of(plan) == kind
    assert plan.verify().is_bound_checked
    fw.write_workload(workload, tmp_path / "workload")
    plan.save(tmp_path / "plan")
    found = certificate_wire.proven_bound(tmp_path / "workload", tmp_path / "plan")
    assert found == pytest.approx(proven_bound(workload, plan), rel=1e-9)
    assert found == pytest.approx(plan.bound, rel=1e-9)


def test_whatever_a_certificate_says_what_it_proves_is_true():
    told = 0
    for seed in range(40):
        problem, optimum_of = draw_question(random.Random(1000 + seed))
        plan, optimum = plan_of(problem, ("exact", "packing")[seed % 2], seed), optimum_of(problem)
        if plan is None or optimum is None:
            continue
        for what, proof in other_proofs(plan.proof, optimum, random.Random(seed)):
            if proof is None:
                continue
            told += 1
            try:
                found = proven_bound(problem.workload, replace(plan, proof=proof))
            except ProofError:
                continue
            assert found <= optimum * (1 + 1e-9) + 1e-12 or not np.isfinite(found), what
    assert told > 1000


def test_what_is_told_of_pairs_proves_no_more_than_is_true():
    """Any prices and rounds: where the search knows the optimum, no bound is above it."""
    draw = np.random.default_rng(5)
    for seed in range(12):
        workload = sparse(12, brokers=4, channels=6, audience=1, capacity_factor=1.5, seed=seed)
        factor, topology = float(draw.choice([0.1, 1.0])), ("mesh", "tree")[seed % 2]
        problem = fw.Wiring(workload, core_factor=factor, topology=topology)
        plan = problem.solve("exact")
        for scale in (0.0, 0.1, 1.0, 30.0):
            ways = draw.exponential(scale, (4, 4))
            proof = pairs_proof(draw.exponential(scale, 4), ways, int(draw.integers(0, 9)))
            found = proven_bound(workload, replace(plan, proof=proof))
            assert 0 <= found <= plan.objective * (1 + 1e-9)


def test_pairs_prove_all_where_the_sender_is_apart_from_all_others():
    """One link for every message: the mean way to a subscriber is its tree."""
    workload = sparse(12, brokers=4, channels=6, audience=1, publishers=0.05, capacity_factor=99)
    sends = np.diff(workload.rates.indptr) > 0
    assert sends.sum() == 1
    known = Csr(np.arange(13), np.where(sends, 0, 1).astype(np.int32))
    workload = replace(workload, candidates=known)
    plan = fw.Wiring(workload).solve("packing")
    assert plan.metrics["core"] > plan.metrics["access"] > 0
    proof = pairs_proof(np.zeros(4), np.zeros((4, 4)), 1)
    found = proven_bound(workload, replace(plan, proof=proof))
    assert found == pytest.approx(plan.objective, rel=1e-8)


def test_more_rounds_prove_more():
    workload = sparse(30, brokers=4, channels=12, audience=1.5, seed=3)
    problem = fw.Wiring(workload)
    plan = problem.solve("packing")
    found = [
        proven_bound(workload, replace(plan, proof=pairs_proof(np.zeros(4), np.zeros((4, 4)), n)))
        for n in (0, 1, 2, 4, 8)
    ]
    assert found == sorted(found)
    assert found[0] == 0 < found[1] < found[-1]


def pairs_proof(prices, ways, rounds):
    return Proof("duals", tables_of_pairs(Pairs(0.0, ways, rounds, 0.0), prices), 0.0)


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("ways", {"root": [0, 0], "broker": [1, 1], "price": [1.0, 1.0]}),
        ("ways", {"root": [4], "broker": [1], "price": [1.0]}),
        ("ways", {"root": [0], "broker": [1], "price": [-1.0]}),
        ("ways", {"root": [0], "broker": [1], "price": [float("inf")]}),
        ("pairs", {"rounds": [1, 2]}),
        ("pairs", {"rounds": [-1]}),
        ("pairs", {"rounds": [10**6]}),
    ],
    ids=str,
)
def test_malformed_tables_of_pairs_prove_nothing(table, columns):
    plan = SEARCHED.solve("packing")
    proof = pairs_proof(np.ones(4), np.ones((4, 4)), 2)
    assert proven_bound(SEARCHED.workload, replace(plan, proof=proof)) >= 0
    tables = {**proof.tables, table: pa.table(columns)}
    with pytest.raises(ProofError):
        proven_bound(SEARCHED.workload, replace(plan, proof=replace(proof, tables=tables)))


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("prices", {"broker": [0, 0], "price": [1.0, 1.0]}),
        ("prices", {"broker": [7], "price": [1.0]}),
        ("prices", {"broker": [-1], "price": [1.0]}),
        ("prices", {"broker": [0], "price": [-1.0]}),
        ("prices", {"broker": [0], "price": [float("nan")]}),
        ("prices", {"broker": [0], "price": [1e400]}),
        ("prices", {"broker": [0], "price": [1e300]}),
        ("prices", {"broker": ["0"], "price": [1.0]}),
        ("prices", {"broker": [0], "price": [None]}),
        ("order", {"subscriber": [0] * 12}),
        ("order", {"subscriber": list(range(11))}),
        ("tree", {"is_branched": []}),
        ("tree", {"is_branched": [True]}),
        ("tree", {"is_branched": [False, False]}),
        ("tree", {"is_branched": [1]}),
    ],
    ids=str,
)
def test_malformed_tables_prove_nothing(table, columns):
    plan = SEARCHED.solve("exact")
    empty = {"broker": pa.int32(), "price": pa.float64(), "is_branched": pa.bool_()}
    given = pa.table({
        name: pa.array(values, empty[name] if not values else None)
        for name, values in columns.items()
    })  # fmt: skip
    tables = {**plan.proof.tables, table: given}
    with pytest.raises(ProofError):
        proven_bound(SEARCHED.workload, replace(plan, proof=replace(plan.proof, tables=tables)))


def test_a_broker_without_a_limit_has_no_price():
    workload = replace(sparse(30, brokers=4, channels=6, seed=1), capacity=None)
    plan = fw.Wiring(workload).solve("packing")
    assert plan.verify().is_bound_checked
    prices = pa.table({"broker": pa.array([1], pa.int32()), "price": [1.0]})
    proof = replace(plan.proof, tables={**plan.proof.tables, "prices": prices})
    with pytest.raises(ProofError, match="without a limit"):
        proven_bound(workload, replace(plan, proof=proof))


@pytest.mark.parametrize("topology", ["mesh", "tree"])
@pytest.mark.parametrize("capacity_factor", [0.5, 1.0])
def test_a_third_party_on_leaves(topology, capacity_factor, tmp_path):
    """With little room, channels need several brokers, and prices matter."""
    workload = sparse(9, brokers=4, channels=5, audience=1.5, capacity_factor=2.5, seed=3)
    problem = fw.Wiring(workload, topology=topology, capacity_factor=capacity_factor)
    plan = problem.solve("exact", gap=0.05)
    assert plan.proof.kind == "leaves"
    fw.write_workload(workload, tmp_path / "workload")
    plan.save(tmp_path / "plan")
    found = certificate_wire.proven_bound(tmp_path / "workload", tmp_path / "plan")
    assert found == pytest.approx(proven_bound(workload, plan), rel=1e-9)


class TestLeaves:
    def test_a_search_is_kept_whole(self):
        plan = SEARCHED.solve("exact")
        assert (plan.proof.kind, plan.gap, plan.stopped) == ("leaves", 0, "exhausted")
        assert plan.verify().is_bound_checked
        assert plan.proof.proves == plan.objective

    def test_limits_leave_fewer_leaves(self):
        plan = SEARCHED.solve("exact", gap=0.3)
        assert plan.stopped == "gap"
        assert plan.verify().is_bound_checked
        assert 0 < plan.gap <= 0.3
        assert not plan.metrics["proven"]
        whole = SEARCHED.solve("exact")
        nodes = [one.proof.tables["tree"].num_rows for one in (plan, whole)]
        assert nodes[0] < nodes[1]

    def test_a_search_too_long_to_keep_says_so(self, monkeypatch):
        monkeypatch.setattr(leaves, "MOST_NODES", 60)
        for algorithm in ("exact", "best"):
            plan = SEARCHED.solve(algorithm)
            assert (plan.proof.kind, plan.gap) == ("solver", 0)
            result = plan.verify()
            assert not result.is_bound_checked
            assert any("too many to keep" in remark for remark in result.remarks)
            assert 0 < plan.proof.proves < plan.objective
        packed = fw.Wiring(SEARCHED.workload).solve("packing")
        assert packed.proof.kind != "solver"
        assert packed.bound == packed.proof.proves
        assert packed.verify().is_bound_checked

    def test_only_long_searches_may_rest_on_their_word(self):
        plan = SEARCHED.solve("exact")
        assert may_rest_on_solver(SEARCHED.workload, plan)
        assert not may_rest_on_solver(SEARCHED.workload, replace(plan, algorithm="packing"))
        small = fw.Wiring(sparse(5, brokers=3, channels=6, audience=1, seed=1))
        assert not may_rest_on_solver(small.workload, small.solve("exact"))
        large = fw.Wiring(sparse(30, brokers=4, channels=6, seed=1))
        assert not may_rest_on_solver(large.workload, plan)

    def test_none_of_a_search_may_be_left_out(self):
        """With fewer nodes branched the bound falls, and the claim is found out."""
        plan = SEARCHED.solve("exact")
        nodes = pa.table({"is_branched": pa.array([False])})
        proof = Proof("leaves", {**plan.proof.tables, "tree": nodes}, plan.objective)
        result = examine(SEARCHED.workload, replace(plan, proof=proof))
        assert "the certificate proves" in result.first


def test_the_size_of_certificates(tmp_path):
    for number, (workload, algorithm) in enumerate([
        (sparse(12, brokers=4, channels=6, audience=1, capacity_factor=2.5, seed=1), "exact"),
        (sparse(2_000, brokers=40, channels=60, seed=1), "packing"),
        (quadratic(3_000, brokers=60, channels=40, capacity_factor=1.05, seed=1), "packing"),
    ]):  # fmt: skip
        folder = tmp_path / str(number)
        fw.Wiring(workload).solve(algorithm).save(folder)
        size = sum(file.stat().st_size for file in (folder / "proof").iterdir())
        tables = sum(file.stat().st_size for file in folder.glob("*.parquet"))
        ids = workload.num_subscribers + workload.num_brokers + len(workload.channels.lo)
        assert size <= max(1 << 14, tables / 10 + 16 * ids)


def test_no_proof_asked_for_the_same_bound():
    for algorithm in ("exact", "best", "packing"):
        with_proof, without = (SEARCHED.solve(algorithm, proof=flag) for flag in (True, False))
        assert without.proof is None
        assert without.bound == with_proof.bound


def test_a_bound_of_nothing_says_so():
    """One who sends to one at the same broker for nothing, but the packing puts them apart."""
    workload = quadratic(30, brokers=3, channels=4, seed=1)
    plan = fw.Wiring(workload).solve("packing")
    assert plan.warnings == {}
    free = fw.ContentWorkload.from_arrays(
        np.zeros((2, 1)), np.ones((2, 1)), np.zeros((2, 1)), np.zeros((2, 1)),
        channels=(np.zeros((1, 1)), np.ones((1, 1))), rates=([0], [0], [1.0]),
        access_costs=np.zeros((2, 2)), broker_costs=np.array([[0.0, 1.0], [1.0, 0.0]]),
    )  # fmt: skip
    for seed in range(8):
        plan = fw.Wiring(free).solve("random", seed=seed)
        assert ("no-useful-bound" in plan.warnings) == (plan.objective > 0)
    empty = replace(free, rates=free.rates._replace(rate=np.zeros(1)))
    assert "empty-question" in fw.Wiring(empty).solve("best").warnings


@pytest.mark.parametrize("dear", [1e120, 1e200, 1e305])
def test_costs_too_large_to_be_summed_are_refused(dear):
    workload = quadratic(30, brokers=3, channels=4, seed=1)
    for places in ("positions", "broker_positions"):
        far = replace(workload, **{places: getattr(workload, places) * dear})
        with pytest.raises(WorkloadError, match="rates times costs"):
            fw.Wiring(far).solve("packing")


def test_a_capacity_is_kept_up_to_the_same_edge_everywhere():
    """Problem, search and verification agree on what a broker may carry."""
    for excess, is_feasible in ((0.5e-9, True), (0.99e-9, True), (1.5e-9, False), (1e-6, False)):
        workload = fw.ContentWorkload.from_arrays(
            np.zeros((2, 1)), np.ones((2, 1)), np.zeros((2, 1)), np.zeros((1, 1)),
            channels=(np.zeros((1, 1)), np.ones((1, 1))), rates=([0], [0], [3.0]),
            capacity=[6.0 / (1 + excess)],
        )  # fmt: skip
        problem = fw.Wiring(workload)
        for algorithm in ALGORITHMS:
            plan = plan_of(problem, algorithm)
            if plan is None:
                assert (algorithm, is_feasible) == ("exact", False)
                continue
            assert plan.feasible == is_feasible
            assert examine(workload, plan).holds == is_feasible
