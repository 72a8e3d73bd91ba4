"""Certificates of assignments: a third party finds what verify finds, nobody the impossible."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.assign.random_questions import draw_question
from tests.assign.small_places import Places
from tests.oracles.certificate_assign import proven_bound as third_party
from tests.oracles.rectangles_oracle import union_volume
from tests.planning.mutations import other_proofs

import fanwise as fw
from fanwise.assign.proving.certificate import prove
from fanwise.assign.verify_proof import may_rest_on_solver, proven_bound
from fanwise.errors import ParameterError, VerificationError, WorkloadError
from fanwise.planning.problem import Run
from fanwise.planning.proof import Proof, ProofError
from fanwise.planning.verify import examine
from fanwise.workload.generators.grid import grid
from fanwise.workload.generators.rss import rss

ALGORITHMS = ("gr", "gr-star", "slp", "closest", "balance", "exact")


def solve_tiny(seed, algorithm):
    """Return a random tiny question, its plan and its optimum; None where it is not taken."""
    problem, find_optimum = draw_question(random.Random(seed))
    try:
        plan = problem.solve(algorithm)
    except ParameterError:  # too large for exact
        return None
    return (problem, plan, find_optimum(problem)) if plan.feasible else None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plans")


def check(problem, plan, optimum, folder):
    """Check a plan's certificate by verify, by a third party and against the optimum."""
    found = proven_bound(problem.workload, plan)
    assert plan.bound == plan.proof.proves or plan.bound == pytest.approx(plan.proof.proves)
    assert plan.bound <= found * (1 + 1e-9) + 1e-12
    assert found <= optimum * (1 + 1e-9) + 1e-12
    assert plan.verify().is_bound_checked
    fw.write_workload(problem.workload, folder / "workload", overwrite=True)
    plan.save(folder / "plan", overwrite=True)
    again = third_party(folder / "workload", folder / "plan")
    assert again == pytest.approx(found, rel=1e-9, abs=1e-12)
    return plan.proof.kind, *sorted(plan.proof.tables)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_a_third_party_finds_the_same(algorithm, folder, seed):
    made = solve_tiny(seed, algorithm)
    if made is not None and made[0].workload.num_subscribers <= 5:
        check(*made, folder)


CONFINED = Places(
    at=[[0.0, 0.0]] * 5,
    boxes=[
        *(((0.0, 0.0), (2.0, 2.0)), ((1.0, 1.0), (3.0, 3.0)), ((1.0, 0.0), (2.0, 5.0))),
        *(((8.0, 0.0), (9.0, 1.0)), ((0.0, 8.0), (1.0, 9.0))),
    ],
    brokers=[[1.0, 1.0]] * 3,
    parent=[-1] * 3,
    shares=[0.4, 0.3, 0.3],
    publisher=[0.0, 0.0],
    candidates=[[0], [1, 2], [0], [0], [0]],
)
SPREAD = replace(
    CONFINED,
    at=[[0.0, 0.0]] * 4,
    boxes=[
        ((x, y), (x + 1.0, y + 1.0))
        for x, y in ((0.0, 0.0), (9.0, 9.0), (20.0, 1.0), (1.0, 30.0))
    ],
    brokers=[[0.0, 1.0]],
    parent=[-1],
    shares=[1.0],
    candidates=None,
)  # fmt: skip
MEETING = replace(
    CONFINED,
    at=[[0.0, 0.0]] * 3,
    boxes=CONFINED.boxes[:3],
    candidates=[[0, 1], [1, 2], [2, 0]],
    shares=[0.34, 0.33, 0.33],
)
TREE = replace(
    CONFINED,
    boxes=[((0.0, 0.0), (2.0, 2.0))] * 5,
    brokers=[[0.0, 1.0]] * 5,
    parent=[-1, -1, 0, 0, 1],
    shares=[None, None, 0.4, 0.3, 0.3],
    candidates=[[2], [3], [4], [2, 3], [2, 3, 4]],
)


def needs_all_cases(least_alpha=1):
    """Return a tiny question whose optimum prices do not reach, and its plan."""
    for seed in range(400):
        made = solve_tiny(seed, "exact")
        if made is not None and made[1].proof.kind == "leaves":
            problem, plan, _ = made
            is_small = problem.workload.num_subscribers <= 5 and problem.alpha >= least_alpha
            if is_small and plan.metrics["proven"]:
                return problem, plan
    raise LookupError


def carried(plan):
    return plan.proof.tables["levels"].column("carries").to_pylist()


