"""Stage 1: what each algorithm chooses, against plain twins and all choices there are."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import provision_oracle
from tests.oracles import provision_pairs_oracle as oracle
from tests.provision.pairs_cases import (
    capacities,
    machine,
    needs_of,
    pose,
    prices,
    sized_instances,
)
from tests.strategies import Instance, instances, odd_rates

from fanwise.arrays.csr import Csr
from fanwise.errors import ParameterError
from fanwise.planning.problem import Run
from fanwise.provision.pairs import best_pairs, exact_pairs, greedy_pairs, random_pairs
from fanwise.provision.pairs.charges import charge, prices_with_rent

pytestmark = pytest.mark.kernels

ALGORITHMS = {
    "gsp": greedy_pairs.choose_pairs,
    "rsp": random_pairs.choose_pairs,
    "exact": exact_pairs.choose_pairs,
    "best": best_pairs.choose_pairs,
}


def chosen_by(choose_pairs, problem, seed=0):
    pairs = choose_pairs(problem, Run(seed=seed))
    assert pairs.indptr.dtype == np.int64
    assert pairs.indices.dtype == np.int32
    return [pairs.indices[first:last].tolist() for first, last in pairwise(pairs.indptr)]


def is_possible(problem):
    reachable = np.array(
        [
            sum(problem.workload.rates[t] for t in row if problem.is_usable[t])
            for row in interests_of(problem)
        ]
    )
    return bool(np.all(reachable >= problem.demand * (1 - 1e-10)))


def interests_of(problem):
    indptr, topics = problem.workload.interests
    return [topics[a:b].tolist() for a, b in pairwise(indptr)]


def check_pairs(problem, chosen):
    """Everybody has enough, from its own topics, each once, none too large."""
    for row, own, needed in zip(chosen, interests_of(problem), problem.demand, strict=True):
        assert len(set(row)) == len(row)
        assert set(row) <= set(own)
        assert all(problem.is_usable[row])
        assert sum(problem.workload.rates[row]) >= needed * (1 - 1e-9)
        assert needed > 0 or not row


def count(problem, chosen):
    return np.bincount(
        np.array([t for row in chosen for t in row], dtype=int),
        minlength=problem.workload.num_topics,
    )


@settings(max_examples=100)
@given(sized_instances(max_topics=7, max_subscribers=9), capacities)
def test_greedy_pairs_are_the_oracles(case, capacity):
    instance, sizes = case
    problem = pose(instance, [machine("one", capacity)], sizes)
    expected = provision_oracle.choose_pairs(
        instance.rates, needs_of(instance, sizes), instance.interests, instance.tau, capacity
    )
    if expected is not None:
        assert chosen_by(ALGORITHMS["gsp"], problem) == expected


def test_greedy_pairs_of_many_topics_are_the_oracles():
    # Rows longer than what is sorted by insertion, with many equal rates.
    rng = np.random.default_rng(5)
    rates = rng.integers(1, 60, 300).astype(float).tolist()
    interests = [
        sorted(rng.choice(300, size=int(size), replace=False).tolist())
        for size in rng.integers(1, 200, 60)
    ]
    instance = Instance(rates, interests, tau=900.0)
    expected = provision_oracle.choose_pairs(rates, rates, interests, 900.0, 10**6)
    assert chosen_by(ALGORITHMS["gsp"], pose(instance, [machine("one", 10**6)])) == expected


@pytest.mark.parametrize(
    "sizes",
    [[1, *[2] * 5000], [1, 5000, 3000, 9000, 0, 2, 850, 17, 0, 433, 8000]],
    ids=["rows that end one behind a block", "rows longer than a block"],
)
def test_blocks_of_rates_end_anywhere(sizes):
    # Rates are looked up for a block of pairs at a time.
    rng = np.random.default_rng(6)
    rates = rng.integers(1, 40, 9000).astype(float).tolist()
    interests = [sorted(rng.choice(9000, size=n, replace=False).tolist()) for n in sizes]
    problem = pose(Instance(rates, interests, tau=45.0), [machine("one", 10**6)])
    for own, row in zip(interests, chosen_by(ALGORITHMS["gsp"], problem), strict=True):
        missing, expected = min(45.0, sum(rates[t] for t in own)), []
        for topic in sorted(own, key=lambda t: (-rates[t], t)):
            if 0 < rates[topic] <= missing:
                expected.append(topic)
                missing -= rates[topic]
        if missing:
            left = set(own) - set(expected)
            expected.append(min(left, key=lambda t: (rates[t], t)))
        assert row == expected


def test_redundant_topics_stay_in_greedy_pairs():
    # 12 and 5 leave 2 missing; the 30 that fills the gap would have been enough alone.
    instance = Instance([12.0, 5.0, 30.0], [[0, 1, 2]], tau=19.0)
    problem = pose(instance, [machine("one", 1000)])
    assert chosen_by(ALGORITHMS["gsp"], problem) == [[0, 1, 2]]
    assert chosen_by(ALGORITHMS["exact"], problem) == [[2]]
    assert chosen_by(ALGORITHMS["best"], problem) == [[2]]


@given(sized_instances(max_topics=7, max_subscribers=9), st.integers(0, 2**32))
def test_random_pairs_follow_the_draws(case, seed):
    instance, sizes = case
    problem = pose(instance, [machine("one", 10**6)], sizes)
    draws = np.random.default_rng(seed).random(problem.workload.num_pairs).tolist()
    needed = oracle.demand(instance.rates, instance.interests, instance.tau)
    expected = oracle.choose_randomly(instance.rates, instance.interests, needed, draws)
    chosen = chosen_by(ALGORITHMS["rsp"], problem, seed)
    assert chosen == expected
    check_pairs(problem, chosen)


def test_random_orders_are_all_as_likely():
    instance = Instance([1.0, 1.0, 1.0], [[0, 1, 2]] * 6000, tau=3.0)
    orders = chosen_by(ALGORITHMS["rsp"], pose(instance, [machine("one", 10**6)]), seed=1)
    _, counts = np.unique(np.array(orders), axis=0, return_counts=True)
    assert len(counts) == 6
    assert np.all(np.abs(counts - 1000) < 150)


def test_seeds_repeat_and_differ():
    instance = Instance([5.0] * 8, [list(range(8))] * 20, tau=17.0)
    problem = pose(instance, [machine("one", 10**6)])
    first, again, other = (chosen_by(ALGORITHMS["rsp"], problem, seed) for seed in (3, 3, 4))
    assert first == again != other


@settings(max_examples=100)
@given(sized_instances(max_topics=7, max_subscribers=6), capacities)
def test_exact_covers_are_the_cheapest(case, capacity):
    instance, sizes = case
    problem = pose(instance, [machine("one", capacity)], sizes)
    if not is_possible(problem):
        return
    chosen = chosen_by(ALGORITHMS["exact"], problem)
    check_pairs(problem, chosen)
    needed = oracle.demand(instance.rates, instance.interests, instance.tau)
    for row, own, enough in zip(chosen, instance.interests, needed, strict=True):
        usable = [t for t in own if problem.is_usable[t]]
        cheapest = oracle.cheapest_cover(
            [instance.rates[t] for t in usable], [problem.needs[t] for t in usable], enough
        )
        assert sum(problem.needs[row]) == cheapest


@settings(max_examples=75)
@given(
    st.one_of(
        sized_instances(max_topics=6, max_subscribers=8),
        sized_instances(max_topics=6, max_subscribers=8, rates=odd_rates),
    ),
    st.floats(0.5, 40.0),
    prices,
    prices,
    st.integers(0, 5),
)
def test_best_is_never_worse(case, factor, price_in, price_out, seed):
    instance, sizes = case
    capacity = factor * 2 * max(needs_of(instance, sizes), default=1.0)
    problem = pose(
        instance, [machine("one", capacity)], sizes, price_in=price_in, price_out=price_out
    )
    if not is_possible(problem):
        return
    charges = charge(problem, *prices_with_rent(problem), 0.0)
    price = {}
    for name, choose_pairs in ALGORITHMS.items():
        chosen = chosen_by(choose_pairs, problem, seed)
        check_pairs(problem, chosen)
        price[name] = charges.price(count(problem, chosen))
    assert price["best"] <= min(price.values()) * (1 + 1e-12)
    assert chosen_by(ALGORITHMS["best"], problem, seed) == chosen_by(
        ALGORITHMS["best"], problem, seed
    )


@settings(max_examples=75)
@given(sized_instances(max_topics=4, max_subscribers=4), capacities, prices)
def test_best_is_close_to_the_least_traffic(case, capacity, price_in):
    instance, sizes = case
    problem = pose(instance, [machine("one", capacity)], sizes, price_in=price_in)
    if not is_possible(problem):
        return
    in_price, out_price = prices_with_rent(problem)
    types = [(1, capacity, None, None)]
    least = oracle.least_traffic(
        instance.rates,
        needs_of(instance, sizes),
        instance.interests,
        instance.tau,
        types,
        in_price,
        out_price,
    )
    chosen = chosen_by(ALGORITHMS["best"], problem)
    paid = oracle.traffic(
        count(problem, chosen).tolist(), needs_of(instance, sizes), types, in_price, out_price
    )
    assert least <= paid <= least * 2
    assert charge(problem, in_price, out_price, 0.0).price(count(problem, chosen)) == pytest.approx(
        float(paid)
    )


def test_best_shares_topics():
    # Alone, everybody takes its own topic of 10; together they are better off with the one of 11.
    instance = Instance([10.0, 10.0, 10.0, 11.0], [[0, 3], [1, 3], [2, 3]], tau=10.0)
    problem = pose(instance, [machine("one", 1000)])
    assert chosen_by(ALGORITHMS["exact"], problem) == [[0], [1], [2]]
    assert chosen_by(ALGORITHMS["best"], problem) == [[3], [3], [3]]
    # Where what comes in is free and there is no rent, nothing is gained by that.
    free = pose(instance, [machine("one", 1000, rent=0.0)], price_in=0.0)
    assert chosen_by(ALGORITHMS["best"], free) == [[0], [1], [2]]


def test_best_joins_topics_that_somebody_needs():
    # The first subscriber has nothing but topic 1; the second is cheaper off with topic 0 alone.
    instance = Instance([10.0, 14.0], [[1], [0, 1]], tau=10.0)
    problem = pose(instance, [machine("one", 1000)])
    assert chosen_by(ALGORITHMS["best"], problem) == [[1], [1]]


def test_best_opens_no_copy_for_one_more():
    # A machine holds two pairs of topic 1, and two subscribers need it: a third one would need
    # another copy.
    instance = Instance([10.0, 14.0], [[1], [1], [0, 1]], tau=10.0)
    assert chosen_by(ALGORITHMS["best"], pose(instance, [machine("one", 3 * 14)])) == [
        [1],
        [1],
        [0],
    ]
    assert chosen_by(ALGORITHMS["best"], pose(instance, [machine("one", 4 * 14)])) == [
        [1],
        [1],
        [1],
    ]


@pytest.mark.parametrize(
    ("rates", "interests", "capacity", "expected"),
    [
        ([10.0, 14.0], [[1], [1], [0, 1]], 3 * 14, [[1], [1], [0]]),
        ([10.0, 14.0], [[1], [1], [0, 1]], 4 * 14, [[1], [1], [1]]),
        ([10.0, 10.0, 10.0, 11.0], [[0, 3], [1, 3], [2, 3]], 1000, [[3], [3], [3]]),
    ],
    ids=["a copy too many", "room for one more", "shared"],
)
def test_choosing_together_needs_no_help(rates, interests, capacity, expected):
    # Without a look at what the other algorithms chose.
    problem = pose(Instance(rates, interests, tau=10.0), [machine("one", capacity)])
    charges = charge(problem, *prices_with_rent(problem), 0.0)
    together = partial(best_pairs.choose_together, charges=charges)
    assert chosen_by(lambda problem, run: together(problem, run=run), problem) == expected


def test_best_takes_what_another_algorithm_does_better(monkeypatch):
    problem = pose(Instance([30.0, 12.0], [[0, 1]], tau=10.0), [machine("one", 1000)])
    dear = Csr(np.array([0, 1]), np.array([0], dtype=np.int32))
    monkeypatch.setattr(best_pairs, "choose_together", lambda problem, charges, run: dear)
    assert chosen_by(ALGORITHMS["best"], problem) == [[1]]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_odd_workloads(name):
    nothing = pose(Instance([5.0, 7.0], [[0], [0, 1], []], tau=0.0), [machine("one", 100)])
    assert chosen_by(ALGORITHMS[name], nothing) == [[], [], []]
    empty = pose(Instance([], [], tau=5.0), [machine("one", 100)])
    assert chosen_by(ALGORITHMS[name], empty) == []
    one = pose(Instance([5.0], [[0]], tau=3.0), [machine("one", 100)])
    assert chosen_by(ALGORITHMS[name], one) == [[0]]
    too_large = pose(Instance([500.0, 30.0, 20.0], [[0, 1], [0, 1, 2]], tau=25.0), [
        machine("one", 100)
    ])  # fmt: skip
    check_pairs(too_large, chosen_by(ALGORITHMS[name], too_large))
    alike = pose(Instance([4.0] * 6, [list(range(6)), [1, 3]], tau=9.0), [machine("one", 100)])
    assert [len(row) for row in chosen_by(ALGORITHMS[name], alike)] == [3, 2]
    weightless = pose(Instance([5.0, 7.0], [[0, 1], [1]], tau=6.0), [machine("one", 100)], 0.0)
    check_pairs(weightless, chosen_by(ALGORITHMS[name], weightless))


@settings(max_examples=50)
@given(instances(rates=odd_rates, max_topics=12, max_subscribers=30))
def test_odd_rates_are_enough(instance):
    problem = pose(instance, [machine("one", 2 * max(instance.rates, default=1.0))])
    for choose_pairs in ALGORITHMS.values():
        check_pairs(problem, chosen_by(choose_pairs, problem))


def test_exact_says_when_it_cannot_prove_a_cover(monkeypatch):
    rng = np.random.default_rng(9)
    rates = (1 + rng.random(13)).tolist()
    problem = pose(Instance(rates, [list(range(13))], tau=9.0), [machine("one", 10**6)])
    monkeypatch.setattr(exact_pairs, "STATES", 50)
    with_more = chosen_by(ALGORITHMS["exact"], problem)
    check_pairs(problem, with_more)
    monkeypatch.setattr(exact_pairs, "MOST_STATES", 60)
    with pytest.raises(ParameterError, match="exact"):
        chosen_by(ALGORITHMS["exact"], problem)
    check_pairs(problem, chosen_by(ALGORITHMS["best"], problem))


def test_variants_with_fewer_usable_topics_are_kept_to():
    instance = Instance([40.0, 30.0, 20.0], [[0, 1, 2], [0, 2]], tau=20.0)
    problem = pose(instance, [machine("one", 1000)])
    fewer = replace(problem)
    object.__setattr__(fewer, "is_usable", np.array([True, True, False]))
    for choose_pairs in ALGORITHMS.values():
        assert 2 not in {t for row in chosen_by(choose_pairs, fewer) for t in row}
