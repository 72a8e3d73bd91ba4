"""The forwarder as a process between real brokers: sides, order, restarts, ids."""

from __future__ import annotations

import json
import random
import signal
import time

import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from tests.service.forwarding.forwarders import (
    NAME,
    DeafProxy,
    Setting,
    decision,
    wait_until,
    write_network,
)

from fanwise.client.naming import DECISION, state_topic


@pytest.fixture
def setting():
    with Setting(("n0", "n1")) as setting:
        setting.configure({"cats": ("n0",), "dogs": ("n0", "n1")})
        yield setting


def numbers(many, start=0):
    return [b"%d" % one for one in range(start, start + many)]


def first_of_each(ears):
    """Return payloads as a client that drops doubles by id sees them."""
    return list(dict(zip(ears.ids, ears.payloads, strict=True)).values())


def test_each_message_goes_to_one_side_in_order(setting):
    assert setting.start()["position"] == 0
    setting.decide(1, "news")
    back_end = setting.listen(setting.back_end, "#")
    edges = {node: setting.listen(broker, "#") for node, broker in setting.edges.items()}
    for topic in ("news", "cats", "dogs", "nobody wants this"):
        setting.publish(topic, numbers(50))
    wait_until(lambda: len(edges["n1"].heard) == 50, "not all came")
    wait_until(lambda: len(edges["n0"].heard) == 100, "not all came")
    wait_until(lambda: len(back_end.heard) == 50, "not all came")
    assert back_end.payloads == edges["n1"].payloads == numbers(50)
    assert {message.topic for message in back_end.heard} == {"news"}
    assert {message.topic for message in edges["n1"].heard} == {"dogs"}
    everywhere = [*back_end.ids, *edges["n0"].ids]
    assert sorted(one.sequence for one in everywhere) == list(range(1, 151))
    assert edges["n0"].ids[50:] == edges["n1"].ids, "one message, one id in all components"
    wait_until(lambda: setting.state()["acknowledged"]["offload"] == 200, "places do not move")
    state = setting.state()
    assert state["counts"]["nowhere"] == 50
    assert (state["epoch"], state["position"], state["waiting"]) == (1, 200, 0)
    assert setting.kill(signal.SIGTERM) == 143


def test_properties_are_passed_on_and_ours_cannot_be_forged(setting):
    setting.start()
    setting.decide(1, "news")
    ears = setting.listen(setting.back_end, "news")
    properties = Properties(PacketTypes.PUBLISH)
    properties.ContentType = "text/plain"
    properties.CorrelationData = b"\x00\x01"
    properties.UserProperty = [("colour", "red"), ("fanwise-id", "00000000-000000000009")]
    client = setting.client(setting.ingress)
    client.publish("news", b"x", 1, properties=properties)
    found = ears.next().properties
    assert (found.ContentType, found.CorrelationData) == ("text/plain", b"\x00\x01")
    (ours, theirs) = sorted(found.UserProperty, reverse=True)
    assert theirs == ("colour", "red")
    assert ours[1].endswith("-000000000001")


def test_a_switch_is_between_two_messages(setting):
    """One connection publishes messages and decisions: each message goes by the last one."""
    setting.start()
    back_end = setting.listen(setting.back_end, "cats")
    edge = setting.listen(setting.edges["n0"], "cats")
    client = setting.client(setting.ingress)
    expected = {True: [], False: []}
    for epoch in range(1, 21):
        is_served = bool(epoch % 2)
        client.publish(DECISION, decision(epoch, *(["cats"] if is_served else [])), 1, True)
        for one in numbers(7, 100 * epoch):
            client.publish("cats", one, 1)
            expected[is_served].append(one)
    wait_until(lambda: len(back_end.heard) + len(edge.heard) >= 140, "not all came")
    assert back_end.payloads == expected[True]
    assert edge.payloads == expected[False]
    order = sorted(zip(back_end.ids + edge.ids, back_end.payloads + edge.payloads, strict=True))
    assert [int(one) for _, one in order] == sorted(int(one) for _, one in order)


