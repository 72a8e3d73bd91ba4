"""Pairs and machines decided together: exact is the optimum, best is never behind anything."""

import math
import random
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.oracles import provision_whole_oracle
from tests.provision.random_questions import draw_question, true_optimum
from tests.provision.small_machines import machine, pose, tens_of_topics
from tests.strategies import Instance

import fanwise as fw
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.planning.problem import Run
from fanwise.provision import best as best_plans
from fanwise.provision import exact
from fanwise.provision.catalogue import Instance as Machine
from fanwise.provision.description import DESCRIPTION
from fanwise.provision.machines import exact_packing
from fanwise.provision.machines.packing import total_price
from fanwise.provision.pairs import best_pairs
from fanwise.provision.pairs.charges import charge, prices_with_rent
from fanwise.provision.tiny import table
from fanwise.provision.tiny.program import Program
from fanwise.provision.tiny.table import QUICK, solve_by_table

ALGORITHMS = tuple(
    f"{select}+{pack}"
    for select in DESCRIPTION.stages["select"]
    for pack in DESCRIPTION.stages["pack"]
)
PAPERS = tuple(
    f"{select}+{pack}"
    for select in ("gsp", "rsp")
    for pack in DESCRIPTION.stages["pack"]
    if pack not in ("best", "exact")
)


def three_alike():
    """Three topics of which a machine holds two pairs: who shares with whom decides."""
    workload = fw.TopicWorkload.from_arrays(
        [4.0, 4.0, 4.0], [0, 1, 1, 1, 2, 2, 2, 3], [0, 0, 1, 2, 0, 1, 2, 1], num_subscribers=4
    )
    mbps = 2400 * 8 / 1e6 / workload.period_seconds
    return fw.Provisioning(
        workload, tau=4, instance="one", catalogue=[Machine("one", 0.15, mbps)],
        price_gb_in=0.12, price_gb_out=0.12,
    )  # fmt: skip


@pytest.mark.parametrize("algorithm", ["exact+exact", "best+best"])
def test_pairs_and_machines_are_decided_together(algorithm):
    problem = three_alike()
    plan = problem.solve(algorithm)
    plan.verify()
    assert plan.metrics["vms"] == 2
    assert plan.objective == pytest.approx(true_optimum(problem), rel=1e-12)
    assert plan.stopped == "exhausted"


def test_exact_proves_its_plan():
    plan = three_alike().solve("exact+exact")
    assert plan.bound == pytest.approx(plan.objective, rel=1e-12)
    assert plan.gap == pytest.approx(0, abs=1e-12)
    assert plan.metrics["packing_is_optimal"]


def check_answers(problem, optimum, **limits):
    """Every algorithm's plan against the optimum and against best."""
    costs = {}
    for algorithm in ALGORITHMS:
        try:
            plan = problem.solve(algorithm, seed=1, **limits)
        except InfeasibleError:
            assert optimum is None
            continue
        assert optimum is not None
        plan.verify()
        assert plan.feasible
        assert plan.objective >= optimum * (1 - 2e-9)
        assert plan.bound <= optimum * (1 + 2e-9)
        costs[algorithm] = plan.objective
        if algorithm in ("best+best", "exact+exact"):
            assert plan.objective == pytest.approx(optimum, rel=2e-9)
    for cost in costs.values():
        assert costs["best+best"] <= cost * (1 + 1e-9)


@settings(max_examples=15)
@given(st.integers(0, 2**32))
def test_all_algorithms_on_random_questions(seed):
    problem, optimum_of = draw_question(random.Random(seed))
    check_answers(problem, optimum_of(problem))


@settings(max_examples=5)
@given(st.integers(0, 2**32))
def test_all_algorithms_on_random_questions_without_time(seed):
    problem, optimum_of = draw_question(random.Random(seed))
    check_answers(problem, optimum_of(problem), time_limit=0.0)


