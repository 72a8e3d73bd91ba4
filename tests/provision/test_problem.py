import json
import math
import os
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import provision_oracle as oracle
from tests.provision.breaks import CAUGHT_BY, add_machine, place, rows_of
from tests.strategies import Instance, instances, odd_rates

import fanwise as fw
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.planning.verify import checks
from fanwise.provision.bounds import paper_bound
from fanwise.provision.catalogue import Instance as Machine
from fanwise.provision.description import DESCRIPTION
from fanwise.provision.machines.machine_kernels import Capacity
from fanwise.provision.machines.pack_kernels import pack_first_fit
from fanwise.provision.machines.packing import NO_LIMIT

pytestmark = pytest.mark.kernels

PERIOD = 8.0  # seconds: a machine of c / 1e6 mbps moves c bytes in a period


def tau_of(instance):
    return "column" if isinstance(instance.tau, list) else instance.tau


def small_machine(capacity, usd_per_hour=3600.0):
    return Machine("small", usd_per_hour, capacity / 1e6)


def pose(instance, capacity, sizes=1.0, **options):
    workload = instance.workload(message_bytes=sizes, period_seconds=PERIOD)
    options = {"price_gb_in": 4e7, "price_gb_out": 4e7, "horizon_seconds": 1.0, **options}
    catalogue = [small_machine(capacity)]
    return fw.Provisioning(
        workload, tau=tau_of(instance), instance="small", catalogue=catalogue, **options
    )


def placed(plan):
    names = ("vm", "topic", "subscriber")
    columns = (plan.tables["allocation"].column(name).to_pylist() for name in names)
    return sorted(zip(*columns, strict=True))


@st.composite
def tight_instances(draw, *, max_topics=7, max_subscribers=9):
    """Instances with whole sizes, and machines that hold a few pairs or none."""
    instance = draw(instances(max_topics=max_topics, max_subscribers=max_subscribers))
    count = len(instance.rates)
    alike = st.integers(1, 4).map(lambda size: [float(size)] * count)
    own = st.lists(st.integers(1, 4).map(float), min_size=count, max_size=count)
    capacity = draw(st.one_of(st.integers(1, 400), st.integers(60, 2000)))
    return instance, draw(st.one_of(alike, own)), capacity


@settings(max_examples=150)
@given(tight_instances())
def test_pairs_and_machines_are_the_oracles(case):
    instance, sizes, capacity = case
    problem = pose(instance, capacity, sizes)
    needs = [rate * size for rate, size in zip(instance.rates, sizes, strict=True)]
    chosen = oracle.choose_pairs(instance.rates, needs, instance.interests, instance.tau, capacity)
    if chosen is None:
        with pytest.raises(InfeasibleError, match="too large"):
            problem.solve("gsp+ffbp")
        return
    plan = problem.solve("gsp+ffbp")
    plan.verify()
    expected, loads = oracle.pack_first_fit(chosen, needs, capacity)
    assert placed(plan) == sorted(expected)
    vms = plan.tables["vms"]
    used = vms.column("in_bytes").to_numpy() + vms.column("out_bytes").to_numpy()
    assert used.tolist() == [float(load) for load in loads]
    in_bytes, out_bytes = oracle.traffic(expected, needs)
    assert (plan.metrics["in_bytes"], plan.metrics["out_bytes"]) == (in_bytes, out_bytes)
    money = len(loads) + Fraction(4, 800) * (in_bytes + out_bytes)  # 4e7 $/GB over an eighth
    assert plan.objective == pytest.approx(float(money), rel=1e-12)


@settings(max_examples=75)
@given(tight_instances(max_topics=4, max_subscribers=4), st.sampled_from([0.0, 4e7, 1e9]))
def test_bounds_hold(case, price_gb_in):
    instance, sizes, capacity = case
    problem = pose(instance, capacity, sizes, price_gb_in=price_gb_in)
    paper = paper_bound(problem)
    expected = oracle.paper_bound(
        instance.rates, sizes, instance.interests, instance.tau, capacity, 1, Fraction(4, 800)
    )
    assert paper == pytest.approx(float(expected), rel=1e-12)
    optimum = oracle.optimum_of(problem, instance)
    if optimum is None:
        return
    assert problem.bound() >= paper * (1 - 1e-12)
    assert problem.bound() <= optimum * (1 + 1e-9)
    assert problem.solve().objective >= optimum * (1 - 1e-9)


@settings(max_examples=50)
@given(instances(rates=odd_rates, max_topics=12, max_subscribers=30), st.floats(1.0, 3.0))
def test_odd_rates_verify_on_machines_that_just_fit(instance, factor):
    # The largest topic fills a machine up to a third, or to the brim.
    capacity = 2 * 200.0 * max(instance.rates, default=1.0) * factor
    problem = pose(instance, capacity, 200.0)
    plan = problem.solve()
    plan.verify()
    assert plan.feasible
    assert plan.bound <= plan.objective * (1 + 1e-9)


