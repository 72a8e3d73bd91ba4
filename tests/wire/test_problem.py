"""The problem itself: traffic, costs, links, moves, capacities, and what is odd about them."""

from __future__ import annotations

import json
import logging
from copy import deepcopy
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import wire_oracle as oracle
from tests.wire.breaks import BREAKS
from tests.wire.small_wirings import Wires, some_wires, wirings

import fanwise as fw
from fanwise.errors import InfeasibleError, ParameterError, VerificationError, WorkloadError
from fanwise.planning.compare import compare
from fanwise.planning.diff import diff_plans
from fanwise.planning.export import named_tables
from fanwise.planning.sweep import sweep
from fanwise.planning.verify import checks
from fanwise.wire.description import DESCRIPTION
from fanwise.wire.move_costs import price_move, price_moves
from fanwise.wire.problem import make_tables
from fanwise.wire.state import apply_move, attachment_cost, link_traffic, make_state
from fanwise.wire.steiner_trees import steiner_cost

pytestmark = pytest.mark.kernels

ALGORITHMS = tuple(DESCRIPTION.stages["algorithm"])
PLAIN = Wires(
    rates=[[2.0, 0.0], [0.0, 3.0], [1.0, 1.0], [0.0, 0.0]],
    wants=[[0, 1], [1, 0], [1, 1], [1, 0]],
    access=[[1.0, 5.0, 5.0], [5.0, 1.0, 5.0], [5.0, 5.0, 1.0], [2.0, 2.0, 5.0]],
    core=[[0.0, 3.0, 4.0], [3.0, 0.0, 2.0], [4.0, 2.0, 0.0]],
)
topologies = st.sampled_from(["mesh", "tree"])


def attachments(made):
    return st.lists(
        st.integers(0, len(made.core) - 1), min_size=len(made.rates), max_size=len(made.rates)
    )


def brokers_of(plan):
    return plan.tables["attachments"].column("broker").to_pylist()


def links_of(tables):
    columns = (tables["links"].column(name).to_pylist() for name in ("broker", "other", "traffic"))
    return {(low, high): traffic for low, high, traffic in zip(*columns, strict=True)}


class TestTheProblem:
    @pytest.mark.parametrize("missing", ["channels", "rates"])
    def test_what_wire_needs_is_named(self, missing):
        bare = {"rates": None} if missing == "rates" else {"rates": None, "channels": None}
        with pytest.raises(WorkloadError, match=missing):
            fw.Wiring(PLAIN.workload(**bare))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"topology": "star"},
            {"core_factor": -1},
            {"core_factor": float("nan")},
            {"core_factor": True},
            {"capacity_factor": "much"},
            {"capacity_factor": float("inf")},
        ],
        ids=str,
    )
    def test_wrong_settings_are_refused(self, wrong):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            fw.Wiring(PLAIN.workload(), **wrong)

    def test_users_without_any_broker_cannot_be_attached(self):
        nowhere = replace(PLAIN, access=[[]] * 4, core=[])
        with pytest.raises(InfeasibleError, match=r"brokers\.parquet"):
            fw.Wiring(nowhere.workload())

    def test_channels_are_wanted_where_a_volume_is_shared(self):
        workload = fw.ContentWorkload.from_arrays(
            [[0.0], [0.5], [1.0], [0.2], [np.nan]],
            [[1.0], [1.5], [2.0], [0.2], [np.nan]],
            np.zeros((5, 1)),
            [[0.0]],
            channels=([[0.0], [1.0]], [[1.0], [2.0]]),
            rates=([0, 3], [0, 1], [4.0, 1.0]),
        )
        arrays = fw.Wiring(workload).arrays
        rows = np.split(np.arange(len(arrays.channels)), arrays.indptr[1:-1])
        assert [arrays.channels[row].tolist() for row in rows] == [[0], [0, 1], [1], [1], []]
        assert arrays.wants.tolist() == [True, True, True, True, False]
        assert arrays.demand.tolist() == [4.0, 5.0, 1.0, 1.0, 0.0]

    def test_costs_are_distances_unless_there_are_tables(self):
        workload = replace(PLAIN, at=[[0, 0], [3, 4], [0, 1], [6, 8]],
                           places=[[0, 0], [3, 4], [0, 2]]).workload(
            access_costs=None, broker_costs=None)  # fmt: skip
        arrays = fw.Wiring(workload).arrays
        assert arrays.access[1].tolist() == [5.0, 0.0, 13**0.5]
        assert arrays.core[0].tolist() == [0.0, 5.0, 2.0]
        twice = fw.Wiring(workload, core_factor=2.0).arrays
        assert twice.core.tolist() == (2 * arrays.core).tolist()
        assert twice.access.tolist() == arrays.access.tolist()


