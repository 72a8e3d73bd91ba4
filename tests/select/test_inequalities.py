"""Every inequality the relaxation uses holds for every selection, checked one subset at a time."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import select_oracle
from tests.strategies import instances, odd_rates

import fanwise as fw
from fanwise.select.relaxing.covers import cover_inequalities, plain_inequalities, separate
from fanwise.select.relaxing.gain_cuts import fit_gains


def subsets(topics):
    return chain.from_iterable(combinations(topics, size) for size in range(len(topics) + 1))


def assert_valid(instance, metric, inequalities):
    """Nobody is more satisfied than its inequality says, whatever is served."""
    coefficients, constants = inequalities.coefficients, inequalities.constants
    needs = select_oracle.demand(instance.rates, instance.interests, instance.tau)
    place = 0
    for v, topics in enumerate(instance.interests):
        own = [float(b) for b in coefficients[place : place + len(topics)]]
        place += len(topics)
        if needs[v] == 0:
            continue
        for served in subsets(range(len(topics))):
            got = sum((Fraction(instance.rates[topics[i]]) for i in served), Fraction(0))
            share = min(Fraction(1), got / needs[v])
            reached = share if metric == "fractional" else Fraction(int(share == 1))
            claimed = float(constants[v]) + sum(own[i] for i in served)
            assert min(1.0, claimed) >= float(reached) - 1e-9, (v, served)


@st.composite
def shares_for(draw, instance):
    size = len(instance.rates)
    share = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
    return np.array(draw(st.lists(share, min_size=size, max_size=size)), dtype=np.float64)


def problem_of(instance, metric):
    tau = "column" if isinstance(instance.tau, list) else instance.tau
    return fw.Selection(instance.workload(), tau=tau, capacity="50%", metric=metric)


@settings(max_examples=75, deadline=None)
@given(data=st.data(), instance=instances(rates=odd_rates, max_topics=6, max_subscribers=4))
def test_gain_cuts_hold_for_every_selection(data, instance):
    problem = problem_of(instance, "fractional")
    inequalities = plain_inequalities(problem)
    assert_valid(instance, "fractional", inequalities)
    for _ in range(3):
        shares = data.draw(shares_for(instance))
        before = _reached(problem, inequalities, shares)
        num_mixed = fit_gains(problem, shares, inequalities)
        after = _reached(problem, inequalities, shares)
        assert np.count_nonzero(after < before - 1e-6) <= num_mixed
        assert (after <= before + 1e-5).all()
        assert_valid(instance, "fractional", inequalities)


def _reached(problem, inequalities, shares):
    indptr, topics = problem.workload.interests
    rows = np.repeat(np.arange(problem.workload.num_subscribers), np.diff(indptr))
    worth = inequalities.coefficients * shares[topics]
    many = problem.workload.num_subscribers
    return inequalities.constants + np.bincount(rows, weights=worth, minlength=many)


@settings(max_examples=50, deadline=None)
@given(data=st.data(), instance=instances(rates=odd_rates, max_topics=6, max_subscribers=4))
def test_covers_hold_for_every_selection(data, instance):
    problem = problem_of(instance, "binary")
    served = data.draw(shares_for(instance)) >= 0.5
    inequalities = cover_inequalities(problem, served)
    assert_valid(instance, "binary", inequalities)
    for _ in range(2):
        separate(problem, data.draw(shares_for(instance)), inequalities)
        assert_valid(instance, "binary", inequalities)


def test_overlapping_topics_are_not_counted_twice():
    """Two topics of 60 for a need of 100: the second adds 40, and the inequality learns it."""
    workload = fw.TopicWorkload.from_arrays([60.0, 60.0], [0, 0], [0, 1])
    problem = fw.Selection(workload, tau=100, capacity="50%", metric="fractional")
    shares = np.array([1.0, 0.5])
    inequalities = plain_inequalities(problem)
    for _ in range(20):
        fit_gains(problem, shares, inequalities)
    assert _reached(problem, inequalities, shares)[0] == pytest.approx(0.8, abs=1e-4)
