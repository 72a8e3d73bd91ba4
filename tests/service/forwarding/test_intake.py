"""What is taken of what comes: redeliveries and numbers of publishers, without brokers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.client import MQTTMessage
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from fanwise.client.naming import NUMBER, PUBLISHER
from fanwise.service.forwarding.intake import RECEIVE_MAXIMUM, Intake
from fanwise.service.forwarding.log import Log
from fanwise.service.forwarding.routing import (
    Decision,
    DecisionError,
    Network,
    Router,
    read_decision,
)


@pytest.fixture
def log(tmp_path):
    log = Log(tmp_path / "log")
    yield log
    log.close()


def intake_of(log):
    return Intake(log, Router(Decision(), Network(), is_served_undecided=True), lambda: 0)


def make(packet, payload=b"x", *, is_again=False, publisher=None, number=0):
    message = MQTTMessage(packet, b"t")
    message.payload, message.qos, message.dup = payload, 1, is_again
    message.properties = Properties(PacketTypes.PUBLISH)
    if publisher is not None:
        message.properties.UserProperty = [(PUBLISHER, publisher), (NUMBER, str(number))]
    return message


def test_the_same_packet_sent_again_is_known(log):
    intake = intake_of(log)
    assert intake.take(make(1)).sequence == 1
    assert intake.take(make(1, is_again=True)) is None
    assert intake.take(make(1)).sequence == 2, "a new message with an old packet id"
    assert intake.take(make(1, b"y", is_again=True)).sequence == 3, "other content"
    assert intake.take(make(2, is_again=True)).sequence == 4, "its first sending was lost"


def test_nothing_older_than_the_window_is_a_redelivery(log):
    intake = intake_of(log)
    intake.take(make(1))
    for packet in range(2, RECEIVE_MAXIMUM + 1):
        intake.take(make(packet))
    assert intake.take(make(1, is_again=True)) is None
    intake.take(make(RECEIVE_MAXIMUM + 1))
    assert intake.take(make(1, is_again=True)) is not None


def test_packets_are_known_after_a_restart_but_not_in_a_new_session(log):
    intake = intake_of(log)
    log.append([intake.take(make(7))])
    assert intake_of(log).take(make(7, is_again=True)) is None
    other = intake_of(log)
    other.begin_session(is_resumed=True)
    assert other.take(make(7, is_again=True)) is None
    other.begin_session(is_resumed=False)
    assert other.take(make(7, is_again=True)) is not None


@given(st.lists(st.integers(1, 6), max_size=40))
def test_numbers_of_a_publisher_are_taken_in_order_each_once(sent):
    router = Router(Decision(), Network(), is_served_undecided=True)

    class Empty:
        position, numbers = 0, {"p": (0, 0)}

        def read(self, start):
            return iter(())

    intake = Intake(Empty(), router, lambda: 0)
    taken, expected = [], 0
    for packet, number in enumerate(sent, 1):
        record = intake.take(make(packet, publisher="p", number=number))
        if record is not None:
            taken.append(record.number)
        expected += number == expected + 1
    assert taken == list(range(1, expected + 1))


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"format": "x", "epoch": 1, "hash": null, "served": null}',
     b'{"format": "fanwise.decision", "epoch": "1", "hash": null, "served": null}',
     b'{"format": "fanwise.decision", "epoch": 1, "hash": "a", "served": null}',
     b'{"format": "fanwise.decision", "epoch": 1, "hash": "a", "served": [1]}'],
)  # fmt: skip
def test_what_is_no_decision_is_refused(body):
    with pytest.raises(DecisionError):
        read_decision(body)


def test_without_a_decision_all_topics_have_one_side():
    nothing = read_decision(
        b'{"format": "fanwise.decision", "epoch": 3, "hash": null, "served": null}'
    )
    for is_served in (False, True):
        router = Router(nothing, Network(), is_served_undecided=is_served)
        assert router.route("t") == (0 if is_served else 1, ())
