"""Criteria of stopping, alone and together."""

from __future__ import annotations

import math

import pytest

from fanwise.planning.problem import Run
from fanwise.planning.stopping import (
    Criterion,
    FirstOf,
    GapReached,
    NoProgress,
    Standing,
    TimeLimit,
    WorkLimit,
    limits_of,
)


@pytest.mark.parametrize(
    ("criterion", "before", "at", "reason"),
    [
        (TimeLimit(2.0), Standing(seconds=1.0), Standing(seconds=2.0), "limit"),
        (WorkLimit(10.0), Standing(work=5.0), Standing(work=10.0), "work"),
        (NoProgress(10.0), Standing(work=50.0, idle=5.0), Standing(idle=10.0), "work"),
        (GapReached(0.1), Standing(gap=0.2), Standing(gap=0.1), "gap"),
    ],
)
def test_each_criterion(criterion: Criterion, before: Standing, at: Standing, reason: str) -> None:
    assert not criterion.is_met(before)
    assert criterion.is_met(at)
    assert FirstOf((criterion,)).why(before) is None
    assert FirstOf((criterion,)).why(at) == reason


def test_shares_of_what_is_allowed() -> None:
    standing = Standing(seconds=1.0, work=3.0, idle=1.0)
    assert TimeLimit(4.0).share_used(standing) == 0.25
    assert WorkLimit(4.0).share_used(standing) == 0.75
    both = FirstOf((TimeLimit(4.0), WorkLimit(4.0)))
    assert both.share_used(standing) == 0.75
    assert both.share_used(Standing(seconds=400.0)) == 1.0
    assert FirstOf(()).share_used(standing) == 0.0


def test_nothing_allowed_ends_at_once_and_no_end_never() -> None:
    assert TimeLimit(0.0).is_met(Standing())
    assert WorkLimit(0.0).is_met(Standing())
    assert not TimeLimit(math.inf).is_met(Standing(seconds=1e300))
    assert not WorkLimit(math.inf).is_met(Standing(work=1e300))


def test_no_gap_is_not_a_gap_of_zero() -> None:
    assert not GapReached(0.0).is_met(Standing(gap=None))
    assert GapReached(0.0).is_met(Standing(gap=0.0))


def test_the_gap_is_named_before_the_limit_it_meets() -> None:
    run = Run(time_limit=1.0, gap=0.1)
    limits = limits_of(run, work=5.0)
    assert limits.why(Standing(seconds=2.0, work=9.0, gap=0.05)) == "gap"
    assert limits.why(Standing(seconds=2.0, work=9.0, gap=0.5)) == "limit"


def test_limits_in_force_are_noted() -> None:
    run = Run()
    limits_of(run, gap=1e-4, work=100.0, idle=10.0)
    assert run.limits_in_force == {"gap": 1e-4, "work": 100.0, "idle_work": 10.0}
    asked = Run(time_limit=3.0, gap=0.2)
    limits = limits_of(asked, gap=1e-4)
    assert asked.limits_in_force == {"time_limit": 3.0, "gap": 0.2}
    assert limits.why(Standing(gap=0.15)) == "gap"
    assert limits_of(Run()).criteria == ()


def test_parts_of_a_run_share_its_clock_and_not_its_limits() -> None:
    run = Run(time_limit=100.0)
    part = run.part(0.5)
    assert part.time_limit is not None
    assert 49.0 < part.time_limit <= 51.0
    assert run.limits_in_force == {"time_limit": 100.0}
    assert part.started == run.started
    assert part.seconds is run.seconds
    assert Run().part(0.5).time_limit is None
    assert Run().time_left() == math.inf
    assert Run(time_limit=0.0).time_left() == 0.0


def test_time_is_kept_for_what_comes_after_the_search() -> None:
    run = Run(time_limit=10.0)
    limits = limits_of(run, work=5.0, reserve=2.0)
    assert limits.why(Standing(seconds=8.0)) == "limit"
    assert limits.why(Standing(seconds=7.9, work=4.9)) is None
    assert run.limits_in_force == {"time_limit": 10.0, "work": 5.0}
    assert limits_of(run, reserve=20.0).why(Standing()) == "limit"