class TestArguments:
    """One question for each argument that carries a bound."""

    def check(self, problem, algorithm, folder):
        plan = problem.solve(algorithm)
        check(problem, plan, problem.solve("exact").objective, folder)
        return plan

    def test_loads_on_a_grid(self, folder):
        made = replace(TREE, parent=[-1] * 5, shares=[0.2] * 5, candidates=None)
        plan = self.check(fw.Assignment(made.workload(), lbf=1, lbf_max=1), "gr", folder)
        assert plan.bound == 5 * 4
        assert set(plan.proof.tables) == {"levels", "grid"}

    def test_nobody_in_common(self, folder):
        problem = fw.Assignment(CONFINED.workload(), alpha=3, lbf=5, lbf_max=5)
        plan = self.check(problem, "gr", folder)
        assert {"levels", "grid", "apart"} <= set(plan.proof.tables)
        assert plan.bound > union_volume(CONFINED.boxes)

    def test_what_few_pay_is_looked_at_in_all_ways(self, folder):
        """One rectangle around four who have a broker to themselves, and one around the fifth."""
        problem = fw.Assignment(CONFINED.workload(), alpha=1, lbf=5, lbf_max=5)
        plan = self.check(problem, "gr", folder)
        assert plan.bound == pytest.approx(9 * 9 + 2 * 2)
        assert {"levels", "lattice", "prices"} <= set(plan.proof.tables)

    def test_nobody_in_common_somewhere(self, folder):
        """Two sets are taken by others elsewhere, so that only the list of who meets whom helps."""
        boxes = [((9.0 * k, 0.0), (9.0 * k + 1.0, 1.0)) for k in range(2)]
        made = replace(
            CONFINED,
            at=[[0.0, 0.0]] * 4,
            boxes=[*boxes, ((3.0, 3.0), (5.0, 5.0)), ((4.0, 4.0), (6.0, 6.0))],
            brokers=[[1.0, 1.0]] * 4,
            parent=[-1] * 4,
            shares=[0.25] * 4,
            candidates=[[0, 1], [2, 3], [1, 2], [0, 3]],
        )
        plan = self.check(fw.Assignment(made.workload(), lbf=4, lbf_max=4), "gr", folder)
        assert plan.bound == union_volume(made.boxes) + 1
        assert set(plan.proof.tables) == {"levels", "grid", "apart"}

    def test_middles_that_lie_apart(self, folder):
        for alpha in (2, 3):
            problem = fw.Assignment(SPREAD.workload(), alpha=alpha)
            plan = self.check(problem, "gr", folder)
            assert plan.bound == pytest.approx(problem.solve("exact").objective)
            assert "prices" in plan.proof.tables

    def test_the_box_around_all(self, folder):
        plan = self.check(fw.Assignment(SPREAD.workload(), alpha=1), "gr", folder)
        assert plan.bound == pytest.approx(21 * 31)
        assert "prices" in plan.proof.tables

    def test_levels_of_a_tree(self, folder):
        plan = self.check(fw.Assignment(TREE.workload(), alpha=1, lbf=2, lbf_max=2), "gr", folder)
        assert carried(plan) == [8.0, 12.0]

    def test_prices(self, folder):
        workload = rss(40, brokers=4, interests=6, seed=3)
        problem = fw.Assignment(workload, alpha=1)
        plan = problem.solve("slp")
        assert {"prices", "levels"} <= set(plan.proof.tables)
        assert plan.bound > 1.2 * sum(problem.evidence.carried)
        check(problem, plan, plan.objective, folder)

    def test_every_case(self, folder):
        problem = fw.Assignment(MEETING.workload(), alpha=2, lbf=2, lbf_max=2)
        plan = problem.solve("exact")
        assert check(problem, plan, plan.objective, folder)[0] in ("leaves", "duals")
        crowded, plan = needs_all_cases()
        assert check(crowded, plan, plan.objective, folder) == ("leaves", "leaves")
        assert plan.gap == 0


def test_prices_take_little_room_at_any_size():
    problem = fw.Assignment(grid(120, brokers=6, seed=5), alpha=2)
    plan = problem.solve("slp")
    assert "prices" in plan.proof.tables
    assert sum(table.num_rows for table in plan.proof.tables.values()) <= 10_000
    assert plan.verify().is_bound_checked