@settings(max_examples=25)
@given(st.integers(0, 2**32))
@example(584)  # HiGHS's presolve calls a second machine needed: rates of 1 and 1e6
def test_the_program_is_the_optimum_as_well(seed):
    problem, optimum_of = draw_question(random.Random(seed))
    optimum = optimum_of(problem)
    if optimum is None:
        return
    start = best_plans.solve_by_stages(problem, Run())
    program = Program(problem, start.packing, start.cost)
    found = program.solve(start, Run(), exact.MAX_NODES)
    assert found.stopped == "exhausted"
    assert found.value == pytest.approx(optimum, rel=2e-9)
    assert found.value == pytest.approx(total_price(problem, found.answer.packing), rel=1e-12)
    assert found.bound.value == pytest.approx(optimum, rel=2e-6)


def test_the_table_and_the_program_agree_on_tens_of_pairs():
    for seed in range(6):
        rng = random.Random(seed)
        rates = [float(rng.randint(1, 30)) for _ in range(6)]
        interests = [sorted(rng.sample(range(6), rng.randint(1, 3))) for _ in range(9)]
        kinds = [machine(2 * max(rates) + rng.randint(0, 100)), machine(150, 1.7, "other")]
        instance = Instance(rates, interests, tau=float(rng.randint(5, 60)))
        problem = pose(instance, kinds, rng.choice([0.0, 0.001, 0.01]), instance="auto")
        optimum = solve_by_table(problem)
        start = best_plans.solve_by_stages(problem, Run())
        program = Program(problem, start.packing, start.cost)
        found = program.solve(start, Run(), exact.MAX_NODES)
        assert found.stopped == "exhausted"
        assert found.value == pytest.approx(optimum.cost, rel=1e-9)


def no_tables(monkeypatch):
    monkeypatch.setattr(table, "MAX_PAIRS", -1)


@pytest.mark.parametrize("excess", [1.0, 0.1])
def test_overfull_machines_are_cut_off(monkeypatch, excess):
    """HiGHS would take a load that is too large by less than a millionth."""
    no_tables(monkeypatch)
    instance = Instance([1e7, excess], [[0], [1]], tau=1e9)
    problem = pose(instance, [machine(2e7 + excess)], 0.0)
    for algorithm in ("exact+exact", "gsp+exact"):
        plan = problem.solve(algorithm)
        plan.verify()
        assert plan.metrics["vms"] == 2
    enough = pose(instance, [machine(2e7 + 2 * excess)], 0.0).solve("exact+exact")
    assert enough.metrics["vms"] == 1


def test_subscribers_that_lack_a_little_are_cut_off(monkeypatch):
    """A topic that is short of the threshold by less than HiGHS can tell is not enough."""
    no_tables(monkeypatch)
    instance = Instance([1e8 - 1, 1e8, 1e8 + 7], [[0, 1, 2], [0], [0, 2]], tau=[1e8, 5.0, 1e8])
    problem = pose(instance, [machine(1e9)], 1e-9)
    plan = problem.solve("exact+exact")
    plan.verify()
    assert plan.objective == pytest.approx(true_optimum(problem), rel=1e-12)


@pytest.mark.parametrize("algorithm", ["best+best", "exact+exact"])
@pytest.mark.parametrize("has_table", [True, False])
def test_pairs_are_chosen_for_the_topics_a_machine_takes(monkeypatch, algorithm, has_table):
    """Two subscribers on one topic need one machine; the least traffic needs two."""
    if not has_table:
        no_tables(monkeypatch)
        monkeypatch.setattr(best_plans, "MAX_PAIRS", -1)
    instance = Instance([10.0, 100.0, 0.01], [[0, 1, 2], [0]], tau=0.01)
    plan = pose(instance, [machine(1000, max_topics=1)], 0.0).solve(algorithm)
    plan.verify()
    assert plan.metrics["vms"] == 1


