"""Decisions: right by brute force, near what is in force, explained."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.service.analyzer.closed_windows import closed_window

from fanwise.select.problem import Selection
from fanwise.service.analyzer.deciding import Analyzer
from fanwise.service.analyzer.silent import InForce
from fanwise.service.configuration.model import Decide, Price

EVENTS = {"news": 10, "chat": 4, "cats": 2, "dogs": 2}
PAIRS = [
    ("ann", "news"), ("bob", "news"), ("cid", "news"), ("bob", "chat"), ("dan", "chat"),
    ("eve", "cats"), ("fay", "dogs"), ("fay", "cats"),
]  # fmt: skip


def nothing(windows):
    return []


def analyzer(price=None, **given) -> Analyzer:
    chosen = {"tau": 2, "capacity": 20, **given}
    return Analyzer(Decide(**chosen), nothing, price=price, now=lambda: 77)


def in_force(*served: str, heard=()) -> InForce:
    return InForce("f" * 64, pa.array(served, pa.string()), frozenset(heard))


def satisfied(events, pairs, served, tau):
    """Count by hand who gets enough."""
    wanted = {}
    for who, topic in pairs:
        if events.get(topic, 0) > 0:
            wanted.setdefault(who, []).append(topic)
    return sum(
        sum(events[topic] for topic in topics if topic in served)
        >= min(tau, sum(events[topic] for topic in topics))
        for topics in wanted.values()
    )


def costs(events, pairs):
    return {
        topic: count * sum(1 for _, one in pairs if one == topic) for topic, count in events.items()
    }


@settings(max_examples=40)
@given(
    events=st.dictionaries(st.sampled_from("abcde"), st.integers(1, 6), min_size=1),
    pairs=st.sets(st.tuples(st.sampled_from("uvwx"), st.sampled_from("abcde"))),
    capacity=st.integers(0, 30),
    previous=st.sets(st.sampled_from("abcde")),
    limit=st.none() | st.integers(0, 3),
    heard=st.sets(st.sampled_from("abcde")),
)
def test_no_selection_within_the_limits_is_better(events, pairs, capacity, previous, limit, heard):
    closed = closed_window(events, pairs)
    made = analyzer(tau=3, capacity=capacity, max_changes=limit, gap=0.0).decide(
        closed, in_force(*previous, heard=heard & previous)
    )
    price = costs(events, pairs)
    topics = sorted({topic for _, topic in pairs if topic in events})
    allowed = [
        set(some)
        for count in range(len(topics) + 1)
        for some in combinations(topics, count)
        if sum(price[topic] for topic in some) <= capacity
        and (limit is None or len(set(some) ^ (previous & set(topics))) <= limit)
    ]
    decision = made.decision
    if not allowed:
        assert decision.state == "failed"
        assert decision.why
        return
    every = set(made.served.to_pylist())
    served = every & set(topics)
    assert served in allowed
    best = max(satisfied(events, pairs, some, 3) for some in allowed)
    assert decision.value == satisfied(events, pairs, served, 3) == best
    assert decision.bound is not None
    assert decision.bound >= best - 1e-9
    # What is told of a decision is exactly what it switches, silent topics too.
    assert {change.topic for change in made.changes} == every ^ previous
    assert decision.changes == len(every ^ previous)
    assert limit is None or decision.changes <= limit
    silent = previous - set(topics)
    assert every - served <= silent
    assert silent & heard <= every
    if limit is None:
        assert every - served == silent & heard
    served = every
    assert all(change.served == (change.topic in served) for change in made.changes)
    assert all(change.reason for change in made.changes)


def test_a_decision_tells_what_it_rests_on():
    made = analyzer().decide(closed_window(EVENTS, PAIRS), None)
    decision = made.decision
    assert decision.hash == made.plan.id
    assert decision.workload == made.workload.hash
    assert (decision.state, decision.previous, decision.made_at) == ("pending", None, 77)
    assert set(decision.seconds) == {"build", "solve", "verify", "explain"}
    assert decision.facts["served"] == len(made.served) == decision.changes
    assert decision.facts["used"] <= decision.facts["capacity"] == 20
    made.plan.verify()


def test_the_first_decision_has_no_limit_on_changes():
    made = analyzer(max_changes=0).decide(closed_window(EVENTS, PAIRS), None)
    assert made.decision.changes > 0


def test_what_is_hardly_worse_is_kept():
    closed = closed_window(EVENTS, PAIRS)
    worse = ["chat", "dogs"]  # satisfies three of the four that are possible
    kept = analyzer(least_gain=0.9).decide(closed, in_force(*worse))
    assert kept.kept == 3
    assert kept.hold is not None
    assert "less than the 90%" in kept.hold
    acted = analyzer(least_gain=0.01).decide(closed, in_force(*worse))
    assert acted.hold is None
    assert acted.decision.why.startswith("gains ")


def test_what_no_longer_fits_is_switched_however_little_that_gains():
    closed = closed_window(EVENTS, PAIRS)
    made = analyzer(least_gain=1.0, capacity=10).decide(closed, in_force("news"))
    assert made.hold is None
    assert "would need 30 of 10" in made.decision.why


def test_pins_and_exclusions_of_topics_that_are_not_there_are_no_matter():
    closed = closed_window(EVENTS, PAIRS)
    made = analyzer(pin=["gone"], exclude=["lost"]).decide(
        closed, None, pin=["dogs"], exclude=["cats", "dogs"]
    )
    served = set(made.served.to_pylist())
    assert not served & {"cats", "dogs"}
    pinned = analyzer(capacity=8).decide(closed, None, pin=["chat"])
    assert "chat" in pinned.served.to_pylist()
    assert any(change.reason.startswith("pinned") for change in pinned.changes)


def test_what_people_fix_holds_for_silent_topics_too():
    closed = closed_window(EVENTS, PAIRS)
    before = in_force("dogs", "gone", "lost", heard=["gone", "lost"])
    made = analyzer(least_gain=1.0).decide(closed, before, pin=["new"], exclude=["lost"])
    served = set(made.served.to_pylist())
    assert {"gone", "new"} <= served
    assert "lost" not in served
    reasons = {one.topic: one.reason for one in made.changes}
    assert reasons["new"].startswith("pinned")
    assert reasons["lost"].startswith("excluded")
    assert made.hold is None, "what people say is done, whatever it gains"


@pytest.mark.parametrize("fixed", [{"exclude": ["news"]}, {"pin": ["dogs"]}])
def test_a_small_gain_holds_up_nothing_that_people_said(fixed):
    closed = closed_window(EVENTS, PAIRS)
    best = analyzer(capacity=40, least_gain=0.01).decide(closed, None)
    before = in_force(*(set(best.served.to_pylist()) | {"news"}) - {"dogs"})
    assert analyzer(capacity=40, least_gain=0.5).decide(closed, before).hold is not None
    made = analyzer(capacity=40, least_gain=0.5).decide(closed, before, **fixed)
    assert made.hold is None
    assert "pinned or excluded" in made.must


def test_the_same_numbers_of_other_topics_are_another_decision():
    made = [
        analyzer().decide(closed_window({topic: 3}, [("ann", topic)], number=hour), None)
        for hour, topic in enumerate("ab")
    ]
    assert [one.served.to_pylist() for one in made] == [["a"], ["b"]]
    assert made[0].decision.hash != made[1].decision.hash
    again = analyzer().decide(closed_window({"a": 3}, [("ann", "a")]), None)
    assert again.decision.hash == made[0].decision.hash, "the same window has the same plan"


def test_an_interrupted_search_makes_no_decision(monkeypatch):
    def interrupt(problem, **how):
        plan = solve(problem, **how)
        return replace(plan, stopped="interrupted")

    solve = Selection.solve
    monkeypatch.setattr(Selection, "solve", interrupt)
    with pytest.raises(KeyboardInterrupt):
        analyzer().decide(closed_window(EVENTS, PAIRS), None)


def test_pins_that_do_not_fit_leave_what_is_in_force():
    made = analyzer(capacity=5, pin=["news"]).decide(closed_window(EVENTS, PAIRS), in_force("cats"))
    assert made.decision.state == "failed"
    assert "pinned topics cost" in made.decision.why
    assert made.plan is None
    assert len(made.decision.hash) == 64


def test_an_empty_window_is_decided_too():
    made = analyzer().decide(closed_window({}, []), in_force("news", "chat", heard=["news"]))
    assert made.decision.value == 0
    assert made.served.to_pylist() == ["news"]
    assert [(one.topic, one.served) for one in made.changes] == [("chat", False)]


def test_delivered_value_is_that_of_the_traffic_that_came():
    told = closed_window({"news": 1, "chat": 4}, PAIRS)
    served = pa.array(["chat", "gone"], pa.string())
    assert analyzer(tau=4).delivered_value(told, served) == satisfied(
        {"news": 1, "chat": 4}, PAIRS, {"chat"}, 4
    )


def test_the_served_part_is_priced():
    made = analyzer(price=Price()).decide(closed_window(EVENTS, PAIRS), None)
    priced = made.decision.facts["price"]
    assert priced["machines"] == 1
    assert 0 < priced["bound"] <= priced["cost"]
    tiny = Price(instance="no-such")
    failed = analyzer(price=tiny).decide(closed_window(EVENTS, PAIRS), None)
    assert "no-such" in failed.decision.facts["price"]["error"]


@pytest.mark.parametrize("metric", ["binary", "fractional"])
def test_reasons_say_what_a_switch_is_worth(metric):
    made = analyzer(metric=metric, capacity=14).decide(
        closed_window(EVENTS, PAIRS), in_force("news")
    )
    reasons = {change.topic: change.reason for change in made.changes}
    assert not next(change for change in made.changes if change.topic == "news").served
    assert reasons["news"].startswith("costs 30 and would satisfy 2 more at once")
    assert "would lose" in reasons["chat"]