class TestCost:
    @settings(max_examples=60)
    @given(st.data(), wirings(), topologies)
    def test_cost_and_links_follow_their_definition(self, data, made, topology):
        attached = data.draw(attachments(made))
        facts = oracle.facts_of(made, is_tree=topology == "tree")
        problem = fw.Wiring(made.workload(), topology=topology)
        assert problem.arrays.demand.tolist() == facts.demand
        brokers = np.array(attached, dtype=np.int32)
        assert attachment_cost(problem.arrays, brokers) == pytest.approx(
            oracle.cost_of(facts, attached), rel=1e-12, abs=1e-12
        )
        tables = make_tables(problem.arrays, brokers)
        carried = {link: amount for link, amount in links_of(tables).items() if amount > 0}
        assert carried == pytest.approx(oracle.link_traffic(facts, attached))
        if topology == "tree":
            assert list(links_of(tables)) == sorted(oracle.spanning_tree(facts.brokers, facts.core))

    @pytest.mark.parametrize("topology", ["mesh", "tree"])
    @pytest.mark.parametrize("seed", range(4))
    def test_larger_trees_follow_their_definition_through_many_moves(self, topology, seed):
        made = some_wires(seed)
        facts = oracle.facts_of(made, is_tree=topology == "tree")
        arrays = fw.Wiring(made.workload(), topology=topology).arrays
        rng = np.random.default_rng(seed)
        state = make_state(arrays, rng.integers(0, 7, 9).astype(np.int32))
        for user, broker in zip(rng.integers(0, 9, 25), rng.integers(0, 7, 25), strict=True):
            now = state.broker_of_user.tolist()
            assert tuple(state.totals) == pytest.approx(oracle.cost_of(facts, now))
            price_moves(arrays, state, user, 0, 7)
            change = state.changes[broker]
            before = state.cost
            apply_move(arrays, state, user, broker)
            assert state.cost - before == pytest.approx(change, abs=1e-9)
        carried = links_of(make_tables(arrays, state.broker_of_user))
        now = state.broker_of_user.tolist()
        assert {link: amount for link, amount in carried.items() if amount} == pytest.approx(
            oracle.link_traffic(facts, now)
        )

    @settings(max_examples=40)
    @given(st.data(), wirings(max_users=6, max_brokers=5), topologies)
    def test_moves_change_the_cost_by_what_was_said(self, data, made, topology):
        arrays = fw.Wiring(made.workload(), topology=topology).arrays
        state = make_state(arrays, np.array(data.draw(attachments(made)), dtype=np.int32))
        moves = st.tuples(
            st.integers(0, arrays.num_users - 1), st.integers(-1, arrays.num_brokers - 1)
        )
        for user, broker in data.draw(st.lists(moves, max_size=12)):
            before, kept = state.cost, deepcopy(state)
            if broker >= 0:
                price_moves(arrays, state, user, 0, arrays.num_brokers)
                change = state.changes[broker]
                assert price_move(arrays, state, user, broker) == pytest.approx(change, abs=1e-9)
            assert_same(state, kept)
            apply_move(arrays, state, user, broker)
            if broker >= 0:
                assert state.cost - before == pytest.approx(change, abs=1e-9)
            assert_same(state, make_state(arrays, state.broker_of_user))

    @settings(max_examples=40)
    @given(st.data(), wirings(max_users=5, max_brokers=5))
    def test_steiner_trees_lie_between_the_optimum_and_spanning_trees(self, data, made):
        """The optimum by trying every set of outside brokers."""
        attached = data.draw(attachments(made))
        arrays = fw.Wiring(made.workload()).arrays
        state = make_state(arrays, np.array(attached, dtype=np.int32))
        facts = oracle.facts_of(made)
        least = 0.0
        for p, c in product(facts.users, facts.channels):
            if facts.rates[p][c] > 0:
                ends = {attached[j] for j in facts.users if facts.wants[j][c]} | {attached[p]}
                outside = [b for b in facts.brokers if b not in ends]
                trees = (
                    oracle.spanning_tree({*ends, *more}, facts.core) for more in subsets(outside)
                )
                least += facts.rates[p][c] * min(
                    sum(facts.core[a][b] for a, b in tree) for tree in trees
                )
        found = steiner_cost(arrays, state)
        assert least - 1e-9 <= found <= state.totals[1] + 1e-9

    @pytest.mark.parametrize("does_want", [True, False])
    def test_a_broker_in_the_middle_saves(self, does_want):
        """Three brokers 2 apart, 1.2 from one in the middle: a star of 3.6 beats a path of 4."""
        core = [[0, 2, 2, 1.2], [2, 0, 2, 1.2], [2, 2, 0, 1.2], [1.2, 1.2, 1.2, 0]]
        made = Wires(rates=[[1.0], [0.0], [0.0]], wants=[[int(does_want)], [1], [1]],
                     access=[[0.0] * 4] * 3, core=core)  # fmt: skip
        arrays = fw.Wiring(made.workload()).arrays
        state = make_state(arrays, np.array([0, 1, 2], dtype=np.int32))
        assert state.totals[1] == pytest.approx(4.0)
        assert steiner_cost(arrays, state) == pytest.approx(3.6)