def test_pairs_are_chosen_for_the_connections_a_machine_has(monkeypatch):
    """Two small topics are less traffic than a large one, but twice the connections."""
    no_tables(monkeypatch)
    monkeypatch.setattr(best_plans, "MAX_PAIRS", -1)
    instance = Instance([3.0, 3.0, 7.0], [[0, 1, 2]] * 4, tau=6.0)
    problem = pose(instance, [machine(1000, max_connections=2)], 1e-6)
    plan = problem.solve("best+best")
    plan.verify()
    assert plan.metrics["vms"] == 2
    assert plan.objective == pytest.approx(true_optimum(problem))


def test_followers_of_split_topics_are_not_settled_as_if_copies_were_free():
    """A machine holds two pairs of either topic, and one subscriber needs each.

    Both others on one topic would need a third copy: one joins each.
    """
    instance = Instance([12.0, 12.0], [[0, 1], [0], [0, 1], [1]], tau=8.0)
    problem = pose(instance, [machine(36)])
    charges = charge(problem, *prices_with_rent(problem), 0.0)
    pairs = best_pairs.choose_together(problem, charges, Run())
    assert np.bincount(pairs.indices).tolist() == [2, 2]


def test_a_copy_is_saved_by_several_who_leave_together(monkeypatch):
    """Those who leave one by one save nothing: the copy goes with the last of them."""

    def price_all():
        rng, total = random.Random(3), 0.0
        for _ in range(40):
            rates = [float(rng.randint(8, 12)) for _ in range(5)]
            interests = [sorted(rng.sample(range(5), rng.randint(1, 2))) for _ in range(25)]
            problem = pose(Instance(rates, interests, tau=8.0), [machine(60)], 0.01)
            charges = charge(problem, *prices_with_rent(problem), 0.0)
            pairs = best_pairs.choose_together(problem, charges, Run())
            total += charges.price(np.bincount(pairs.indices, minlength=5))
        return total

    together = price_all()
    monkeypatch.setattr(best_pairs, "shed_copies", lambda *_: 0)
    assert together < 0.998 * price_all()


@pytest.mark.parametrize("has_table", [True, False])
def test_exact_packing_where_rent_is_nothing_beside_traffic(monkeypatch, has_table):
    if not has_table:
        no_tables(monkeypatch)
    instance = Instance([9.0, 8.0, 6.0], [[0, 2], [1]], tau=1e9)
    workload = instance.workload(message_bytes=200.0)
    mbps = 200 * 9 * 3 / 0.8 * 8 / 1e6 / workload.period_seconds
    problem = fw.Provisioning(
        workload,
        tau=1e9,
        instance="one",
        catalogue=[Machine("one", 1e-9, mbps, max_connections=2)],
        price_gb_in=1e6,
        reserve=0.2,
    )
    plan = problem.solve("gsp+exact")
    plan.verify()
    assert plan.metrics["packing_is_optimal"]
    assert plan.objective == pytest.approx(true_optimum(problem))


