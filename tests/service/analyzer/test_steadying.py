"""Few switches for a share of the value: prices of topics, and the price over time."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import steadying_oracle
from tests.service.analyzer.closed_windows import closed_window, window_at

import fanwise as fw
from fanwise.select.problem import Selection
from fanwise.service.analyzer.ahead import KNOWN, WINDOWS, Ahead, look_ahead, worth_under
from fanwise.service.analyzer.deciding import Analyzer
from fanwise.service.analyzer.silent import InForce
from fanwise.service.analyzer.steadying import (
    AIM,
    first_price,
    next_price,
    read_price,
    topic_prices,
)
from fanwise.service.analyzer.workloads import Traffic, make_workload, traffic_of
from fanwise.service.configuration.model import Decide

DAY_HOURS = 24
SHARE = 0.01

worths = st.lists(st.floats(-20, 20, allow_nan=False), max_size=6)


@settings(max_examples=150)
@given(
    price=st.floats(0, 10),
    worth=worths,
    counts=st.sampled_from([1.0, 0.7, 0.25]),
    was_served=st.booleans(),
)
def test_a_topic_pays_what_the_best_course_of_the_windows_to_come_leaves(
    price, worth, counts, was_served
):
    ahead = Ahead(tuple(np.array([one]) for one in worth), counts, "last-windows")
    (found,) = topic_prices(price, ahead, np.array([was_served]))
    expected = steadying_oracle.price_of_switching(price, worth, counts, was_served)
    assert found == pytest.approx(expected, abs=1e-9)
    assert -1e-9 <= found <= 2 * price + 1e-9


@pytest.mark.parametrize("dearness", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_the_mean_given_up_comes_to_the_share_whatever_a_switch_is_worth(dearness, noise):
    rng = np.random.default_rng(4)
    price, spent = 1.0, []
    for _ in range(400):
        loss = min(0.5, 0.01 * dearness * price * math.exp(noise * rng.standard_normal()))
        spent.append(loss)
        price = next_price(price, SHARE, loss * 1000, 1000.0, 1.0)
    # The mean over all, the way to the right price included.
    assert np.mean(spent) <= SHARE * 1.02
    assert np.mean(spent) >= 0.75 * AIM * SHARE


def test_what_is_not_spent_is_carried_over_and_nothing_may_be_given_up_for_nothing():
    quiet = next_price(2.0, SHARE, 0.0, 100.0, 1.0)
    even = next_price(2.0, SHARE, AIM * SHARE * 100, 100.0, 1.0)
    dear = next_price(2.0, SHARE, 10.0, 100.0, 1.0)
    assert even == pytest.approx(2.0)
    assert dear < even < quiet
    assert next_price(2.0, 0.0, 0.0, 100.0, 1.0) == 0.0
    assert next_price(2.0, SHARE, 0.0, 0.0, 1.0) > 2.0
    assert first_price(30.0, 10) == pytest.approx(0.9)
    assert 0 < first_price(0.0, 0) < 1


def test_a_price_that_no_facts_tell_is_none():
    assert read_price({}) is None
    assert read_price({"stability": None}) is None
    assert read_price({"stability": {"next_price": "dear"}}) is None
    assert read_price({"stability": {"next_price": 2}}) == 2.0


class Kept:
    """Hours that were counted, and what was asked for."""

    def __init__(self, hours):
        self.hours, self.asked = hours, []

    def __call__(self, windows):
        self.asked += windows
        return [
            traffic_of(closed_window(self.hours[hour], []))
            for hour in (window.start // (3600 * 10**6) for window in windows)
            if hour in self.hours
        ]


PAIRS = [("ann", "day"), ("bob", "day"), ("cid", "night"), ("dan", "night"), ("eve", "both")]


def cycle(hour: int) -> dict[str, int]:
    """Topics of the day and of the night, and one of both, in an hour."""
    is_day = hour % DAY_HOURS < 12
    return {"both": 4, "day": 9 if is_day else 1, "night": 1 if is_day else 9}


def question(closed, **given) -> Selection:
    workload = make_workload(traffic_of(closed), closed.pairs, closed.window, message_bytes=1.0)
    return Selection(workload, **{"tau": 3, "capacity": "60%", **given})


def test_the_day_before_stands_for_the_hours_to_come_where_it_is_a_better_guide():
    now = 24 + 9
    closed = closed_window(cycle(now), PAIRS, number=now)
    kept = Kept({hour: cycle(hour) for hour in range(now)})
    # Three and four hours ago were as now: only when these mislead is the day before asked.
    found = look_ahead(question(closed), closed.window, traffic_of(closed), kept)
    assert found.rests_on == "last-windows"
    assert found.counts < KNOWN
    now = 24 + 13
    closed = closed_window(cycle(now), PAIRS, number=now)
    kept = Kept({hour: cycle(hour) for hour in range(now)})
    problem = question(closed)
    found = look_ahead(problem, closed.window, traffic_of(closed), kept)
    assert found.rests_on == "day-before"
    assert len(found.worth) == WINDOWS
    expected = worth_under(problem, np.array([4.0, 1.0, 9.0]))
    assert all(one.tolist() == expected.tolist() for one in found.worth)
    later = look_ahead(problem, closed.window, traffic_of(closed), kept, first=6)
    into_the_day = [cycle(hour)["day"] for hour in range(now + 6, now + 12)]
    assert into_the_day == [1] * 5 + [9]
    assert later.worth[-1].tolist() != expected.tolist()


def test_another_kind_of_day_is_no_guide():
    now = 24 + 13
    hours = {hour: cycle(hour + 12) for hour in range(24)}
    hours |= {hour: cycle(hour) for hour in range(24, now)}
    closed = closed_window(cycle(now), PAIRS, number=now)
    found = look_ahead(question(closed), closed.window, traffic_of(closed), Kept(hours))
    assert found.rests_on == "last-windows"


def test_without_any_history_the_last_window_is_all_there_is():
    closed = closed_window(cycle(0), PAIRS)
    problem = question(closed)
    found = look_ahead(problem, closed.window, traffic_of(closed), lambda windows: [])
    assert found.rests_on == "last-windows"
    assert found.worth[0].tolist() == worth_under(problem, problem.workload.rates).tolist()


def test_worth_is_what_a_topic_earns_beyond_its_capacity():
    # One cheap topic satisfies two, a dear one nobody that is not satisfied by the cheap one.
    workload = fw.TopicWorkload.from_arrays(
        [5.0, 50.0, 10.0], [0, 1, 0, 1, 2], [0, 0, 1, 1, 2], num_subscribers=3
    )
    worth = worth_under(Selection(workload, tau=5, capacity=15), workload.rates)
    assert worth[0] > 0 > worth[1]
    pinned = Selection(workload, tau=5, capacity=20, pin=["t0"])
    assert worth_under(pinned, np.array([500.0, 1.0, 1.0])).tolist() == [0.0] * 3


def decide(give_up, hours, before=None):
    """Decide hours one after the other; return what was decided."""
    kept, made, served = Kept({}), [], None
    for hour, (events, pairs) in enumerate(hours):
        closed = closed_window(events, pairs, number=hour)
        kept.hours[hour] = events
        analyzer = Analyzer(Decide(tau=3, capacity="50%", give_up=give_up), kept, now=lambda: 7)
        in_force = None if served is None else InForce("f" * 64, served, frozenset())
        facts = made[-1].decision.facts if made else before
        made.append(analyzer.decide(closed, in_force, before=facts))
        served = made[-1].served
    return made


@pytest.fixture(scope="module")
def noisy_hours():
    """Hours in which topics of much the same worth change places by chance."""
    rng = np.random.default_rng(8)
    topics = [f"t{number:02}" for number in range(24)]
    pairs = sorted(
        {(f"s{who}", topic) for who in range(150) for topic in rng.choice(topics, 2, replace=False)}
    )
    return [({topic: int(rng.poisson(6)) + 1 for topic in topics}, pairs) for _ in range(6)]


def test_a_share_given_up_saves_switches_and_is_accounted_for(noisy_hours):
    free, near = decide(0.0, noisy_hours), decide(0.05, noisy_hours)
    switched = [sum(one.decision.changes for one in made[1:]) for made in (free, near)]
    assert switched[1] < 0.7 * switched[0]
    price = None
    for one in near[1:]:
        facts = one.decision.facts["stability"]
        assert price is None or facts["price"] == price
        assert facts["given_up"] == one.plan.metrics["given_up"]
        assert one.plan.parameters["change_price"] == "column"
        price = facts["next_price"]
    assert "stability" not in near[0].decision.facts
    assert all(one.plan.metrics["given_up"] == 0 for one in free[1:])


def test_the_same_windows_are_decided_the_same(noisy_hours):
    first, again = decide(0.05, noisy_hours[:3]), decide(0.05, noisy_hours[:3])
    assert [one.decision.hash for one in first] == [one.decision.hash for one in again]
    assert isinstance(first[0].served, pa.Array)


def test_windows_to_come_are_named_by_their_time():
    kept = Kept({})
    closed = closed_window(cycle(30), PAIRS, number=30)
    look_ahead(question(closed), closed.window, traffic_of(closed), kept)
    assert window_at(29) in kept.asked
    assert window_at(6) in kept.asked
    assert isinstance(traffic_of(closed), Traffic)
