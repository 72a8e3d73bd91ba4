"""Each algorithm against its plain twin, step by step, and what it is for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import wire_oracle as oracle
from tests.wire.small_wirings import Wires, some_wires, wirings
from tests.wire.test_problem import PLAIN, brokers_of

import fanwise as fw
from fanwise.errors import ParameterError
from fanwise.planning.problem import Run
from fanwise.wire import clustering, migration, packing, random_wiring, steiner_mixing
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.state import make_state
from fanwise.wire.tree_growing import grow_from, make_growth

pytestmark = pytest.mark.kernels

topologies = st.sampled_from(["mesh", "tree"])


@settings(max_examples=60)
@given(wirings(max_users=7))
def test_packing_is_the_oracles(made):
    problem = fw.Wiring(made.workload())
    assert packing.attach(problem).tolist() == oracle.packing(oracle.facts_of(made))


@settings(max_examples=60)
@given(wirings(max_users=8))
def test_clustering_is_the_oracles(made):
    problem = fw.Wiring(made.workload())
    assert clustering.attach(problem).tolist() == oracle.clustering(oracle.facts_of(made))


@settings(max_examples=30)
@given(made=wirings(max_users=8))
def test_clustering_with_tight_bounds_is_the_same(made):
    """As after patience ran out at each broker in turn."""
    arrays = fw.Wiring(made.workload()).arrays
    sent = clustering.sum_sent(arrays)
    loose = sent + sent.max(initial=0.0)
    tight = np.minimum(loose, clustering.largest_traffic(arrays) * clustering.LOOSE)
    plain, stepped = (np.full(arrays.num_users, -1, dtype=np.int32) for _ in range(2))
    assert clustering.seed_brokers(arrays, 0, sent, loose, plain, 10**9) == arrays.num_brokers
    at = 0
    while at < arrays.num_brokers:
        at = clustering.seed_brokers(arrays, at, sent, tight, stepped, -1)
    assert stepped.tolist() == plain.tolist()
    facts = oracle.facts_of(made)
    pairs = [[oracle.between(facts, i, j) for j in facts.users if j != i] for i in facts.users]
    assert clustering.largest_traffic(arrays).tolist() == [max(row, default=0.0) for row in pairs]


def test_patience_runs_out_where_all_costs_are_alike(monkeypatch):
    rng = np.random.default_rng(2)
    made = Wires(
        rates=rng.integers(0, 5, (12, 3)).astype(float).tolist(),
        wants=rng.integers(0, 2, (12, 3)).tolist(),
        access=[[1.0] * 4] * 12,
        core=[[0.0] * 4] * 4,
    )
    monkeypatch.setattr(clustering, "PATIENCE", 0)
    calls = []
    tighten = clustering.largest_traffic

    def largest_traffic(arrays: WiringArrays):
        calls.append(1)
        return tighten(arrays)

    monkeypatch.setattr(clustering, "largest_traffic", largest_traffic)
    found = clustering.attach(fw.Wiring(made.workload()))
    assert calls
    assert found.tolist() == oracle.clustering(oracle.facts_of(made))


@settings(max_examples=60)
@given(st.data(), wirings(max_users=7, max_brokers=5))
def test_trees_are_the_oracles(data, made):
    arrays = fw.Wiring(made.workload()).arrays
    facts = oracle.facts_of(made)
    everybody = list(facts.users)
    users = sorted(data.draw(st.sets(st.sampled_from(everybody), min_size=1)))
    source = data.draw(st.integers(0, len(users) - 1))
    growth = make_growth(len(users), arrays.num_brokers)
    grow_from(arrays, np.array(users, dtype=np.int32), source, growth)
    expected = oracle.grow(facts, users, users[source])
    assert growth.chosen[: len(users)].tolist() == [expected[user] for user in users]


def test_trees_by_brokers_that_come_nearer_one_after_the_other():
    rng = np.random.default_rng(5)
    count, users = 40, 30
    core = np.abs(np.subtract.outer(np.arange(count), np.arange(count))).astype(float)
    access = 100.0 * (1 + np.arange(count)[::-1]) + rng.integers(0, 9, (users, count))
    made = Wires(rates=[[1.0]] * users, wants=[[1]] * users, access=access.tolist(),
                 core=core.tolist())  # fmt: skip
    growth = make_growth(users, count)
    grow_from(fw.Wiring(made.workload()).arrays, np.arange(users, dtype=np.int32), 3, growth)
    found = oracle.grow(oracle.facts_of(made), list(range(users)), 3)
    assert growth.chosen.tolist() == [found[user] for user in range(users)]


@settings(max_examples=40)
@given(wirings(max_users=6), st.booleans(), st.integers(0, 3))
def test_steiner_mixing_is_the_oracles(made, per_publisher, seed):
    problem = fw.Wiring(made.workload())
    found = steiner_mixing.attach(problem, np.random.default_rng(seed), per_publisher=per_publisher)
    draws = np.random.default_rng(seed).random(len(made.rates)).tolist()
    expected = oracle.steiner_mixing(oracle.facts_of(made), draws, per_publisher)
    assert found.tolist() == expected


@settings(max_examples=25)
@given(wirings(max_users=5), topologies, st.sampled_from(["packing", "random", "clustering"]))
def test_migration_is_the_oracles(made, topology, start):
    problem = fw.Wiring(made.workload(), topology=topology)
    facts = oracle.facts_of(made, is_tree=topology == "tree")
    begun = {
        "packing": lambda: oracle.packing(facts),
        "clustering": lambda: oracle.clustering(facts),
        "random": lambda: random_wiring.attach(problem, Run().random()).tolist(),
    }[start]()
    plan = problem.solve("migration", start=start)
    assert brokers_of(plan) == oracle.migration(facts, begun)


@pytest.mark.parametrize("seed", range(6))
def test_all_are_the_oracles_with_more_brokers(seed):
    made = some_wires(seed)
    problem, facts = fw.Wiring(made.workload()), oracle.facts_of(made)
    arrays = problem.arrays
    assert packing.attach(problem).tolist() == oracle.packing(facts)
    assert clustering.attach(problem).tolist() == oracle.clustering(facts)
    growth = make_growth(9, 7)
    for source in range(9):
        grow_from(arrays, np.arange(9, dtype=np.int32), source, growth)
        expected = oracle.grow(facts, list(range(9)), source)
        assert growth.chosen.tolist() == [expected[user] for user in range(9)]
    for per_publisher in (False, True):
        found = steiner_mixing.weigh_links(arrays, per_publisher=per_publisher)
        assert as_table(*found) == oracle.mixing_weights(facts, per_publisher)


def as_table(indptr, brokers, weights):
    table = np.zeros((len(indptr) - 1, 7))
    np.add.at(table, (np.repeat(np.arange(len(table)), np.diff(indptr)), brokers), weights)
    return table.tolist()


def test_the_roomiest_of_equals_is_the_first():
    made = replace(PLAIN, capacity=[1.0, 2.0, 2.0])
    assert brokers_of(fw.Wiring(made.workload()).solve("packing"))[0] == 1


class TestMigration:
    def test_no_single_redirection_helps_in_the_end(self):
        plan, problem = some_plan("migration", start="random")
        state = make_state(problem.arrays, np.array(brokers_of(plan), dtype=np.int32))
        assert migration.redirect(problem.arrays, state, np.arange(60), False) == 0
        assert plan.metrics["moves"] > 0
        assert plan.metrics["rounds"] >= 2

    @pytest.mark.parametrize("start", ["packing", "random", "clustering", "steiner-mixing"])
    def test_it_never_ends_above_its_start(self, start):
        begun, _ = some_plan(start)
        assert some_plan("migration", start=start)[0].objective <= begun.objective

    def test_overloaded_brokers_are_relieved_first(self):
        demand = oracle.facts_of(PLAIN).demand
        roomy = replace(PLAIN, capacity=[max(demand)] * 2 + [sum(demand)])
        crowd = make_state(fw.Wiring(roomy.workload()).arrays, np.zeros(4, dtype=np.int32))
        arrays = fw.Wiring(roomy.workload()).arrays
        order = np.argsort(-arrays.demand, kind="stable")
        assert migration.redirect(arrays, crowd, order, True) > 0
        assert (crowd.load <= arrays.capacity).all()

    def test_a_time_limit_of_nothing_keeps_the_start(self):
        problem = fw.Wiring(PLAIN.workload())
        plan = problem.solve("migration", start="random", time_limit=0.0)
        assert brokers_of(plan) == brokers_of(problem.solve("random"))
        plan.verify()

    def test_unknown_starts_are_refused(self):
        with pytest.raises(ParameterError, match="start"):
            fw.Wiring(PLAIN.workload()).solve("migration", start="best")

    def test_an_interruption_keeps_what_there_is(self, monkeypatch):
        def interrupt(arrays, state, order, is_relief):
            if not is_relief:
                raise KeyboardInterrupt
            return 0

        monkeypatch.setattr(migration, "redirect", interrupt)
        plan = fw.Wiring(PLAIN.workload()).solve("migration")
        assert plan.is_interrupted
        plan.verify()


def some_plan(algorithm, **knobs):
    rng = np.random.default_rng(11)
    places = rng.random((6, 2))
    at = rng.random((60, 2))
    made = Wires(
        rates=(rng.random((60, 5)) * (rng.random((60, 5)) < 0.4)).tolist(),
        wants=(rng.random((60, 5)) < 0.3).astype(int).tolist(),
        access=np.linalg.norm(at[:, None] - places[None], axis=2).tolist(),
        core=(20 * np.linalg.norm(places[:, None] - places[None], axis=2)).tolist(),
    )
    problem = fw.Wiring(made.workload())
    return problem.solve(algorithm, **knobs), problem


def test_expensive_cores_turn_the_ranking_around():
    """Mixing beats packing where the core is dear, loses where it costs like access, and does the
    same where it is nearly free: everybody's nearest broker is then next to every tree.
    """
    core_dear = {name: some_plan(name)[0].objective
                 for name in ("packing", "steiner-mixing", "migration")}  # fmt: skip
    assert core_dear["migration"] <= core_dear["steiner-mixing"] < core_dear["packing"]
    _, problem = some_plan("packing")
    alike = fw.Wiring(problem.workload, core_factor=0.05)
    costs = {name: alike.solve(name).objective for name in core_dear}
    assert costs["migration"] <= costs["packing"] < costs["steiner-mixing"]
    free = fw.Wiring(problem.workload, core_factor=0.001)
    assert free.solve("packing").objective == free.solve("steiner-mixing").objective


def test_random_looks_at_nothing():
    plan, problem = some_plan("random")
    other = fw.Wiring(problem.workload, core_factor=7.0, capacity_factor=0.0).solve("random")
    assert brokers_of(plan) == brokers_of(other)
    assert set(brokers_of(plan)) == set(range(6))
