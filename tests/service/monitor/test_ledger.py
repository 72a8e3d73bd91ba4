"""The ledger against a plain count, with batches handed over twice and files opened anew."""

from __future__ import annotations

import sqlite3
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanwise.errors import InputError
from fanwise.service.monitor.ledger import Batch, Ledger, TopicCount
from fanwise.service.monitor.subscriptions import SubscriptionChange
from fanwise.service.monitor.windows import WindowRule
from fanwise.service.records import Window

RULES = st.builds(
    lambda slide, factor, lateness: WindowRule(slide * factor, slide, lateness),
    st.integers(1, 10),
    st.integers(1, 3),
    st.integers(0, 15),
)
EVENTS = st.lists(st.lists(st.tuples(st.integers(0, 60), st.sampled_from("abc")), max_size=6))


def batch_of(number, rule, events, **more):
    """Count events as the stream does."""
    counts = Counter((rule.pane_of(instant), topic) for instant, topic in events)
    return Batch(
        number,
        [
            TopicCount(pane, topic, many, 10.0 * many, many)
            for (pane, topic), many in counts.items()
        ],
        max((instant for instant, _ in events), default=None),
        **more,
    )


class Plain:
    """Counts event by event, window by window."""

    def __init__(self, rule):
        self.rule, self.closed, self.through, self.last = rule, {}, -(10**9), -(10**9)
        self.open, self.late, self.panes = {}, 0, set()

    def take(self, events):
        for instant, topic in events:
            ends = self.rule.ends_over(self.rule.pane_of(instant))
            self.late += ends[0] <= self.through
            for end in ends:
                if end > self.through:
                    self.panes.add(self.rule.pane_of(instant))
                    self.open.setdefault(end, Counter())[topic] += 1
        self.last = max([self.last, *(instant for instant, _ in events)])
        self.close((self.last - self.rule.lateness) // self.rule.slide * self.rule.slide)

    def close(self, through):
        self.through = max(self.through, through)
        for end in sorted(self.open):
            if end <= self.through:
                self.closed[Window(end - self.rule.length, end)] = self.open.pop(end)


def counts_in(ledger, window):
    closed = ledger.closed_window(window)
    return Counter(dict(zip(closed.topics.to_pylist(), closed.events.tolist(), strict=True)))


@settings(deadline=None)
@given(rule=RULES, batches=EVENTS, data=st.data())
def test_every_event_counts_once_whatever_is_repeated(tmp_path_factory, rule, batches, data):
    path = tmp_path_factory.mktemp("ledger") / "stream.sqlite"
    ledger, plain = Ledger(path, rule), Plain(rule)
    told = []
    for number, events in enumerate(batches):
        plain.take(events)
        told += ledger.commit(batch_of(number, rule, events)).closed
        if data.draw(st.booleans(), "again"):
            ledger.close()
            ledger = Ledger(path, rule)
            assert not ledger.commit(batch_of(number, rule, events)).is_new
        now = data.draw(st.none() | st.integers(0, 100), "silence")
        if now is not None:
            told += ledger.close_silent(now)
            if plain.panes:
                past = (now - rule.lateness) // rule.slide * rule.slide
                plain.close(min(max(plain.panes) + rule.length, past))
    assert ledger.windows_after() == sorted(plain.closed, key=lambda window: window.end)
    assert told == ledger.windows_after()
    for window, counted in plain.closed.items():
        assert counts_in(ledger, window) == counted
    assert ledger.totals()["late"] == plain.late
    assert ledger.totals()["events"] == sum(map(len, batches))
    ledger.close()


HOUR = WindowRule(60, 60, 10)


def test_sizes_are_means_of_those_known(tmp_path):
    ledger = Ledger(tmp_path / "s", HOUR)
    counts = [TopicCount(0, "a", 3, 30.0, 2), TopicCount(0, "b", 1, 0.0, 0)]
    ledger.commit(Batch(0, counts, 5))
    ledger.commit(Batch(1, [TopicCount(0, "a", 1, 60.0, 1)], 80))
    closed = ledger.closed_window(Window(0, 60))
    assert closed.topics.to_pylist() == ["a", "b"]
    assert closed.events.tolist() == [4, 1]
    assert closed.size[0] == 30.0
    assert np.isnan(closed.size[1])


def test_late_and_bad_rows_are_told_with_the_window_that_closes_next(tmp_path):
    ledger = Ledger(tmp_path / "s", HOUR)
    ledger.commit(batch_of(0, HOUR, [(5, "a"), (75, "a")], reasons={"x": 2}))
    assert ledger.closed_window(Window(0, 60)).bad == 2
    assert ledger.commit(batch_of(1, HOUR, [(6, "a")], reasons={"x": 1})).late == 1
    ledger.commit(batch_of(2, HOUR, [(200, "a")]))
    second = ledger.closed_window(Window(60, 120))
    assert (second.late, second.bad) == (1, 1)
    assert counts_in(ledger, Window(0, 60)) == {"a": 1}
    assert (ledger.totals()["late"], ledger.totals()["bad"]) == (1, 3)


def test_subscriptions_survive_and_are_part_of_the_batch(tmp_path):
    path = tmp_path / "s"
    ledger = Ledger(path, HOUR)
    ledger.take_snapshot([("u", "a"), ("v", "a")], 0)
    changes = [
        SubscriptionChange(10, "unsubscribe", "u", "a"),
        SubscriptionChange(70, "subscribe", "w", "a"),
    ]
    ledger.commit(batch_of(0, HOUR, [(5, "a"), (90, "a")], changes=changes))
    ledger.close()
    ledger = Ledger(path, HOUR)
    ledger.commit(batch_of(0, HOUR, [], changes=changes))  # again: does nothing
    first = ledger.closed_window(Window(0, 60)).pairs.column("subscriber").to_pylist()
    assert sorted(first) == ["u", "v"]
    ledger.commit(batch_of(1, HOUR, [(200, "a")]))
    second = ledger.closed_window(Window(60, 120)).pairs.column("subscriber").to_pylist()
    assert sorted(second) == ["v", "w"]
    ledger.forget(60)
    assert ledger.windows_after() == [Window(60, 120)]
    ledger.commit(
        batch_of(2, HOUR, [(300, "a")], changes=[SubscriptionChange(250, "subscribe", "x", "a")])
    )
    ledger.close()
    ledger = Ledger(path, HOUR)
    assert ledger.totals()["subscriptions"] == 3


def test_a_batch_that_fails_halfway_leaves_nothing(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "s", HOUR)
    change = SubscriptionChange(1, "subscribe", "u", "a")
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "_close_through", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ledger.commit(batch_of(0, HOUR, [(5, "a")], changes=[change]))
    assert ledger.totals()["events"] == 0
    assert ledger.totals()["subscriptions"] == 0
    assert ledger.commit(batch_of(0, HOUR, [(5, "a")], changes=[change])).is_new
    assert ledger.totals()["events"] == 1


def test_other_windows_or_versions_are_refused(tmp_path):
    path = tmp_path / "s"
    Ledger(path, HOUR).close()
    with pytest.raises(InputError, match="another length"):
        Ledger(path, WindowRule(120, 60, 10))
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="version 99"):
        Ledger(path, HOUR)


