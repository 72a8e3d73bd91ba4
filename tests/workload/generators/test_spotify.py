"""The statistics that the generator's docstring promises, at a hundredth of the full size."""

from __future__ import annotations

import numpy as np
import pytest

import fanwise as fw
from fanwise.errors import ParameterError
from fanwise.workload.generators.spotify import spotify

SEEDS = range(4)
SCALE = 0.01


def hill(values, top):
    values = np.sort(np.asarray(values, dtype=float))[::-1]
    return 1 / np.mean(np.log(values[:top] / values[top]))


@pytest.fixture(scope="module", params=[0.5, 0.0], ids=["communities", "none"])
def workloads(request):
    return [spotify(scale=SCALE, communities=request.param, seed=seed) for seed in SEEDS]


def test_sizes(workloads):
    for workload in workloads:
        assert workload.num_topics == 11_000
        assert workload.num_subscribers == 49_000
        assert workload.num_pairs == 120_000
        assert workload.period_seconds == 864_000
        assert np.all(workload.message_bytes == 200)


def test_everybody_takes_part(workloads):
    for workload in workloads:
        assert workload.num_followers.min() >= 1
        assert np.diff(workload.interests.indptr).min() >= 1


def test_rates_are_whole_and_heavy_tailed(workloads):
    for workload in workloads:
        rates = workload.rates
        assert np.array_equal(rates, np.round(rates))
        assert rates.min() >= 1
        assert rates.mean() == pytest.approx(2763, rel=0.001)
        assert hill(rates, 200) == pytest.approx(2.5, rel=0.05)
        assert np.median(rates) == pytest.approx(2763 / 4, rel=0.05)


def test_followers_and_followings_are_heavy_tailed(workloads):
    for workload in workloads:
        followings = np.diff(workload.interests.indptr)
        assert hill(workload.num_followers, 100) == pytest.approx(1.4, rel=0.1)
        assert hill(followings, 200) == pytest.approx(1.4, rel=0.1)
        assert np.mean(followings == 1) == pytest.approx(0.69, abs=0.03)


def test_rates_do_not_depend_on_popularity(workloads):
    for workload in workloads:
        correlation = np.corrcoef(np.log(workload.rates), np.log(workload.num_followers))[0, 1]
        assert abs(correlation) < 0.03


def shares(workload, tau):
    plan = fw.Selection(workload, tau=tau, capacity="10%").solve("greedy")
    n = workload.num_subscribers
    return plan.metrics["paper_bound"] / n, plan.objective / n


def test_bound_and_greedy_are_near_the_papers(workloads):
    found = np.array([shares(workload, 27) for workload in workloads])
    assert np.all(np.abs(found - [0.86, 0.72]) < 0.04)
    assert np.all(np.abs(found.mean(axis=0) - [0.86, 0.72]) < 0.02)


@pytest.mark.parametrize(("tau", "paper", "ours"), [(276, 0.75, 0.80), (2763, 0.82, 0.84)])
def test_greedy_against_the_bound_at_higher_thresholds(workloads, tau, paper, ours):
    found = np.array([shares(workload, tau) for workload in workloads])
    ratio = float(np.mean(found[:, 1] / found[:, 0]))
    assert ratio == pytest.approx(ours, abs=0.02)
    assert ratio == pytest.approx(paper, abs=0.06)


def test_same_seed_same_workload():
    first, again, other = (spotify(scale=0.001, seed=seed) for seed in (3, 3, 4))
    assert first.hash == again.hash != other.hash


def test_communities_change_the_pairs_and_nothing_else():
    apart, together = (spotify(scale=0.001, seed=3, communities=f) for f in (0.0, 0.5))
    assert np.array_equal(apart.rates, together.rates)
    assert np.array_equal(apart.num_followers, together.num_followers)
    assert np.array_equal(apart.interests.indptr, together.interests.indptr)
    assert not np.array_equal(apart.interests.indices, together.interests.indices)


def test_sizes_of_ones_own():
    workload = spotify(topics=50, subscribers=200, pairs=700, message_bytes=111, seed=1)
    assert (workload.num_topics, workload.num_subscribers) == (50, 200)
    assert workload.num_pairs == 700
    assert np.all(workload.message_bytes == 111)
    assert workload.origin == {"generator": "spotify", "seed": 1, "communities": 0.5}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scale": 0.0}, "'scale' parameter must be a finite number > 0, got 0.0"),
        ({"scale": float("nan")}, "'scale' parameter"),
        ({"communities": 1.5}, "'communities' parameter must be a share from 0 to 1"),
        ({"message_bytes": -1.0}, "'message_bytes' parameter must be a finite number >= 0"),
        ({"scale": 0.01, "pairs": 48_999}, "'pairs' parameter must be from 49000 to 269500000"),
        ({"topics": 0}, "'topics' parameter must be from 1"),
    ],
)
def test_parameters_out_of_range(parameters, message):
    with pytest.raises(ParameterError, match=message):
        spotify(**parameters)
