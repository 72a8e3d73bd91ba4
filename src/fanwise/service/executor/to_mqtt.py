"""An MQTT broker as output: a retained topic with the whole decision, and one with changes."""

from __future__ import annotations

import secrets
import threading
import time
from typing import Any

from paho.mqtt.client import Client, MQTTMessageInfo, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.reasoncodes import ReasonCode

from fanwise.service.executor.announcing import refuse_large, write_delta, write_whole
from fanwise.service.executor.credentials import read_secret
from fanwise.service.executor.errors import FailureKind, OutputError
from fanwise.service.executor.settings import MqttOutput, digest
from fanwise.service.store.rows import Announcement
from fanwise.service.tls import TlsFileError, explain, trust

_FAILURE = 128
"""Reason codes from here on say that the broker refused."""


class ToMqtt:
    """Publishes decisions at a broker, over a connection of its own for each.

    Messages have QoS 1 and count as delivered when the broker has acknowledged all of them. Where
    nothing is in force any more, the retained message is removed.
    """

    def __init__(self, settings: MqttOutput) -> None:
        self._settings = settings
        self.name = settings.name
        self.target = digest(settings)

    def deliver(self, announcement: Announcement) -> None:
        """Publish the whole decision first: who misses a change finds it there."""
        settings = self._settings
        whole = b"" if announcement.hash is None else write_whole(announcement)
        messages = [(settings.topic, whole, True)]
        if settings.delta_topic is not None:
            messages.append((settings.delta_topic, write_delta(announcement), False))
        for _, body, _ in messages:
            refuse_large(body, settings.largest_body)
        with _Session(settings) as session:
            for topic, body, is_retained in messages:
                session.publish(topic, body, is_retained=is_retained)


class _Session:
    """A connection to a broker, within a time limit."""

    def __init__(self, settings: MqttOutput) -> None:
        self._settings = settings
        self._end = time.monotonic() + settings.timeout
        self._place = f"the broker at {settings.host}:{settings.port}"
        self._changed = threading.Condition()
        self._connected: ReasonCode | None = None
        self._acknowledged: dict[int, ReasonCode] = {}
        self._client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=f"fanwise-{settings.name}-{secrets.token_hex(4)}",
            protocol=MQTTv5,  # older versions acknowledge what they refuse
        )
        self._client.connect_timeout = settings.timeout
        self._client.on_connect = self._hear_connect
        self._client.on_publish = self._hear_publish

    def __enter__(self) -> _Session:
        settings = self._settings
        password = read_secret(settings.password_file, settings.password_variable)
        if settings.username is not None:
            text = None if password is None else password.decode(errors="surrogateescape")
            self._client.username_pw_set(settings.username, text)
        try:
            if settings.tls_ca is not None:
                self._client.tls_set_context(trust(settings.tls_ca))
            self._client.connect(settings.host, settings.port)
        except TlsFileError as error:
            raise OutputError(str(error), kind="tls") from None
        except TimeoutError:
            raise self._late("did not answer") from None
        except (OSError, ValueError) as error:
            wrong = explain(error, settings.host, settings.tls_ca)
            reason = wrong or getattr(error, "strerror", None) or type(error).__name__
            kind: FailureKind = "unreachable" if wrong is None else "tls"
            raise OutputError(f"{self._place} cannot be reached: {reason}", kind=kind) from None
        self._client.loop_start()
        try:
            self._await_connection()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def publish(self, topic: str, body: bytes, *, is_retained: bool) -> None:
        """Return when the broker has acknowledged a message."""
        sent = self._client.publish(topic, body, qos=1, retain=is_retained)
        code = self._await_acknowledgement(sent)
        if code.value >= _FAILURE:
            raise OutputError(f"{self._place} refused the message: {code}", kind="refused")

    def _await_connection(self) -> None:
        with self._changed:
            while self._connected is None:
                self._wait("did not answer")
            if self._connected.value >= _FAILURE:
                said = f"{self._place} refused the connection: {self._connected}"
                raise OutputError(said, kind="refused")

    def _await_acknowledgement(self, sent: MQTTMessageInfo) -> ReasonCode:
        with self._changed:
            while sent.mid not in self._acknowledged:
                self._wait("did not acknowledge")
            return self._acknowledged[sent.mid]

    def _wait(self, failure: str) -> None:
        rest = self._end - time.monotonic()
        if rest <= 0 or not self._changed.wait(rest):
            raise self._late(failure)

    def _late(self, failure: str) -> OutputError:
        said = f"{self._place} {failure} within {self._settings.timeout:g} seconds"
        return OutputError(said, kind="timeout")

    def _hear_connect(self, _client: Any, _data: Any, _flags: Any, code: Any, _more: Any) -> None:
        with self._changed:
            self._connected = code
            self._changed.notify_all()

    def _hear_publish(self, _client: Any, _data: Any, mid: int, code: Any, _more: Any) -> None:
        with self._changed:
            self._acknowledged[mid] = code
            self._changed.notify_all()
