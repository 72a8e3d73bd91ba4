"""Certificates of bounds on mu: what they prove, whatever stands in them, and who checks them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.connect.small_networks import Posed, posed_problems
from tests.oracles import certificate_connect
from tests.oracles import overlay_bounds_oracle as oracle

import fanwise as fw
from fanwise.connect import exact
from fanwise.connect.arrays import NO_EDGES
from fanwise.connect.bounds import BoundSearch
from fanwise.connect.certificate import MAX_ROWS_OF_TREE, Prices
from fanwise.connect.description import DESCRIPTION
from fanwise.connect.verify_leaves import IN, OUT, UNDECIDED, _bound_cases, _list_pairs
from fanwise.connect.verify_proof import Prices as ReadPrices
from fanwise.connect.verify_proof import bound_by_prices, proven_bound, question_of
from fanwise.planning.proof import Proof, ProofError

ALGORITHMS = tuple(DESCRIPTION.stages["algorithm"])


def solve_all(problem: fw.Connection):
    """Yield the plan of every algorithm that takes the budgets."""
    for algorithm in ALGORITHMS:
        try:
            yield problem.solve(algorithm)
        except fw.errors.ParameterError:
            continue


def check_twice(plan: fw.Plan, folder) -> float:
    """Return what a certificate proves, by verification and by a third party's reading of files."""
    fw.write_workload(plan.source, folder / "workload", overwrite=True)
    plan.save(folder / "plan", overwrite=True)
    by_stranger = certificate_connect.proven_bound(folder / "workload", folder / "plan")
    by_us = proven_bound(plan.source, plan)
    assert by_stranger == pytest.approx(by_us, rel=1e-9, abs=1e-12)
    return by_us


@settings(max_examples=40)
@given(posed=posed_problems(max_nodes=6))
def test_every_certificate_carries_its_bound_and_none_crosses_the_optimum(
    tmp_path_factory, posed: Posed
):
    folder, best = tmp_path_factory.mktemp("certificate"), posed.optimum()
    for plan in solve_all(posed.problem()):
        proven = check_twice(plan, folder)
        assert proven <= plan.bound * (1 + 1e-9)
        assert proven >= best - 1e-9 * max(1.0, best)
        assert plan.verify().is_bound_checked


@settings(max_examples=60)
@given(posed_problems(), st.randoms(use_true_random=False))
def test_any_prices_on_any_links_prove_a_bound(posed: Posed, random):
    workload, parameters = posed.workload(), posed.problem().parameters()
    question = question_of(workload, parameters)
    pairs = oracle.sharing_pairs(posed.interests)
    start = np.array(random.sample(pairs, random.randint(0, len(pairs)))).reshape(-1, 2).T
    scale = random.choice([0.1, 1.0, 5.0])
    prices = ReadPrices(
        np.array([random.random() for _ in posed.rates]),
        np.array([random.random() * scale for _ in posed.interests]),
        random.random() * scale,
        random.random() * scale if posed.max_cost is not None else 0.0,
    )
    bound = bound_by_prices(workload, question, prices, *start.astype(np.int64))
    best = posed.optimum()
    assert bound >= best - 1e-9 * max(1.0, best)


@settings(max_examples=40)
@given(posed_problems(max_nodes=4), st.randoms(use_true_random=False))
def test_no_case_holds_more_than_its_bound(posed: Posed, random):
    """Decisions at random, prices at random, against every overlay that agrees with them."""
    workload = posed.workload()
    question = question_of(workload, posed.problem().parameters())
    pairs = _list_pairs(workload)
    prices = ReadPrices(
        np.array([random.random() for _ in posed.rates]),
        np.array([random.random() for _ in posed.interests]),
        random.random(),
        random.random() if posed.max_cost is not None else 0.0,
    )
    ends = list(zip(pairs.u.tolist(), pairs.v.tolist(), strict=True))
    assert ends == oracle.sharing_pairs(posed.interests)
    decided = np.array([[random.choice((UNDECIDED, IN, OUT)) for _ in ends]], dtype=np.int8)
    (bound,) = _bound_cases(question, prices, pairs, decided)
    best = max(
        (
            oracle.mu(posed.interests, edges, posed.weight)
            for edges in oracle.all_overlays(posed.interests)
            if oracle.is_within(edges, len(posed.interests), **posed.budgets())
            and all(
                decided[0, k] == UNDECIDED or (decided[0, k] == IN) == (pair in edges)
                for k, pair in enumerate(ends)
            )
        ),
        default=0,
    )
    assert bound >= best - 1e-9 * max(1.0, best)