def subsets(items):
    for flags in product((False, True), repeat=len(items)):
        yield [item for item, flag in zip(items, flags, strict=True) if flag]


def assert_same(state, other):
    for name in ("broker_of_user", "subscribers", "publishers", "inside", "sizes"):
        assert getattr(state, name).tolist() == getattr(other, name).tolist(), name
    for name in ("load", "published", "tree_costs", "core_costs", "totals"):
        np.testing.assert_allclose(
            getattr(state, name), getattr(other, name), rtol=1e-9, atol=1e-9, err_msg=name
        )


class TestOddInstances:
    def test_one_publisher_of_unit_rate_is_a_steiner_tree_problem(self):
        """The paper's reduction: everybody wants the one message; brute force over attachments."""
        rng = np.random.default_rng(4)
        places = rng.integers(0, 9, (3, 2)).tolist()
        at = rng.integers(0, 9, (5, 2)).tolist()
        distance = lambda a, b: float(abs(a[0] - b[0]) + abs(a[1] - b[1]))  # noqa: E731
        made = Wires(
            rates=[[1.0]] + [[0.0]] * 4,
            wants=[[0]] + [[1]] * 4,
            access=[[distance(a, b) for b in places] for a in at],
            core=[[distance(a, b) for b in places] for a in places],
        )
        problem = fw.Wiring(made.workload())
        assert problem.arrays.demand.tolist() == [1.0] * 5
        costs = {
            attached: sum(attachment_cost(problem.arrays, np.array(attached, dtype=np.int32)))
            for attached in product(range(3), repeat=5)
        }
        facts = oracle.facts_of(made)
        assert costs == {attached: sum(oracle.cost_of(facts, attached)) for attached in costs}
        least = min(costs.values())
        for algorithm in ALGORITHMS:
            plan = problem.solve(algorithm)
            assert plan.bound <= least <= plan.objective
        assert min(problem.solve("migration", start=start).objective
                   for start in ("random", "packing", "clustering")) == least  # fmt: skip

    def test_a_capacity_that_is_exactly_met(self):
        demand = oracle.facts_of(PLAIN).demand
        together = demand[0] + demand[3]
        exact = replace(PLAIN, capacity=[together, demand[1], demand[2]])
        plan = fw.Wiring(exact.workload()).solve("packing")
        assert brokers_of(plan) == [0, 1, 2, 0]
        assert plan.feasible
        assert (plan.metrics["max_load"], plan.metrics["overloaded"]) == (1.0, 0)
        plan.verify()
        tight = replace(exact, capacity=[together * (1 - 1e-6), demand[1], demand[2]])
        for algorithm in ("packing", "clustering", "steiner-mixing", "migration"):
            plan = fw.Wiring(tight.workload()).solve(algorithm)
            assert not plan.feasible
            assert plan.metrics["overloaded"] == 1
            assert plan.gap is None
            for is_admitted in (True, False):
                with pytest.raises(VerificationError, match=r"capacity: broker 0 carries"):
                    replace(plan, feasible=not is_admitted).verify()

    @pytest.mark.parametrize("topology", ["mesh", "tree"])
    def test_very_much_and_very_little(self, topology):
        """What little crosses a link is a difference of large sums."""
        made = Wires(
            rates=[[1e6], [1e-6], [0.0]], wants=[[0], [0], [1]],
            access=[[1.0, 1.0, 0.0], [0.0, 1e9, 1e9], [1.0, 1.0, 0.0]],
            core=[[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]],
        )  # fmt: skip
        for algorithm in ALGORITHMS:
            fw.Wiring(made.workload(), topology=topology).solve(algorithm).verify()

    def test_tenths_that_do_not_add_up_exactly_still_fit(self):
        made = Wires(rates=[[0.1, 0.2]], wants=[[0, 0]], access=[[1.0]], core=[[0.0]])
        made = replace(made, rates=[[0.1, 0.2], [0.0, 0.0]], wants=[[0, 0], [1, 1]],
                       access=[[1.0], [1.0]], capacity=[0.6])  # fmt: skip
        plan = fw.Wiring(made.workload()).solve("packing")
        assert 0.1 + 0.2 + 0.1 + 0.2 > 0.6
        assert plan.feasible
        plan.verify()

    @pytest.mark.parametrize("topology", ["mesh", "tree"])
    def test_a_channel_nobody_wants_costs_nothing(self, topology):
        made = replace(
            PLAIN,
            rates=[[*row, 50.0] for row in PLAIN.rates],
            wants=[[*row, 0] for row in PLAIN.wants],
        )
        with_it, without = (fw.Wiring(one.workload(), topology=topology) for one in (made, PLAIN))
        for algorithm in ALGORITHMS:
            assert with_it.solve(algorithm).objective == without.solve(algorithm).objective

    def test_messages_only_their_publisher_wants_are_removed(self):
        made = replace(
            PLAIN,
            rates=[[*row, 50.0 * (i == 2)] for i, row in enumerate(PLAIN.rates)],
            wants=[[*row, int(i == 2)] for i, row in enumerate(PLAIN.wants)],
        )
        plan, plain = (fw.Wiring(one.workload()).solve("packing") for one in (made, PLAIN))
        assert plan.objective == plain.objective
        plan.verify()

    def test_a_user_who_wants_everything(self):
        made = replace(PLAIN, wants=[[1, 1], *PLAIN.wants[1:]])
        problem = fw.Wiring(made.workload())
        assert problem.arrays.demand[0] == 2.0 + (1.0 + 3.0 + 1.0)
        for algorithm in ALGORITHMS:
            problem.solve(algorithm).verify()

    @pytest.mark.parametrize("topology", ["mesh", "tree"])
    def test_brokers_at_the_same_place(self, topology):
        made = replace(PLAIN, core=[[0.0] * 3] * 3)
        problem = fw.Wiring(made.workload(), topology=topology)
        plan = problem.solve("packing")
        plan.verify()
        assert plan.metrics["core"] == 0
        assert plan.objective == pytest.approx(plan.bound, rel=1e-9)
        facts = oracle.facts_of(made, is_tree=topology == "tree")
        carried = {link: amount for link, amount in links_of(plan.tables).items() if amount}
        assert carried == oracle.link_traffic(facts, brokers_of(plan))

    def test_costs_that_break_the_triangle_inequality(self, caplog):
        around = replace(PLAIN, core=[[0.0, 9.0, 4.0], [9.0, 0.0, 2.0], [4.0, 2.0, 0.0]])
        problem = fw.Wiring(around.workload())
        with caplog.at_level(logging.WARNING, logger="fanwise.wire.problem"):
            assert problem.arrays.core[0, 1] == 6.0
        assert "1 links cost more than a way around them" in caplog.text
        plan = problem.solve("packing")
        plan.verify()
        assert plan.metrics["shortened"] == 1
        caplog.clear()
        assert fw.Wiring(PLAIN.workload()).num_shortened == 0
        assert not caplog.records

    def test_distances_given_as_a_table_are_no_shortcuts(self):
        places = np.random.default_rng(0).random((12, 2))
        distances = np.linalg.norm(places[:, None] - places[None], axis=2)
        made = replace(PLAIN, access=[[1.0] * 12] * 4, core=distances.tolist())
        assert fw.Wiring(made.workload()).num_shortened == 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=15)
