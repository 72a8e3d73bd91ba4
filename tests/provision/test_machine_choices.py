"""Which machines: mixes of types, reserves, limits, budgets."""

import math

import numpy as np
import pytest
from tests.provision.small_machines import machine, pose, tens_of_topics
from tests.strategies import Instance

from fanwise.errors import InfeasibleError, ParameterError
from fanwise.provision.catalogue import Instance as Machine
from fanwise.provision.description import DESCRIPTION
from fanwise.provision.machines.fleets import cover, mixed_fleets
from fanwise.provision.machines.packing import NO_LIMIT, Bin


def test_a_mix_of_types_saves_more_than_five_percent():
    """A topic that only the large type holds, and a little that is cheaper on the small one."""
    instance = Instance([100.0, 30.0, 20.0, 10.0], [[0], [1], [2], [3]], tau=1e9)
    catalogue = [machine(120, 1.0, "small"), machine(200, 2.0, "large")]
    alone = pose(instance, catalogue, 0.0, instance="large").solve()
    with pytest.raises(InfeasibleError):
        pose(instance, catalogue, 0.0, instance="small").solve()
    mix = pose(instance, catalogue, 0.0, instance="auto").solve()
    mix.verify()
    assert sorted(mix.tables["vms"].column("instance").to_pylist()) == ["large", "small"]
    assert mix.objective == pytest.approx(3.0)
    assert alone.objective == pytest.approx(4.0)
    assert mix.metrics["paper_bound"] is None
    assert alone.metrics["paper_bound"] is not None


def test_a_mix_covers_the_last_bit_with_a_smaller_type():
    # 2.5 large machines' worth: two large and one small beat three large and five small.
    instance = Instance([10.0] * 25, [[t] for t in range(25)], tau=10.0)
    catalogue = [machine(100, 1.0, "small"), machine(200, 1.8, "large")]
    costs = {
        name: pose(instance, catalogue, 0.0, instance=name).solve().objective
        for name in ("small", "large", "auto")
    }
    assert costs["auto"] == pytest.approx(4.6)
    assert costs["auto"] < 0.95 * min(costs["small"], costs["large"])


def test_auto_with_one_type_is_that_type():
    instance, capacity = tens_of_topics(3, 20)
    plans = [
        pose(instance, [machine(capacity)], instance=name).solve() for name in ("auto", "small")
    ]
    assert plans[0].objective == plans[1].objective
    assert plans[0].metrics["paper_bound"] == plans[1].metrics["paper_bound"]


def test_a_reserve_stays_free():
    instance = Instance([10.0], [[0]] * 8, tau=10.0)
    plain = pose(instance, [machine(100)]).solve()
    assert plain.metrics["vms"] == 1
    for reserve in (0.2, "20%", " 20 %"):
        plan = pose(instance, [machine(100)], reserve=reserve).solve()
        plan.verify()
        assert plan.parameters["reserve"] == pytest.approx(0.2)
        assert plan.metrics["vms"] == 2
        vms = plan.tables["vms"]
        assert vms.column("capacity_bytes").to_pylist() == [pytest.approx(100.0)] * 2
        used = vms.column("in_bytes").to_numpy() + vms.column("out_bytes").to_numpy()
        assert used.max() <= 80
    with pytest.raises(InfeasibleError, match=r"too large for one small with 90% in reserve"):
        pose(instance, [machine(100)], reserve=0.9).solve()


@pytest.mark.parametrize("reserve", [-0.1, 1, 1.0, "100%", "much", "%", True, None, math.nan])
def test_bad_reserves_are_refused(reserve):
    with pytest.raises(ParameterError, match="reserve"):
        pose(Instance([1.0], [[0]], tau=1), [machine(100)], reserve=reserve)


@pytest.mark.parametrize("pack", DESCRIPTION.stages["pack"])
def test_limits_of_topics_and_connections(pack):
    instance = Instance([1.0, 2.0, 3.0, 4.0], [[0, 1], [1, 2], [2, 3], [3, 0]], tau=1e9)
    free = pose(instance, [machine(1000)]).solve(f"gsp+{pack}")
    assert free.metrics["vms"] == 1
    topics = pose(instance, [machine(1000, max_topics=1)]).solve(f"gsp+{pack}")
    topics.verify()
    assert topics.metrics["vms"] == 4
    pairs = pose(instance, [machine(1000, max_connections=3)]).solve(f"gsp+{pack}")
    pairs.verify()
    assert pairs.metrics["vms"] >= 3
    largest = max(np.bincount(pairs.tables["allocation"].column("vm").to_numpy()))
    assert largest <= 3


def test_decisions():
    instance = Instance([10.0, 7.0], [[0], [1], [0, 1]], tau=1e9)
    plain = pose(instance, [machine(30)]).solve()
    assert "decision" not in plain.metrics
    assert plain.metrics["cost_above_bound"] == pytest.approx(
        plain.objective - plain.bound, abs=1e-9
    )
    yes = pose(instance, [machine(30)], max_cost=plain.objective).solve()
    assert yes.metrics["decision"] == "yes"
    no = pose(instance, [machine(30)], max_cost=plain.bound * 0.9).solve()
    assert no.metrics["decision"] == "no"
    for plan in (yes, no):
        plan.verify()
    loose = pose(instance, [machine(40)]).solve("rsp+ffbp")
    if loose.objective > loose.bound * 1.01:
        between = (loose.objective + loose.bound) / 2
        unknown = pose(instance, [machine(40)], max_cost=between).solve("rsp+ffbp")
        unknown.verify()
        assert unknown.metrics["decision"] == "unknown"


def test_the_naive_plan_is_rsp_and_ffbp():
    instance, capacity = tens_of_topics(5, 25)
    problem = pose(instance, [machine(capacity)])
    for seed in (0, 4):
        expected = problem.solve("rsp+ffbp", seed=seed).objective
        assert problem.naive_cost(seed) == pytest.approx(expected, rel=1e-12)


def test_covers_have_room_and_are_cheapest():
    def kind(name, limit, rent):
        return Bin(Machine(name, rent, limit), limit, rent, NO_LIMIT, NO_LIMIT)

    small, large = kind("small", 100.0, 1.0), kind("large", 200.0, 1.8)
    assert cover((small, large), 0.0) == ()
    for volume, rent in ((100.0, 1.0), (101.0, 1.8), (250.0, 2.8), (400.0, 3.6), (401.0, 4.6)):
        machines = cover((small, large), volume)
        assert sum(machine.limit for machine in machines) >= volume
        assert sum(machine.rent for machine in machines) == pytest.approx(rent)
    tiny = kind("tiny", 1.0, 0.001)
    assert sum(machine.limit for machine in cover((tiny,), 1000.0)) >= 1000
    fleets = list(mixed_fleets((small, large), 250.0, 100, is_large=False))
    rents = [sum(machine.rent for machine in fleet) for fleet in fleets]
    assert rents == sorted(rents)
    assert rents[0] == pytest.approx(2.8)