def test_topics_are_remembered_that_were_heard(tmp_path):
    path = tmp_path / "s"
    ledger = Ledger(path, HOUR)
    for number, topics in enumerate(["ab", "b", "bc", "b"]):
        ledger.commit(batch_of(number, HOUR, [(60 * number + 5, topic) for topic in topics]))
    ledger.commit(batch_of(4, HOUR, [(400, "b")]))
    assert ledger.heard_since(0) == {"a", "b", "c"}
    assert ledger.heard_since(60) == {"b", "c"}
    assert ledger.heard_since(200) == {"b"}
    ledger.forget(300, 60)
    assert ledger.heard_since(0) == {"b", "c"}
    ledger.close()
    with sqlite3.connect(path) as database:  # as an earlier version left it
        database.execute("DROP TABLE heard")
        database.execute("PRAGMA user_version = 1")
    ledger = Ledger(path, HOUR)
    assert ledger.heard_since(0) == set()
    ledger.commit(batch_of(5, HOUR, [(600, "d")]))
    assert ledger.heard_since(0) == {"b"}, "what closed since"


def test_ended_subscriptions_go_once_they_are_many(tmp_path):
    ledger = Ledger(tmp_path / "s", HOUR)
    ledger.take_snapshot([(f"u{one}", "a") for one in range(30)], 0)
    for number in range(4):
        gone = SubscriptionChange(10, "unsubscribe", f"u{number}", "a")
        ledger.commit(batch_of(number, HOUR, [(5, "a")], changes=[gone]))
        ledger.commit(batch_of(100 + number, HOUR, [(200, "a")]))
        ledger.forget(200)
        with sqlite3.connect(tmp_path / "s") as database:
            rows = database.execute("SELECT count(*) FROM subscriptions").fetchone()[0]
        assert rows == (30 if number < 2 else 27)
        assert ledger.totals()["subscriptions"] == 29 - number


def test_silence_closes_what_is_open_and_past_and_nothing_twice(tmp_path):
    ledger = Ledger(tmp_path / "s", HOUR)
    assert ledger.close_silent(1000) == []
    ledger.commit(batch_of(0, HOUR, [(5, "a")]))
    assert ledger.close_silent(59) == [], "more may come before its end"
    assert ledger.close_silent(69) == [], "and be late for a while"
    assert ledger.commit(batch_of(1, HOUR, [(6, "a")])).late == 0
    assert ledger.close_silent(70) == [Window(0, 60)]
    assert ledger.closed_window(Window(0, 60)).closed_by == "idle"
    assert ledger.close_silent(1000) == []
    assert ledger.commit(batch_of(2, HOUR, [(6, "a")])).late == 1


def test_silence_closes_all_windows_over_the_last_events(tmp_path):
    rule = WindowRule(60, 20, 10)
    ledger = Ledger(tmp_path / "s", rule)
    ledger.commit(batch_of(0, rule, [(45, "a")]))
    assert ledger.close_silent(95) == [Window(0, 60), Window(20, 80)]
    assert ledger.close_silent(1000) == [Window(40, 100)]
    assert ledger.close_silent(2000) == []


def test_a_ledger_without_tables_that_were_added_later_gets_them(tmp_path):
    Ledger(tmp_path / "s", HOUR).close()
    with sqlite3.connect(tmp_path / "s") as database:
        database.execute("DROP TABLE sessions")
        database.execute("DROP TABLE reasons")
    ledger = Ledger(tmp_path / "s", HOUR)
    ledger.commit(batch_of(0, HOUR, [], reasons={"why": 2}))
    assert ledger.reasons() == {"why": 2}
