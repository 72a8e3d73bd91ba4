"""Mosquitto's log lines as changes of subscriptions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.service.monitor.mosquitto_log import BrokerLog
from fanwise.service.monitor.subscriptions import SubscriptionChange

SUBSCRIBE, UNSUBSCRIBE = "$SYS/broker/log/M/subscribe", "$SYS/broker/log/M/unsubscribe"
NOTICE = "$SYS/broker/log/N"
AT = 5
STAMP = 1794821550


def test_who_subscribes_and_who_no_longer_does():
    log = BrokerLog()
    assert log.read(SUBSCRIBE, f"{STAMP}: alice 0 music/a", AT) == SubscriptionChange(
        STAMP * 10**6, "subscribe", "alice", "music/a"
    )
    assert log.read(UNSUBSCRIBE, f"{STAMP}: bob music/z", AT) == SubscriptionChange(
        STAMP * 10**6, "unsubscribe", "bob", "music/z"
    )


def test_a_line_without_a_time_has_that_of_its_arrival():
    assert BrokerLog().read(SUBSCRIBE, "alice 1 a", AT) == SubscriptionChange(
        AT, "subscribe", "alice", "a"
    )


NAMES = st.text(st.characters(codec="utf-8", exclude_characters=" \0"), min_size=1)
TOPICS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(client=NAMES, topic=TOPICS, quality=st.sampled_from("012"))
def test_any_name_and_topic_come_through(client, topic, quality):
    log = BrokerLog()
    ours = topic.startswith("$SYS/")
    change = SubscriptionChange(10**6, "subscribe", client, topic)
    assert log.read(SUBSCRIBE, f"1: {client} {quality} {topic}", AT) == (None if ours else change)
    assert log.read(UNSUBSCRIBE, f"1: {client} {topic}", AT) == (
        None if ours else change._replace(action="unsubscribe")
    )


@given(st.text(), st.sampled_from([SUBSCRIBE, UNSUBSCRIBE, NOTICE, "$SYS/broker/log/E", "a"]))
def test_no_line_breaks_the_reader(line, topic):
    BrokerLog().read(topic, line, AT)


@pytest.mark.parametrize(
    "goes",
    [
        "Client alice disconnected.",
        "Client alice has exceeded timeout, disconnecting.",
        "Client alice closed its connection.",
        "Client alice disconnected, not authorised.",
        "Client alice disconnected due to protocol error.",
        "Socket error on client alice, disconnecting.",
    ],
)
def test_a_clean_session_ends_with_its_client(goes):
    log = BrokerLog()
    all_gone = SubscriptionChange(2 * 10**6, "unsubscribe", "alice", None)
    came = log.read(
        NOTICE, "1: New client connected from 127.0.0.1:4711 as alice (p2, c1, k60).", AT
    )
    assert came == all_gone._replace(instant=10**6), "it begins with nothing"
    assert log.read(NOTICE, f"2: {goes}", AT) == all_gone
    assert log.read(NOTICE, f"3: {goes}", AT) is None, "it is gone already"


def test_a_session_that_is_kept_keeps_its_subscriptions():
    log = BrokerLog()
    line = "1: New client connected from 127.0.0.1:4711 as alice (p5, c0, k60, u'ann')."
    assert log.read(NOTICE, line, AT) is None
    assert log.read(NOTICE, "2: Client alice disconnected.", AT) is None
    assert log.read(NOTICE, "2: Client bob disconnected.", AT) is None, "nobody saw bob come"


def test_the_service_and_the_broker_are_no_users():
    log = BrokerLog(frozenset({"fanwise-monitor"}))
    assert log.read(SUBSCRIBE, "1: fanwise-monitor 1 #", AT) is None
    assert log.read(SUBSCRIBE, "1: fanwise-main 1 #", AT) is None
    assert log.read(SUBSCRIBE, "1: ann 1 fanwise/answer/ann", AT) is None
    assert log.read(SUBSCRIBE, "1: alice 1 $SYS/broker/log/#", AT) is None
    assert log.read("music/a", "1: alice 1 a", AT) is None, "not on the log's topics"
