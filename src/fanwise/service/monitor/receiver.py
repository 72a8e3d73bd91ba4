"""The receiver: a process of its own that takes messages from an MQTT broker to the spool.

A message is acknowledged once it is on disk. The session at the broker is persistent, so what
arrives while the receiver is away waits there, as far as the broker keeps it. Where there is no
room for input, nothing is read and nothing acknowledged until there is.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

from fanwise.service.configuration.model import MqttSource
from fanwise.service.monitor import mosquitto_log
from fanwise.service.monitor.clock import SteadyClock
from fanwise.service.monitor.heard import Heard, heard_file
from fanwise.service.monitor.messages import Arrival, MessageReader, Record, bad, change_record
from fanwise.service.monitor.mosquitto_log import EXPIRES_SECONDS, BrokerLog
from fanwise.service.monitor.spool import Spool, SpoolFullError, UnsyncedError, segments
from fanwise.service.monitor.subscriptions import (
    AWAY,
    CLEAN,
    GAP,
    KEPT,
    LOST,
    START,
    Action,
    SubscriptionChange,
)
from fanwise.service.tls import TrustOfNow, explain

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.1
"""How long messages wait for others to be brought to disk with."""
MOST_WAITING = 20_000
"""Messages that wait for the disk; above, the broker has to wait."""
SESSION_SECONDS = 7 * 86_400
"""How long the broker keeps the session of a receiver that is away."""
RETRY_SECONDS = 1.0
TELL_SECONDS = 1.0
WAITS = "input waits: "
"""How trouble begins that is about room for input."""
RECEIVE_MAXIMUM = 65_535
FAREWELL_SECONDS = 2.0
"""How long a receiver that stops waits for the broker to have read its acknowledgements."""
NO_TOPIC = "fanwise/no-topic"
"""A topic that nobody subscribes to: giving it up changes nothing, but the broker answers."""
MOST_QUESTIONS = 30
"""Lines of its own that the receiver causes in the broker's log after it has connected, one a
second until the broker tells how long it runs: they tell what time it is there."""
RECALLED = 50
"""Segments that are read again at the start, for the ids of events and the time."""
QUICK_STARTS, LONGEST_PAUSE = 3, 60.0
"""Times that a receiver which ends before it is connected is started again at once; after those,
seconds to wait double up to a minute."""


@dataclass
class ReceiverStatus:
    """What the receiver tells of itself.

    Attributes
    ----------
    is_connected
        Whether the broker has taken the subscriptions of this connection.
    received, written
        Messages since it started, and records brought to disk.
    again, doubles
        Messages that the broker sent again, and events dropped because their ids were known.
    waiting
        Messages that wait for the disk.
    trouble
        What is wrong, in a sentence; empty if nothing is.
    """

    is_connected: bool = False
    received: int = 0
    written: int = 0
    again: int = 0
    doubles: int = 0
    bad: int = 0
    waiting: int = 0
    trouble: str = "not connected yet"
    at: float = field(default_factory=time.time)


class _Waiting(NamedTuple):
    """A message that waits for the disk.

    Attributes
    ----------
    record
        None for what is acknowledged only.
    connection
        Counts connections: numbers of messages mean something on their own connection alone.
    """

    record: Record | None
    number: int
    quality: int
    connection: int


class Receiver:
    """Takes messages from a broker to a spool until it is stopped."""

    def __init__(
        self,
        source: MqttSource,
        spool: Spool,
        *,
        largest: int,
        ignored: Iterable[str] = (),
    ) -> None:
        """Prepare to receive.

        Parameters
        ----------
        largest
            Most bytes of a message.
        ignored
            Topics whose messages are no traffic.
        """
        import paho.mqtt.client as mqtt
        from paho.mqtt.enums import CallbackAPIVersion
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties
        from paho.mqtt.subscribeoptions import SubscribeOptions

        self._source, self._spool = source, spool
        self._topics = [*source.topics, *([mosquitto_log.TOPIC] if source.broker_log else [])]
        log_of_broker = BrokerLog(frozenset({source.client_id}))
        self._reader = MessageReader(
            source.time_field,
            source.id_field,
            largest,
            log_of_broker,
            frozenset(ignored),
        )
        self._log = log_of_broker
        self._heard_file = heard_file(spool.folder)
        before = Heard.read(self._heard_file)
        # Of the connection before this one, and of this one.
        self._before, self._heard = before, before or Heard()
        self._questions = MOST_QUESTIONS
        self._lacks_uptime = False
        last = self._recall()
        self.status = ReceiverStatus()
        self._lock = threading.Condition()
        self._arrived: list[_Waiting] = []
        # How many of them are in the spool, and may not be on disk.
        self._visible = 0
        self._connection = 0
        self._clock = SteadyClock(max(last, self._heard.at))
        self._is_over = threading.Event()
        self._answered = 0
        self._has_answered = threading.Event()
        self._client = client = mqtt.Client(
            CallbackAPIVersion.VERSION2,
            client_id=source.client_id,
            protocol=mqtt.MQTTv5,
            manual_ack=True,
        )
        if source.tls_ca is not None:
            client.tls_set_context(TrustOfNow(source.tls_ca))
        client.on_pre_connect = self._on_pre_connect
        client.on_connect = self._on_connect
        client.on_connect_fail = self._on_connect_fail
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.on_unsubscribe = self._on_unsubscribe
        client.reconnect_delay_set(min_delay=1, max_delay=10)
        self._properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        self._properties.SessionExpiryInterval = SESSION_SECONDS
        # The broker sends so many before it waits for acknowledgements, which come in bundles.
        self._properties.ReceiveMaximum = RECEIVE_MAXIMUM
        # What brokers retain was published before, and would come again with every connection.
        unretained = SubscribeOptions.RETAIN_DO_NOT_SEND
        self._options = SubscribeOptions(qos=1, retainHandling=unretained)
        # What is told late would be wrong: it is not kept for somebody who is away.
        self._at_once = SubscribeOptions(qos=0, retainHandling=unretained)

    def run(self, is_over: threading.Event, told: Connection | None = None) -> None:
        """Receive until the event is set.

        Parameters
        ----------
        told
            Gets the status about once a second, as a dictionary; left out where nobody reads it.
        """
        self._is_over = is_over
        self._client.connect_async(
            self._source.host,
            self._source.port,
            clean_start=False,
            properties=self._properties,
        )
        self._client.loop_start()
        pause, last_told = FLUSH_SECONDS, 0.0
        try:
            while not is_over.wait(pause):
                heard = self._heard
                pause = FLUSH_SECONDS if self._flush() else RETRY_SECONDS
                if time.monotonic() - last_told >= TELL_SECONDS:
                    last_told = time.monotonic()
                    if pause == FLUSH_SECONDS:  # what it says of the broker is on disk
                        self._remember(heard)
                    self._ask_time()
                    if told is not None:
                        self._tell(told)
        finally:
            is_over.set()
            heard = self._heard
            is_flushed = self._flush()
            if is_flushed:
                self._remember(heard)
            if self._await_broker() and is_flushed and self._heard.wall:
                self._remember(replace(self._heard, wall=time.time()))
            self._client.disconnect()
            self._client.loop_stop()

    def _await_broker(self) -> bool:
        """Return when the broker has read all acknowledgements, or after a while; and whether.

        It reads what a connection sends in order, so its answer to the last request says so. A
        receiver that left sooner could be replaced by the next before its acknowledgements were
        read, and messages that are on disk would be sent again.
        """
        if not self.status.is_connected:
            return False
        number, end = self._client.unsubscribe(NO_TOPIC)[1], time.monotonic() + FAREWELL_SECONDS
        while self._answered != number and time.monotonic() < end:
            self._has_answered.wait(end - time.monotonic())
            self._has_answered.clear()
        return self._answered == number

    def _remember(self, heard: Heard) -> None:
        try:
            heard.write(self._heard_file)
        except OSError as error:  # a full disk is said where it matters
            log.debug("%s: %s", self._heard_file, error)

    def _ask_time(self) -> None:
        """Cause a line in the broker's log, while it is not known when the broker was started."""
        if not (self._source.broker_log and self.status.is_connected):
            return
        if self._questions > 0:
            self._questions -= 1
            self._client.unsubscribe(NO_TOPIC)
        elif self._lacks_uptime:
            self._lacks_uptime = False
            self._say_uptime_is_missing()

    def _say_uptime_is_missing(self) -> None:
        """Say that nobody knows whether the broker was started anew, and with it sessions ended.

        After a connection before this one that counts as a gap.
        """
        log.warning(
            "the broker does not tell on %s how long it runs: it has sys_interval 0, or does not "
            "let us read that; when it is started anew, the end of clean sessions is missed",
            mosquitto_log.UPTIME,
        )
        if self._before is not None:
            self._add(GAP, self._clock.now(), AWAY)

    def _on_unsubscribe(self, client: Any, data: Any, number: int, *_: Any) -> None:
        self._answered = number
        self._has_answered.set()

    def _tell(self, told: Connection) -> None:
        self.status.at = time.time()
        if select.select([], [told], [], 0)[1]:  # the service may have no time to read
            told.send(asdict(self.status))

    def _flush(self) -> bool:
        """Bring what arrived to disk, then acknowledge it; return whether there was room for it.

        What is not acknowledged is sent again by the broker, to whoever comes next.
        """
        with self._lock:
            arrived = self._arrived[:]
        trouble = ""
        if self._visible:
            arrived = arrived[: self._visible]
            if not self._sync():
                return False
        while not self._visible and not self._write(arrived):
            trouble = self.status.trouble
            if self._visible or len(arrived) < 2:
                return False
            del arrived[len(arrived) // 2 :]  # there may be room for some of it
        self._visible = 0
        if self.status.trouble.startswith(WAITS):
            self.status.trouble = trouble
        with self._lock:
            connection = self._connection
            del self._arrived[: len(arrived)]
            self.status.waiting = len(self._arrived)
            self._lock.notify_all()
        for one in arrived:
            if one.quality and one.connection == connection:
                self._client.ack(one.number, one.quality)
        return not trouble

    def _write(self, arrived: list[_Waiting]) -> bool:
        """Bring messages to disk; return whether they are there, and say in the status why not."""
        records = [one.record for one in arrived if one.record is not None]
        try:
            self._spool.write(records)
        except UnsyncedError as error:
            self._visible = len(arrived)
            self.status.written += len(records)
            return self._wait(error)
        except (SpoolFullError, OSError) as error:
            return self._wait(error)
        self.status.written += len(records)
        return True

    def _sync(self) -> bool:
        """Bring to disk what is written already; return whether that was possible."""
        try:
            self._spool.sync()
        except OSError as error:
            return self._wait(error)
        return True

    def _wait(self, error: Exception) -> bool:
        """Say in the status why input waits; return false."""
        if not self.status.trouble.startswith(WAITS):
            log.warning("%s%s", WAITS, error)
        self.status.trouble = f"{WAITS}{error}"
        return False

    def _on_pre_connect(self, client: Any, data: Any) -> None:
        """Read the password anew for each connection: it may have changed."""
        source = self._source
        if source.username is not None:
            client.username_pw_set(source.username, _read_secret(source.password_file))

    def _on_connect_fail(self, client: Any, data: Any) -> None:
        """Say why there is no connection; paho calls this while it handles the exception."""
        error = sys.exc_info()[1]
        source = self._source
        reason = None if error is None else explain(error, source.host, source.tls_ca)
        reason = reason or getattr(error, "strerror", None) or str(error) or type(error).__name__
        trouble = f"no connection to the broker: {reason}; trying again"
        if self.status.trouble != trouble:
            log.warning("%s", trouble)
        self.status.is_connected, self.status.trouble = False, trouble

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self.status.trouble = f"the broker refuses the connection: {reason}"
            log.warning("%s", self.status.trouble)
            return
        with self._lock:
            self._connection += 1
        if self._source.broker_log:
            self._begin(bool(getattr(flags, "session_present", True)))
        topics = [(topic, self._options) for topic in self._topics]
        if self._source.broker_log:
            topics.append((mosquitto_log.UPTIME, self._at_once))
        client.subscribe(topics)

    def _begin(self, is_known: bool) -> None:
        """Begin to follow the broker's log on a new connection.

        Parameters
        ----------
        is_known
            Whether the broker had a session of ours.
        """
        before = self._before = self._heard if self._heard.wall else None
        self._log.begin()
        self._questions, self._lacks_uptime = MOST_QUESTIONS, True
        if before is None:
            return
        away = before.seconds_ago()
        if not is_known:
            log.warning(
                "the broker had forgotten the session: what was published and who subscribed in "
                "the last %.0f s may have been missed", away,
            )  # fmt: skip
            self._add(GAP, self._clock.now(), LOST)
        elif away > EXPIRES_SECONDS:
            log.warning(
                "the broker was not heard for %.0f s and keeps its log for %.0f s: changes of "
                "subscriptions may have been missed", away, EXPIRES_SECONDS,
            )  # fmt: skip
            self._add(GAP, self._clock.now(), AWAY)

    def _add(self, action: Action, instant: int, topic: str | None) -> None:
        """Add a record of our own to what arrived."""
        change = SubscriptionChange(instant, action, "", topic, self._clock.now())
        with self._lock:
            self._arrived.append(_Waiting(change_record(change), 0, 0, self._connection))

    def _note_uptime(self, payload: bytes) -> None:
        """Note when the broker was started, by its own clock.

        It was running for so many seconds when it wrote this, and it wrote this after the last line
        of its log that arrived: so it was not started before the difference. A second is lost to
        rounding.
        """
        seconds = payload.split()[0] if payload.split() else b""
        if self._log.line is None or not seconds.isdigit():
            return
        self._questions, self._lacks_uptime = 0, False
        started = self._log.line - (int(seconds) + 1) * 10**6
        if started <= self._heard.started + 10**6:
            return
        before = self._before
        # A start after the connection before had begun is what ended that connection.
        is_new = before is not None and 0 < before.begun < started
        self._add(START, started, str(before.at) if before is not None and is_new else None)
        self._heard = replace(self._heard, started=started)

    def _note_heard(self, at: int) -> None:
        begun = self._heard.begun if self._log.own is None else self._log.own
        self._heard = replace(self._heard, at=at, wall=time.time(), begun=begun)

    def _on_subscribe(
        self, client: Any, data: Any, number: int, reasons: Any, properties: Any
    ) -> None:
        refused = [
            f"{topic!r} ({reason})"
            for topic, reason in zip(self._topics, reasons, strict=False)
            if reason.is_failure
        ]
        self.status.is_connected, self.status.trouble = True, ""
        if refused:
            self.status.trouble = f"the broker refuses subscriptions: {', '.join(refused)}"
            log.warning("%s", self.status.trouble)

    def _on_disconnect(
        self, client: Any, data: Any, flags: Any, reason: Any, properties: Any
    ) -> None:
        self.status.is_connected = False
        self.status.trouble = f"no connection to the broker ({reason}); trying again"

    def _on_message(self, client: Any, data: Any, message: Any) -> None:
        at = self._clock.now()
        try:
            topic = message.topic
        except UnicodeDecodeError:
            record: Record | None = bad("topic not UTF-8", "", message.payload, at)
        else:
            if topic == mosquitto_log.UPTIME:
                self._note_uptime(message.payload)
                self._note_heard(at)
                return
            record = self._reader.read(Arrival(topic, message.payload, at, bool(message.dup)))
            is_session = record is not None and record["kind"] in (CLEAN, KEPT)
            if record is not None and is_session and message.dup and self._before is not None:
                record["topic"] = str(self._before.at)
        self._note_heard(at)
        status = self.status
        status.received += 1
        status.again, status.doubles = self._reader.again, self._reader.doubles
        status.bad += record is not None and record["kind"] == "bad"
        with self._lock:
            while len(self._arrived) >= MOST_WAITING and not self._is_over.is_set():
                self._lock.wait(1.0)  # reading on would only fill memory
            self._arrived.append(_Waiting(record, message.mid, message.qos, self._connection))
            status.waiting = len(self._arrived)

    def _recall(self) -> int:
        """Know the events that were written last, for the broker may send some of them again.

        Return the latest time of an arrival among them.
        """
        last = 0
        count = 1 if self._source.id_field is None else RECALLED
        for path in segments(self._spool.folder)[-count:]:
            try:
                lines = path.read_text(encoding="ascii").splitlines()
            except FileNotFoundError:  # counted and moved just now
                continue
            for line in lines:
                record = json.loads(line)
                self._reader.remember(record)
                last = max(last, self._arrival_of(record))
        return last

    def _arrival_of(self, record: Record) -> int:
        """Return when a record arrived, in microseconds since the epoch; 0 if it does not say."""
        if "came" in record:
            return int(record["came"])
        if record["kind"] == "event" and self._source.time_field is not None:
            return 0
        return round(float(record["timestamp"]) * 10**6)


def _read_secret(path: Path | None) -> str | None:
    """Return the password in a file; whatever is wrong with it is an OSError, as paho expects."""
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise OSError(f"password_file: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OSError(f"password_file: {path} is not text in UTF-8") from None


def receive(
    source: dict[str, Any],
    folder: str,
    limit: int,
    largest: int,
    ignored: Sequence[str],
    told: Connection,
) -> None:
    """Run a receiver in this process until its parent is gone or tells it to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    is_over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: is_over.set())
    parent = multiprocessing.parent_process()
    if parent is not None:
        watch = threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True)
        watch.start()
    receiver = Receiver(
        MqttSource.model_construct(**source),
        Spool(Path(folder), limit=limit),
        largest=largest,
        ignored=ignored,
    )
    receiver.run(is_over, told)


class ReceiverProcess:
    """A receiver in a process of its own, started again when it ends."""

    def __init__(
        self,
        source: MqttSource,
        folder: Path,
        *,
        limit: int,
        largest: int,
        ignored: Sequence[str] = (),
    ) -> None:
        self._arguments = (dict(source.__dict__), str(folder), limit, largest, tuple(ignored))
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._told: Connection | None = None
        self._status = ReceiverStatus()
        self.starts, self._failures, self._next = 0, 0, 0.0

    def start(self) -> None:
        """Start the process."""
        self._told, telling = self._context.Pipe(duplex=False)
        self._process = self._context.Process(
            target=receive, args=(*self._arguments, telling), name="fanwise-receiver", daemon=True
        )
        self._process.start()
        telling.close()
        self.starts += 1

    @property
    def last_status(self) -> ReceiverStatus:
        """What it told last."""
        return self._status

    def status(self) -> ReceiverStatus:
        """Return what it tells now; a process that died is started again."""
        try:
            while self._told is not None and self._told.poll():
                self._status = ReceiverStatus(**self._told.recv())
        except (EOFError, OSError):
            pass
        if self._status.is_connected:
            self._failures = 0
        if self._process is not None and not self._process.is_alive():
            self._start_again()
        return self._status

    def _start_again(self) -> None:
        """Start a process that died, after a pause where it has died often."""
        if self._next == 0.0:
            self._failures += 1
            over = self._failures - QUICK_STARTS
            pause = 0.0 if over <= 0 else min(2.0 ** (over - 1), LONGEST_PAUSE)
            self._next = time.monotonic() + pause
        code = self._process.exitcode
        if time.monotonic() < self._next:
            self._status = ReceiverStatus(
                trouble=f"the receiver ended ({code}) {self._failures} times; it is restarted soon"
            )
            return
        self._next = 0.0
        self.start()
        self._status = ReceiverStatus(trouble=f"the receiver ended ({code}) and was restarted")

    def stop(self, seconds: float = 10.0) -> None:
        """Stop the process: what it has goes to disk first."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        process.join(seconds)
        if process.is_alive():
            process.kill()
            process.join()