def test_many_machines_are_the_oracles():
    # Enough of them for the tree to grow several times.
    rng = np.random.default_rng(7)
    rates = np.floor(rng.pareto(1.0, 300) * 10 + 1).clip(max=400).tolist()
    interests = [
        sorted(rng.choice(300, size=int(rng.integers(1, 60)), replace=False).tolist())
        for _ in range(900)
    ]
    instance = Instance(rates, interests, tau=250.0)
    capacity = 900
    plan = pose(instance, capacity).solve("gsp+ffbp")
    plan.verify()
    chosen = oracle.choose_pairs(rates, rates, interests, 250.0, capacity)
    expected, loads = oracle.pack_first_fit(
        [[int(topic) for topic in topics] for topics in chosen], rates, capacity
    )
    assert len(loads) > 200
    assert placed(plan) == sorted(expected)


def test_a_topic_that_fills_a_machine_exactly():
    instance = Instance([36.0], [[0], [0]], tau=36.0)
    plan = pose(instance, 72).solve()
    assert plan.metrics["vms"] == 2
    assert plan.metrics["utilisation"] == pytest.approx(1.0, rel=1e-12)
    assert plan.metrics["split_topics"] == 1
    assert plan.metrics["split_bytes"] == 36
    assert plan.gap == pytest.approx(0, abs=1e-12)  # two copies are forced, and two machines
    one = pose(instance, 108).solve()
    assert (one.metrics["vms"], one.gap) == (1, pytest.approx(0, abs=1e-12))


def test_thousands_of_subscribers_of_one_topic():
    instance = Instance([3.0], [[0]] * 5000, tau=1.0)
    plan = pose(instance, 3 * 101).solve()  # 100 pairs and the incoming copy
    plan.verify()
    assert plan.metrics["vms"] == 50
    assert plan.gap == pytest.approx(0, abs=1e-12)


def test_the_smallest_topic_that_exceeds_what_is_missing_comes_last():
    # 12 + 5 fit 19, then 2 are missing: 3 (id 2) is the smallest that was passed over.
    instance = Instance([12.0, 9.0, 3.0, 5.0, 3.0], [[0, 1, 2, 3, 4]], tau=19.0)
    plan = pose(instance, 1000).solve("gsp+ffbp")
    assert [topic for _, topic, _ in placed(plan)] == [0, 2, 3]


def test_topics_too_large_are_left_out_where_nobody_needs_them():
    instance = Instance([500.0, 30.0, 20.0], [[0, 1], [0, 1, 2]], tau=25.0)
    plan = pose(instance, 100).solve("gsp+best")
    plan.verify()
    assert {topic for _, topic, _ in placed(plan)} == {1, 2}
    assert plan.bound <= plan.objective
    assert plan.metrics["paper_bound"] <= plan.bound


def test_topics_too_large_that_somebody_needs():
    instance = Instance([500.0, 30.0, 20.0], [[0, 1], [0, 2], [0]], tau=25.0)
    workload = instance.workload(
        message_bytes=1.0, period_seconds=PERIOD, topic_names=["Björk", "b", "c"]
    )
    machines = [Machine(name, 1.0, mbps / 1e6) for name, mbps in
                (("huge", 5000), ("small", 100), ("big", 1000), ("medium", 999))]  # fmt: skip

    def solve(catalogue):
        fw.Provisioning(workload, tau=25, instance="small", catalogue=catalogue).solve()

    with pytest.raises(InfeasibleError) as error:
        solve(machines)
    assert str(error.value) == (
        "1 topic ('Björk') is too large for one small, and 2 subscribers cannot reach the "
        "threshold without; the smallest instance that works is big."
    )
    assert error.value.exit_code == 1
    with pytest.raises(InfeasibleError, match=r"no instance of the catalogue works; one of 0\.01"):
        solve(machines[1:2])


def test_sizes_per_topic_and_one_size_for_all():
    instance = Instance([10.0, 10.0], [[0], [1], [0, 1]], tau=10.0)
    workload = instance.workload(message_bytes=[100.0, 300.0])
    own = fw.Provisioning(workload, tau=10).solve()
    assert own.metrics["out_bytes"] == 10 * (100 + 300 + 100)
    assert own.parameters["message_bytes"] is None
    one = fw.Provisioning(workload, tau=10, message_bytes=111).solve()
    assert one.metrics["out_bytes"] == 10 * 3 * 111
    assert one.parameters["message_bytes"] == 111


