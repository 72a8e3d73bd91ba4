"""Passes, rounds and bounds of select on Spark, without Spark."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.distributed.nearby import Everywhere, cut, inputs_of, search_nearby
from tests.oracles import select_oracle
from tests.strategies import instances

import fanwise as fw
from fanwise.distributed.select_bounds import affordable
from fanwise.distributed.select_certificate import num_sets_for
from fanwise.distributed.select_passes import Fit, Measure, Pay
from fanwise.distributed.select_rounds import choose_batch, choose_rest, drop_weakest
from fanwise.distributed.select_search import State
from fanwise.select.bounds import tight_proof
from fanwise.select.greedy import greedy as run_greedy
from fanwise.select.greedy import served_by
from fanwise.select.reach import case_of
from fanwise.select.relaxing.knapsack import fractional_knapsack
from fanwise.select.verify_proof import evaluate
from fanwise.select.verify_question import read_question
from fanwise.workload.generators.spotify import spotify
from fanwise.workload.generators.twitter import twitter

SCALE = 2.0**36
METRICS = ["binary", "fractional"]


def pose(instance, metric):
    tau = "column" if isinstance(instance.tau, list) else instance.tau
    return fw.Selection(instance.workload(), tau=tau, capacity="45%", metric=metric)


def optimum_of(instance, problem):
    return select_oracle.optimum(
        instance.rates,
        instance.interests,
        instance.tau,
        problem.limit * (1 + 1e-12),
        cost=instance.cost,
        weight=instance.weight,
        metric=problem.metric,
    )


@given(
    instance=instances(with_cost=True, with_weight=True),
    data=st.data(),
    metric=st.sampled_from(METRICS),
)
def test_a_pass_finds_what_topics_bring_and_hold(instance, data, metric):
    problem = pose(instance, metric)
    num_topics = problem.workload.num_topics
    flags = data.draw(st.lists(st.booleans(), min_size=num_topics, max_size=num_topics))
    served = np.array(flags, dtype=bool)
    rates = Everywhere(problem.workload.rates)
    work = Measure(rates, Everywhere(served), SCALE, metric == "binary")
    amounts, totals = cut(problem, 2).sums(work)
    assert totals[0] / SCALE == pytest.approx(problem.value(served), rel=1e-8, abs=1e-8)
    assert totals[1] == problem.num_satisfied(served)
    assert totals[2] / SCALE == pytest.approx(problem.weight[problem.demand > 0].sum())
    for topic in range(num_topics):
        if metric == "binary" and not served[topic]:
            expected = promised(problem, served, topic)
        else:
            other = served.copy()
            other[topic] = not served[topic]
            expected = abs(problem.value(other) - problem.value(served))
        assert amounts[topic] / SCALE == pytest.approx(expected, rel=1e-6, abs=1e-6)


def promised(problem, served, topic):
    """Alg. 1 by its definition."""
    workload, total = problem.workload, 0.0
    indptr, indices = workload.interests
    for subscriber in range(workload.num_subscribers):
        mine = indices[indptr[subscriber] : indptr[subscriber + 1]]
        need = problem.demand[subscriber]
        missing = need - sum(workload.rates[other] for other in mine if served[other])
        if topic in mine and missing > 1e-9 * need:
            total += problem.weight[subscriber] * min(1.0, workload.rates[topic] / missing)
    return total


@given(
    instance=instances(with_cost=True, with_weight=True),
    data=st.data(),
    metric=st.sampled_from(METRICS),
)
def test_any_shares_and_selection_prove_a_valid_bound(instance, data, metric):
    problem = pose(instance, metric)
    num_topics = problem.workload.num_topics
    rates, is_binary = Everywhere(problem.workload.rates), metric == "binary"

    def draw_shares():
        share = st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0])
        drawn = data.draw(st.lists(share, min_size=num_topics, max_size=num_topics))
        return Everywhere(np.array(drawn, dtype=np.float32))

    steps = tuple(draw_shares() for _ in range(data.draw(st.integers(1, 3))))
    served = Everywhere(draw_shares().value > 0.5)
    blocks = cut(problem).refit(Fit(rates, served, (), steps[0], is_binary))
    if data.draw(st.booleans()):
        blocks = blocks.refit(Fit(rates, None, steps, draw_shares(), is_binary))
    amounts, totals = blocks.sums(Pay(steps, SCALE), num_vectors=3 if len(steps) == 1 else 1)
    total = problem.weight[problem.demand > 0].sum()
    profit = amounts[:num_topics] / SCALE
    knapsack = fractional_knapsack(profit, problem.cost, problem.limit * (1 + 1e-9))
    bound = total - totals[0] / SCALE + knapsack
    assert bound * (1 + 1e-9) + 1e-9 >= optimum_of(instance, problem)


@given(instance=instances(with_cost=True, with_weight=True), metric=st.sampled_from(METRICS))
def test_a_search_ends_between_its_bound_and_nothing(instance, metric):
    problem = pose(instance, metric)
    search = search_nearby(problem, gap=0.0)
    optimum = optimum_of(instance, problem)
    assert problem.value(search.answer.served) == pytest.approx(search.value, rel=1e-8, abs=1e-8)
    assert problem.cost[search.answer.served].sum() <= problem.limit * (1 + 1e-9)
    assert search.value <= optimum * (1 + 1e-9) + 1e-8
    assert search.bound.value * (1 + 1e-9) + 1e-8 >= optimum


@given(
    instance=instances(with_cost=True, with_weight=True),
    metric=st.sampled_from(METRICS),
    pieces=st.integers(1, 3),
)
def test_its_certificate_proves_the_bound(instance, metric, pieces):
    problem = pose(instance, metric)
    question = read_question(problem.workload, problem.solve("cheapest"))
    found = search_nearby(problem, pieces, gap=0.0).close()
    proven = evaluate(question, found.proof, "")
    assert proven <= found.value * (1 + 1e-9) + 1e-12
    nothing = np.zeros(problem.workload.num_topics, dtype=np.bool_)
    case = case_of(problem, problem.is_pinned, problem.is_excluded)
    if (case.dropped == nothing).all() and (case.weight == problem.weight).all():
        # Else the certificate proves more than is claimed: who is out of reach counts nowhere.
        assert proven >= found.value * (1 - 1e-6) - 1e-6
    assert proven * (1 + 1e-9) + 1e-9 >= optimum_of(instance, problem)


def test_long_lists_of_interests_keep_few_sets():
    kept = []
    for degree in (2, 40, 100, 200):
        pairs = [(v, t) for v in range(400) for t in range(degree)]
        workload = fw.TopicWorkload.from_arrays(np.ones(degree), *np.transpose(pairs))
        kept.append(num_sets_for(inputs_of(fw.Selection(workload, tau=1, capacity="10%"))))
    assert kept == [8, 4, 2, 1]


def small_workloads():
    return {
        "spotify": spotify(scale=0.003, seed=4, communities=0.0),
        "communities": spotify(scale=0.003, seed=5),
        "twitter": twitter(scale=0.0003, seed=1),
    }


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("tau", [27, 276, 2763])
def test_value_and_bound_stay_close_to_the_local_ones(tau, metric):
    for name, workload in small_workloads().items():
        problem = fw.Selection(workload, tau=tau, capacity="10%", metric=metric)
        search = search_nearby(problem)
        greedy = problem.value(served_by(problem, run_greedy(problem)))
        local = tight_proof(problem).value
        assert search.value >= 0.99 * greedy, name
        # The local bound knows who is out of reach of the capacity; that on Spark does not.
        assert search.bound.value <= local * 1.015, (name, search.bound.value / local)


@pytest.mark.parametrize("metric", METRICS)
def test_the_cut_into_blocks_changes_nothing(metric):
    random = np.random.default_rng(8)
    workload = spotify(scale=0.001, seed=4)
    workload = fw.TopicWorkload.from_arrays(
        workload.rates * random.lognormal(0, 1, workload.num_topics),
        np.repeat(np.arange(workload.num_subscribers), np.diff(workload.interests.indptr)),
        workload.interests.indices,
        num_subscribers=workload.num_subscribers,
        weight=random.integers(1, 9, workload.num_subscribers) / 7,
    )
    problem = fw.Selection(workload, tau=276, capacity="10%", metric=metric)
    one, *others = (search_nearby(problem, pieces, gap=0.0) for pieces in (1, 3, 8))
    for other in others:
        assert np.array_equal(one.answer.served, other.answer.served)
        assert (one.answer.value, one.bound, one.work) == (
            other.answer.value,
            other.bound,
            other.work,
        )


@pytest.mark.parametrize("metric", METRICS)
def test_no_time_leaves_two_rounds_and_a_full_capacity(metric):
    problem = fw.Selection(spotify(scale=0.003, seed=4), tau=276, capacity="10%", metric=metric)
    search = search_nearby(problem, time_limit=0.0)
    assert search.work == 2  # nothing, and everything that fits
    left = problem.limit - problem.cost[search.answer.served].sum()
    useful = ~search.answer.served & (search.answer.amounts > 0) & (problem.cost <= left)
    assert np.count_nonzero(useful) <= 0.01 * problem.workload.num_topics
    assert search.value >= 0.9 * problem.solve("greedy").objective
    assert search.value <= search.bound.value <= problem.weight.sum() * (1 + 1e-9)


def test_a_batch_takes_the_best_per_cost_within_its_part():
    amounts = np.array([10, 40, 30, 0, 90, 5])
    cost = np.array([1.0, 10.0, 10.0, 1.0, 1000.0, 0.0])
    state = State(np.array([False] * 6), amounts, 0, 0)
    assert choose_batch(state, cost, 50.0, 0.0).tolist() == [5, 0, 1]  # 2 would pass 20 of 50
    assert choose_batch(state, cost, 20.0, 0.0).tolist() == [5, 0]
    assert choose_batch(state, cost, 10.0, 0.0).tolist() == [5, 0]
    assert choose_batch(state, cost, 30.0, 30.0).tolist() == [5, 0, 1, 2]  # not limited any more
    full = State(np.array([True] * 6), amounts, 0, 0)
    assert choose_batch(full, cost, 100.0, 0.0).tolist() == []
    kept = drop_weakest(full, cost, 11.5)
    assert np.flatnonzero(~kept).tolist() == [3]  # holds nothing; the next, topic 4, is too large


def test_the_rest_is_filled_with_what_still_fits():
    amounts = np.array([50, 44, 3, 0, 2, 1])
    cost = np.array([10.0, 11.0, 2.0, 1.0, 3.0, 2.0])
    state = State(np.array([False] * 6), amounts, 0, 0)
    assert choose_rest(state, cost, 15.5).tolist() == [0, 2, 4]  # 1 does not fit, nor does 5
    assert choose_rest(state, cost, 14.5).tolist() == [0, 2, 5]
    assert choose_rest(state, cost, 1.0).tolist() == []


def test_affordable_counts_the_cheapest():
    prices, counts = np.array([3.0, 1.0, 2.0]), np.array([5, 2, 4])
    assert [affordable(prices, counts, left) for left in (0.5, 2.0, 5.9, 10.0, 16.0, 99.0)] == [
        0, 2, 3, 6, 8, 11,
    ]  # fmt: skip