@pytest.mark.parametrize("has_types", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_what_the_paper_can_do_comes_first_whatever_the_limit(monkeypatch, seed, has_types):
    no_tables(monkeypatch)
    instance, capacity = tens_of_topics(seed, 8 + 4 * seed)
    kinds = [machine(capacity), machine(1.6 * capacity, 1.5, "other")]
    name = "auto" if has_types else "small"
    price = (0.0, 0.0005, 0.02, 0.3)[seed % 4]
    problem = pose(instance, kinds, price, instance=name)
    best = problem.solve("best+best", seed=seed, time_limit=0.0)
    best.verify()
    assert best.stopped == "limit"
    assert best.limits["time_limit"] == 0
    for algorithm in PAPERS:
        plan = problem.solve(algorithm, seed=seed)
        assert best.objective <= plan.objective * (1 + 1e-12)
    for select in ("gsp", "rsp"):
        packed = problem.solve(f"{select}+best", seed=seed, time_limit=0.0)
        for pack in ("ffbp", "group", "cbp"):
            alone = problem.solve(f"{select}+{pack}", seed=seed)
            assert packed.objective <= alone.objective * (1 + 1e-12)


def test_an_interrupted_search_keeps_its_best_plan(monkeypatch):
    def interrupt(problem, run):
        raise KeyboardInterrupt

    no_tables(monkeypatch)
    instance, capacity = tens_of_topics(2, 20)
    problem = pose(instance, [machine(capacity)])
    monkeypatch.setattr(best_pairs, "choose_ways", interrupt)
    plan = problem.solve("best+best")
    plan.verify()
    assert plan.is_interrupted
    assert plan.stopped == "interrupted"
    assert plan.objective <= problem.solve("gsp+cbp").objective


@pytest.mark.parametrize("algorithm", ["exact+exact", "gsp+exact"])
def test_a_gap_is_no_proof(monkeypatch, algorithm):
    """With half of everything allowed the solver stops at once: that proves nothing."""
    no_tables(monkeypatch)
    for seed in range(6):
        instance, capacity = tens_of_topics(seed, 6)
        instance = Instance(instance.rates, instance.interests[:9], instance.tau)
        problem = pose(instance, [machine(capacity // 2 + 150)], 0.001)
        if problem.needs.max() * 2 > problem.capacity_bytes:
            continue
        plan = problem.solve(algorithm, gap=0.5)
        plan.verify()
        tight = problem.solve(algorithm)
        assert tight.metrics["packing_is_optimal"]
        if plan.objective > tight.objective * (1 + 1e-9):
            assert not plan.metrics["packing_is_optimal"]
        assert plan.metrics["packing_is_optimal"] == (plan.stopped == "exhausted")
        assert plan.stopped in ("gap", "exhausted")


def test_time_runs_out(monkeypatch):
    no_tables(monkeypatch)
    instance, capacity = tens_of_topics(4, 12)
    instance = Instance(instance.rates, instance.interests[:14], instance.tau)
    problem = pose(instance, [machine(capacity)], 0.01)
    plan = problem.solve("exact+exact", time_limit=0.0)
    plan.verify()
    assert plan.stopped == "limit" or plan.metrics["packing_is_optimal"]
    assert plan.bound <= plan.objective * (1 + 1e-9)


def test_limits_that_nobody_gave_are_said(monkeypatch):
    no_tables(monkeypatch)
    for algorithm, nodes in (("exact+exact", exact.MAX_NODES), ("best+best", best_plans.MAX_NODES)):
        plan = three_alike().solve(algorithm)
        assert plan.limits == {"work": nodes}
        assert "work" not in plan.parameters


def test_nodes_are_counted_in_all_rounds(monkeypatch):
    no_tables(monkeypatch)
    instance, capacity = tens_of_topics(4, 12)
    problem = pose(Instance(instance.rates, instance.interests[:14], instance.tau),
                   [machine(capacity)], 0.01)  # fmt: skip
    start = best_plans.solve_by_stages(problem, Run())
    found = Program(problem, start.packing, start.cost).solve(start, Run(), 1)
    assert found.stopped in ("work", "exhausted")
    assert found.work <= 1
    assert found.value <= start.cost


def test_exact_says_what_is_too_large():
    rng = np.random.default_rng(0)
    rates = rng.integers(1, 100, 200).astype(float).tolist()
    interests = [sorted(rng.choice(200, 5, replace=False).tolist()) for _ in range(100)]
    problem = pose(Instance(rates, interests, tau=1e9), [machine(400)])
    with pytest.raises(ParameterError, match=r"'best\+best' above 300 interests") as error:
        problem.solve("exact+exact")
    assert error.value.exit_code == 2
    fewer = pose(Instance(rates, interests[:55], tau=1e9), [machine(400)])
    with pytest.raises(ParameterError, match=r"columns") as error:
        fewer.solve("exact+exact")
    assert error.value.exit_code == 2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("off", "fits"), [(0.0, True), (9e-10, True), (1.1e-9, False)])
def test_the_edge_of_a_capacity_is_the_same_everywhere(algorithm, off, fits):
    """Three pairs of one topic, on a machine that is short of them by a hair."""
    instance = Instance([7.0], [[0]] * 3, tau=7.0)
    plan = pose(instance, [machine(28 * (1 - off))]).solve(algorithm)
    plan.verify()
    assert plan.metrics["vms"] == (1 if fits else 2)
    alone = pose(Instance([7.0], [[0]], tau=7.0), [machine(14 * (1 - off))])
    if fits:
        plan = alone.solve(algorithm)
        plan.verify()
        assert plan.objective == pytest.approx(true_optimum(alone))
    else:
        assert true_optimum(alone) is None
        with pytest.raises(InfeasibleError):
            alone.solve(algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("off", [9e-10, 1.1e-9])
def test_the_edge_of_a_threshold_is_the_same_everywhere(algorithm, off):
    instance = Instance([10.0 * (1 - off), 30.0], [[0, 1]], tau=10.0)
    problem = pose(instance, [machine(1000)])
    plan = problem.solve(algorithm, seed=1)
    plan.verify()
    if algorithm.startswith(("best", "exact")):
        assert plan.objective == pytest.approx(true_optimum(problem))
        assert plan.tables["allocation"].column("topic").to_pylist() == [0 if off < 1e-9 else 1]


def test_a_tiny_type_beside_a_large_one():
    """Nobody makes up fleets of a million machines for a dozen pairs."""
    instance = Instance([1e6, 1.0, 1.0], [[0], [1, 2], [2]] * 4, tau=1e9)
    kinds = [machine(2, 0.0, "tiny"), machine(4e6, 1.0, "large")]
    plan = pose(instance, kinds, 1e-9, instance="auto").solve("gsp+best")
    plan.verify()
    assert plan.metrics["vms"] <= 12


def test_the_oracle_on_a_plan_worked_by_hand():
    """Two pairs a machine: three subscribers of one topic are two machines and two copies."""
    money = provision_whole_oracle.least_money(
        [10], [10], [[0], [0], [0]], [10, 10, 10], [(30, 5, math.inf, math.inf)], 1, 2
    )
    assert money == 2 * 5 + 2 * 10 * 1 + 3 * 10 * 2
    none = provision_whole_oracle.least_money(
        [10], [10], [[0]], [10], [(19, 5, math.inf, math.inf)], 1, 2
    )
    assert none is None


def test_tables_are_refused_by_size():
    instance = Instance([1.0 + t for t in range(14)], [[t] for t in range(14)] * 2, tau=1e9)
    problem = pose(instance, [machine(1000)])
    assert solve_by_table(problem, QUICK) is None
    wide = Instance([1.0 + t for t in range(13)], [list(range(13))], tau=20.0)
    assert solve_by_table(pose(wide, [machine(1000)])) is None
    many = Instance([1.0], [[0]] * 65, tau=1.0)
    assert solve_by_table(pose(many, [machine(1000)])) is None


def test_exact_packing_by_table_and_by_program_agree(monkeypatch):
    for seed in range(4):
        instance, capacity = tens_of_topics(seed, 6)
        instance = Instance(instance.rates, instance.interests[:10], instance.tau)
        problem = pose(instance, [machine(capacity)], 0.002)
        by_table = problem.solve("gsp+exact")
        with monkeypatch.context() as patch:
            patch.setattr(exact_packing, "pack_by_table", partial(lambda *_: None))
            by_program = problem.solve("gsp+exact")
        assert by_table.metrics["packing_is_optimal"]
        assert by_program.metrics["packing_is_optimal"]
        assert by_table.objective == pytest.approx(by_program.objective, rel=1e-9)
