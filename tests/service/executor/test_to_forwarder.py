"""Forwarders as output: a decision is delivered when each has reported it."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
from tests.service.executor.receivers import Subscriber, submit
from tests.service.executor.test_outputs import HASH, NOTHING, TOLD, WHOLE
from tests.service.servers import free_port

from fanwise.client.naming import DECISION, state_topic
from fanwise.service.executor.applying import Executor
from fanwise.service.executor.errors import OutputError
from fanwise.service.executor.settings import Execute, ForwarderOutput
from fanwise.service.executor.to_forwarder import ToForwarder


class Stand:
    """Stands in for forwarders: reports what is announced, or something else."""

    def __init__(self, port, *names):
        self.is_obedient = dict.fromkeys(names, True)
        self._client = Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = self._hear
        ready = threading.Event()
        self._client.on_subscribe = lambda *_: ready.set()
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        self._client.subscribe(DECISION, 1)
        assert ready.wait(10)

    def tell(self, name, epoch, hash):
        body = json.dumps({"name": name, "epoch": epoch, "hash": hash})
        self._client.publish(state_topic(name), body, 1, True).wait_for_publish(10)

    def _hear(self, client, data, message):
        found = json.loads(message.payload)
        for name, is_obedient in self.is_obedient.items():
            if is_obedient:
                body = json.dumps({"name": name, "epoch": found["epoch"], "hash": found["hash"]})
                client.publish(state_topic(name), body, 1, True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._client.disconnect()
        self._client.loop_stop()


def output_of(port, *names, timeout=10.0):
    return ToForwarder(ForwarderOutput(port=port, names=list(names), timeout=timeout))


def test_a_decision_is_delivered_when_every_forwarder_has_it(mosquitto):
    with Stand(mosquitto.port, "one", "two"):
        output = output_of(mosquitto.port, "one", "two")
        output.deliver(TOLD)
        output.deliver(TOLD)
        with Subscriber(mosquitto.port, DECISION) as subscriber:
            message = subscriber.next()
            assert message.retain
            assert json.loads(message.payload) == WHOLE
        output.deliver(NOTHING)


def test_a_forwarder_that_does_not_report_is_named(mosquitto):
    with Stand(mosquitto.port, "one", "two") as forwarders:
        output = output_of(mosquitto.port, "one", "two", timeout=0.5)
        forwarders.is_obedient["two"] = False
        with pytest.raises(OutputError, match=r"forwarder two did not report within 0\.5") as error:
            output.deliver(TOLD)
        assert error.value.may_pass
        forwarders.tell("two", 6, HASH)
        with pytest.raises(OutputError, match="two still has epoch 6: it did not take 7"):
            output.deliver(TOLD)
        forwarders.tell("two", 7, "another")
        with pytest.raises(OutputError, match="two still has epoch 7"):
            output.deliver(TOLD)
        forwarders.tell("two", 9, HASH)
        with pytest.raises(OutputError, match="has epoch 9 already"):
            output.deliver(TOLD)
        forwarders.tell("two", 10, HASH)
        output.deliver(replace(TOLD, epoch=10))


def test_a_broker_that_is_away_may_come_back():
    with pytest.raises(OutputError, match="cannot be reached") as error:
        output_of(free_port(), "one").deliver(TOLD)
    assert error.value.may_pass


def test_a_decision_is_in_force_only_when_forwarders_have_it(mosquitto, sqlite, clock):
    settings = Execute(
        mode="approve",
        forwarder=[ForwarderOutput(port=mosquitto.port, names=["one"], timeout=0.3)],
    )
    executor = Executor(sqlite, settings, now=clock.now, monotonic=clock.monotonic)
    executor.prepare()
    decision = submit(executor, 0, "a", "b")
    with Stand(mosquitto.port, "one") as forwarders:
        forwarders.is_obedient["one"] = False
        executor.approve(decision.hash, "ann")
        executor.outbox.attempt_due("forwarder")
        assert sqlite.find(decision.hash).state == "pending"
        assert "did not report" in executor.status().waiting[0].error
        forwarders.is_obedient["one"] = True
        clock.seconds += 60
        executor.outbox.attempt_due("forwarder")
        assert sqlite.find(decision.hash).state == "in-force"