def test_no_content_of_a_certificate_proves_more_than_the_optimum():
    """Whatever becomes of the tables: an error, or a bound."""
    told: Counter[str] = Counter()
    for seed in range(60):
        for algorithm in ("slp", "exact", "gr"):
            made = solve_tiny(seed, algorithm)
            if made is None:
                continue
            problem, plan, optimum = made
            rng = random.Random(seed)
            for _, proof in other_proofs(plan.proof, plan.bound, rng):
                if proof is None:
                    continue
                try:
                    found = proven_bound(problem.workload, replace(plan, proof=proof))
                except VerificationError:
                    told["refused"] += 1
                    continue
                told["evaluated"] += 1
                assert found <= optimum * (1 + 1e-9) + 1e-12, (seed, algorithm)
    assert min(told["refused"], told["evaluated"]) > 300, told


def priced():
    """Return a question whose certificate has prices, its plan, and no less than its optimum."""
    problem = fw.Assignment(rss(40, brokers=4, interests=6, seed=3), alpha=1)
    plan = problem.solve("slp")
    assert "prices" in plan.proof.tables
    return problem, plan, problem.solve("best", effort=0.1).objective


def few_seeds():
    made = [solve_tiny(seed, ("slp", "exact", "gr")[seed % 3]) for seed in range(12)]
    return [one for one in made if one is not None and one[0].workload.num_subscribers <= 5]


def test_a_third_party_believes_nothing_false_either(folder):
    """Whatever becomes of the tables, its number crosses no optimum: false claims are above it."""
    told: Counter[str] = Counter()
    for number, (problem, plan, optimum) in enumerate([priced(), *few_seeds()]):
        fw.write_workload(problem.workload, folder / "workload", overwrite=True)
        false = optimum * 1.001 + 1e-6
        for name, proof in other_proofs(plan.proof, false, random.Random(number)):
            if proof is None or not proof.tables or (number == 0 and "x " not in name):
                continue
            replace(plan, proof=proof).save(folder / "plan", overwrite=True)
            try:
                found = third_party(folder / "workload", folder / "plan")
            except (AssertionError, LookupError, TypeError, ValueError):
                told["refused"] += 1
                continue
            told["evaluated"] += 1
            assert found <= optimum * (1 + 1e-9) + 1e-12, (number, name)
    assert told["evaluated"] > 100, told
    assert told["refused"] > 0, told


LATTICE = {"axis": [0, 0, 0, 1, 1, 1], "line": [0.0, 1.0, 40.0, 0.0, 1.0, 40.0]}


def row(**other):
    """Return a row of prices, in which something is otherwise."""
    return {"subscriber": [0], "place": [0], "price": [1.0]} | other


@pytest.mark.parametrize(
    ("name", "columns", "reason"),
    [
        ("grid", {"axis": [2], "line": [1.0]}, "axes of events"),
        ("grid", {"axis": [0], "line": [np.nan]}, "axes of events"),
        ("apart", {"level": [0], "subscriber": [9]}, "unknown or wants nothing"),
        ("prices", row(price=[-1.0]), "prices from 0 to"),
        ("prices", row(price=[np.inf]), "prices from 0 to"),
        ("prices", row(subscriber=[7]), "unknown or wants nothing"),
        ("charges", {"broker": [7], "charge": [1.0]}, "unknown brokers"),
        ("prices", row(place=[-1]), "unknown places"),
        ("prices", row(place=[24]), "outside of what is wanted"),
        ("worths", {"place": [0], "worth": [-1.0]}, "numbers from 0 to"),
        ("worths", {"place": [0], "worth": [1.5]}, "numbers from 0 to 1"),
        ("worths", {"place": [0, 0], "worth": [1.0, 1.0]}, "twice"),
        ("lattice", {"axis": [0], "line": [1.0]}, "lines of each axis"),
        ("levels", {"level": [1], "carries": [0.0]}, "in order"),
        ("levels", {"level": [0], "carries": [1e9]}, "found"),
    ],
    ids=str,
)
def test_malformed_tables_are_refused(name, columns, reason):
    made = replace(SPREAD, boxes=[SPREAD.boxes[0], *SPREAD.boxes[:3]])
    plan = fw.Assignment(made.workload(), alpha=2).solve("gr")
    tables = {**plan.proof.tables, "prices": pa.table(row()), "lattice": pa.table(LATTICE)}
    tables |= {name: pa.table(columns)}
    with pytest.raises(ProofError, match=reason):
        proven_bound(plan.source, replace(plan, proof=Proof("duals", tables, plan.bound)))


