"""The cheapest cover of one subscriber, against all subsets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import provision_pairs_oracle as oracle
from tests.strategies import odd_rates, whole_rates

from fanwise.provision.pairs.cover_kernels import cheapest_cover, make_workspace

HAIR = 1e-12


@st.composite
def knapsacks(draw, rates):
    """Rates, prices and a threshold that all of them reach; prices may follow the rates or be 0."""
    events = draw(st.lists(rates, min_size=1, max_size=9))
    follow = st.just([float(rate) for rate in events])
    free = st.lists(st.integers(0, 40).map(float), min_size=len(events), max_size=len(events))
    scaled = st.lists(
        st.sampled_from([1.0, 1.5, 2.0]), min_size=len(events), max_size=len(events)
    ).map(lambda factors: [f * rate for f, rate in zip(factors, events, strict=True)])
    prices = draw(st.one_of(follow, free, scaled))
    share = draw(st.one_of(st.just(1.0), st.floats(0.0, 1.0)))
    return events, prices, share * sum(events) * (1 - 1e-9)


def solve(rates, prices, enough, num_states):
    workspace = make_workspace(len(rates), num_states)
    price, least = cheapest_cover(np.array(rates), np.array(prices), enough, workspace)
    taken = [i for i in range(len(rates)) if workspace.is_taken[i]]
    assert sum(rates[i] for i in taken) >= enough * (1 - 1e-12)
    assert price == pytest.approx(sum(prices[i] for i in taken), rel=1e-12, abs=1e-12)
    return price, least


@settings(max_examples=200)
@given(st.one_of(knapsacks(whole_rates), knapsacks(odd_rates)))
def test_covers_are_the_cheapest(knapsack):
    rates, prices, enough = knapsack
    price, least = solve(rates, prices, enough, 1000)
    # A hair decides where a sum of odd rates is the threshold itself.
    less, more = (
        float(oracle.cheapest_cover(rates, prices, enough * factor))
        for factor in (1 - HAIR, 1 + HAIR)
    )
    assert less * (1 - HAIR) - HAIR <= price <= more * (1 + HAIR) + HAIR
    assert least == pytest.approx(price, rel=1e-11, abs=HAIR)


@settings(max_examples=100)
@given(knapsacks(whole_rates), st.integers(1, 6))
def test_a_search_cut_off_still_bounds(knapsack, num_states):
    rates, prices, enough = knapsack
    price, least = solve(rates, prices, enough, num_states)
    cheapest = float(oracle.cheapest_cover(rates, prices, enough))
    assert least <= cheapest * (1 + 1e-12)
    assert price >= cheapest * (1 - 1e-12)


def test_a_threshold_that_only_one_combination_meets():
    # Rates are distinct powers of two: every sum is met by one subset only.
    rates = [float(2**power) for power in range(12)]
    price, least = solve(rates, rates, 2741.0, 100_000)
    assert (price, least) == (2741.0, pytest.approx(2741.0))


def test_long_rows():
    rng = np.random.default_rng(3)
    rates = np.floor(rng.pareto(1.0, 400) * 40 + 1)
    price, least = solve(rates.tolist(), rates.tolist(), 1000.0, 500_000)
    assert price == 1000.0
    assert least == pytest.approx(1000.0)


def test_nothing_is_taken_for_nothing():
    assert solve([3.0, 4.0], [1.0, 1.0], 0.0, 10) == (0.0, 0.0)
