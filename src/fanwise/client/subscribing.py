"""The subscriber: listens at the back end and at an edge broker, hands each message over once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from paho.mqtt.client import MQTTMessage
from paho.mqtt.subscribeoptions import SubscribeOptions

from fanwise.client import naming
from fanwise.client.asking import Answer, read_answer, write_question
from fanwise.client.gaps import Gaps
from fanwise.client.naming import Identity, read_identity
from fanwise.client.wire import Listener, Place, Session, Wire

log = logging.getLogger(__name__)

SESSION_SECONDS = 300
"""How long brokers keep messages for a client whose connection was lost."""
MOST_WAITING = 50_000
"""Messages that wait for whoever uses the client; above, nothing more is read."""
MOST_RESENT = 200
"""Messages that are asked for at once."""
PATIENCE = 1.0
"""Seconds that a message may be on its way before it is asked for."""
ANSWER_SECONDS = 1.0
"""After so long without an answer, the question is asked again."""


@dataclass(frozen=True)
class Message:
    """A message as it is handed over.

    Attributes
    ----------
    id
        By which messages of the same log can be put in order; None if no forwarder sent it.
    is_repaired
        Whether it was lost on its way and sent again from the forwarder's log.
    user_properties
        Of the publisher.
    """

    topic: str
    payload: bytes
    id: Identity | None = None
    is_repaired: bool = False
    user_properties: tuple[tuple[str, str], ...] = ()


@dataclass
class Counts:
    """What a client has seen.

    Attributes
    ----------
    handed
        Messages handed over; ``repaired`` of them were sent again from a log.
    doubles
        Messages dropped because they were handed over before.
    lost
        Messages that a forwarder no longer had when they were found missing.
    """

    handed: int = 0
    repaired: int = 0
    doubles: int = 0
    lost: int = 0


@dataclass
class _Forwarder:
    """What is known of a forwarder.

    Attributes
    ----------
    after
        For each filter the sequence after which its messages are due; None until it is known.
    asked
        When the question that waits for an answer was sent; None if none does.
    opening
        Filters that it asks from where on they count.
    before
        Messages that were missing when it was asked.
    """

    name: str
    log: str | None = None
    gaps: Gaps = field(default_factory=Gaps)
    after: dict[str, int | None] = field(default_factory=dict)
    number: int = 0
    asked: float | None = None
    opening: tuple[str, ...] = ()
    before: int = 0
    due: float = 0.0
    answered: asyncio.Event = field(default_factory=asyncio.Event)


class _Side(Listener):
    """One of the two brokers."""

    def __init__(self, client: AsyncClient, place: Place, name: str) -> None:
        self._client = client
        self.wire = Wire(place, name, self, Session(SESSION_SECONDS))
        self.name = name
        self.trouble = "not connected yet"
        self.pending: dict[int, asyncio.Future[None]] = {}

    def on_up(self, is_resumed: bool, window: int) -> None:
        self.trouble = ""
        self._client._hear_up(self)

    def on_down(self, reason: str) -> None:
        if reason != self.trouble:
            log.warning("%s: %s; trying again.", self.wire.place, reason)
        self.trouble = reason
        for one in self.pending.values():
            if not one.done():
                one.cancel()
        self.pending.clear()

    def on_message(self, message: MQTTMessage) -> None:
        self._client._hear(message)

    def on_subscribed(self, number: int, reasons: Sequence[Any]) -> None:
        one = self.pending.pop(number, None)
        refused = [str(reason) for reason in reasons if reason.is_failure]
        if one is not None and not one.done():
            if refused:
                one.set_exception(PermissionError(f"{self.wire.place} refuses: {refused[0]}"))
            else:
                one.set_result(None)
        elif refused:
            log.warning("%s refuses a subscription: %s.", self.wire.place, refused[0])


class AsyncClient:
    """Subscribes at both sides; use it with ``async with`` and ``async for``.

    Parameters
    ----------
    back_end, edge
        Brokers to listen at; without an edge broker, only what is served arrives directly.
    name
        Of this client at the brokers; left out: one of its own.
    forwarders
        Names of the forwarders to ask for what is missing; with none, doubles are dropped and
        nothing is asked.
    check
        Seconds between questions whether something is missing.
    on_message
        Called with each message instead of handing it to ``async for``.

    Notes
    -----
    Messages come as they arrive: within a topic and a side in the publisher's order, repaired ones
    and those around a switch of sides later or earlier. ``Message.id`` tells the order.
    """

    def __init__(
        self,
        back_end: Place | str,
        edge: Place | str | None = None,
        *,
        name: str | None = None,
        forwarders: Iterable[str] = ("forwarder",),
        check: float = 2.0,
        on_message: Callable[[Message], None] | None = None,
    ) -> None:
        self.name = name or f"client-{secrets.token_hex(6)}"
        if set("+#/\0") & set(self.name):
            raise ValueError("The 'name' parameter must be a name without + # and /.")
        self._check = check
        self._back_end = _Side(self, read_place(back_end), self.name)
        self._sides = [self._back_end]
        if edge is not None:
            self._sides.append(_Side(self, read_place(edge), f"{self.name}-edge"))
        self._forwarders = {one: _Forwarder(one) for one in forwarders}
        self._filters: dict[str, int] = {}
        self._on_message = on_message
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        self._others: dict[str, Gaps] = {}
        self.counts = Counts()

    async def __aenter__(self) -> Self:
        for side in self._sides:
            side.wire.start()
        self._asking = asyncio.get_running_loop().create_task(self._ask_always())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._asking
        for side in self._sides:
            await side.wire.stop()

    async def subscribe(self, *filters: str, quality: int = 1, timeout: float = 10.0) -> None:
        """Return when both brokers have taken the filters, and forwarders have said from where on.

        Messages that a forwarder takes from then on are handed over, whatever a broker loses. A
        broker that is away, or a forwarder that does not answer, is waited for until ``timeout``,
        and taken in when it comes.
        """
        for one in filters:
            self._filters[one] = quality
        end = time.monotonic() + timeout
        await asyncio.gather(*(self._subscribe_at(side, filters, end) for side in self._sides))
        for forwarder in self._forwarders.values():
            for one in filters:
                forwarder.after.setdefault(one, None)
            while any(forwarder.after.get(one, 0) is None for one in filters):
                forwarder.answered.clear()
                self._ask(forwarder)
                left = end - time.monotonic()
                if left <= 0:
                    log.warning("Forwarder %s does not answer.", forwarder.name)
                    break
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(forwarder.answered.wait(), min(left, ANSWER_SECONDS))

    async def unsubscribe(self, *filters: str) -> None:
        """Want no more messages of filters."""
        for one in filters:
            self._filters.pop(one, None)
            for forwarder in self._forwarders.values():
                forwarder.after.pop(one, None)
        for side in self._sides:
            if side.wire.is_up:
                side.wire.unsubscribe(filters)

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        message = await self._messages.get()
        if self._messages.qsize() == MOST_WAITING // 2:
            self.resume()
        return message

    def pause(self) -> None:
        """Read nothing: brokers keep what comes, as far as they do."""
        for side in self._sides:
            side.wire.pause()

    def resume(self) -> None:
        """Read again."""
        for side in self._sides:
            side.wire.resume()

    async def get(self, timeout: float | None = None) -> Message:
        """Return the next message; raises ``TimeoutError`` if none comes in time."""
        return await asyncio.wait_for(self.__anext__(), timeout)

    @property
    def complete_through(self) -> dict[str, int]:
        """For each log, the sequence up to which every message that is due was handed over."""
        return {
            one.log: one.gaps.through
            for one in self._forwarders.values()
            if one.log is not None and one.gaps.through is not None
        }

    @property
    def trouble(self) -> str:
        """What is wrong with the connections, in a sentence; empty if nothing is."""
        found = [f"{side.wire.place}: {side.trouble}" for side in self._sides if side.trouble]
        return "; ".join(found)

    # What brokers tell.

    async def _subscribe_at(self, side: _Side, filters: Sequence[str], end: float) -> None:
        while not side.wire.is_up:
            if time.monotonic() > end:
                return
            await asyncio.sleep(0.02)
        asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        side.pending[side.wire.subscribe(self._options(filters))] = asked
        with contextlib.suppress(TimeoutError, asyncio.CancelledError):  # it is done when it is up
            await asyncio.wait_for(asked, max(0.1, end - time.monotonic()))

    def _options(self, filters: Iterable[str]) -> list[tuple[str, SubscribeOptions]]:
        # What brokers retain was published before.
        kind = SubscribeOptions.RETAIN_DO_NOT_SEND
        return [
            (one, SubscribeOptions(qos=self._filters[one], retainHandling=kind)) for one in filters
        ]

    def _hear_up(self, side: _Side) -> None:
        """Subscribe again, and look for what was lost meanwhile."""
        filters = self._options(self._filters)
        if side is self._back_end:
            filters.append((naming.answer_topic(self.name), SubscribeOptions(qos=1)))
        if filters:
            side.wire.subscribe(filters)
        for forwarder in self._forwarders.values():
            forwarder.asked = None
            forwarder.due = min(forwarder.due, time.monotonic() + 0.2)

    def _hear(self, message: MQTTMessage) -> None:
        pairs: list[tuple[str, str]] = getattr(message.properties, "UserProperty", [])
        ours = {name: value for name, value in pairs if name.startswith(naming.OURS)}
        identity = read_identity(ours[naming.ID]) if naming.ID in ours else None
        topic = message.topic
        is_repaired = False
        if topic.startswith(naming.CONTROL):
            if topic != naming.answer_topic(self.name):
                return
            if identity is None or naming.TOPIC not in ours:
                answer = read_answer(bytes(message.payload))
                if answer is not None:
                    self._hear_answer(answer)
                return
            topic, is_repaired = ours[naming.TOPIC], True
        if identity is not None and not self._gaps(identity.log).take(identity.sequence):
            self.counts.doubles += 1
            return
        self.counts.handed += 1
        self.counts.repaired += is_repaired
        theirs = tuple(pair for pair in pairs if not pair[0].startswith(naming.OURS))
        self._hand_over(Message(topic, bytes(message.payload), identity, is_repaired, theirs))

    def _hand_over(self, message: Message) -> None:
        if self._on_message is not None:
            self._on_message(message)
            return
        self._messages.put_nowait(message)
        if self._messages.qsize() >= MOST_WAITING:
            self.pause()

    def _gaps(self, log_name: str) -> Gaps:
        for forwarder in self._forwarders.values():
            if forwarder.log == log_name:
                return forwarder.gaps
        return self._others.setdefault(log_name, Gaps())

    # What forwarders tell.

    async def _ask_always(self) -> None:
        while True:
            now = time.monotonic()
            for forwarder in self._forwarders.values():
                is_late = forwarder.asked is not None and now - forwarder.asked > ANSWER_SECONDS
                is_due = forwarder.asked is None and now >= forwarder.due
                if forwarder.after and (is_late or is_due):
                    self._ask(forwarder)
            await asyncio.sleep(0.1)

    def _ask(self, forwarder: _Forwarder) -> None:
        if not self._back_end.wire.is_up:
            return
        now = time.monotonic()
        forwarder.number += 1
        forwarder.asked = now
        forwarder.opening = tuple(one for one, at in forwarder.after.items() if at is None)
        gaps = forwarder.gaps
        forwarder.before = gaps.num_missing
        known = gaps.known
        filters = [
            (one, None if at is None else max(at, known)) for one, at in forwarder.after.items()
        ]
        missing = gaps.missing(now, PATIENCE)[:MOST_RESENT]
        body = write_question(self.name, forwarder.number, forwarder.log, filters, missing)
        self._back_end.wire.publish(naming.ask_topic(forwarder.name), body)

    def _hear_answer(self, answer: Answer) -> None:
        forwarder = self._forwarders.get(answer.forwarder)
        if forwarder is None or answer.number != forwarder.number:
            return
        now = time.monotonic()
        forwarder.asked, forwarder.due = None, now + self._check
        if forwarder.log not in (None, answer.log):
            self._begin_anew(forwarder, answer.log)
            return
        if forwarder.log is None:
            forwarder.log, forwarder.gaps = answer.log, self._others.pop(answer.log, Gaps())
        gaps = forwarder.gaps
        gaps.begin(answer.position)
        lost = gaps.lost
        gaps.learn(answer.sequences(), answer.through, answer.first, now)
        self.counts.lost += gaps.lost - lost
        for one in forwarder.opening:
            if one in forwarder.after:
                forwarder.after[one] = answer.position
        forwarder.answered.set()
        if answer.through < answer.position:
            forwarder.due = now
        elif gaps.missing(now, PATIENCE) and gaps.num_missing < forwarder.before:
            forwarder.due = now  # it has sent some of them before it answered
        elif gaps.num_missing:
            forwarder.due = now + min(self._check, PATIENCE / 2)

    def _begin_anew(self, forwarder: _Forwarder, log_name: str) -> None:
        """Know that a forwarder has a new log: all of it is due."""
        log.warning("Forwarder %s began a new log.", forwarder.name)
        forwarder.log, forwarder.gaps = log_name, self._others.pop(log_name, Gaps())
        forwarder.gaps.begin(0)
        forwarder.after = dict.fromkeys(forwarder.after, 0)
        forwarder.due = 0.0


def read_place(place: Place | str) -> Place:
    """Return a broker written as ``host:port``."""
    if isinstance(place, Place):
        return place
    host, _, port = place.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"A broker must be written 'host:port', got {place!r}.")
    return Place(host, int(port))