def test_the_papers_units():
    # 64 mbps for ten days at 200 bytes carry 3.456e10 events; a c3.large costs $36 in ten days.
    days = 10 * 86400.0
    workload = Instance([1e9], [[0]] * 10, tau=1e12).workload(period_seconds=days)
    plan = fw.Provisioning(workload, tau=1e12).solve()
    (capacity,) = plan.tables["vms"].column("capacity_bytes").to_pylist()
    assert capacity / 200 == 3.456e10
    assert plan.metrics["cost_machines"] == pytest.approx(36)
    assert plan.metrics["cost_bandwidth"] == pytest.approx(2.4e-8 * 11e9)
    dearer = fw.Provisioning(workload, tau=1e12, instance="c3.xlarge").solve()
    assert dearer.metrics["cost_machines"] == pytest.approx(72)


def test_money_for_a_horizon_and_two_prices():
    workload = Instance([1e6], [[0], [0]], tau=1).workload(period_seconds=86400)
    day = fw.Provisioning(workload, tau=1, price_gb_in=0.5, price_gb_out=2.0).solve()
    assert day.metrics["cost_incoming"] == pytest.approx(0.2 * 0.5)
    assert day.metrics["cost_outgoing"] == pytest.approx(0.4 * 2.0)
    week = fw.Provisioning(
        workload, tau=1, price_gb_in=0.5, price_gb_out=2.0, horizon_seconds=7 * 86400
    ).solve()
    assert week.objective == pytest.approx(7 * day.objective)
    assert week.bound == pytest.approx(7 * day.bound)
    assert day.parameters["horizon_seconds"] == 86400


def test_messages_of_no_size_still_need_a_machine():
    workload = Instance([5.0, 7.0], [[0], [1]], tau=5).workload(message_bytes=[0.0, 0.0])
    plan = fw.Provisioning(workload, tau=5).solve()
    plan.verify()
    assert plan.metrics["vms"] == 1
    assert plan.gap == 0


def test_subscribers_that_need_nothing_get_nothing():
    instance = Instance([5.0, 7.0], [[0], [1], []], tau=[0.0, 3.0, 9.0])
    plan = fw.Provisioning(instance.workload(), tau="column").solve()
    plan.verify()
    assert placed(plan) == [(0, 1, 1)]
    assert plan.metrics["subscribers"] == 1
    assert plan.parameters["tau"] == "column"


def test_empty_tables_keep_their_types(tmp_path):
    workload = Instance([2.0], [[0]], tau=0.0).workload()
    plan = fw.Provisioning(workload, tau=0).solve()
    plan.save(tmp_path / "plan")
    again = fw.read_plan(tmp_path / "plan", workload)
    again.verify()
    full = fw.Provisioning(workload, tau=1).solve()
    for name, table in again.tables.items():
        assert table.num_rows == 0
        assert table.schema == full.tables[name].schema
    assert again.metrics["utilisation"] is None


def test_table_types():
    plan = fw.Provisioning(Instance([2.0], [[0]], tau=1).workload(), tau=1).solve()
    types = {field.name: str(field.type) for field in plan.tables["vms"].schema}
    assert types == {
        "vm": "int32",
        "instance": "string",
        "usd_per_hour": "double",
        "mbps": "double",
        "capacity_bytes": "double",
        "in_bytes": "double",
        "out_bytes": "double",
    }
    types = {field.name: str(field.type) for field in plan.tables["allocation"].schema}
    assert types == {"vm": "int32", "topic": "int32", "subscriber": "int32"}
    assert plan.algorithm == "best+best"
    assert set(plan.seconds) >= {"select", "pack", "allocate", "bound", "total"}


SPREAD = Instance(
    rates=[13.0, 29.0, 53.0, 101.0, 211.0, 401.0],
    interests=[[0, 2], [1], [0, 1, 3], [2, 4], [5], [1, 3, 5], [4], [0, 4, 5], []],
    tau=97.0,
)


@pytest.mark.parametrize("capacity", [802, 10**6], ids=["several machines", "one machine"])
@pytest.mark.parametrize("name", CAUGHT_BY)
def test_every_break_is_caught_by_its_check(name, capacity):
    plan = pose(SPREAD, capacity).solve()
    assert (plan.metrics["vms"] > 1) == (capacity == 802)
    plan.verify()
    breaks, check = CAUGHT_BY[name]
    failed = next(found for found in checks(plan.source, breaks(plan)) if not found.holds)
    if name == "a machine is missing" and plan.metrics["vms"] == 1:
        check = "known vms"
    assert failed.name == check
    assert failed.problem
    assert "\n" not in failed.problem