@settings(max_examples=40)
@given(posed_problems(), st.randoms(use_true_random=False))
def test_a_finished_search_is_a_certificate_whatever_its_prices(posed: Posed, random):
    """What the kernel cuts off, verification cuts off too: the leaves prove the optimum."""
    problem = posed.problem()
    prices = Prices(
        np.array([random.random() for _ in posed.rates]),
        np.array([random.random() for _ in posed.interests]),
        random.random(),
        random.random() if posed.max_cost is not None else 0.0,
    )
    small = exact.SmallProblem(problem)
    budget = BoundSearch(problem, NO_EDGES).budget
    tree = exact._branch(
        small, small.price(prices), NO_EDGES, 0.0, budget.max_edges, MAX_ROWS_OF_TREE, 0.0
    )
    assert tree.is_proven
    value = problem.value(tree.edges)
    assert value == pytest.approx(posed.optimum(), rel=1e-9)
    plan = replace(
        problem.solve("exact"), proof=exact.make_proof(value, prices, NO_EDGES, tree.record)
    )
    assert proven_bound(plan.source, plan) == pytest.approx(value, rel=1e-9)
    assert plan.verify().is_bound_checked


UNEVEN = Posed(
    [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3], [0, 3], [1, 2]],
    [1.1, 2.3, 0.7, 1.9],
    weighted=True,
    positions=[[0, 0], [1, 3], [2, 1], [4, 4], [3, 0], [0, 4]],
    max_cost=7.5,
)
"""Prices alone leave a gap here: knapsacks do."""


@pytest.fixture
def leaves():
    plan = UNEVEN.problem().solve("exact")
    assert plan.proof.kind == "leaves"
    return plan


def test_leaves_prove_what_prices_cannot(leaves, tmp_path):
    assert leaves.gap == 0
    assert leaves.metrics["proven"]
    assert check_twice(leaves, tmp_path) == pytest.approx(UNEVEN.optimum(), rel=1e-9)
    tables = {name: table for name, table in leaves.proof.tables.items() if name != "tree"}
    duals = replace(leaves, proof=Proof("duals", tables, leaves.bound))
    assert proven_bound(leaves.source, duals) > leaves.bound * (1 + 1e-6)


UNSETTLED = [
    Posed([[1], [0, 1, 2], [1], [0, 1, 2], [0, 1, 2], [2]], [9.0, 8.0, 9.0], True, max_edges=4),
    Posed([[0], [0, 1, 3], [1, 2], [1, 2, 3], [0, 1, 2, 3], [2, 3]], [1.0, 7.0, 6.0, 9.0], True,
          max_degree=1),
    Posed([[0, 1, 2], [1], [0, 1, 2], [0, 1], [0, 1, 2], [0, 2]], [4.0, 3.0, 8.0], True,
          max_edges=4, max_degree=[3, 3, 2, 3, 3, 3]),
    UNEVEN,
]  # fmt: skip
"""One for each budget: prices do not come down to the optimum."""


@pytest.mark.parametrize("posed", UNSETTLED, ids=["links", "degree", "both", "cost"])
def test_leaves_under_every_budget(tmp_path, posed):
    plan = posed.problem().solve("exact")
    assert plan.proof.kind == "leaves"
    best = posed.optimum()
    assert check_twice(plan, tmp_path) == pytest.approx(best, rel=1e-9)
    for shorter in ([-1], [0, -1, -1], [2, 0, -1, -1, -1], [0, 1, 2, -1, -1, -1, -1]):
        other = with_tree(plan, shorter)
        bare = Proof("leaves", {"tree": other.proof.tables["tree"]}, plan.bound)
        for changed in (other, replace(plan, proof=bare)):
            assert check_twice(changed, tmp_path) >= best * (1 - 1e-9)


