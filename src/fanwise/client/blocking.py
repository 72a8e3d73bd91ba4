"""Client and publisher for programs without an event loop: each has one in a thread of its own."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Self, TypeVar

from fanwise.client.publishing import AsyncPublisher
from fanwise.client.subscribing import MOST_WAITING, AsyncClient, Counts, Message
from fanwise.client.wire import Place

Answer = TypeVar("Answer")


class _Loop:
    """An event loop in a thread."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Return what a coroutine returns there."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def stop(self) -> None:
        """End the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


class Client:
    """Subscribes at both sides; use it with ``with``, and ``for`` or :meth:`get`.

    Parameters
    ----------
    back_end, edge, name, forwarders, check
        As of :class:`~fanwise.client.subscribing.AsyncClient`.
    on_message
        Called with each message, in the thread of the client, instead of handing it to ``for``.
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
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._client = AsyncClient(
            back_end, edge, name=name, forwarders=forwarders, check=check,
            on_message=on_message or self._queue,
        )  # fmt: skip

    def __enter__(self) -> Self:
        self._loop = _Loop(self._client.name)
        self._loop.run(self._client.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run(self._client.__aexit__())
        self._loop.stop()

    def subscribe(self, *filters: str, quality: int = 1, timeout: float = 10.0) -> None:
        """Return when both brokers have taken the filters, and forwarders have said from where on.

        As :meth:`AsyncClient.subscribe <fanwise.client.subscribing.AsyncClient.subscribe>`.
        """
        self._loop.run(self._client.subscribe(*filters, quality=quality, timeout=timeout))

    def unsubscribe(self, *filters: str) -> None:
        """Want no more messages of filters."""
        self._loop.run(self._client.unsubscribe(*filters))

    def get(self, timeout: float | None = None) -> Message:
        """Return the next message; raises ``TimeoutError`` if none comes in time."""
        try:
            message = self._messages.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        if self._messages.qsize() == MOST_WAITING // 2:
            self._loop.loop.call_soon_threadsafe(self._client.resume)
        return message

    def __iter__(self) -> Iterator[Message]:
        while True:
            yield self.get()

    @property
    def name(self) -> str:
        """Of this client at the brokers."""
        return self._client.name

    @property
    def counts(self) -> Counts:
        """What the client has seen."""
        return self._client.counts

    @property
    def complete_through(self) -> dict[str, int]:
        """For each log, the sequence up to which every message that is due was handed over."""
        return self._loop.run(self._ask_complete())

    @property
    def trouble(self) -> str:
        """What is wrong with the connections, in a sentence; empty if nothing is."""
        return self._client.trouble

    async def _ask_complete(self) -> dict[str, int]:
        return self._client.complete_through

    def _queue(self, message: Message) -> None:
        self._messages.put(message)
        if self._messages.qsize() >= MOST_WAITING:
            self._client.pause()


class Publisher:
    """Publishes at the ingress; use it with ``with``.

    Parameters
    ----------
    ingress, name, forwarder, most_waiting, check
        As of :class:`~fanwise.client.publishing.AsyncPublisher`.
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
        self._publisher = AsyncPublisher(
            ingress, name=name, forwarder=forwarder, most_waiting=most_waiting, check=check
        )

    def __enter__(self) -> Self:
        self._loop = _Loop(self._publisher.name)
        self._loop.run(self._publisher.__aenter__())
        return self

    def __exit__(self, kind: object, *more: object) -> None:
        self._loop.run(self._publisher.__aexit__(kind, *more))
        self._loop.stop()

    def publish(
        self, topic: str, payload: bytes, user_properties: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Send a message; waits while too many are not on the forwarder's disk."""
        self._loop.run(self._publisher.publish(topic, payload, user_properties))

    def flush(self, timeout: float | None = None) -> None:
        """Return when all messages are on the forwarder's disk; else raise ``TimeoutError``."""
        self._loop.run(self._publisher.flush(timeout))

    @property
    def num_waiting(self) -> int:
        """Messages that are not known to be on the forwarder's disk."""
        return self._publisher.num_waiting
