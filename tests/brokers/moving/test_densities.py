"""Rates from history: what is long ago counts less, and a short history is no small rate."""

from __future__ import annotations

import numpy as np
import pytest

from fanwise.brokers.moving.densities import Densities
from fanwise.brokers.routing.routers import ChannelFinder

HALF_LIFE = 60.0


def densities():
    lo, hi = np.array([[0.0], [0.5]]), np.array([[0.5], [1.0]])
    return Densities(ChannelFinder(lo, hi), 2, HALF_LIFE)


@pytest.mark.parametrize("seconds", [5, 60, 1200])
def test_a_steady_stream_has_its_rate_early_and_late(seconds):
    found = densities()
    found.watch("c", 0.0)
    for tick in range(seconds * 4):
        found.count("c", (0.2,), tick / 4 + 0.125)
    np.testing.assert_allclose(found.rates("c", seconds), [4.0, 0.0], rtol=0.03)


def test_what_has_ended_is_forgotten_by_halves():
    found = densities()
    found.take_over("c", (0, 1), (2.0, 8.0), 100.0)
    np.testing.assert_allclose(found.rates("c", 100.0), [2.0, 8.0])
    np.testing.assert_allclose(found.rates("c", 100.0 + 2 * HALF_LIFE), [0.5, 2.0])


def test_events_weigh_by_their_age():
    found = densities()
    times = np.sort(np.random.default_rng(1).uniform(0, 300, 50))
    for at in times:
        found.count("c", (0.9,), float(at))
    now, decay = 400.0, np.log(2) / HALF_LIFE
    expected = (
        np.exp(-decay * (now - times)).sum() * decay / (1 - np.exp(-decay * (now - times[0])))
    )
    np.testing.assert_allclose(found.rates("c", now), [0.0, expected])


def test_points_outside_and_clients_unknown_count_for_nothing():
    found = densities()
    found.count("c", (7.0,), 1.0)
    assert found.rates("c", 2.0).tolist() == [0.0, 0.0]
    assert found.rates("stranger", 2.0).tolist() == [0.0, 0.0]
    found.count("c", (0.5,), 2.0)
    assert found.rates("c", 2.0)[1] > 0
    found.keep(["other"])
    assert found.rates("c", 3.0).tolist() == [0.0, 0.0]
