"""Decisions in the store: one a window, paged, found by hash, moved with compare and set."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.decisions import NOON, entry, make_changes, make_decision, make_hash

from fanwise.errors import ParameterError
from fanwise.service.records import Change, Window
from fanwise.service.store.errors import StaleError
from fanwise.service.store.packing import read_cursor, write_cursor
from fanwise.service.store.settling import count_offloaded
from fanwise.service.store.store import Store

NASTY = [
    "", " ", "a/b", "../../etc/passwd", "'; DROP TABLE decisions; --", "zero\0inside", "\\0",
    "line\nbreak\r", "日本", "e\u0301", "\U0001f600", "%s %(x)s :name ?", "x" * 70_000, "\\",
]  # fmt: skip


def test_a_decision_comes_back_as_it_went_in(store):
    decision = make_decision(
        1, ("a", "b"), why="why\0 not \\", previous="p" * 64, predicted=3.5, forecast="quantile",
        facts={"topics": np.int64(10), "used": np.float64(1.5), "list": np.arange(2), "é\0": None},
    )  # fmt: skip
    kept = store.insert_decision(decision, make_changes("a", "b"), ["b", "a"])
    plain = {"topics": 10, "used": 1.5, "list": [0, 1], "é\0": None}
    assert kept == replace(decision, number=1, facts=plain)
    assert store.decision(1) == store.find(decision.hash) == store.pending() == kept
    assert store.newest() == store.of_window(decision.window) == kept
    assert store.changes_of(1) == (tuple(make_changes("a", "b")), 2)
    assert store.changes_of(1, 1, 5) == (tuple(make_changes("b")), 2)
    assert store.served_by(decision.hash) == ("a", "b")
    assert store.current() is store.decision(2) is store.served_by("other") is None
    assert store.changes_of(2) == ((), 0)


def test_a_window_has_one_decision(store):
    first = store.insert_decision(make_decision(1), make_changes("a"), ["a"])
    again = make_decision(1, ("b",), value=7.0)
    assert store.insert_decision(again, make_changes("b"), ["b"]) == first
    assert store.decisions().rows == (first,)
    assert store.is_decided(first.window)
    assert not store.is_decided(Window(first.window.start, first.window.end + 1))
    second = store.insert_decision(make_decision(2), [], ["a"])
    assert second.number == 2, "the one that was not inserted has no number"


def test_concurrent_inserts_for_a_window_give_one_decision(store_url):
    with Store(store_url) as store:
        found = _at_once(
            lambda index: store.insert_decision(make_decision(1, (f"t{index}",)), [], []), 8
        )
        assert len({one.hash for one in found}) == 1
        assert len(store.decisions().rows) == 1


def test_newer_decisions_supersede_pending_ones(store):
    first = store.insert_decision(make_decision(1), [], [])
    second = store.insert_decision(make_decision(2), [], [])
    assert store.decision(first.number).state == "superseded"
    assert second.hash in store.decision(first.number).why
    rejected = make_decision(3, state="rejected", why="gains 0.1%, least is 1%")
    store.insert_decision(rejected, [], [], entry("reject", rejected.hash, who="policy"))
    assert store.pending() is None
    assert store.decision(second.number).state == "superseded"
    assert store.audit().rows[0].who == "policy"
    assert store.count_decisions() == {"superseded": 2, "rejected": 1}
    with pytest.raises(ValueError, match="a new decision is not in-force"):
        store.insert_decision(make_decision(4, state="in-force"), [], [])


def test_the_newest_of_decisions_with_one_hash_is_found(store):
    hash = make_hash("same")
    for index in range(3):
        store.insert_decision(make_decision(index, hash=hash), [], ["a"])
    assert store.find(hash).number == 3
    assert store.find(hash[:12]) is None
    assert store.find_applied(hash) is None


def test_pages_are_newest_first_and_stable_while_decisions_come(store):
    for index in range(7):
        store.insert_decision(make_decision(index), [], [])
    page = store.decisions(3)
    assert [one.number for one in page.rows] == [7, 6, 5]
    store.insert_decision(make_decision(7), [], [])
    page = store.decisions(3, page.cursor)
    assert [one.number for one in page.rows] == [4, 3, 2]
    page = store.decisions(3, page.cursor)
    assert ([one.number for one in page.rows], page.cursor) == ([1], None)
    assert [one.number for one in store.decisions(5, state="pending").rows] == [8]
    assert store.decisions(8).cursor is None


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_page_sizes_are_bounded(store, limit):
    with pytest.raises(ParameterError, match="'limit'"):
        store.decisions(limit)


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_foreign_cursors_are_refused(cursor):
    try:
        read_cursor(cursor)
    except ParameterError:
        return
    assert write_cursor(*read_cursor(cursor)).rstrip("=") == cursor.rstrip("=")


@given(st.integers(-(10**17), 10**17), st.integers(-(10**17), 10**17))
def test_cursors_come_back(first, second):
    assert read_cursor(write_cursor(first)) == (first,)
    assert read_cursor(write_cursor(first, second), 2) == (first, second)
    with pytest.raises(ParameterError):
        read_cursor(write_cursor(first, second))


def test_states_move_only_from_the_expected_one(store):
    decision = store.insert_decision(make_decision(1), [], [])
    rejected = store.set_state(
        1, "pending", "rejected", "too risky", entry("reject", decision.hash)
    )
    assert (rejected.state, rejected.why) == ("rejected", "too risky")
    with pytest.raises(StaleError, match="is rejected, no longer pending"):
        store.set_state(1, "pending", "failed", "", entry("fail", decision.hash))
    with pytest.raises(StaleError, match="is not there"):
        store.set_state(9, "pending", "failed", "", entry("fail", decision.hash))
    assert [one.what for one in store.audit().rows] == ["reject"], "nothing of what was refused"
    with pytest.raises(ValueError, match="by being applied"):
        store.set_state(1, "rejected", "in-force", "", entry("x", "y"))


def test_two_rejections_at_once_one_wins(store):
    decision = store.insert_decision(make_decision(1), [], [])

    def reject(index):
        who = entry("reject", decision.hash, who=f"person {index}")
        try:
            return store.set_state(1, "pending", "rejected", str(index), who)
        except StaleError:
            return None

    won = [one for one in _at_once(reject, 6) if one is not None]
    assert len(won) == 1
    (only,) = store.audit().rows
    assert only.who == f"person {won[0].why}"


def test_what_was_delivered_is_filled_in(store):
    store.insert_decision(make_decision(1), [], [])
    store.set_delivered(1, np.float64(88.5))
    assert store.decision(1).delivered == 88.5
    store.set_why(1, "pending", "quiet hours")
    store.set_why(1, "in-force", "never")
    assert store.decision(1).why == "quiet hours"


@pytest.mark.parametrize("name", NASTY)
def test_names_of_topics_are_only_data(store, name):
    change = Change(name, False, 0.0, 0, f"because of {name}")
    decision = store.insert_decision(make_decision(1, why=name), [change], [name])
    assert store.decision(1).why == name
    assert store.changes_of(1) == ((change,), 1)
    assert store.served_by(decision.hash) == (name,)
    store.set_pin(name, "exclude", who=name, at=NOON)
    assert [(pin.topic, pin.who) for pin in store.pins()] == [(name, name)]
    assert store.audit(about=name).rows[0].about == name


def _at_once(act, count):
    """What an action returns to threads that all start at the same moment."""
    barrier = threading.Barrier(count)
    results = [None] * count

    def run(index):
        barrier.wait()
        results[index] = act(index)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_of_several_with_a_hash_the_one_in_force_is_found_then_the_pending_one(store):
    hash = make_hash("same")
    first = store.insert_decision(make_decision(1, hash=hash), [], ["a"])
    store.open_application(first.number, "apply", entry("approve", hash))
    assert store.current().number == 1
    store.insert_decision(make_decision(2, hash=hash, state="rejected"), [], ["a"])
    assert store.find(hash).number == 1
    other = store.insert_decision(make_decision(3), [], ["b"])
    store.open_application(other.number, "apply", entry("approve", other.hash))
    assert store.find(hash).number == 2, "nothing but the newest"
    store.keep_outputs({"file": "x"}, NOON)
    third = store.insert_decision(make_decision(4, hash=hash), [], ["a"])
    store.open_application(third.number, "apply", entry("approve", hash))
    store.insert_decision(make_decision(5, hash=hash, state="rejected"), [], ["a"])
    assert store.find(hash).number == third.number, "it is being applied"


def test_offloaded_are_topics_with_traffic_alone():
    """Silent topics that are served are none of those with traffic."""
    facts = {"topics": 10, "served": 4, "silent": 9}
    decision = make_decision(1, tuple(f"t{number}" for number in range(13)), facts=facts)
    assert count_offloaded(decision) == 6
    assert count_offloaded(make_decision(1, facts={"topics": 10})) is None
    assert count_offloaded(None) is None
