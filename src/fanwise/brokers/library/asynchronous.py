"""A client for programs with an event loop."""

from __future__ import annotations

import asyncio
import ssl
import time
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, Self

from fanwise.brokers.library.errors import NotConnectedError, RejectedError, SubscriptionError
from fanwise.brokers.library.policies import Policy, always
from fanwise.brokers.library.received import Inbox, Message
from fanwise.brokers.messages import VERSION, Hello
from fanwise.brokers.network.connection import Pulse
from fanwise.brokers.network.driver import Driver
from fanwise.brokers.network.endpoint import Admission, Endpoint
from fanwise.brokers.network.tls import trust
from fanwise.brokers.network.tokens import check_token
from fanwise.brokers.protocol.client import ClientMachine
from fanwise.brokers.protocol.effects import (
    Handed,
    Noted,
    PublishNew,
    Stop,
    Subscribe,
    Unsubscribe,
)
from fanwise.brokers.protocol.settings import ClientSettings
from fanwise.brokers.storage.folder import DataFolder
from fanwise.brokers.storage.journal import Journal
from fanwise.errors import ParameterError

Settle = Literal["home", "linked", "everywhere"]
TIMEOUT = 10.0
MOST_WAITING = 1_000
CONFIRM_SECONDS = 0.25
"""What was handed over is confirmed after so long: a message costs more than in a simulation."""


