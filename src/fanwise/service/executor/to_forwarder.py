"""Forwarders as output: told by a retained topic, and believed when they report the epoch."""

from __future__ import annotations

import json
import secrets
import threading
import time
from typing import Any, NamedTuple

from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.reasoncodes import ReasonCode

from fanwise.client.naming import DECISION, state_topic
from fanwise.service.executor.announcing import refuse_large, write_whole
from fanwise.service.executor.credentials import read_secret
from fanwise.service.executor.errors import OutputError
from fanwise.service.executor.settings import ForwarderOutput, digest
from fanwise.service.store.rows import Announcement
from fanwise.service.tls import TlsFileError, explain, trust


class _Report(NamedTuple):
    """What a forwarder says it has."""

    epoch: int
    hash: str | None


class ToForwarder:
    """Publishes decisions at the ingress; they are delivered when every forwarder has them.

    Where nothing is in force any more, forwarders are told that too, by a decision without a hash.
    """

    def __init__(self, settings: ForwarderOutput) -> None:
        self._settings = settings
        self.name = settings.name
        self.target = digest(settings)

    def deliver(self, announcement: Announcement) -> None:
        """Return when every forwarder has told this epoch and hash."""
        body = write_whole(announcement)
        refuse_large(body, self._settings.largest_body)
        with _Talk(self._settings) as talk:
            talk.announce(body, _Report(announcement.epoch, announcement.hash))


class _Talk:
    """A connection to the ingress, within a time limit."""

    def __init__(self, settings: ForwarderOutput) -> None:
        self._settings = settings
        self._end = time.monotonic() + settings.timeout
        self._place = f"the broker at {settings.host}:{settings.port}"
        self._changed = threading.Condition()
        self._refusal: str | None = None
        self._is_ready = False
        self._sent: ReasonCode | None = None
        self._reports: dict[str, _Report] = {}
        self._names = {state_topic(name): name for name in settings.names}
        self._client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=f"fanwise-{settings.name}-{secrets.token_hex(4)}",
            protocol=MQTTv5,
        )
        self._client.connect_timeout = settings.timeout
        self._client.on_connect = self._hear_connect
        self._client.on_subscribe = self._hear_subscribe
        self._client.on_publish = self._hear_publish
        self._client.on_message = self._hear_state

    def __enter__(self) -> _Talk:
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
            raise OutputError(str(error)) from None
        except TimeoutError:
            raise self._late(f"{self._place} did not answer") from None
        except (OSError, ValueError) as error:
            reason = explain(error, settings.host, settings.tls_ca)
            reason = reason or getattr(error, "strerror", None) or type(error).__name__
            raise OutputError(f"{self._place} cannot be reached: {reason}") from None
        self._client.loop_start()
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def announce(self, body: bytes, wanted: _Report) -> None:
        """Return when all have what is wanted."""
        with self._changed:
            self._await(lambda: self._is_ready, lambda: f"{self._place} did not answer")
        # Outside the lock: a broker that answers at once is heard in another thread.
        self._client.publish(DECISION, body, qos=1, retain=True)
        with self._changed:
            self._await(
                lambda: self._sent is not None, lambda: f"{self._place} did not acknowledge"
            )
            if self._sent is not None and self._sent.is_failure:
                raise OutputError(f"{self._place} refused the message: {self._sent}")
            names = self._settings.names
            self._await(
                lambda: all(self._reports.get(name) == wanted for name in names),
                lambda: self._describe(wanted),
            )

    def _await(self, is_true: Any, failure: Any) -> None:
        while not is_true():
            if self._refusal is not None:
                raise OutputError(self._refusal)
            rest = self._end - time.monotonic()
            if rest <= 0 or not self._changed.wait(rest):
                raise self._late(failure())

    def _describe(self, wanted: _Report) -> str:
        """Say which forwarder does not have it."""
        name = next(name for name in self._settings.names if self._reports.get(name) != wanted)
        found = self._reports.get(name)
        if found is None:
            return f"forwarder {name} did not report"
        if found.epoch > wanted.epoch:
            return (
                f"forwarder {name} has epoch {found.epoch} already; remove its decision.json if "
                f"the service began anew: it did not take epoch {wanted.epoch}"
            )
        return f"forwarder {name} still has epoch {found.epoch}: it did not take {wanted.epoch}"

    def _late(self, failure: str) -> OutputError:
        return OutputError(f"{failure} within {self._settings.timeout:g} seconds")

    def _hear_connect(self, client: Any, data: Any, flags: Any, reason: Any, more: Any) -> None:
        if reason.is_failure:
            self._refuse(f"{self._place} refused the connection: {reason}")
        else:
            client.subscribe([(topic, 1) for topic in self._names])

    def _hear_subscribe(self, client: Any, data: Any, mid: int, reasons: Any, more: Any) -> None:
        refused = next((reason for reason in reasons if reason.is_failure), None)
        if refused is not None:
            self._refuse(f"{self._place} refused to tell of forwarders: {refused}")
        with self._changed:
            self._is_ready = True
            self._changed.notify_all()

    def _hear_publish(self, client: Any, data: Any, mid: int, reason: Any, more: Any) -> None:
        with self._changed:
            self._sent = reason
            self._changed.notify_all()

    def _hear_state(self, client: Any, data: Any, message: Any) -> None:
        name = self._names.get(message.topic)
        try:
            found = json.loads(message.payload)
            report = _Report(int(found["epoch"]), found["hash"])
        except (ValueError, KeyError, TypeError):
            return
        if name is not None:
            with self._changed:
                self._reports[name] = report
                self._changed.notify_all()

    def _refuse(self, why: str) -> None:
        with self._changed:
            self._refusal = why
            self._changed.notify_all()
