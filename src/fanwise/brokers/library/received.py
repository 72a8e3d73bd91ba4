"""What applications get, and a queue of it that is bounded."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple


class Message(NamedTuple):
    """A publication that a subscription wants; each comes once.

    Attributes
    ----------
    publisher, sequence
        Its id: the publisher's name, and how many it had published, this included.
    """

    publisher: str
    sequence: int
    point: tuple[float, ...]
    payload: bytes


class Inbox:
    """Messages that the application has not taken yet.

    Parameters
    ----------
    most
        Above, ``hold`` is told to let no more come; at half of it, to go on.
    """

    def __init__(self, most: int, hold: Callable[[bool], None]) -> None:
        self._most, self._hold = most, hold
        self._messages: deque[Message] = deque()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._is_held = self._is_over = False

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, message: Message) -> None:
        """Take a message."""
        self._messages.append(message)
        self._wake()
        if len(self._messages) >= self._most and not self._is_held:
            self._is_held = True
            self._hold(True)

    def close(self) -> None:
        """Let whoever waits end."""
        self._is_over = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def get(self) -> Message | None:
        """Return the next message; None once the inbox is closed and empty."""
        while not self._messages:
            if self._is_over:
                return None
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except BaseException:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
                elif self._messages:
                    self._wake()  # it was this one's turn: now it is the next one's
                raise
        message = self._messages.popleft()
        if self._is_held and len(self._messages) <= self._most // 2:
            self._is_held = False
            self._hold(False)
        return message

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
