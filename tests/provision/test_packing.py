"""The packing algorithms against plain twins, exact optima and each other."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import provision_oracle, provision_pack_oracle
from tests.provision.small_machines import machine, pose, tens_of_topics
from tests.strategies import Instance, instances

from fanwise.errors import ParameterError
from fanwise.planning.problem import Run
from fanwise.provision.description import DESCRIPTION
from fanwise.provision.machines import best_packing
from fanwise.provision.machines.machine_kernels import order_falling
from fanwise.provision.pairs import best_pairs

RUNGS = ("group", "expensive-first", "most-free", "cbp")
PRICES = (0.0, 0.01, 0.25, 2.0)
"""Dollars for a byte of traffic, where a machine costs one."""


def rows_of(plan):
    names = ("vm", "topic", "subscriber")
    columns = (plan.tables["allocation"].column(name).to_pylist() for name in names)
    return sorted(zip(*columns, strict=True))


def count(chosen, num_topics):
    return [sum(topic in topics for topics in chosen) for topic in range(num_topics)]


@st.composite
def tight(draw, *, max_topics=8, max_subscribers=12):
    """An instance, sizes of its messages, and a machine that holds a few pairs, maybe limited."""
    instance = draw(instances(max_topics=max_topics, max_subscribers=max_subscribers))
    number = len(instance.rates)
    own = st.lists(st.integers(1, 4).map(float), min_size=number, max_size=number)
    sizes = draw(st.one_of(st.just([1.0] * number), own))
    largest = max((r * s for r, s in zip(instance.rates, sizes, strict=True)), default=1.0)
    capacity = int(2 * largest) + draw(st.one_of(st.integers(0, 40), st.integers(0, 400)))
    limit = st.one_of(st.none(), st.none(), st.integers(1, 9))
    return instance, sizes, machine(capacity, max_topics=draw(limit), max_connections=draw(limit))


def oracle_limits(kind):
    return {
        "max_topics": kind.max_topics or math.inf,
        "max_pairs": kind.max_connections or math.inf,
    }


def oracle_inputs(problem, instance, sizes, kind):
    needs = [rate * size for rate, size in zip(instance.rates, sizes, strict=True)]
    capacity = round(kind.mbps * 1e6)
    chosen = provision_oracle.choose_pairs(
        instance.rates, needs, instance.interests, instance.tau, capacity
    )
    return needs, capacity, chosen


@st.composite
def crowded(draw):
    """An instance that fills several machines, with topics of few and of many followers."""
    num_topics = draw(st.integers(4, 10))
    rates = [float(draw(st.integers(1, 30))) for _ in range(num_topics)]
    followers = [draw(st.integers(1, 12)) for _ in range(num_topics)]
    interests = [
        [topic for topic in range(num_topics) if subscriber < followers[topic]]
        for subscriber in range(max(followers))
    ]
    capacity = int(2 * max(rates)) + draw(st.integers(0, 60))
    return Instance(rates, interests, tau=1e9), [1.0] * num_topics, machine(capacity)


@settings(max_examples=100)
@given(
    case=st.one_of(tight(), crowded()),
    price=st.sampled_from(PRICES),
    rung=st.sampled_from(RUNGS),
    order=st.sampled_from(["rate", "volume"]),
)
def test_rungs_are_the_oracles(case, price, rung, order):
    instance, sizes, kind = case
    problem = pose(instance, [kind], price, sizes)
    needs, capacity, chosen = oracle_inputs(problem, instance, sizes, kind)
    machines = provision_pack_oracle.ladder(
        count(chosen, len(needs)), needs, capacity, rung, 1, Fraction(str(price)),
        **oracle_limits(kind), order=order,
    )  # fmt: skip
    plan = problem.solve(f"gsp+{rung}", **({} if rung == "group" else {"order": order}))
    plan.verify()
    assert rows_of(plan) == provision_pack_oracle.allocate(machines, chosen)


@settings(max_examples=75)
@given(case=tight())
def test_first_fit_is_the_oracles(case):
    instance, sizes, kind = case
    problem = pose(instance, [kind], 0.01, sizes)
    needs, capacity, chosen = oracle_inputs(problem, instance, sizes, kind)
    machines, placed = provision_pack_oracle.first_fit(
        chosen, needs, capacity, **oracle_limits(kind)
    )
    plan = problem.solve("gsp+ffbp")
    plan.verify()
    assert rows_of(plan) == sorted(placed)
    # The same by counts alone: subscribers in ascending id to machines in ascending number.
    assert rows_of(plan) == provision_pack_oracle.allocate(machines, chosen)


@settings(max_examples=30)
@given(
    case=tight(max_topics=4, max_subscribers=4),
    price=st.sampled_from(PRICES),
    other=st.one_of(st.none(), st.tuples(st.integers(1, 3), st.integers(1, 12))),
)
def test_exact_is_the_optimum_and_nothing_is_below(case, price, other):
    instance, sizes, kind = case
    capacity = round(kind.mbps * 1e6)
    catalogue, types = [kind], [kind]
    if other is not None:
        factor, quarters = other
        more = machine(capacity * factor, quarters / 4, "other")
        catalogue, types = [kind, more], [kind, more]
    name = "auto" if other is not None else kind.instance
    problem = pose(instance, catalogue, price, sizes, instance=name)
    needs, _, chosen = oracle_inputs(problem, instance, sizes, kind)
    counts = count(chosen, len(needs))
    optimum = provision_pack_oracle.cheapest_packing(
        counts, needs,
        [(round(t.mbps * 1e6), Fraction(t.usd_per_hour) / 3600, *oracle_limits(t).values())
         for t in types],
        Fraction(str(price)),
    )  # fmt: skip
    outgoing = sum((Fraction(n) * Fraction(s) for n, s in zip(counts, needs, strict=True)),
                   Fraction(0)) * Fraction(str(price))  # fmt: skip
    least = float(optimum + outgoing)
    exact = problem.solve("gsp+exact")
    exact.verify()
    assert exact.objective == pytest.approx(least, rel=1e-9)
    if exact.metrics["vms"]:
        assert exact.metrics["packing_is_optimal"]
    for pack in DESCRIPTION.stages["pack"]:
        plan = problem.solve(f"gsp+{pack}")
        plan.verify()
        assert plan.objective >= least * (1 - 1e-9)
        assert plan.bound <= plan.objective * (1 + 1e-9)


@settings(max_examples=30)
@given(
    case=tight(max_topics=10, max_subscribers=16),
    price=st.sampled_from(PRICES),
    factor=st.sampled_from([1.5, 2.0, 3.0]),
    rent=st.sampled_from([1.2, 1.9, 2.0, 3.5]),
    seed=st.integers(0, 3),
)
def test_best_is_never_dearer(case, price, factor, rent, seed):
    instance, sizes, kind = case
    more = machine(round(kind.mbps * 1e6 * factor), rent, "other")
    catalogue = [kind, more]
    single = []
    for name in (kind.instance, "other"):
        problem = pose(instance, catalogue, price, sizes, instance=name)
        best = problem.solve("best+best", seed=seed)
        best.verify()
        packs = [pack for pack in DESCRIPTION.stages["pack"] if pack != "exact"]
        for select in ("gsp", "rsp"):
            plans = [problem.solve(f"{select}+{pack}", seed=seed) for pack in packs]
            for plan in plans:
                assert plans[packs.index("best")].objective <= plan.objective * (1 + 1e-12)
                assert best.objective <= plan.objective * (1 + 1e-12)
        single.append(best.objective)
    mix = pose(instance, catalogue, price, sizes, instance="auto")
    for algorithm in ("best+best", "gsp+best", "gsp+cbp", "rsp+ffbp"):
        plan = mix.solve(algorithm, seed=seed)
        plan.verify()
        assert plan.bound <= plan.objective * (1 + 1e-9)
        for name in (kind.instance, "other"):
            alone = pose(instance, catalogue, price, sizes, instance=name)
            assert plan.objective <= alone.solve(algorithm, seed=seed).objective * (1 + 1e-12)
    assert mix.solve("best+best", seed=seed).objective <= min(single) * (1 + 1e-12)


def test_best_packs_what_other_first_stages_choose_too():
    """The pairs with the least traffic fill four machines here, those of gsp three."""
    instance = Instance([19.0, 13.0, 10.0, 11.0], [[0, 2, 3], [2], [0, 1, 2, 3]], tau=24.0)
    problem = pose(instance, [machine(45)], 0.0001)
    alone = best_packing.pack(problem, best_pairs.choose_pairs(problem, Run()), Run())
    assert len(alone.machines) == 4
    plan = problem.solve("best+best")
    plan.verify()
    assert plan.metrics["vms"] == 3
    assert plan.objective <= problem.solve("gsp+cbp").objective


@pytest.mark.parametrize("price", [0.0001, 0.005, 0.1])
def test_best_is_within_two_percent_of_the_optimum_on_average(price):
    ratios = []
    for seed in range(10):
        instance, capacity = tens_of_topics(seed, 10 + 3 * seed)
        problem = pose(instance, [machine(capacity)], price)
        best, exact = (problem.solve(f"gsp+{pack}", time_limit=5) for pack in ("best", "exact"))
        assert exact.objective <= best.objective * (1 + 1e-12)
        incoming = {plan: plan.objective - plan.metrics["cost_outgoing"] for plan in (best, exact)}
        ratios.append(incoming[best] / incoming[exact])
    assert np.mean(ratios) < 1.02


@pytest.mark.parametrize(
    ("numbers", "is_partition"),
    [
        ([3, 1, 1, 2, 2, 1], True),
        ([8, 7, 6, 5, 4], True),
        ([8, 7, 6, 5, 5], False),
        ([3, 3, 2, 2, 1], False),
        ([9, 9, 7, 7, 5, 5, 3, 3], True),
        ([12, 5, 5, 5, 5], False),
    ],
)
@pytest.mark.parametrize("algorithm", ["gsp+exact", "gsp+best", "best+best"])
def test_partition(numbers, is_partition, algorithm):
    """Rent 1, traffic free: two machines if and only if the numbers fall into equal halves.

    A topic with one follower moves twice its rate: the sum of the numbers is half of all traffic.
    """
    instance = Instance(
        [float(number) for number in numbers], [[t] for t in range(len(numbers))], tau=1e9
    )
    plan = pose(instance, [machine(sum(numbers))], 0.0).solve(algorithm)
    plan.verify()
    assert plan.metrics["vms"] == (2 if is_partition else 3)
    assert plan.objective == pytest.approx(2 if is_partition else 3)


@pytest.mark.parametrize("pack", DESCRIPTION.stages["pack"])
def test_odd_shapes(pack):
    exactly = pose(Instance([36.0], [[0], [0]], tau=36.0), [machine(72)])
    plan = exactly.solve(f"gsp+{pack}")
    assert (plan.metrics["vms"], plan.metrics["split_bytes"]) == (2, 36)
    assert plan.metrics["cost_splits"] == pytest.approx(0.36)
    assert plan.gap == pytest.approx(0, abs=1e-9)

    alike = pose(Instance([5.0] * 6, [[t] for t in range(6)], tau=5.0), [machine(20)])
    plan = alike.solve(f"gsp+{pack}")
    assert (plan.metrics["vms"], plan.metrics["split_topics"]) == (3, 0)

    one = pose(Instance([5.0, 9.0], [[0, 1]], tau=14.0), [machine(28)])
    assert one.solve(f"gsp+{pack}").metrics["vms"] == 1

    many = pose(Instance([3.0], [[0]] * 5000, tau=1.0), [machine(3 * 101)])
    plan = many.solve(f"gsp+{pack}")
    plan.verify()
    assert plan.metrics["vms"] == 50
    assert rows_of(plan) == [(v // 100, 0, v) for v in range(5000)]

    no_size = pose(Instance([5.0, 7.0], [[0], [1], [1]], tau=5), [machine(50)], sizes=[0.0, 0.0])
    plan = no_size.solve(f"gsp+{pack}")
    plan.verify()
    assert plan.metrics["vms"] == 1


def test_many_machines_are_the_oracles():
    # Enough machines and parts for every array to grow.
    rng = np.random.default_rng(7)
    rates = np.floor(rng.pareto(1.0, 300) * 10 + 1).clip(max=400).tolist()
    interests = [
        sorted(rng.choice(300, size=int(rng.integers(1, 60)), replace=False).tolist())
        for _ in range(900)
    ]
    instance = Instance(rates, interests, tau=250.0)
    problem = pose(instance, [machine(900)], 0.25)
    chosen = provision_oracle.choose_pairs(rates, rates, interests, 250.0, 900)
    for rung in RUNGS:
        machines = provision_pack_oracle.ladder(
            count(chosen, 300), rates, 900, rung, 1, Fraction(1, 4)
        )
        assert len(machines) > 150
        plan = problem.solve(f"gsp+{rung}")
        assert rows_of(plan) == provision_pack_oracle.allocate(machines, chosen)


def test_open_machines_are_used_again_from_the_third_rung_on():
    """Worked by hand, on machines of 60: topics of 18, 42, 24 and 40 bytes with their copies.

    In the order of ids, 18 and 42 fill a machine, 24 and 40 take one each. By rate, 40 and 18 share
    one, 42 and 24 take one each; but in (d) the machine of 42 has room for three of the five pairs
    of 24. In (e) that saves no machine, and a copy costs something.
    """
    instance = Instance([9.0, 6.0, 4.0, 10.0], [[0], *[[1]] * 6, *[[2]] * 5, *[[3]] * 3], tau=99.0)
    problem = pose(instance, [machine(60)], 0.01)
    found = {rung: problem.solve(f"gsp+{rung}") for rung in RUNGS}
    assert [found[rung].metrics["vms"] for rung in RUNGS] == [3, 3, 3, 3]
    apart = {rung: [found[rung].tables["vms"].column(name).to_pylist() for name in
                    ("in_bytes", "out_bytes")] for rung in RUNGS}  # fmt: skip
    assert apart["group"] == [[15, 4, 10], [45, 20, 30]]
    assert apart["expensive-first"] == apart["cbp"] == [[19, 6, 4], [39, 36, 20]]
    assert apart["most-free"] == [[19, 10, 4], [39, 48, 8]]


@pytest.mark.parametrize("rung", RUNGS[1:])
def test_the_printed_order_takes_the_largest_volume_first(rung):
    """Topic 1 has the smaller rate and more of all bytes: it is on the first machine then."""
    instance = Instance([9.0, 4.0], [[0], *[[1]] * 6], tau=99.0)
    problem = pose(instance, [machine(30)], 0.01)
    by_rate = problem.solve(f"gsp+{rung}")
    by_volume = problem.solve(f"gsp+{rung}", order="volume")
    by_volume.verify()
    first = [rows_of(plan)[0][1] for plan in (by_rate, by_volume)]
    assert first == [0, 1]
    assert [plan.parameters["order"] for plan in (by_rate, by_volume)] == ["rate", "volume"]
    with pytest.raises(ParameterError, match="rate, volume"):
        problem.solve(f"gsp+{rung}", order="size")


def test_the_ladder_and_the_decision_by_cost():
    """Worked by hand: four pairs of traffic 6 on machines of 30, beside a topic of traffic 9."""
    instance = Instance([9.0, 6.0], [[0], [1], [1], [1], [1]], tau=100.0)
    # The first machine has 30 - 18 = 12 left: one pair of 6 and its copy; a new one holds four.
    assert pose(instance, [machine(30)], 0.0).solve("gsp+most-free").metrics["split_topics"] == 1
    for price in (0.0, 0.01, 1.0):
        plan = pose(instance, [machine(30)], price).solve("gsp+cbp")
        assert (plan.metrics["vms"], plan.metrics["split_topics"]) == (2, 0)
    # With a fifth pair two new machines would be needed: distributing saves one for one copy.
    more = Instance([9.0, 6.0], [[0], [1], [1], [1], [1], [1]], tau=100.0)
    cheap = pose(more, [machine(30)], 0.01).solve("gsp+cbp")
    assert (cheap.metrics["vms"], cheap.metrics["split_topics"]) == (2, 1)
    # Six pairs: both open machines take one, a new one four, for one more copy than on two new
    # ones: cheaper while a copy of 6 bytes costs less than a machine.
    both = Instance([9.0, 9.0, 6.0], [[0], [1], *[[2]] * 6], tau=100.0)
    for price, num_vms in ((0.16, 3), (0.17, 4)):
        plan = pose(both, [machine(30)], price).solve("gsp+cbp")
        assert plan.metrics["vms"] == num_vms


def test_exact_refuses_what_is_too_large():
    rng = np.random.default_rng(0)
    rates = rng.integers(1, 100, 400).astype(float).tolist()
    interests = [sorted(rng.choice(400, 5, replace=False).tolist()) for _ in range(300)]
    problem = pose(Instance(rates, interests, tau=1e9), [machine(400)])
    with pytest.raises(ParameterError, match="topics times machines") as error:
        problem.solve("gsp+exact")
    assert error.value.exit_code == 2


def test_exact_keeps_the_start_within_no_time():
    instance, capacity = tens_of_topics(1, 30)
    problem = pose(instance, [machine(capacity // 2 + 200)], 0.01)
    plan = problem.solve("gsp+exact", time_limit=0.0)
    plan.verify()
    assert plan.metrics["packing_is_optimal"] in (True, False)


@given(st.lists(st.floats(0, 1e300, allow_nan=False) | st.sampled_from([0.0, 1.0, 2.0, 5e-324])))
def test_order_falling_is_a_stable_sort(values):
    array = np.array(values, dtype=np.float64)
    assert order_falling(array).tolist() == np.argsort(-array, kind="stable").tolist()