@given(made=wirings(), topology=topologies)
def test_every_algorithm_tells_the_truth(algorithm, made, topology):
    problem = fw.Wiring(made.workload(), topology=topology)
    try:
        plan = problem.solve(algorithm)
    except InfeasibleError:
        assert algorithm == "exact"
        assert oracle.optimum(oracle.facts_of(made)) is None
        return
    if plan.feasible:
        assert plan.verify().is_bound_checked
    else:  # whatever else it says is true
        with pytest.raises(VerificationError, match=r"^capacity: "):
            plan.verify()
    facts = oracle.facts_of(made, is_tree=topology == "tree")
    assert plan.objective == pytest.approx(sum(oracle.cost_of(facts, brokers_of(plan))))
    if plan.feasible:
        assert plan.bound <= plan.objective * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("name", [name for name in BREAKS if "Steiner" not in name])
def test_every_break_is_caught_on_one_tree_too(name):
    made = some_wires(2, brokers=3)
    roomy = replace(made, capacity=[1e9] * 3)
    plan = fw.Wiring(roomy.workload(), topology="tree").solve("random")
    plan.verify()
    failed = [check for check in checks(plan.source, BREAKS[name](plan)) if not check.holds]
    assert failed
    assert failed[0].name != "id"


def test_one_tree_is_not_a_mesh():
    for topology, other in (("mesh", "tree"), ("tree", "mesh")):
        plan = fw.Wiring(some_wires(2).workload(), topology=topology).solve("random")
        plan.verify()
        with pytest.raises(VerificationError, match="traffic"):
            replace(plan, parameters={**plan.parameters, "topology": other}).verify()


