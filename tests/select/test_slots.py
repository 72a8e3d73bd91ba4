"""Several priced inequalities a subscriber: each holds, and so does what they prove together."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.oracles import select_oracle
from tests.strategies import instances, odd_rates

import fanwise as fw
from fanwise.select.proving.certificate import certify
from fanwise.select.relaxing.slot_kernels import bring_within
from fanwise.select.relaxing.slots import SlotRelaxation
from fanwise.select.relaxing.tightening import plain_relaxation

pytestmark = pytest.mark.kernels


def problem_of(instance):
    tau = "column" if isinstance(instance.tau, list) else instance.tau
    return fw.Selection(instance.workload(), tau=tau, capacity="40%")


def worked(problem, rounds=4):
    slots = SlotRelaxation(problem)
    slots.iterate(5)
    slots.bound()
    for _ in range(rounds):
        slots.separate()
        slots.iterate(5)
        slots.bound()
    return slots


@settings(max_examples=40, deadline=None)
@given(instance=instances(rates=odd_rates, max_topics=6, max_subscribers=4))
def test_every_slot_holds_for_every_selection(instance):
    slots = worked(problem_of(instance))
    needs = select_oracle.demand(instance.rates, instance.interests, instance.tau)
    place = 0
    for v, topics in enumerate(instance.interests):
        sets = slots._sets[place : place + len(topics)]
        place += len(topics)
        every = chain.from_iterable(combinations(range(len(topics)), k) for k in range(9))
        for served in every if needs[v] else ():
            if sum(instance.rates[topics[i]] for i in served) < float(needs[v]):
                continue
            for k in np.flatnonzero(slots._per_event[v] > 0):
                slope = [
                    0.0 if sets[i] >> k & 1 else instance.rates[topics[i]] * slots._per_event[v, k]
                    for i in served
                ]
                assert sum(min(1.0, one) for one in slope) >= 1 - 1e-5, (v, k, served)


@settings(max_examples=40, deadline=None)
@given(instance=instances(rates=odd_rates, max_topics=6, max_subscribers=4))
def test_what_is_certified_encloses_the_optimum(instance):
    problem = problem_of(instance)
    slots = worked(problem)
    optimum = select_oracle.optimum(
        instance.rates,
        instance.interests,
        instance.tau,
        problem.limit,
        cost=instance.cost,
        weight=instance.weight,
    )
    bound = certify(problem, slots.hints).value
    assert bound >= float(optimum) * (1 - 1e-9)
    assert (slots._slots.sum(axis=1) <= problem.weight * (1 + 1e-5)).all()


def test_slots_prove_more_where_everything_is_needed():
    rng = np.random.default_rng(5)
    pairs = [(v, t) for v in range(200) for t in rng.choice(60, 6, replace=False)]
    workload = fw.TopicWorkload.from_arrays(
        rng.integers(1, 30, 60).astype(float),
        np.array([v for v, _ in pairs]),
        np.array([t for _, t in pairs]),
        num_subscribers=200,
    )
    problem = fw.Selection(workload, tau=1e9, capacity="10%")
    plain = plain_relaxation(problem)
    plain.iterate(200)
    plain.bound()
    slots = worked(problem, rounds=30)
    assert certify(problem, slots.hints).value < 0.9 * plain.best


@pytest.mark.parametrize(
    ("wish", "most", "expected"),
    [
        ([0.2, 0.3], 1.0, [0.2, 0.3]),
        ([1.0, 0.5], 1.0, [0.75, 0.25]),
        ([2.0, 0.5, 0.1], 1.0, [1.0, 0.0, 0.0]),
    ],
)
def test_prices_come_to_the_nearest_ones_within_the_weight(wish, most, expected):
    numbers = np.array(wish)
    bring_within(numbers, most)
    assert numbers == pytest.approx(expected)
