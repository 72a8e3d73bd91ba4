"""Messages as records: events, changes, and what is set aside."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.service.monitor import messages
from fanwise.service.monitor.messages import Arrival, MessageReader
from fanwise.service.monitor.mosquitto_log import BrokerLog

AT = 1_700_000_000_123_456
SECONDS = "1700000000.123456"


def reader(time_field=None, id_field=None, largest=1000):
    return MessageReader(time_field, id_field, largest, BrokerLog())


def payload(**fields):
    return json.dumps(fields).encode()


def test_any_payload_is_an_event_of_its_arrival_where_no_field_is_read():
    assert reader().read(Arrival("a/b", b"\xff\x00", AT)) == {
        "kind": "event", "topic": "a/b", "timestamp": SECONDS, "bytes": 2,
    }  # fmt: skip


@pytest.mark.parametrize("stamp", ["2026-01-01T00:00:00Z", 12, 12.5])
def test_the_time_of_an_event_is_that_of_its_field(stamp):
    record = reader(time_field="t").read(Arrival("a", payload(t=stamp), AT))
    assert (record["kind"], record["timestamp"]) == ("event", str(stamp))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x" * 1001, "larger than 1,000 bytes"),
        (b"{not json", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 900, "not JSON"),
        (b"", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"3", "not a JSON object"),
        (payload(id="x"), "no time in 't'"),
        (payload(id="x", t=None), "no time in 't'"),
        (payload(id="x", t=True), "no time in 't'"),
        (payload(id="x", t=[1]), "no time in 't'"),
        (payload(t=1), "no id in 'id'"),
        (payload(t=1, id=1.5), "no id in 'id'"),
        (payload(t=1, id=None), "no id in 'id'"),
    ],
)
def test_what_cannot_be_read_is_set_aside_with_the_reason(data, reason):
    record = reader("t", "id").read(Arrival("a", data, AT))
    assert (record["kind"], record["reason"], record["timestamp"]) == ("bad", reason, SECONDS)
    assert len(record["raw"]) <= messages.MOST_SHOWN


@given(st.binary(max_size=300), st.text(min_size=1))
def test_no_payload_breaks_the_reader_and_every_record_is_json(data, topic):
    record = reader("t", "id", 200).read(Arrival(topic, data, AT))
    assert record is None or json.loads(json.dumps(record)) == record


@given(st.lists(st.one_of(st.integers(0, 5), st.sampled_from("012ab"))))
def test_of_events_with_the_same_id_the_first_counts(ids):
    one = reader(id_field="id")
    records = [one.read(Arrival("a", payload(id=each), AT)) for each in ids]
    kept = [record["id"] for record in records if record is not None]
    assert kept == list(dict.fromkeys(map(str, ids)))
    assert one.doubles == len(ids) - len(kept)


def test_only_so_many_ids_are_remembered(monkeypatch):
    monkeypatch.setattr(messages, "MOST_IDS", 2)
    one = reader(id_field="id")
    for each in (1, 2, 3):
        one.read(Arrival("a", payload(id=each), AT))
    assert one.read(Arrival("a", payload(id=3), AT)) is None
    assert one.read(Arrival("a", payload(id=1), AT)) is not None


def test_events_that_were_written_before_are_known():
    one = reader(id_field="id")
    one.remember({"kind": "event", "topic": "a", "id": "7"})
    one.remember({"kind": "bad", "topic": "a"})
    assert one.read(Arrival("a", payload(id=7), AT)) is None


def test_what_the_broker_sends_again_is_counted_and_taken():
    one = reader()
    assert one.read(Arrival("a", b"", AT, is_again=True)) is not None
    assert (one.again, one.doubles) == (1, 0)


def test_lines_of_the_brokers_log_are_changes():
    one = reader("t", "id")
    line = Arrival("$SYS/broker/log/M/subscribe", b"12: alice 0 music/a", AT)
    assert one.read(line) == {
        "kind": "subscribe", "subscriber": "alice", "topic": "music/a", "timestamp": "12.000000",
        "came": AT,
    }  # fmt: skip
    assert one.read(Arrival("$SYS/broker/log/E", b"\xff", AT)) is None


@given(st.integers(-(10**17), 10**17))
def test_times_are_written_exactly(micros):
    record = reader().read(Arrival("a", b"", micros))
    whole, fraction = record["timestamp"].lstrip("-").split(".")
    sign = -1 if record["timestamp"].startswith("-") else 1
    assert sign * (int(whole) * 10**6 + int(fraction)) == micros


def test_decisions_that_we_publish_are_no_traffic():
    one = MessageReader(None, None, 100, BrokerLog(), frozenset({"our/decision"}))
    assert one.read(Arrival("our/decision", b"x" * 200, AT, is_again=True)) is None
    assert one.read(Arrival("our/decisions", b"x", AT)) is not None


def test_what_forwarders_and_clients_tell_each_other_is_no_traffic():
    one = reader()
    for topic in ("fanwise/decision", "fanwise/forwarder/main", "fanwise/answer/ann"):
        assert one.read(Arrival(topic, b"x", AT, is_again=True)) is None
    assert one.again == 0