def test_row_order_names_and_diffs():
    problem = fw.Wiring(PLAIN.workload(broker_names=["x", "y", "z"]))
    plan, other = problem.solve("packing"), problem.solve("random")
    links = plan.tables["links"]
    turned = replace(
        plan, tables={**plan.tables, "links": links.take(list(range(len(links)))[::-1])}
    )
    assert turned.compute_id() == plan.id
    assert diff_plans(plan, turned).is_empty
    assert not diff_plans(plan, other).is_empty
    named = named_tables(plan, problem.workload)
    assert set(named["links"].column("broker").to_pylist()) <= {"x", "y", "z"}
    assert set(named["links"].column("other").to_pylist()) <= {"x", "y", "z"}
    assert named["attachments"].column("subscriber").to_pylist() == ["s0", "s1", "s2", "s3"]


def test_compare_and_sweep():
    problem = fw.Wiring(PLAIN.workload())
    comparison = compare(problem)
    assert {plan.algorithm for plan in comparison.plans} == set(ALGORITHMS)
    swept = sweep(problem, [{"core_factor": 0.0}, {"core_factor": 1.0}, {"core_factor": 100.0}])
    values = [point.value for point in swept.points]
    assert values == sorted(values)
    assert swept.points[0].metrics["core"] == 0
    assert [point.parameters for point in swept.points][2] == {"core_factor": 100.0}


@pytest.mark.data
def test_acceptance_vectors(shared_data):
    cases = json.loads((shared_data / "acceptance" / "wire.json").read_text())
    assert cases
    for case in cases:
        made = Wires(case["rates"], case["wants"], case["access_costs"], case["broker_costs"],
                     case["capacity"])  # fmt: skip
        problem = fw.Wiring(made.workload())
        cost = attachment_cost(problem.arrays, np.array(case["attachment"], dtype=np.int32))
        assert cost == pytest.approx((case["c1"], case["c2"]), rel=1e-12)
        plan = problem.solve("packing")
        assert brokers_of(plan) == case["packing"]
        assert plan.objective == pytest.approx(case["packing_cost"], rel=1e-12)
        for algorithm in ALGORITHMS:
            plan = problem.solve(algorithm)
            plan.verify()
            assert plan.bound <= case["optimum"] * (1 + 1e-9)
            assert not plan.feasible or plan.objective >= case["optimum"] * (1 - 1e-9)


def test_links_add_up_to_the_core_cost():
    rng = np.random.default_rng(7)
    lo = rng.random((60, 2))
    corners = np.array(list(product(np.arange(5) / 4, repeat=2)))
    two = rng.permuted(np.tile(np.arange(25), (60, 1)), axis=1)[:, :2]
    workload = fw.ContentWorkload.from_arrays(
        lo,
        lo + 0.4 * rng.random((60, 2)),
        rng.random((60, 3)),
        rng.random((6, 3)),
        channels=(corners, corners + 0.25),
        rates=(np.repeat(np.arange(60), 2), two.reshape(-1), rng.random(120)),
    )
    for topology in ("mesh", "tree"):
        problem = fw.Wiring(workload, topology=topology)
        plan = problem.solve("random", seed=3)
        plan.verify()
        arrays = problem.arrays
        state = make_state(arrays, np.array(brokers_of(plan), dtype=np.int32))
        assert link_traffic(arrays, state) @ arrays.links.cost == pytest.approx(state.totals[1])
        assert plan.objective == pytest.approx(state.cost)
