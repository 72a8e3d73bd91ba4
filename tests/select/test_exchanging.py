"""Walks: what is kept up to date against the definitions, and what they end with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import exchange_oracle, select_oracle
from tests.strategies import instances, odd_rates, whole_rates

import fanwise as fw
from fanwise.arrays.deadlines import lowered_flag
from fanwise.select.exchanging.exchange import Walker, field_of
from fanwise.select.exchanging.standing_kernels import USED, VALUE, Powers, switch

pytestmark = pytest.mark.kernels

POWERS = st.sampled_from([1.0, 1.5, 2.0, 4.0])
SLACKS = st.sampled_from([0.0, 1.0, 2.5])


def problem_of(instance, capacity="40%", **options):
    tau = "column" if isinstance(instance.tau, list) else instance.tau
    return fw.Selection(instance.workload(), tau=tau, capacity=capacity, **options)


def walker_of(problem, seed=0):
    return Walker(problem, field_of(problem), np.random.default_rng(seed))


def served_by(walker):
    return set(np.flatnonzero(walker._standing.served).tolist())


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    instance=instances(rates=whole_rates, max_topics=7, max_subscribers=6),
    power=POWERS,
    slack=SLACKS,
)
def test_worth_is_kept_up_to_date(data, instance, power, slack):
    problem = problem_of(instance)
    walker, powers = walker_of(problem), Powers(power, slack)
    walker.go_to(problem.is_pinned, powers)
    topics = st.integers(0, max(0, len(instance.rates) - 1))
    for topic in data.draw(st.lists(topics, max_size=12)) if instance.rates else ():
        switch(walker._field, walker._standing, topic, powers)
    served, standing = served_by(walker), walker._standing
    needs, weight = problem.demand.tolist(), problem.case.weight  # 0 for who is out of reach
    for topic in range(len(instance.rates)):
        expected = exchange_oracle.worth(
            topic, instance.rates, instance.interests, needs, weight, served, power, slack
        )
        assert standing.worth[topic] == pytest.approx(expected, rel=1e-6, abs=1e-9)
    value = select_oracle.value(
        instance.rates, instance.interests, instance.tau, sorted(served), weight=weight.tolist()
    )
    assert standing.totals[VALUE] == pytest.approx(float(value))
    assert standing.totals[USED] == pytest.approx(problem.cost[standing.served].sum(), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(instance=instances(rates=whole_rates, max_topics=7, max_subscribers=6), power=POWERS)
def test_filling_is_greedy(instance, power):
    problem = problem_of(instance)
    walker = walker_of(problem)
    walker.fill_from(problem.is_pinned, Powers(power, 0.0), is_late=lowered_flag())
    needs = problem.demand.tolist()
    cost = problem.cost.tolist()
    served = exchange_oracle.filled(
        instance.rates, instance.interests, needs, problem.weight, cost, problem.limit, power
    )
    value = select_oracle.value(
        instance.rates, instance.interests, instance.tau, sorted(served), weight=instance.weight
    )
    # Where ratios tie, either topic may come first.
    if served_by(walker) == served:
        assert walker.best_value == pytest.approx(float(value))
    assert problem.admits(walker.best)


@settings(max_examples=25, deadline=None)
@given(instance=instances(rates=odd_rates, max_topics=7, max_subscribers=6), slack=SLACKS)
def test_walks_fit_and_count_right(instance, slack):
    problem = problem_of(instance)
    walker = walker_of(problem)
    walker.peel_from(~problem.case.dropped, Powers(2.0, slack), is_late=lowered_flag())
    before = walker.best_value
    move = {"allowed": 0.1, "largest": 0.5, "work": 2000.0, "is_late": lowered_flag()}
    if problem.num_pairs:
        walker.move(Powers(4.0, 0.0), **move)
    assert walker.best_value >= before
    assert problem.admits(walker.best)
    assert walker.best_value == pytest.approx(problem.value(walker.best))


def a_problem(seed=3, **options):
    rng = np.random.default_rng(seed)
    pairs = [(v, t) for v in range(60) for t in rng.choice(40, 8, replace=False)]
    workload = fw.TopicWorkload.from_arrays(
        rng.integers(1, 30, 40).astype(float),
        np.array([v for v, _ in pairs]),
        np.array([t for _, t in pairs]),
        num_subscribers=60,
    )
    return fw.Selection(workload, tau=60, capacity="30%", **options)


def test_moves_find_better_selections_and_always_the_same():
    problem = a_problem()
    found = []
    for _ in range(2):
        walker = walker_of(problem, seed=1)
        walker.fill_from(problem.is_pinned, Powers(1.0, 0.0), is_late=lowered_flag())
        start = walker.best_value
        walker.move(Powers(4.0, 0.0), allowed=0.02, largest=0.3, work=3e5, is_late=lowered_flag())
        found.append((walker.best_value, walker.best.tolist(), walker.counts.tolist()))
        assert walker.best_value > start
        assert walker.counts[:, 0].min() > 0
    assert found[0] == found[1]


def test_fixed_topics_stay_as_they_are():
    problem = a_problem()
    names = [str(name) for name in problem.workload.topic_names]
    fixed = a_problem(pin=[names[0], names[5]], exclude=[names[1], names[2]])
    walker = walker_of(fixed)
    walker.peel_from(~fixed.is_excluded, Powers(2.0, 1.0), is_late=lowered_flag())
    walker.move(Powers(4.0, 0.0), allowed=0.1, largest=0.5, work=2e5, is_late=lowered_flag())
    for served in (walker.best, walker._standing.served):
        assert served[[0, 5]].all()
        assert not served[[1, 2]].any()


def test_who_is_late_gets_what_there_is():
    problem = a_problem()
    walker = walker_of(problem)
    late = lowered_flag()
    late[0] = True
    walker.fill_from(problem.is_pinned, Powers(2.0, 0.0), is_late=late)
    assert not walker.best.any()
    assert walker.best_value == 0