def test_decisions_with_a_lower_epoch_are_ignored_also_after_a_restart(setting):
    setting.start()
    setting.decide(5, "news")
    wait_until(lambda: setting.state()["epoch"] == 5, "the decision is not reported")
    setting.decide(4, "cats")
    setting.decide(5, "cats", hash="f" * 64)
    setting.publish(DECISION, [b"", b"nonsense", b'{"format": "fanwise.decision", "epoch": 9}'])
    assert (setting.state()["epoch"], setting.state()["hash"]) == (5, f"{5:064x}")
    setting.kill()
    assert setting.start()["epoch"] == 5
    ears = setting.listen(setting.back_end, "#")
    setting.publish("news", [b"x"])
    assert ears.next().topic == "news"
    setting.decide(6, "cats")
    setting.publish("cats", [b"y"])
    assert ears.next().topic == "cats"


def test_killed_at_random_moments_it_skips_nothing_and_keeps_ids(setting):
    setting.start()
    setting.decide(1, "news")
    back_end = setting.listen(setting.back_end, "news")
    edge = setting.listen(setting.edges["n0"], "cats")
    client = setting.client(setting.ingress)
    rng = random.Random(15)
    sent = 0
    for _ in range(3):
        end = time.monotonic() + rng.uniform(0.2, 0.6)
        while time.monotonic() < end:
            client.publish("news" if sent % 2 else "cats", b"%d" % sent, 1)
            sent += 1
            time.sleep(0.0005)
        setting.kill()
        for _ in range(20):  # these wait at the ingress
            client.publish("news" if sent % 2 else "cats", b"%d" % sent, 1)
            sent += 1
        setting.start()
    both = (back_end, edge)
    wait_until(lambda: sum(len(set(ears.ids)) for ears in both) >= sent, "messages are skipped")
    wait_until(lambda: setting.state()["waiting"] == 0, "messages wait")
    for ears, start in ((back_end, 1), (edge, 0)):
        assert first_of_each(ears) == [b"%d" % one for one in range(start, sent, 2)]
        seen = {}
        for identity, payload in zip(ears.ids, ears.payloads, strict=True):
            assert seen.setdefault(identity, payload) == payload, "an id has two messages"
    assert setting.state()["position"] == sent, "a redelivery was taken again"


@pytest.mark.parametrize("is_killed", [False, True], ids=["connection lost", "killed"])
def test_a_redelivery_of_the_ingress_is_not_taken_again(setting, is_killed):
    with DeafProxy(setting.ingress.port) as proxy:
        text = setting.configuration.read_text()
        ports = f"port = {setting.ingress.port}", f"port = {proxy.port}"
        setting.configuration.write_text(text.replace(*ports, 1))
        setting.start()
        setting.decide(1, "news")
        wait_until(lambda: setting.state()["epoch"] == 1, "the decision is not reported")
        ears = setting.listen(setting.back_end, "news")
        proxy.is_deaf = True  # acknowledgements do not reach the ingress
        setting.publish("news", [*numbers(100), b"99", b"99"])
        wait_until(lambda: len(ears.heard) == 102, "messages are not taken")
        if is_killed:
            setting.kill()
        proxy.is_deaf = False
        proxy.cut()
        if is_killed:
            setting.start()
        setting.publish("news", [b"99", b"end"])
        wait_until(lambda: b"end" in ears.payloads, "it does not go on")
        assert first_of_each(ears) == [*numbers(100), b"99", b"99", b"99", b"end"]
        wait_until(lambda: setting.state()["position"] == 104, "the state is not told")
        assert setting.state()["counts"]["again"] == 102


