"""A client for programs without an event loop: it has one in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from fanwise.brokers.library.asynchronous import TIMEOUT, AsyncClient, Settle
from fanwise.brokers.library.errors import NotConnectedError
from fanwise.brokers.library.received import Message

Answer = TypeVar("Answer")


class Client:
    """Publishes and subscribes; use it with ``with``, and ``for`` or :meth:`get`.

    Parameters
    ----------
    name, directory, more
        As of :class:`~fanwise.brokers.library.asynchronous.AsyncClient`.
    """

    def __init__(self, name: str, directory: str = "", **more: Any) -> None:
        self._client = AsyncClient(name, directory, **more)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name=f"client {self.name}", daemon=True
        )
        self._thread.start()
        try:
            self._run(self._client.__aenter__())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._client.stop())
        self._end()

    def __iter__(self) -> Iterator[Message]:
        while True:
            try:
                yield self.get()
            except NotConnectedError:
                if self._client.is_stopping:
                    return
                raise

    def subscribe(
        self,
        id: str,
        lo: Sequence[float],
        hi: Sequence[float],
        *,
        settle: Settle = "linked",
        timeout: float | None = TIMEOUT,
    ) -> None:
        """Want what is published in a rectangle; see `AsyncClient.subscribe`."""
        self._run(self._client.subscribe(id, lo, hi, settle=settle, timeout=timeout))

    def unsubscribe(self, id: str, *, timeout: float | None = TIMEOUT) -> None:
        """Want it no more; once this returns, nothing comes by it."""
        self._run(self._client.unsubscribe(id, timeout=timeout))

    def publish(
        self, point: Sequence[float], payload: bytes, *, timeout: float | None = None
    ) -> int:
        """Publish; return the sequence once the publication is on the broker's disk."""
        return self._run(self._client.publish(point, payload, timeout=timeout))

    def send(self, point: Sequence[float], payload: bytes) -> Future[int]:
        """Publish; the future has the sequence once the publication is on the broker's disk."""
        return asyncio.run_coroutine_threadsafe(self._client.publish(point, payload), self._loop)

    def get(self, timeout: float | None = None) -> Message:
        """Return the next message; raises ``TimeoutError`` where none comes in time."""
        return self._run(self._client.get(timeout))

    @property
    def name(self) -> str:
        """Of this client."""
        return self._client.name

    @property
    def home(self) -> str:
        """The broker that serves it; the last one where none does."""
        return self._client.home

    @property
    def trouble(self) -> str:
        """What is wrong with the connection, in a few words; empty if nothing is."""
        return self._client.trouble

    @property
    def counts(self) -> Counter[str]:
        """How often each thing happened."""
        return self._client.counts

    def _run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
