"""Subscriptions against a plain list of spans, filters against a plain matcher."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.service.monitor.subscriptions import (
    FOREVER,
    SubscriptionChange,
    Subscriptions,
    TopicTree,
)
from fanwise.service.records import Window

WHO, WHAT = st.sampled_from("uvw"), st.sampled_from("abc")
CHANGES = st.lists(
    st.builds(
        SubscriptionChange,
        st.integers(0, 100),
        st.sampled_from(["subscribe", "unsubscribe"]),
        WHO,
        WHAT,
    )
    | st.builds(SubscriptionChange, st.integers(0, 100), st.just("unsubscribe"), WHO, st.none())
)
LEVELS = st.lists(st.sampled_from(["a", "b", "", "$SYS"]), min_size=1, max_size=4)
FILTERS = st.lists(st.sampled_from(["a", "b", "", "+", "$SYS"]), min_size=1, max_size=4)


def plain_spans(changes):
    """Apply changes one by one to a list."""
    spans: list[list] = []
    for instant, action, who, topic, _ in changes:
        mine = [span for span in spans if span[0] == who and span[3] == FOREVER]
        if action == "subscribe":
            if all(span[1] != topic for span in mine):
                spans.append([who, topic, instant, FOREVER])
        else:
            for span in mine:
                if topic is None or span[1] == topic:
                    span[3] = max(instant, span[2])
    return spans


def pairs_of(table: pa.Table) -> list[tuple[str, str]]:
    return sorted(
        zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    )


@given(changes=CHANGES, start=st.integers(0, 100), length=st.integers(1, 50))
def test_pairs_that_overlap_a_window(changes, start, length):
    changes = sorted(changes, key=lambda change: change.instant)
    subscriptions = Subscriptions()
    for change in changes:
        subscriptions.apply(change)
    window = Window(start, start + length)
    expected = {
        (who, topic)
        for who, topic, since, until in plain_spans(changes)
        if since < window.end and until > window.start
    }
    found = pairs_of(subscriptions.pairs_in(window, pa.array([], pa.string())))
    assert found == sorted(expected)
    num_open = sum(until == FOREVER for *_, until in plain_spans(changes))
    assert subscriptions.num_open == num_open
    subscriptions.forget_before(start)
    assert subscriptions.num_open == num_open
    assert pairs_of(subscriptions.pairs_in(window, pa.array([], pa.string()))) == sorted(expected)


@given(changes=CHANGES, pairs=st.sets(st.tuples(WHO, WHAT)))
def test_a_snapshot_is_all_there_is(changes, pairs):
    subscriptions = Subscriptions()
    for change in changes:
        subscriptions.apply(change)
    list(subscriptions.replace_all(pairs, 200))
    found = subscriptions.pairs_in(Window(300, 400), pa.array([], pa.string()))
    assert pairs_of(found) == sorted(pairs)
    assert subscriptions.num_open == len(pairs)


def plain_match(levels, topic):
    """MQTT's rules, level by level."""
    if topic[0].startswith("$") and levels[0] in ("+", "#"):
        return False
    for index, level in enumerate(levels):
        if level == "#":
            return True
        if index >= len(topic) or level not in ("+", topic[index]):
            return False
    return len(levels) == len(topic)


@given(topics=st.lists(LEVELS), levels=FILTERS, ends_open=st.booleans())
def test_filters_match_by_the_rules(topics, levels, ends_open):
    levels = [*levels, "#"] if ends_open else levels
    tree = TopicTree.of("/".join(topic) for topic in topics)
    expected = {"/".join(topic) for topic in topics if plain_match(levels, topic)}
    found = list(tree.match("/".join(levels)))
    assert sorted(found) == sorted(expected)
    assert sorted(tree.match("$share/group/" + "/".join(levels))) == sorted(expected)


def test_filters_stand_for_the_topics_seen():
    subscriptions = Subscriptions()
    for who, topic in (("u", "music/#"), ("u", "music/a"), ("v", "+/a"), ("w", "music+x")):
        subscriptions.apply(SubscriptionChange(0, "subscribe", who, topic))
    seen = pa.array(["music/a", "music/b/c", "film/a", "music+x"])
    assert pairs_of(subscriptions.pairs_in(Window(0, 9), seen)) == [
        ("u", "music/a"), ("u", "music/b/c"), ("v", "film/a"), ("v", "music/a"), ("w", "music+x"),
    ]  # fmt: skip


@pytest.mark.parametrize("topic", ["a", None])
def test_ending_what_is_not_there_is_nothing(topic):
    subscriptions = Subscriptions()
    assert subscriptions.apply(SubscriptionChange(5, "unsubscribe", "u", topic)) == []
    assert len(subscriptions) == 0


def test_topics_may_have_thousands_of_levels():
    deep = "/".join("x" * 5000)
    tree = TopicTree.of([deep, "x/y"])
    assert set(tree.match("#")) == {deep, "x/y"}
    assert list(tree.match("/".join("+" * 5000))) == [deep]
    assert list(tree.match(deep)) == [deep]
    assert list(tree.match(deep + "/#")) == [deep]