def test_a_torn_tail_is_sent_once_more_by_the_ingress(setting):
    """Bytes behind the last whole record were never acknowledged: nothing of them is trusted."""
    setting.start()
    setting.decide(1, "news")
    setting.publish("news", numbers(10))
    wait_until(lambda: setting.state()["waiting"] == 0, "messages wait")
    setting.kill()
    (path,) = (setting.home / "state" / "log").glob("*.log")
    with path.open("ab") as file:
        file.write(b"\x40\x00\x00\x00half a record")
    ears = setting.listen(setting.back_end, "news")
    assert setting.start()["position"] == 10
    setting.publish("news", [b"next"])
    wait_until(lambda: b"next" in ears.payloads, "it does not go on")
    assert ears.ids[-1].sequence == 11


def test_a_side_that_is_away_gets_all_later_and_the_other_goes_on(setting):
    setting.start()
    setting.decide(1, "news")
    back_end = setting.listen(setting.back_end, "news")
    setting.edges["n0"].stop()
    for start in range(0, 3000, 500):
        setting.publish("cats", numbers(500, start))
    setting.publish("news", numbers(5))
    wait_until(lambda: len(back_end.heard) == 5, "the other side does not go on")
    wait_until(lambda: setting.state()["waiting"] == 3005, "they do not wait")
    assert setting.state()["away"] == ["edge/n0"]
    setting.edges["n0"].start()
    edge = setting.listen(setting.edges["n0"], "cats")
    wait_until(lambda: len(set(edge.ids)) >= 2900, "they do not come")
    wait_until(lambda: setting.state()["waiting"] == 0, "messages wait")
    # The subscriber may be later than the forwarder: what it has is the end, in order.
    assert edge.payloads == numbers(3000)[-len(edge.payloads) :]


def test_a_full_log_stops_taking_and_says_so_until_there_is_room(setting):
    setting.configure({"cats": ("n0",)}, '[log]\nlimit = "300 kB"\nsegment = "50 kB"\nkeep = "1s"')
    setting.edges["n0"].stop()
    setting.start()
    ears = setting.listen(setting.back_end, "#")
    client = setting.client(setting.ingress)
    for one in numbers(2500):
        client.publish("cats", one + b" " * 200, 1)
    wait_until(lambda: "limit is 300,000" in setting.state()["trouble"], "it does not say so")
    position = setting.state()["position"]
    assert 500 < position < 2500
    setting.edges["n0"].start()
    wait_until(lambda: setting.state()["position"] == 2500, "it does not recover")
    wait_until(lambda: setting.state()["trouble"] == "", "it does not say so")
    assert ears.heard == []


def test_the_network_is_followed_when_it_changes(setting):
    setting.configure({"cats": ("n0",)})
    setting.start()
    ears = {node: setting.listen(broker, "cats") for node, broker in setting.edges.items()}
    setting.publish("cats", [b"1"])
    assert ears["n0"].next().payload == b"1"
    (setting.home / "network" / "entries.csv").write_text("topic,component,node\ncats,0,n7\n")
    (setting.home / "network" / "network.json").write_text("half")
    wait_until(lambda: "'n7' is not in ports.csv" in setting.state()["trouble"], "it is silent")
    setting.publish("cats", [b"2"])
    assert ears["n0"].next().payload == b"2"
    ports = {"n1": setting.edges["n1"].port}
    write_network(setting.home / "network", ports, {"cats": ("n1",)}, "2")
    wait_until(lambda: setting.state()["trouble"] == "", "it does not follow")
    setting.publish("cats", [b"3"])
    assert ears["n1"].next().payload == b"3"
    assert ears["n0"].payloads == [b"1", b"2"]


def test_the_state_is_retained_and_whole(setting):
    setting.start()
    wait_until(lambda: setting.state()["trouble"] == "", "it has trouble")
    ears = setting.listen(setting.ingress, state_topic(NAME))
    state = json.loads(ears.next().payload)
    assert ears.is_retained
    assert {"name", "log", "epoch", "hash", "position", "acknowledged", "waiting", "at"} <= set(
        state
    )
    assert state["acknowledged"] == {"back-end": 0, "offload": 0}
