"""The publisher: numbers its messages, and sends again what the forwarder does not have.

An acknowledgement of the ingress says that the broker has a message in memory, not that it outlasts
the broker. So the publisher keeps each message until the forwarder says that it is on disk there.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple, Self

from paho.mqtt.client import MQTTMessage
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from fanwise.client import naming
from fanwise.client.asking import Taken, read_taken, write_check
from fanwise.client.subscribing import read_place
from fanwise.client.wire import FAILURE, Listener, Place, Session, Wire

log = logging.getLogger(__name__)

MOST_IN_FLIGHT = 200
ANSWER_SECONDS = 1.0
"""After so long without an answer, the question is asked again."""


class _Waiting(NamedTuple):
    topic: str
    payload: bytes
    user_properties: tuple[tuple[str, str], ...]


class _Check(NamedTuple):
    """A question that waits for an answer.

    Attributes
    ----------
    through
        Number of the message that was sent last before it.
    """

    number: int
    through: int
    at: float


class AsyncPublisher(Listener):
    """Publishes at the ingress; use it with ``async with``.

    Parameters
    ----------
    name
        Of this publisher at the broker; digits are added that nobody else has.
    forwarder
        Which takes the messages; all of them, so its filters must mean every topic published.
    most_waiting
        Messages kept until they are on the forwarder's disk; above, :meth:`publish` waits.
    check
        Seconds between questions how far messages were taken.

    Notes
    -----
    Messages of one publisher reach the forwarder's log in the order of :meth:`publish`, each once,
    whatever is killed meanwhile. What waits is lost with this process.
    """

    def __init__(
        self,
        ingress: Place | str,
        *,
        name: str = "publisher",
        forwarder: str = "forwarder",
        most_waiting: int = 10_000,
        check: float = 0.2,
    ) -> None:
        if not name or set("+#/\0") & set(name) or len(name) > 100:
            raise ValueError("The 'name' parameter must be a name without + # and /.")
        self._given_name, self._forwarder = name, forwarder
        self._most_waiting, self._check_seconds = most_waiting, check
        self._place = read_place(ingress)
        self._name_anew()
        self._wire = Wire(self._place, self.name, self, Session())
        self._waiting: OrderedDict[int, _Waiting] = OrderedDict()
        self._number = 0
        self._next = 1
        """Number to send next."""
        self._in_flight: dict[int, int] = {}
        self._window = 0
        self._check: _Check | None = None
        self._check_numbers = itertools.count(1)
        self._due = 0.0
        self._pump_is_due = False
        self._refusal: PermissionError | None = None

    async def __aenter__(self) -> Self:
        self._changed = asyncio.Condition()
        self._loop = asyncio.get_running_loop()
        self._wire.start()
        self._checking = self._loop.create_task(self._check_always())
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is None:
            with contextlib.suppress(TimeoutError):
                await self.flush(10.0)
        self._checking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._checking
        await self._wire.stop()
        if self._waiting:
            log.warning("%d messages were not taken by the forwarder.", len(self._waiting))

    @property
    def num_waiting(self) -> int:
        """Messages that are not known to be on the forwarder's disk."""
        return len(self._waiting)

    async def publish(
        self, topic: str, payload: bytes, user_properties: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Send a message; waits while too many are not on the forwarder's disk.

        Raises
        ------
        PermissionError
            If the ingress refused an earlier one: those behind it are not taken either.
        """
        if not topic or {"+", "#", "\0"} & set(topic) or topic.startswith(naming.CONTROL):
            raise ValueError(f"A topic must have no + and #, and not be below fanwise/: {topic!r}.")
        while self._refusal is None and len(self._waiting) >= self._most_waiting:
            async with self._changed:
                await self._changed.wait()
        if self._refusal is not None:
            raise self._refusal
        self._number += 1
        self._waiting[self._number] = _Waiting(topic, payload, tuple(user_properties))
        self._pump_soon()

    async def flush(self, timeout: float | None = None) -> None:
        """Return when all messages are on the forwarder's disk; else raise ``TimeoutError``."""
        async with asyncio.timeout(timeout):
            async with self._changed:
                await self._changed.wait_for(lambda: not self._waiting or self._refusal)
        if self._refusal is not None:
            raise self._refusal

    # What the broker tells.

    def on_up(self, is_resumed: bool, window: int) -> None:
        """Send again what the last connection left open, and ask for the rest."""
        self._window = min(window, MOST_IN_FLIGHT)
        self._wire.subscribe([(naming.answer_topic(self.name), SubscribeOptions(qos=1))])
        self._next = min([*self._in_flight.values(), self._next])
        self._in_flight.clear()
        self._check = None
        self._due = 0.0
        self._pump_soon()

    def on_down(self, reason: str) -> None:
        """Wait."""
        log.warning("%s: %s; trying again.", self._place, reason)

    def on_sent(self, number: int, reason: ReasonCode) -> None:
        """Go on sending."""
        if self._in_flight.pop(number, None) is not None and reason.value >= FAILURE:
            self._refusal = PermissionError(f"{self._place} refuses a message: {reason}")
            self._loop.create_task(self._tell())
        self._pump_soon()

    def on_message(self, message: MQTTMessage) -> None:
        """Hear how far messages were taken."""
        taken = read_taken(bytes(message.payload))
        if taken is not None and message.topic == naming.answer_topic(self.name):
            self._hear(taken)

    def _hear(self, answer: Taken) -> None:
        first = next(iter(self._waiting), self._number + 1)
        check = self._check
        if check is not None and answer.number == check.number:
            self._check = None
            self._due = time.monotonic() + self._check_seconds
            if answer.taken < first - 1:
                self._begin_anew()
                return
            if answer.taken < check.through:  # what came after it did not reach the forwarder
                self._next = min(self._next, answer.taken + 1)
        for number in range(first, min(answer.taken, self._number) + 1):
            self._waiting.pop(number, None)
        self._next = max(self._next, answer.taken + 1)
        self._loop.create_task(self._tell())
        self._pump_soon()

    def _begin_anew(self) -> None:
        """Send what waits under a new name: the forwarder does not know this one any more."""
        log.warning("Forwarder %s does not know %s any more.", self._forwarder, self.name)
        self._name_anew()
        self._waiting = OrderedDict(enumerate(self._waiting.values(), 1))
        self._number, self._next = len(self._waiting), 1
        self._in_flight.clear()
        self._wire.subscribe([(naming.answer_topic(self.name), SubscribeOptions(qos=1))])
        self._pump_soon()

    def _name_anew(self) -> None:
        self.name = f"{self._given_name}-{secrets.token_hex(4)}"

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _pump_soon(self) -> None:
        if not self._pump_is_due:
            self._pump_is_due = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        self._pump_is_due = False
        while (
            self._wire.is_up
            and len(self._in_flight) < self._window - 1  # one is left for the question
            and (one := self._waiting.get(self._next)) is not None
        ):
            sent = self._wire.publish(
                one.topic, one.payload, properties=self._properties(self._next, one)
            )
            self._in_flight[sent] = self._next
            self._next += 1

    def _properties(self, number: int, one: _Waiting) -> Properties:
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        properties.UserProperty = [
            (naming.PUBLISHER, self.name), (naming.NUMBER, str(number)), *one.user_properties
        ]  # fmt: skip
        return properties

    async def _check_always(self) -> None:
        while True:
            await asyncio.sleep(self._check_seconds / 2)
            now = time.monotonic()
            check = self._check
            is_late = check is not None and now - check.at > ANSWER_SECONDS
            if (
                self._waiting
                and self._wire.is_up
                and (is_late or (check is None and now >= self._due))
            ):
                self._check = _Check(next(self._check_numbers), self._next - 1, now)
                body = write_check(self.name, self._check.number)
                self._wire.publish(naming.ask_topic(self._forwarder), body)
