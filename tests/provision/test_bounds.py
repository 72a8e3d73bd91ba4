"""Bounds, against the optimum of tiny instances: all choices, all packings, all mixes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles import provision_pairs_oracle as oracle
from tests.provision.pairs_cases import (
    capacities,
    machine,
    needs_of,
    pose,
    prices,
    sized_instances,
)
from tests.strategies import Instance, odd_rates

from fanwise.provision.bounds import paper_bound, prove_traffic, proven_bound
from fanwise.provision.pairs.charges import charge, whole_demand
from fanwise.provision.pairs.core import find_core
from fanwise.provision.pairs.dual_ascent import Sharing
from fanwise.provision.proving.rent import Offer, least_rent

pytestmark = pytest.mark.kernels

limits = st.one_of(st.none(), st.integers(1, 6))


@st.composite
def fleets(draw):
    """One to three types of machine, with and without limits."""
    found = []
    for number in range(draw(st.integers(1, 3))):
        rent = draw(st.sampled_from([0.0, 0.3, 1.0, 1.7]))
        found.append((rent, draw(capacities), draw(limits), draw(limits)))
        del number
    return found


def machines_of(types):
    return [
        machine(f"m{i}", capacity, rent, max_topics=most_topics, max_connections=most_pairs)
        for i, (rent, capacity, most_topics, most_pairs) in enumerate(types)
    ]


@settings(max_examples=150)
@given(sized_instances(max_topics=4, max_subscribers=4), fleets(), prices, prices)
def test_no_plan_is_below_the_bound(case, types, price_in, price_out):
    instance, sizes = case
    needs = needs_of(instance, sizes)
    optimum = oracle.optimum(
        instance.rates, needs, instance.interests, instance.tau, types, price_in, price_out
    )
    assume(optimum is not None)
    problem = pose(instance, machines_of(types), sizes, price_in=price_in, price_out=price_out)
    bound = proven_bound(problem)
    assert bound <= float(optimum) * (1 + 1e-9) + 1e-12
    if len(types) == 1:
        assert bound >= paper_bound(problem) * (1 - 1e-12)


@settings(max_examples=100)
@given(sized_instances(max_topics=4, max_subscribers=5), capacities, prices, prices)
def test_no_choice_is_below_the_bound_on_traffic(case, capacity, price_in, price_out):
    instance, sizes = case
    types = [(1, capacity, None, None)]
    least = oracle.least_traffic(
        instance.rates,
        needs_of(instance, sizes),
        instance.interests,
        instance.tau,
        types,
        price_in,
        price_out,
    )
    assume(least is not None)
    problem = pose(instance, machines_of(types), sizes)
    assert prove_traffic(problem, price_in, price_out).least <= float(least) * (1 + 1e-9) + 1e-12


@settings(max_examples=100)
@given(sized_instances(max_topics=5, max_subscribers=5), prices, prices)
def test_the_bound_counts_covers_and_forced_copies(case, price_in, price_out):
    instance, sizes = case
    needs = needs_of(instance, sizes)
    problem = pose(instance, [machine("one", 10**6)], sizes)
    total, forced = Fraction(0), set()
    needed = oracle.demand(instance.rates, instance.interests, instance.tau)
    for topics, enough in zip(instance.interests, needed, strict=True):
        rates = [instance.rates[t] for t in topics]
        total += oracle.cheapest_cover(rates, [needs[t] for t in topics], enough)
        forced |= {t for t in topics if sum(rates) - instance.rates[t] < enough}
    least = float(total) * price_out + sum(needs[t] for t in forced) * price_in
    assert prove_traffic(problem, price_in, price_out).least >= least * (1 - 1e-11) - 1e-12


@given(sized_instances(max_topics=8, max_subscribers=12))
def test_sweeps_never_lower_the_bound(case):
    instance, sizes = case
    problem = pose(instance, [machine("one", 10**6)], sizes)
    core = find_core(
        problem,
        charge(problem, 1.0, 1.0, 1e-9),
        whole_demand(problem, 1e-9),
        problem.workload.rates,
    )
    sharing = Sharing(core)
    for _ in range(4):
        before = sharing.core.settled + priced(sharing)
        sharing.sweep()
        assert sharing.core.settled + priced(sharing) >= before * (1 - 1e-12)


def priced(sharing):
    return sharing._price() - sharing.core.settled


@settings(max_examples=50)
@given(
    sized_instances(max_topics=6, max_subscribers=8, rates=odd_rates),
    st.floats(1.0, 30.0),
    prices,
)
def test_odd_rates_are_bounded_by_their_plans(case, factor, price_in):
    instance, sizes = case
    capacity = 2 * factor * max(needs_of(instance, sizes), default=1.0)
    problem = pose(instance, [machine("one", capacity)], sizes, price_in=price_in)
    plan = problem.solve("gsp+ffbp")
    assert proven_bound(problem) <= plan.objective * (1 + 1e-9)


def test_subscribers_that_could_share_pay_for_one_copy():
    # Three topics of 10 apart or one of 11 together: 4 x 11 in and out is the least.
    instance = Instance([10.0, 10.0, 10.0, 11.0], [[0, 3], [1, 3], [2, 3]], tau=10.0)
    problem = pose(instance, [machine("one", 1000)])
    assert prove_traffic(problem, 1.0, 1.0).least == pytest.approx(44.0, rel=1e-6)
    assert proven_bound(problem) == pytest.approx(1 + 44 * 0.005, rel=1e-6)


def test_unused_and_unusable_topics_do_not_count():
    instance = Instance([500.0, 30.0, 20.0], [[0, 1], [0, 1, 2]], tau=25.0)
    problem = pose(instance, [machine("one", 100)])
    assert proven_bound(problem) == pytest.approx(1 + 90 * 0.005, rel=1e-6)


def test_machines_are_counted_whole_and_with_reserve():
    # 2 topics of 10, one subscriber each: 40 bytes.
    instance = Instance([10.0, 10.0], [[0], [1]], tau=10.0)
    assert proven_bound(pose(instance, [machine("one", 40)])) == pytest.approx(1 + 0.2)
    assert proven_bound(pose(instance, [machine("one", 39)])) == pytest.approx(2 + 0.2)
    spared = pose(instance, [machine("one", 40)], reserve=0.2)
    assert proven_bound(spared) == pytest.approx(2 + 0.2)


def test_limits_on_topics_and_pairs_rent_machines():
    instance = Instance([10.0, 10.0, 10.0], [[0], [1], [2], [0, 1]], tau=20.0)
    topics = pose(instance, [machine("one", 10**4, max_topics=1)])
    assert proven_bound(topics) == pytest.approx(3 + 0.4)
    pairs = pose(instance, [machine("one", 10**4, max_connections=2)])
    assert proven_bound(pairs) >= 3 + 0.4 - 1e-9
    # A type without the limit carries everything, and one machine of it is the optimum.
    mixed = pose(instance, [machine("one", 10**4, max_topics=1), machine("two", 10**4, 1.5)])
    assert proven_bound(mixed) == pytest.approx(1.5 + 0.4)


def test_topics_that_fit_the_largest_type_count():
    instance = Instance([40.0], [[0]], tau=40.0)
    problem = pose(instance, [machine("small", 50), machine("large", 100, rent=3.0)])
    # Room for its one pair is on the large type only.
    assert proven_bound(problem) == pytest.approx(3 + 80 * 0.005)


def test_one_topic_split_over_machines():
    # 5000 pairs and a copy for each hundred of them.
    instance = Instance([3.0], [[0]] * 5000, tau=1.0)
    problem = pose(instance, [machine("one", 3 * 101)])
    assert proven_bound(problem) == pytest.approx(50 + 0.005 * 3 * 5050, rel=1e-11)


def test_partitions_bound_the_machines():
    # Rent alone, machines half as large as everything: two of them iff there is a partition.
    for rates in ([3.0, 1.0, 2.0], [5.0, 1.0, 1.0]):
        instance = Instance(rates, [[t] for t in range(3)], tau=10.0)
        problem = pose(instance, [machine("one", sum(rates))], price_in=0.0, price_out=0.0)
        optimum = oracle.optimum(
            rates, rates, instance.interests, 10.0, [(1, sum(rates), None, None)], 0, 0
        ) if max(rates) * 2 <= sum(rates) else None  # fmt: skip
        assert proven_bound(problem) <= (2 if optimum is None else optimum)
        if optimum is not None:
            assert proven_bound(problem) == optimum == 2


def test_rent_matters_where_prices_differ():
    # What comes in is free but takes bandwidth: sharing topic 3 saves rent, not traffic.
    instance = Instance([10.0, 10.0, 10.0, 11.0], [[0, 3], [1, 3], [2, 3]], tau=10.0)
    cheap = pose(instance, [machine("one", 22, rent=1.0)], price_in=0.0)
    types = [(1, 22, None, None)]
    optimum = oracle.optimum(
        instance.rates, instance.rates, instance.interests, 10.0, types, 0.0, Fraction(5, 1000)
    )
    assert 0.9 * optimum <= proven_bound(cheap) <= optimum


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(3, 30)), min_size=1, max_size=3),
    st.integers(0, 90),
)
def test_the_least_rent_is_the_oracles(offers, amount):
    expected = float(oracle.least_rent(offers, amount))
    found = least_rent([Offer(float(rent), float(room)) for rent, room in offers], float(amount))
    assert found == pytest.approx(expected, rel=1e-11)
    assert found <= expected


def test_the_least_rent_with_endless_room():
    offers = [Offer(3.0, np.inf), Offer(1.0, 2.0)]
    assert least_rent(offers, 4.0) == pytest.approx(2.0)
    assert least_rent(offers, 100.0) == pytest.approx(3.0)
    assert least_rent(offers[:1], 5.0) <= 3.0


def test_nothing_costs_nothing():
    assert proven_bound(pose(Instance([5.0], [[0]], tau=0.0), [machine("one", 100)])) == 0.0
    assert proven_bound(pose(Instance([], [], tau=5.0), [machine("one", 100)])) == 0.0
