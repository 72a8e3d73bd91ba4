"""Mosquitto's log lines taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.service.monitor import mosquitto_log
from fanwise.service.monitor.mosquitto_log import AMBIGUOUS, CUT, STAMPED, BrokerLog
from fanwise.service.monitor.subscriptions import SubscriptionChange

SUBSCRIBE, UNSUBSCRIBE = "$SYS/broker/log/M/subscribe", "$SYS/broker/log/M/unsubscribe"
NOTICE = "$SYS/broker/log/N"
AT = 5
STAMP = 1794821550
OURS = "fanwise-monitor"


def read(topic, line, log=None):
    return (log or BrokerLog()).read(topic, line.encode(), AT)


def test_who_subscribes_and_who_no_longer_does():
    assert read(SUBSCRIBE, f"{STAMP}: alice 0 music/a") == SubscriptionChange(
        STAMP * 10**6, "subscribe", "alice", "music/a"
    )
    assert read(UNSUBSCRIBE, f"{STAMP}: bob music/z") == SubscriptionChange(
        STAMP * 10**6, "unsubscribe", "bob", "music/z"
    )


def test_a_line_without_a_time_has_that_of_its_arrival():
    assert read(SUBSCRIBE, "alice 1 a") == SubscriptionChange(AT, "subscribe", "alice", "a")


NAMES = st.text(st.characters(codec="utf-8", exclude_characters=" \0"), min_size=1, max_size=100)
TOPICS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=100)


@given(client=NAMES, topic=NAMES, quality=st.sampled_from("012"))
def test_any_name_and_topic_without_spaces_come_through(client, topic, quality):
    ours = topic.startswith("$SYS/")
    change = SubscriptionChange(10**6, "subscribe", client, topic)
    assert read(SUBSCRIBE, f"1: {client} {quality} {topic}") == (None if ours else change)
    assert read(UNSUBSCRIBE, f"1: {client} {topic}") == (
        None if ours else change._replace(action="unsubscribe")
    )


@given(client=TOPICS, topic=TOPICS, quality=st.sampled_from("012"))
def test_what_was_meant_is_among_the_ways_to_read_a_line(client, topic, quality):
    line = f"{client} {quality} {topic}"
    assert (client, topic) in mosquitto_log.split_subscribe(line)
    assert (client, topic) in mosquitto_log.split_unsubscribe(f"{client} {topic}")
    found = read(SUBSCRIBE, f"1: {line}")
    if found is not None and found.action == "subscribe":
        assert (found.subscriber, found.topic) == (client, topic)
    elif found is not None:
        assert found == SubscriptionChange(10**6, "doubt", line, "subscribe")


@given(
    st.text(),
    st.sampled_from([SUBSCRIBE, UNSUBSCRIBE, NOTICE, "$SYS/broker/log/E", "a"]),
    st.sampled_from(["", "1: ", "1: Client ", "1: New client connected from a:1 as "]),
)
def test_no_line_breaks_the_reader(line, topic, start):
    read(topic, start + line)


GOES = [
    "Client {} disconnected.",
    "Client {} has exceeded timeout, disconnecting.",
    "Client {} closed its connection.",
    "Client {} disconnected, not authorised.",
    "Client {} disconnected due to protocol error.",
    "Client {} disconnected due to QoS too high or retain not supported.",
    "Client {} disconnected: Connection reset by peer.",
    "Client {} been disconnected by administrative action.",
    "Bad socket read/write on client {}: Connection reset by peer",
    "Socket error on client {}, disconnecting.",
]
"""All that Mosquitto 1.6 and 2.0 write when a client goes."""


@pytest.mark.parametrize("line", GOES)
def test_who_goes(line):
    change = SubscriptionChange(2 * 10**6, "leave", "alice", None)
    assert read(NOTICE, "2: " + line.format("alice")) == change
    assert read(NOTICE, "2: " + line.format("alice smith")) == change._replace(
        subscriber="alice smith"
    )


@given(client=TOPICS, line=st.sampled_from(GOES))
def test_whoever_goes_is_among_the_ways_to_read_the_line(client, line):
    found = [name for name, _ in mosquitto_log.split_leave(line.format(client))]
    assert client in found


def test_who_comes_and_how():
    came = "1: New {} connected from {} as {} ({})."
    change = SubscriptionChange(10**6, "clean", "alice", None)
    assert read(NOTICE, came.format("client", "127.0.0.1:9", "alice", "p2, c1, k60")) == change
    kept = change._replace(action="kept")
    assert read(NOTICE, came.format("client", "::1:9", "alice", "p5, c0, k60, u'ann'")) == kept
    assert read(NOTICE, came.format("bridge", "10.0.0.1:9", "alice", "p4, c0, k60")) == kept
    gone = read(NOTICE, "3: Expiring client alice due to timeout.")
    assert gone == SubscriptionChange(3 * 10**6, "expire", "alice", None)


@pytest.mark.parametrize("client", ["a as b", "x (p2, c0, k9)", "x (p2, c0, k9).", "a (p2, c1, k6"])
def test_names_that_look_like_the_rest_of_the_line(client):
    line = f"1: New client connected from 127.0.0.1:9 as {client} (p2, c1, k60)."
    assert read(NOTICE, line) == SubscriptionChange(10**6, "clean", client, None)


def test_a_users_name_cannot_make_another_client_come():
    start = "1: New client connected from 127.0.0.1:9 as mallory (p2, c0, k60, u'"
    kept = SubscriptionChange(10**6, "kept", "mallory", None)
    for user in ("x as eve (p2, c1, k60", "x (p2, c1, k60).", "x as eve (p2, c1, k60)."):
        assert read(NOTICE, f"{start}{user}').") == kept
    assert read(NOTICE, f"{start}x (p2, c1, k60, u'y').") == AMBIGUOUS


def test_the_service_and_the_broker_are_no_users():
    log = BrokerLog(frozenset({OURS}))
    assert read(SUBSCRIBE, f"1: {OURS} 1 #", log) is None
    assert read(SUBSCRIBE, f"1: {OURS} 1 a 2 b", log) is None
    assert read(UNSUBSCRIBE, f"1: {OURS} a b c", log) is None
    assert read(NOTICE, f"1: Client {OURS} disconnected.", log) is None
    assert read(SUBSCRIBE, "1: alice 1 $SYS/broker/log/#", log) is None
    assert read(SUBSCRIBE, "1: fanwise-main 1 #", log) is None
    assert read(SUBSCRIBE, "1: ann 1 fanwise/answer/ann", log) is None
    assert read("music/a", "1: alice 1 a", log) is None, "not on the log's topics"


@pytest.mark.parametrize(
    ("stamp", "instant"),
    [
        ("1794821550: ", STAMP * 10**6),
        ("2026-11-16T08:12:30: ", AT),
        ("2026-11-16 08:12:30: ", AT),
        ("2026-11-16T08:12:30+0100: ", 1794813150 * 10**6),
        ("2026-11-16T08:12:30Z: ", 1794816750 * 10**6),
        ("", AT),
    ],
)
def test_times_of_lines(stamp, instant):
    for log in (BrokerLog(), BrokerLog(frozenset({OURS}))):
        for name in log.names:
            read(SUBSCRIBE, f"{stamp}{name} 1 $SYS/broker/log/#", log)
            assert log.own == instant
        change = SubscriptionChange(instant, "subscribe", "alice", "music/a")
        assert read(SUBSCRIBE, f"{stamp}alice 0 music/a", log) == change
        assert log.line == instant


@pytest.mark.parametrize("stamp", ["Mon Nov 16 08:12:30 2026: ", "16/11/26 08.12: ", "[8h12]: "])
def test_a_time_that_cannot_be_read_is_no_part_of_a_name(stamp):
    log = BrokerLog(frozenset({OURS}))
    assert read(SUBSCRIBE, f"{stamp}alice 0 a", log) == STAMPED
    read(SUBSCRIBE, f"{stamp}{OURS} 1 $SYS/broker/log/#", log)
    assert read(SUBSCRIBE, f"{stamp}alice 0 a", log) == STAMPED
    assert read(NOTICE, f"{stamp}Client alice disconnected.", log) == STAMPED


def test_without_times_a_name_may_look_like_one():
    log = BrokerLog(frozenset({OURS}))
    read(SUBSCRIBE, f"{OURS} 1 $SYS/broker/log/#", log)
    assert read(SUBSCRIBE, "12: 0 a", log) == SubscriptionChange(AT, "subscribe", "12:", "a")


def test_lines_that_the_broker_cuts_off_are_set_aside():
    for start in ("1: alice 0 ", "1: New client connected from a:1 as ", "1: Client "):
        topic = SUBSCRIBE if "alice" in start else NOTICE
        line = start + "x" * (999 - len(start))
        assert read(topic, line) == CUT
    assert read(NOTICE, "1: " + "y" * 996) is None, "says nothing"
    fits = "1: alice 0 " + "x" * 987
    assert read(SUBSCRIBE, fits).topic == "x" * 987