def with_tree(plan, pairs):
    table = pa.table({"pair": pa.array(pairs, pa.int8())})
    return replace(plan, proof=replace(plan.proof, tables={**plan.proof.tables, "tree": table}))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda rows: rows[:-1], "ends before its last leaf"),
        (lambda rows: [], "ends before its last leaf"),
        (lambda rows: [*rows, -1], "after its last leaf"),
        (lambda rows: [99, -1, -1], "unknown or decided before"),
        (lambda rows: [-2, -1, -1], "unknown or decided before"),
        (lambda rows: [0, 0, -1, -1, -1], "unknown or decided before"),
        (lambda rows: [-1] * 300_000, "too large to look at"),
    ],
)
def test_trees_that_do_not_cover_every_case_are_refused(leaves, change, reason):
    rows = leaves.proof.tables["tree"].column("pair").to_pylist()
    with pytest.raises(ProofError, match=reason):
        proven_bound(leaves.source, with_tree(leaves, change(rows)))


def test_a_tree_without_its_last_cases_proves_less(leaves):
    """One leaf in place of all is the bound of the root, which is above the optimum."""
    assert proven_bound(leaves.source, with_tree(leaves, [-1])) > leaves.bound * (1 + 1e-6)


def test_a_tree_is_called_what_it_is(leaves):
    for proof in (replace(leaves.proof, kind="duals"), Proof("leaves", {}, leaves.bound)):
        with pytest.raises(ProofError, match="kind"):
            proven_bound(leaves.source, replace(leaves, proof=proof))


@pytest.fixture
def priced():
    rng = np.random.default_rng(2)
    interests = [[0, *sorted(rng.choice(np.arange(1, 30), 2, replace=False))] for _ in range(40)]
    posed = Posed([[int(t) for t in topics] for topics in interests], [1.0] * 30, max_edges=45)
    plan = posed.problem().solve("gpa")
    assert {"topics", "budgets"} <= set(plan.proof.tables)
    return plan


@pytest.mark.parametrize(
    ("table", "columns", "reason"),
    [
        ("topics", {"topic": [30], "share": [0.5]}, "unknown"),
        ("topics", {"topic": [-1], "share": [0.5]}, "unknown"),
        ("topics", {"topic": [1, 1], "share": [0.5, 0.5]}, "twice"),
        ("topics", {"topic": [1], "share": [1.5]}, "above 1"),
        ("topics", {"topic": [1], "share": [-0.5]}, "number >= 0"),
        ("topics", {"topic": [1], "share": [math.nan]}, "number >= 0"),
        ("topics", {"topic": [1.0], "share": [0.5]}, "column 'topic' is double"),
        ("topics", {"topic": [None], "share": [0.5]}, "column 'topic' is null"),
        ("nodes", {"node": [40], "price": [1.0]}, "unknown"),
        ("nodes", {"node": [2**62], "price": [1.0]}, "unknown"),
        ("nodes", {"node": [3], "price": [math.inf]}, "number >= 0"),
        ("nodes", {"node": [3], "price": ["x"]}, "column 'price' is string"),
        ("budgets", {"first_links": [46], "link_price": [1.0], "cost_price": [0.0]}, "number of"),
        ("budgets", {"first_links": [-1], "link_price": [1.0], "cost_price": [0.0]}, "number of"),
        ("budgets", {"first_links": [0], "link_price": [1.0], "cost_price": [1.0]}, "no budget"),
        ("budgets", {"first_links": [0], "link_price": [-1.0], "cost_price": [0.0]}, ">= 0"),
        ("budgets", {"first_links": [0, 0], "link_price": [1.0, 1.0], "cost_price": [0.0, 0.0]},
         "one row"),
        ("start", {"u": [0], "v": [40]}, "unknown"),
        ("start", {"u": [5], "v": [5]}, "to itself"),
        ("glory", {"u": [0]}, "do not have"),
    ],
)  # fmt: skip
def test_tables_that_are_none_are_refused(priced, table, columns, reason):
    tables = {**priced.proof.tables, table: pa.table(columns)}
    with pytest.raises(ProofError, match=reason):
        proven_bound(priced.source, replace(priced, proof=replace(priced.proof, tables=tables)))


