"""The clock of events, where the machine's is set."""

from __future__ import annotations

import time

from fanwise.service.monitor.clock import SteadyClock

SECOND = 10**9


def test_time_goes_on_where_the_clock_goes_back_and_follows_it_forward(monkeypatch):
    wall, passed = [5000 * SECOND], [10 * SECOND]
    monkeypatch.setattr(time, "time_ns", lambda: wall[0])
    monkeypatch.setattr(time, "monotonic_ns", lambda: passed[0])
    clock = SteadyClock()
    assert clock.now() == 5000 * 10**6
    passed[0] += 3 * SECOND
    wall[0] -= 3600 * SECOND
    assert clock.now() == 5003 * 10**6
    wall[0] = 9000 * SECOND
    assert clock.now() == 9000 * 10**6
