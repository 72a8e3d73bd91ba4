"""The clock of events, where the machine's is set."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.service.monitor.clock import SteadyClock

SECOND = 10**9


class Machine:
    """A clock that can be set, beside one that cannot."""

    def __init__(self, patch):
        self.wall, self.passed = 5000 * SECOND, 10 * SECOND
        patch.setattr(time, "time_ns", lambda: self.wall)
        patch.setattr(time, "monotonic_ns", lambda: self.passed)

    def run(self, seconds, jump=0):
        self.passed += seconds * SECOND
        self.wall += (seconds + jump) * SECOND


@pytest.fixture
def machine(monkeypatch):
    return Machine(monkeypatch)


def test_time_goes_on_where_the_clock_goes_back_and_follows_it_forward(machine):
    clock = SteadyClock()
    assert clock.now() == 5000 * 10**6
    machine.run(3, -3600)
    assert clock.now() == 5001_500_000, "at half its pace"
    machine.run(7000)
    assert clock.now() == 8501_500_000
    machine.run(1000)
    assert clock.now() == machine.wall // 1000, "which has caught up"
    machine.run(1, 4000)
    assert clock.now() == machine.wall // 1000


def test_a_clock_that_was_forward_for_a_while_is_caught_up_with(machine):
    clock = SteadyClock()
    machine.run(1, 3600)
    ahead = clock.now()
    assert ahead == 8601 * 10**6
    machine.run(10, -3600)
    assert clock.now() == ahead + 5 * 10**6
    machine.run(7200)
    assert clock.now() == machine.wall // 1000


def test_a_clock_goes_on_from_where_the_one_before_it_was(machine):
    clock = SteadyClock(9000 * 10**6)
    assert clock.now() > 9000 * 10**6
    machine.run(2)
    assert clock.now() == pytest.approx(9001 * 10**6, abs=2)
    machine.run(10_000)
    assert clock.now() == machine.wall // 1000


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(-200, 200))))
def test_no_answer_is_before_another(steps):
    with pytest.MonkeyPatch.context() as patch:
        machine = Machine(patch)
        clock = SteadyClock()
        told = [clock.now()]
        for seconds, jump in steps:
            machine.run(seconds, jump)
            told.append(clock.now())
            assert told[-1] >= machine.wall // 1000
    assert told == sorted(set(told))


def test_a_clock_that_jumps_days_ahead_is_believed_when_it_has_stayed_there(machine):
    clock = SteadyClock()
    clock.now()
    machine.run(1, 5 * 86_400)
    assert clock.now() == 5001 * 10**6
    assert clock.doubt == (
        "the machine's clock was set forward by 120 hours; time goes on as before for 10 minutes, "
        "then the clock is believed"
    )
    machine.run(590)
    assert clock.now() == 5591 * 10**6
    machine.run(10)
    assert clock.now() == machine.wall // 1000
    assert clock.doubt == ""


def test_a_jump_that_is_taken_back_at_once_never_was(machine):
    clock = SteadyClock()
    clock.now()
    machine.run(1, 5 * 86_400)
    clock.now()
    machine.run(300, -5 * 86_400)
    assert clock.now() == machine.wall // 1000 == 5301 * 10**6
    assert clock.doubt == ""


def test_a_clock_that_is_set_back_by_days_is_believed_when_it_has_stayed_there(machine):
    clock = SteadyClock(5000 * 10**6 + 5 * 86_400 * 10**6)
    ahead = clock.now()
    machine.run(100)
    assert clock.now() == ahead + 50 * 10**6
    assert "set back by 120 hours" in clock.doubt
    machine.run(500)
    assert clock.now() == machine.wall // 1000
    machine.run(1)
    assert clock.now() == machine.wall // 1000