def test_what_asks_for_too_much_is_refused():
    plan = fw.Assignment(SPREAD.workload(), alpha=2).solve("exact")
    for wrong in ([3], [1, 1], []):
        tables = {"leaves": pa.table({"assignments": pa.array(wrong, pa.int64())})}
        with pytest.raises(ProofError, match="must list 1 assignments"):
            proven_bound(plan.source, replace(plan, proof=Proof("leaves", tables, plan.bound)))
    many = fw.Assignment(rss(40, brokers=4, interests=6, seed=3)).solve("gr")
    tables = {"leaves": pa.table({"assignments": [1]})}
    with pytest.raises(ProofError, match="too many cases above 12 subscribers"):
        proven_bound(many.source, replace(many, proof=Proof("leaves", tables, many.bound)))
    lines = np.arange(3000.0)
    grid = pa.table({"axis": np.repeat([0, 1], 3000), "line": np.tile(lines, 2)})
    tables = {**many.proof.tables, "grid": grid}
    with pytest.raises(ProofError, match="cells"):
        proven_bound(many.source, replace(many, proof=Proof("duals", tables, many.bound)))


def test_what_cannot_be_proven_is_not_claimed(monkeypatch):
    """Where there are too many cases for the check, the bound is the problem's own."""
    problem, plan = needs_all_cases(least_alpha=2)
    assert prove(problem, 1e9, Run()).value == pytest.approx(plan.objective)
    monkeypatch.setattr("fanwise.assign.verify_optimum.MOST_NODES", 1)
    plan = problem.solve("exact")
    assert plan.bound == problem.bound() < plan.objective
    assert plan.metrics["proven"] is False
    assert plan.verify().is_bound_checked


def test_nothing_rests_on_a_solver():
    plan = fw.Assignment(SPREAD.workload()).solve("slp")
    assert not may_rest_on_solver(plan.source, plan)


@pytest.mark.parametrize("algorithm", ["gr", "gr-star", "gr-no-latency"])
@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_steps_of_the_load_are_told_from_the_plan(algorithm, seed):
    made = solve_tiny(seed, algorithm)
    if made is None:
        return
    _, plan, _ = made
    result = examine(plan.source, plan)
    assert result.holds, result.first
    assert any(check.metric == "lbf_reached" for check in result.checks)
    low, high = plan.parameters["lbf"], plan.parameters["lbf_max"]
    if high > low:
        for step in range(5):
            other = low + (high - low) * step / 4
            if other != pytest.approx(plan.metrics["lbf_reached"]):
                lie = replace(plan, metrics={**plan.metrics, "lbf_reached": other})
                assert not examine(plan.source, lie).holds


def test_a_limit_that_is_broken_fails_whether_the_plan_admits_it_or_not():
    made = replace(CONFINED, candidates=[[0]] * 5)
    plan = fw.Assignment(made.workload(), lbf=1, lbf_max=1).solve("gr-star")
    assert not plan.feasible
    for some in (plan, replace(plan, feasible=True)):
        assert examine(plan.source, some).first.startswith("load: broker 0 serves 5, above its")


class TestHugeNumbers:
    @pytest.mark.parametrize("wrong", [{"lbf": 1e16}, {"max_delay": 1e300}, {"lbf_max": np.inf}])
    def test_factors_are_refused(self, wrong):
        with pytest.raises(ParameterError, match="from 0 to 1e"):
            fw.Assignment(SPREAD.workload(), **wrong)

    def test_loads_are_capped(self):
        plan = fw.Assignment(SPREAD.workload(), lbf=1e15, lbf_max=1e15).solve("gr")
        assert plan.feasible
        assert plan.verify().is_bound_checked

    def test_volumes_are_refused(self):
        made = replace(SPREAD, boxes=[((0.0, 0.0), (1e200, 1e200)), *SPREAD.boxes[1:]])
        with pytest.raises(WorkloadError, match="overflow"):
            fw.Assignment(made.workload())

    def test_dense_cells_are_refused(self):
        made = replace(SPREAD, cells=[((0.0, 0.0), (1e-200, 1e-200), 1.0)])
        with pytest.raises(WorkloadError, match=r"dense|volume|solid"):
            fw.Assignment(made.workload())


def test_a_bound_of_nothing_is_called_that():
    # Flat boxes measure nothing, and prices prove nothing beyond the plane.
    plates = [((0.0, y, 0.0), (1.0, y, 1.0)) for y in (0.0, 1.0, 5.0, 9.0)]
    made = replace(SPREAD, boxes=plates)
    problem = fw.Assignment(made.workload(), alpha=3)
    assert problem.trivial_bound() == 0
    plan = problem.solve("gr")
    assert plan.bound == 0 < plan.objective
    assert "no-useful-bound" in plan.warnings
    assert plan.verify().is_bound_checked
    assert problem.solve("exact").warnings == {}