def test_prices_are_worth_their_place(priced, tmp_path):
    """Without its prices the bound does not follow; with links taken for granted it still does."""
    assert check_twice(priced, tmp_path) == priced.bound
    bare = replace(priced, proof=Proof("duals", {}, priced.bound))
    assert proven_bound(priced.source, bare) > priced.bound
    with pytest.raises(fw.errors.VerificationError, match="but the certificate proves"):
        bare.verify()
    budgets = priced.proof.tables["budgets"].set_column(0, "first_links", pa.array([20]))
    tables = {**priced.proof.tables, "budgets": budgets}
    moved = replace(priced, proof=replace(priced.proof, tables=tables))
    assert proven_bound(priced.source, moved) >= priced.bound
    start = pa.table({"u": priced.tables["edges"].column("u").slice(0, 20),
                      "v": priced.tables["edges"].column("v").slice(0, 20)})  # fmt: skip
    other = replace(priced.proof, tables={**priced.proof.tables, "start": start})
    same = replace(priced, proof=other)
    assert check_twice(same, tmp_path) == proven_bound(priced.source, moved)


@pytest.mark.parametrize("budgets", [{"max_degree": 2}, {"max_edges": 150}])
@pytest.mark.parametrize("algorithm", ["best", "gpa", "gpm"])
def test_steps_and_growth_leave_certificates(monkeypatch, tmp_path, algorithm, budgets):
    """Where the linear programme is too large: single precision, links taken for granted."""
    monkeypatch.setattr("fanwise.connect.bounds.MAX_ENTRIES", 0)
    monkeypatch.setattr("fanwise.connect.certificate.DOUBLE_UP_TO", 0)
    rng = np.random.default_rng(7)
    interests = [sorted(rng.choice(60, 5, replace=False).tolist()) for _ in range(200)]
    problem = Posed(interests, [1.0] * 60, **budgets).problem()
    if (algorithm == "gpa") != ("max_edges" in budgets) and algorithm != "best":
        return
    for time_limit in (0, 3):
        plan = problem.solve(algorithm, time_limit=time_limit)
        assert check_twice(plan, tmp_path) <= plan.bound
        assert plan.verify().is_bound_checked
        if time_limit:
            assert plan.bound < problem.network.complete_value


def test_without_a_budget_nothing_needs_to_be_shown(tmp_path):
    for plan in solve_all(Posed([[0, 1], [0], [1], [0, 1]], [1.0, 2.5], weighted=True).problem()):
        (budgets,) = plan.proof.tables["budgets"].to_pylist()
        assert list(plan.proof.tables) == ["budgets"]
        assert set(budgets.values()) == {0}
        assert plan.bound == plan.objective == 7.0
        assert check_twice(plan, tmp_path) == pytest.approx(7.0, rel=1e-9)


def test_certificates_are_small(tmp_path):
    rng = np.random.default_rng(3)
    interests = [sorted(rng.choice(400, 6, replace=False).tolist()) for _ in range(2500)]
    problem = Posed(interests, [1.0] * 400, max_degree=2).problem()
    for algorithm in ("gpm", "best"):
        plan = problem.solve(algorithm, time_limit=5, gap=0.3)
        folder = tmp_path / algorithm
        plan.save(folder)
        size = sum(path.stat().st_size for path in (folder / "proof").glob("*"))
        others = sum(path.stat().st_size for path in folder.glob("*.parquet"))
        assert size <= max(others / 10 + 16 * (2500 + 400), 16_384)
        assert plan.proof.tables or algorithm == "best"