def test_a_pair_on_two_machines_is_paid_twice_and_counts_once():
    problem = pose(SPREAD, 802)
    plan = problem.solve()
    machines = add_machine(plan)
    rows = rows_of(plan)
    twice = place(plan, [*rows, (len(machines) - 1, *rows[0][1:])], machines)
    measured = problem.measure(twice.tables)
    assert measured.is_feasible
    price = 4e7 / 1e9 / PERIOD
    extra = 1.0 + 2 * SPREAD.rates[rows[0][1]] * price  # rent, one copy in, one out
    assert measured.objective == pytest.approx(plan.objective + extra)
    instead = [row for row in rows if row[2] != rows[0][2]] + [rows[0]] * 2
    assert not problem.measure(place(plan, instead).tables).is_feasible


def test_row_order_does_not_matter():
    plan = pose(SPREAD, 802).solve()
    rng = np.random.default_rng(1)
    shuffled = {
        name: table.take(rng.permutation(table.num_rows)) for name, table in plan.tables.items()
    }
    again = replace(plan, tables=shuffled)
    again.verify()
    measured = pose(SPREAD, 802).measure({**shuffled, "vms": plan.tables["vms"]})
    assert measured.metrics.items() <= plan.metrics.items()
    assert set(plan.metrics) - set(measured.metrics) == {"cost_above_bound"}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("tau", -1),
        ("tau", math.nan),
        ("tau", "column"),
        ("tau", "row"),
        ("instance", "c3.tiny"),
        ("price_gb_in", -0.1),
        ("price_gb_out", math.inf),
        ("price_gb_out", "0.12"),
        ("message_bytes", 0),
        ("message_bytes", True),
        ("horizon_seconds", 0),
        ("horizon_seconds", math.nan),
    ],
)
def test_bad_parameters_are_refused(option, value):
    workload = Instance([1.0], [[0]], tau=1).workload()
    with pytest.raises(ParameterError, match=option):
        fw.Provisioning(workload, **{"tau": 1.0, option: value})


def test_unknown_algorithms_are_refused():
    problem = fw.Provisioning(Instance([1.0], [[0]], tau=1).workload(), tau=1)
    for name in ("gsp", "ffbp", "gsp+magic", "gsp+ffbp+gsp"):
        with pytest.raises(ParameterError, match="algorithm"):
            problem.solve(name)


@pytest.mark.data
def test_vectors():
    shared = os.environ.get("FANWISE_DATA")
    if not shared:
        pytest.skip("FANWISE_DATA is not set")
    vectors = json.loads((Path(shared) / "acceptance" / "provision.json").read_text())
    assert len(vectors) > 10
    for vector in vectors:
        instance = Instance(
            [float(rate) for rate in vector["rates"]], vector["interests"], vector["tau"]
        )
        workload = instance.workload(message_bytes=1.0, period_seconds=PERIOD)
        price = vector["price_per_event"] * 1e9
        machine = small_machine(vector["vm_capacity"], vector["price_per_vm"] * 3600 / PERIOD)
        problem = fw.Provisioning(
            workload,
            tau=vector["tau"],
            instance="small",
            catalogue=[machine],
            price_gb_in=price,
            price_gb_out=price,
        )
        optimum = vector["optimum_with_at_most_4_vms"]
        ours = oracle.optimum_of(problem, instance)
        best = problem.solve("best+best")
        for select, pack in product(*DESCRIPTION.stages.values()):
            plan = problem.solve(f"{select}+{pack}")
            plan.verify()
            if select == "gsp":
                assert plan.metrics["out_bytes"] == vector["gsp_outgoing"]
                assert plan.metrics["pairs"] == vector["gsp_pairs"]
            assert plan.metrics["paper_bound"] == pytest.approx(vector["paper_lower_bound"])
            assert plan.bound <= ours * (1 + 1e-9)
            assert ours <= plan.objective * (1 + 1e-9)
            if "exact" not in (select, pack):
                assert best.objective <= plan.objective * (1 + 1e-12)
        if optimum is not None:
            assert ours == pytest.approx(optimum, rel=1e-9) or ours < optimum
            assert plan.bound <= optimum * (1 + 1e-9)


def first_fit(topics, needs, limit):
    parts, num_vms = pack_first_fit(
        np.array(topics, dtype=np.int32), needs, Capacity(limit, NO_LIMIT, NO_LIMIT)
    )
    return list(zip(*(column.tolist() for column in parts), strict=True)), num_vms


def test_first_fit_fills_machines_to_the_last_byte():
    # Without any allowance for rounding: equal is enough, for new topics and for old ones.
    needs = np.array([18.0, 9.0, 6.0])
    assert first_fit([0, 1, 1, 1, 2, 2], needs, 72.0) == ([(0, 0, 1), (0, 1, 3), (1, 2, 2)], 2)
    parts, num_vms = first_fit([0, 1, 1, 2, 1], needs, 75.0)
    assert parts == [(0, 0, 1), (0, 1, 2), (0, 2, 1), (1, 1, 1)]
    assert num_vms == 2
    assert first_fit([0, 0, 1], needs, 54.0) == ([(0, 0, 2), (1, 1, 1)], 2)