class AsyncClient:
    """Publishes and subscribes; use it with ``async with``, and ``async for`` or :meth:`get`.

    Brokers that move it, are killed or come back are invisible: messages come once each, by
    publisher and sequence, and publications are repeated until they are answered.

    Parameters
    ----------
    name
        Of this client, and of nobody else in the network.
    directory
        Address of the directory, as in ``127.0.0.1:7400``.
    brokers
        ``(name, address)`` of brokers to begin with, where there is no directory.
    position
        To find near brokers by; may be empty.
    demand
        Load that the client will mean to a broker, in the unit of capacities; 0 if unknown.
    policy
        Whether to accept a move.
    token, tls_ca
        What lets in; the PEM file of the authority, or a context, which turns TLS on.
    state
        A folder in which the client remembers what would be forgotten when its process ends:
        publications without an answer, and what was handed over. With it, sequences are counted
        from 1; without, they go on from the clock, so that no number is ever used twice.
    most_waiting
        Messages that wait for the application: above, no more are read.
    on_message
        Called with each message instead of handing it to ``async for``; must not block.
    patience
        Seconds to wait for a broker at the start; None for as long as it takes.
    more
        Times and bounds of `ClientSettings`.
    """

    def __init__(
        self,
        name: str,
        directory: str = "",
        *,
        brokers: Iterable[tuple[str, str]] = (),
        position: Sequence[float] = (),
        demand: float = 0.0,
        policy: Policy = always,
        token: str = "",
        tls_ca: Path | str | ssl.SSLContext | None = None,
        state: Path | str | None = None,
        most_waiting: int = MOST_WAITING,
        on_message: Callable[[Message], None] | None = None,
        patience: float | None = TIMEOUT,
        pulse: Pulse | None = None,
        **more: Any,
    ) -> None:
        known = {field.name for field in fields(ClientSettings)}
        for option in more:
            if option not in known:
                raise ParameterError(option, "left out: there is no such setting", more[option])
        if not most_waiting > 0:
            raise ParameterError("most_waiting", "a whole number > 0", most_waiting)
        more = {
            "confirm_seconds": CONFIRM_SECONDS,
            "is_durable": state is not None,
            # Above what this name has used before, also where nobody has kept count.
            "first_sequence": 1 if state is not None else time.time_ns() // 1_000,
        } | more
        self._settings = ClientSettings(
            name, directory, brokers=tuple((str(one), str(at)) for one, at in brokers),
            position=tuple(map(float, position)), demand=float(demand), **more,
        )  # fmt: skip
        trusting = tls_ca if isinstance(tls_ca, ssl.SSLContext) or tls_ca is None else (
            trust(Path(tls_ca))
        )  # fmt: skip
        self._admission = Admission(token=check_token(token), trusting=trusting)
        self._pulse = pulse or Pulse()
        self._policy, self._patience = policy, patience
        self._state = None if state is None else Path(state)
        self._inbox = Inbox(most_waiting, self._hold)
        self._on_message = on_message or self._inbox.put
        self._waiting: dict[tuple[str, Any], list[asyncio.Future[Any]]] = {}
        self._answers: dict[int, asyncio.Future[int]] = {}
        self._is_served = self._is_stopping = False
        self._ended: BaseException | None = None
        self._journal: Journal | None = None
        self.name = name
        self.home = ""
        self.epoch = 0
        self.trouble = "not connected yet"
        self.counts: Counter[str] = Counter()
        self.listeners: list[Callable[[str, dict[str, Any]], None]] = []

    async def __aenter__(self) -> Self:
        await self.start(self._patience)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def __aiter__(self) -> AsyncIterator[Message]:
        while (message := await self._inbox.get()) is not None:
            yield message
        if self._ended is not None and not self._is_stopping:
            raise self._ended

    async def start(self, timeout: float | None = TIMEOUT) -> None:
        """Connect; return when a broker serves the client.

        Raises
        ------
        NotConnectedError
            Where none does in time; the client is stopped then.
        """
        entries: list[tuple[Any, ...]] = []
        if self._state is not None:
            self._journal = Journal(DataFolder(self._state), f"client {self.name}", reserve=0)
            entries = self._journal.take_entries()
        now = time.time()
        self._machine = ClientMachine(
            self._settings, entries, policy=self._policy, now=now,
            seed=zlib.crc32(self.name.encode()) << 32 | int(now * 1e3) & 0xFFFFFFFF,
        )  # fmt: skip
        self._endpoint = Endpoint(
            lambda: Hello(VERSION, "client", self.name), self._admission, self._pulse
        )
        carry = self._endpoint.carriers | {Handed: self._hand, Noted: self._note}
        self._driver = Driver(
            self._machine, carry, self._journal, flush=self._endpoint.flush, fail=self._fail
        )
        self._endpoint.begin(self._driver)
        self._driver.start()
        try:
            await self._wait("welcome", None, timeout)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Say good-bye; the broker goes on collecting for this client."""
        self._is_stopping = True
        self._driver.handle(Stop())
        await self._driver.stop()
        await self._endpoint.stop()
        self._inbox.close()
        self._ended = self._ended or NotConnectedError(f"{self.name} was stopped.")
        self._give_up(self._ended)
        if self._journal is not None:
            self._journal.close()

    async def subscribe(
        self,
        id: str,
        lo: Sequence[float],
        hi: Sequence[float],
        *,
        settle: Settle = "linked",
        timeout: float | None = TIMEOUT,
    ) -> None:
        """Want what is published in a rectangle, its borders included.

        Parameters
        ----------
        id
            Of the subscription; another rectangle under the same id replaces it.
        settle
            Return when the subscription is on disk at the ``home``; when all brokers that it is
            ``linked`` with know it; or when really all do, ``everywhere``, also those that are down
            now: what is published from then on comes, whatever is killed.

        Raises
        ------
        SubscriptionError
            Where the broker does not take it.
        NotConnectedError
            Where that is not so in time; the client goes on trying.
        """
        event = Subscribe(id, tuple(map(float, lo)), tuple(map(float, hi)))
        awaited = {"home": "registered", "linked": "settled", "everywhere": "settled everywhere"}
        if settle not in awaited:
            raise ParameterError("settle", "home, linked or everywhere", settle)
        waiter = self._waiter(awaited[settle], id)
        self._driver.handle(event)
        await self._bounded(waiter, timeout, f"subscription {id!r} is not {awaited[settle]}")

    async def unsubscribe(self, id: str, *, timeout: float | None = TIMEOUT) -> None:
        """Want it no more; once this returns, nothing comes by it."""
        waiter = self._waiter("unregistered", id)
        self._driver.handle(Unsubscribe(id))
        await self._bounded(waiter, timeout, f"subscription {id!r} has not ended")

    def send(self, point: Sequence[float], payload: bytes) -> asyncio.Future[int]:
        """Publish; the future has the sequence once the publication is on the broker's disk.

        It fails with `RejectedError` where the broker does not take it.
        """
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if self._ended is not None:
            future.set_exception(self._ended)
            future.exception()  # seen: nobody may be waiting for it
            return future
        before = self._machine.last_sequence
        self._driver.handle(PublishNew(tuple(map(float, point)), bytes(payload)))
        sequence = self._machine.last_sequence
        if sequence == before:
            future.set_exception(RejectedError(before + 1, "too many wait for an answer"))
        else:
            self._answers[sequence] = future
        return future

    async def publish(
        self, point: Sequence[float], payload: bytes, *, timeout: float | None = None
    ) -> int:
        """Publish; return the sequence once the publication is on the broker's disk.

        Raises
        ------
        RejectedError
            Where the broker does not take it.
        NotConnectedError
            Where no answer comes in time; the client goes on trying.
        """
        future = self.send(point, payload)
        return int(await self._bounded(future, timeout, "a publication has no answer"))

    async def get(self, timeout: float | None = None) -> Message:
        """Return the next message; raises ``TimeoutError`` where none comes in time."""
        async with asyncio.timeout(timeout):
            message = await self._inbox.get()
        if message is None:
            raise self._ended or NotConnectedError(f"{self.name} was stopped.")
        return message

    @property
    def is_stopping(self) -> bool:
        """Whether the application wants it to end."""
        return self._is_stopping

    @property
    def num_unanswered(self) -> int:
        """Publications that wait for an answer."""
        return len(self._answers)

    # ---------------------------------------------------------------- what the machine says

    def _hand(self, effect: Handed) -> None:
        self._on_message(Message(*effect.publication))

    def _note(self, effect: Noted) -> None:
        what, found = effect.what, effect.fields
        self.counts[what] += 1
        if what == "published":
            self._resolve(self._answers.pop(found["sequence"], None), found["sequence"])
        elif what == "rejected":
            future = self._answers.pop(found["sequence"], None)
            if future is not None and not future.done():
                future.set_exception(RejectedError(found["sequence"], found["code"]))
        elif what == "welcome":
            self.home, self.epoch, self.trouble = found["broker"], found["epoch"], ""
            self._is_served = True
            self._answer("welcome", None)
        elif what == "seeking":
            self.trouble, self._is_served = found["why"], False
        elif what in ("registered", "unregistered"):
            self._answer(what, found["id"])
        elif what == "not registered":
            self._refuse(found["id"], found["code"])
        elif what == "settled":
            for id in found["ids"]:
                self._answer("settled", id)
                if found["everywhere"]:
                    self._answer("settled everywhere", id)
        elif what == "stopped" and not self._is_stopping:
            self._end(NotConnectedError(f"{self.name} has stopped: {found['why']}."))
        for listener in self.listeners:
            listener(what, found)

    def _hold(self, is_held: bool) -> None:
        self._endpoint.hold(is_held)

    def _fail(self, error: BaseException) -> None:
        self._end(error)

    def _end(self, error: BaseException) -> None:
        """It is over, and not because the application wants it."""
        self.trouble, self._is_served, self._ended = str(error), False, error
        self._give_up(error)
        self._inbox.close()

    # ---------------------------------------------------------------- waiting

    async def _wait(self, what: str, key: Any, timeout: float | None) -> None:
        if not self._is_served:
            await self._bounded(self._waiter(what, key), timeout, "no broker")

    async def _bounded(self, waiter: asyncio.Future[Any], timeout: float | None, said: str) -> Any:
        try:
            async with asyncio.timeout(timeout):
                return await waiter
        except NotConnectedError:
            raise  # itself a kind of TimeoutError
        except TimeoutError:
            why = f": {self.trouble}" if self.trouble else ""
            raise NotConnectedError(f"{self.name}: {said} after {timeout:g} s{why}.") from None

    def _waiter(self, what: str, key: Any) -> asyncio.Future[Any]:
        if self._ended is not None:
            raise self._ended
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault((what, key), []).append(future)
        return future

    def _answer(self, what: str, key: Any) -> None:
        for future in self._waiting.pop((what, key), ()):
            self._resolve(future, None)

    def _resolve(self, future: asyncio.Future[Any] | None, value: Any) -> None:
        if future is not None and not future.done():
            future.set_result(value)

    def _refuse(self, id: str, code: str) -> None:
        for what in ("registered", "settled", "settled everywhere"):
            for future in self._waiting.pop((what, id), ()):
                if not future.done():
                    error = SubscriptionError(f"subscription {id!r} was not taken: {code}.")
                    future.set_exception(error)

    def _give_up(self, error: BaseException) -> None:
        """Nobody waits for what will not come."""
        futures = [one for waiters in self._waiting.values() for one in waiters]
        for future in [*futures, *self._answers.values()]:
            if not future.done():
                future.set_exception(error)
                future.exception()  # seen: nobody may be waiting for it
        self._waiting.clear()
        self._answers.clear()
