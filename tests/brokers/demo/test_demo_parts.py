"""The demo's crowd, its audit, and what it shows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from rich.console import Console

from fanwise.brokers.demo.audit import KEPT, Audit, Due
from fanwise.brokers.demo.costs import Costs, cost_of, loads_of, solve_centrally
from fanwise.brokers.demo.crowd import Crowd
from fanwise.brokers.demo.plots import save_cost_figure
from fanwise.brokers.demo.running import Snapshot
from fanwise.brokers.demo.screen import render


def test_interests_drift_within_the_space_and_publications_follow_the_rates():
    crowd = Crowd(4, 60, 30.0, 1)
    assert np.isclose(crowd.workload.rates.rate.sum(), 30.0)
    sizes = crowd.workload.hi - crowd.workload.lo
    for step in range(200):
        client = step % 7
        before = crowd.rectangle(client)
        lo, hi = crowd.drift(client)
        assert (lo, hi) != before
        assert (np.array(lo) >= -1e-9).all()
        assert (np.array(hi) <= 1 + 1e-9).all()
    np.testing.assert_allclose(crowd.workload.hi - crowd.workload.lo, sizes)
    drawn = [crowd.draw_publication() for _ in range(3000)]
    sent = np.bincount([one.client for one in drawn], minlength=60) / 3000
    indptr, _, rate = crowd.workload.rates
    expected = np.array([rate[a:b].sum() for a, b in pairwise(indptr)]) / 30
    np.testing.assert_allclose(sent, expected, atol=0.03)


def test_the_audit_finds_what_is_lost_and_what_is_doubled():
    audit = Audit()
    audit.wants(1, (0.0,), (0.5,), 10.0)
    audit.wants(2, (0.4,), (1.0,), 10.0)
    audit.published("p", 1, 5.0, 5.1, (0.3,))  # before anybody wanted it
    audit.published("p", 2, 20.0, 21.0, (0.45,))
    audit.published("p", 3, 30.0, 31.0, (0.3,))
    for client in (1, 2):
        audit.received(client, "p", 2)
    assert audit.verdict() == (3, 2, 1, 0)
    assert audit.missing() == [(1, "p", 3)]
    assert audit.has_come(Due(2, "p", 2))
    audit.received(1, "p", 3)
    audit.received(1, "p", 3)
    assert audit.verdict() == (3, 3, 0, 1)
    assert not audit.missing()
    audit.ends(2, 20.5 + KEPT)  # given up too soon after 21 to be due: neither lost nor wrong
    assert audit.verdict() == (2, 3, 0, 1)


def test_costs_and_what_is_shown(tmp_path):
    crowd = Crowd(3, 30, 10.0, 2)
    homes = np.arange(30, dtype=np.int32) % 3
    now = cost_of(crowd.workload, homes)
    central = solve_centrally(crowd.workload, 2.0, homes)
    assert 0 < central <= now
    clients, load = loads_of(crowd.workload, homes)
    assert sum(clients) == 30
    costs = (Costs(0.0, now, now), Costs(1.0, now / 2, now, central))
    shown = Snapshot("running", costs, 5, 4, 3, tuple(clients), tuple(load),
                     tuple(crowd.workload.capacity))  # fmt: skip
    console = Console(width=120, record=True, file=(tmp_path / "out").open("w"))
    for one in (Snapshot("starting", (), 0, 0, 0), shown):
        console.print(render(one))
    text = console.export_text()
    assert "solved centrally" in text
    assert f"{now / 2:,.0f}" in text
    assert "3 moves" in text
    save_cost_figure(costs, tmp_path / "costs.png")
    assert (tmp_path / "costs.png").stat().st_size > 5000
