"""Shares raised together: always valid, and above what topics raised one by one reach."""

from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.oracles import provision_pairs_oracle as oracle
from tests.provision.pairs_cases import capacities, machine, needs_of, pose, sized_instances
from tests.strategies import Instance

from fanwise.provision.bounds import prove_traffic, proven_bound, rates_that_fit
from fanwise.provision.pairs import dual_ascent, subgradient
from fanwise.provision.pairs.charges import charge, whole_demand
from fanwise.provision.pairs.core import find_core
from fanwise.provision.pairs.dual_ascent_kernels import shift_shares, turn_upwards


def crowded_problem(capacity=1e6):
    """Subscribers with a dozen topics each, of which a few are enough."""
    generator = np.random.default_rng(11)
    rates = np.ceil(generator.pareto(1.1, 60) * 20 + 1)
    interests = [sorted(generator.choice(60, 12, replace=False).tolist()) for _ in range(50)]
    return pose(Instance(list(rates), interests, 60.0), [machine("m", capacity, 1.0)], [1.0] * 60)


def core_of(problem):
    charges = charge(problem, 1.0, 1.0, 1e-9)
    return find_core(problem, charges, whole_demand(problem, 1e-9), rates_that_fit(problem))


@cache
def rows_of_a_core():
    return core_of(crowded_problem()).undecided


def sweep_to_the_end(core):
    found = dual_ascent.Sharing(core)
    while found.sweep():
        pass
    return found


def assert_valid(rows, shares):
    """Nobody is paid, and those who can share a copy pay no more than its price together."""
    assert shares.min() >= 0
    for contest, topic in enumerate(rows.contested):
        items = rows.contest_items[rows.contest_indptr[contest] : rows.contest_indptr[contest + 1]]
        dearest = np.sort(shares[items])[::-1][: int(min(rows.held[topic], len(items)))]
        assert dearest.sum() <= rows.fixed[topic] * (1 + 1e-12)


@pytest.mark.parametrize("capacity", [1e6, 400.0])
def test_climbing_beats_sweeping(capacity):
    problem = crowded_problem(capacity)
    swept = sweep_to_the_end(core_of(problem))
    before = swept.bound
    assert swept.slack() > dual_ascent.WORTH_CLIMBING
    swept.climb()
    assert_valid(swept.core.undecided, swept.shares)
    assert swept.bound > before * 1.005
    plan = problem.solve("best+best")
    in_bytes, out_bytes = plan.metrics["in_bytes"], plan.metrics["out_bytes"]
    assert prove_traffic(problem, 1.0, 1.0).least <= in_bytes + out_bytes
    assert swept.bound == pytest.approx(prove_traffic(problem, 1.0, 1.0).least, rel=5e-3)
    assert proven_bound(problem) <= plan.objective * (1 + 1e-9)


def test_shares_that_cannot_be_raised_stay(monkeypatch):
    core = core_of(crowded_problem())
    found = dual_ascent.Sharing(core)
    before, bound = found.shares.copy(), found.bound
    found.climb(lambda value: True)
    monkeypatch.setattr(subgradient, "MAX_ITEMS", 10)
    found.climb()
    assert np.array_equal(found.shares, before)
    assert found.bound == bound


def test_climbing_stops_where_the_bound_is_enough():
    core = core_of(crowded_problem())
    free = dual_ascent.Sharing(core)
    start = free.bound
    free.climb()
    aim = (start + free.bound) / 2
    short = dual_ascent.Sharing(core)
    short.climb(lambda bound: bound >= aim)
    assert aim * (1 - 1e-3) <= short.bound < free.bound


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(sized_instances(max_topics=4, max_subscribers=4), capacities)
def test_no_plan_is_below_the_bound(monkeypatch, case, capacity):
    monkeypatch.setattr(subgradient, "MIN_ITEMS", 0)
    monkeypatch.setattr(dual_ascent, "WORTH_CLIMBING", 0.0)
    instance, sizes = case
    optimum = oracle.optimum(
        instance.rates, needs_of(instance, sizes), instance.interests, instance.tau,
        [(1.0, capacity, None, None)], 0.5, 0.25,
    )  # fmt: skip
    assume(optimum is not None)
    machines = [machine("m", capacity, 1.0)]
    problem = pose(instance, machines, sizes, price_in=0.5, price_out=0.25)
    assert proven_bound(problem) <= float(optimum) * (1 + 1e-9) + 1e-12


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(-5, 5), min_size=2, max_size=6),
    st.floats(0.01, 10.0),
    st.floats(-3, 3),
)
def test_steps_end_at_the_nearest_shares(direction, price, step):
    count = len(direction)
    shares = np.full(count, price / count)
    rows = rows_of_a_core()._replace(
        contested=np.zeros(1, np.int32),
        contest_indptr=np.array([0, count]),
        contest_items=np.arange(count, dtype=np.int32),
        fixed=np.array([price]),
    )
    moved = [share + step * slope for share, slope in zip(shares, direction, strict=True)]
    shift_shares(rows, np.zeros(1, np.int64), np.array(direction), step, shares)
    low, high = min(moved) - price, max(moved)
    for _ in range(200):  # the level that leaves just the price
        middle = (low + high) / 2
        if sum(max(value - middle, 0.0) for value in moved) > price:
            low = middle
        else:
            high = middle
    nearest = [max(value - high, 0.0) for value in moved]
    assert shares == pytest.approx(nearest, abs=1e-9)


def test_takers_pay_more():
    core = core_of(crowded_problem())
    contests = subgradient.movable(core.undecided)
    contest = int(contests[0])
    start, end = core.undecided.contest_indptr[contest], core.undecided.contest_indptr[contest + 1]
    items = core.undecided.contest_items[start:end]
    is_taken = np.zeros(len(core.undecided.pair), dtype=np.bool_)
    is_taken[items[0]] = True
    direction = np.full(len(is_taken), 2.0)
    length = turn_upwards(core.undecided, contests[:1], is_taken, 0.5, direction)
    mean = 1 / len(items)
    expected = np.array([2.0 - mean, *[1.0 - mean] * (len(items) - 1)])
    assert direction[items] == pytest.approx(expected)
    assert length == pytest.approx(float(np.dot(expected, expected)))
    others = np.setdiff1d(np.arange(len(is_taken)), items)
    assert (direction[others] == 2.0).all()
