"""A connection: frames in both directions, signs of life, and an end to those who take nothing.

What is sent is gathered and written once for each turn of the event loop. A peer that is alive
sends something at least every heartbeat: a connection that stays silent for longer than a few of
them is half-open, and given up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from fanwise.brokers.frames import MOST_BYTES, MOST_STRANGER_BYTES, Codec, Decoder, FrameError
from fanwise.brokers.messages import Ping, Pong
from fanwise.errors import ParameterError

CLOSED = "the other end closed it"
HIGH_WATER = 256 * 2**10
"""Bytes that the system has not taken yet: above, what is sent waits with us."""
LINGER = 2.0
"""Seconds that a closed connection has to take what was sent before."""


@dataclass(frozen=True)
class Pulse:
    """Signs of life, and bounds of what waits.

    Attributes
    ----------
    heartbeat
        Seconds without anything sent until a ping is.
    silence
        Seconds without anything received until a connection is given up; also how long a stranger
        may take to say who it is.
    most_waiting
        Bytes that wait for a peer that is slow: above, its connection is given up. What must not
        be lost is kept elsewhere, and sent again when it comes back.
    """

    heartbeat: float = 2.0
    silence: float = 7.0
    most_waiting: int = 64 * 2**20

    def __post_init__(self) -> None:
        if not self.heartbeat > 0:
            raise ParameterError("heartbeat", "a number > 0", self.heartbeat)
        if not self.silence >= 2 * self.heartbeat:
            raise ParameterError("silence", "at least two heartbeats", self.silence)
        if self.most_waiting < MOST_BYTES:
            raise ParameterError("most_waiting", f"at least {MOST_BYTES}", self.most_waiting)


class Owner(Protocol):
    """Who has connections."""

    def on_message(self, connection: Connection, message: Any) -> None:
        """Take a message."""

    def on_lost(self, connection: Connection, reason: str) -> None:
        """Know that a connection is no more; said once."""

    def on_written(self, connection: Connection) -> None:
        """Have :meth:`Connection.flush` called before the turn of the event loop ends."""


class Connection(asyncio.Protocol):
    """One end of a connection.

    Attributes
    ----------
    session
        Its number here.
    is_known
        Whether the other end has said who it is.
    peer, peer_role
        What it is called, for people; its role.
    heard, said
        When something came last and when something was sent last, by the loop's clock.
    received_bytes, sent_bytes
        So far.
    """

    def __init__(
        self,
        owner: Owner,
        codec: Codec,
        session: int,
        pulse: Pulse,
        on_made: Callable[[Connection], None] = lambda connection: None,
    ) -> None:
        self._owner, self._codec, self._pulse, self._on_made = owner, codec, pulse, on_made
        self.session = session
        self.is_known = False
        self.peer, self.peer_role = "a stranger", ""
        self._loop = asyncio.get_running_loop()
        self._decoder = Decoder(codec, MOST_STRANGER_BYTES)
        self._transport: asyncio.Transport | None = None
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._is_due = self._is_full = self._is_held = False
        self._reason = ""
        self.is_over = False
        self.heard = self.said = self._loop.time()
        self.received_bytes = self.sent_bytes = 0

    def know(self, role: str, name: str) -> None:
        """Trust the other end with frames of full size."""
        self.is_known, self.peer, self.peer_role = True, f"{role} {name}", role
        self._decoder.limit = MOST_BYTES

    @property
    def waiting_bytes(self) -> int:
        """Bytes that are not handed to the system yet."""
        buffered = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self._out_bytes + buffered

    def send(self, message: Any) -> None:
        """Send a message with the next flush; nothing where the connection is over."""
        if self.is_over or self._reason:
            return
        try:
            data = self._codec.encode(message)
        except FrameError as error:
            self.close(str(error))
            return
        if len(data) > MOST_BYTES:
            self.close(f"{type(message).__name__} of {len(data):,} bytes cannot be sent")
            return
        self._out.append(data)
        self._out_bytes += len(data)
        if not self._is_due:
            self._is_due = True
            self._owner.on_written(self)

    def flush(self) -> None:
        """Hand what was sent to the system, as far as it takes it."""
        self._is_due = False
        if not self._out or self._transport is None or self._is_full:
            if self._out_bytes > self._pulse.most_waiting:
                self.abort(f"takes nothing while {self._out_bytes:,} bytes wait")
            return
        data = b"".join(self._out) if len(self._out) > 1 else self._out[0]
        self._out = []
        self._out_bytes = 0
        self.said = self._loop.time()
        self.sent_bytes += len(data)
        self._transport.write(data)

    def close(self, reason: str) -> None:
        """End the connection once what was sent before is written."""
        if self.is_over or self._reason:
            return
        self._reason = reason or "closed"
        if self._transport is None:
            self._end()
            return
        self.flush()
        self._transport.close()
        self._loop.call_later(LINGER, self.abort, reason)

    def abort(self, reason: str) -> None:
        """End the connection now."""
        if self.is_over:
            return
        self._reason = self._reason or reason
        if self._transport is not None:
            self._transport.abort()
        self._end()

    def hold(self, is_held: bool) -> None:
        """Read nothing more, or read again."""
        if is_held == self._is_held or self._transport is None or self._transport.is_closing():
            return
        self._is_held = is_held
        if is_held:
            self._transport.pause_reading()
        else:
            self.heard = self._loop.time()  # its silence was ours
            self._transport.resume_reading()

    def beat(self, now: float) -> None:
        """Give a sign of life where one is due, and the connection up where none came."""
        if not self._is_held and now - self.heard > self._pulse.silence:
            if self.is_known:
                self.abort(f"nothing heard for {now - self.heard:.0f} s")
            else:
                self.abort("did not say who it is")
        elif self.is_known and now - self.said >= self._pulse.heartbeat:
            self.send(Ping())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        self._on_made(self)

    def data_received(self, data: bytes) -> None:
        """Take messages that are whole."""
        self.heard = self._loop.time()
        self.received_bytes += len(data)
        try:
            for message in self._decoder.feed(data):
                if self._reason:
                    return
                kind = type(message)
                if kind is Ping:
                    self.send(Pong())
                elif kind is not Pong:
                    self._owner.on_message(self, message)
        except FrameError as error:
            self.close(f"sent what is no frame: {error}")

    def pause_writing(self) -> None:
        """Keep what is sent for now."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Go on writing."""
        self._is_full = False
        self.flush()

    def eof_received(self) -> bool:
        """Have the transport close."""
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """Know that it is over."""
        self._reason = self._reason or (str(error) if error else CLOSED)
        self._end()

    def _end(self) -> None:
        if not self.is_over:
            self.is_over = True
            self._out = []
            self._out_bytes = 0
            self._owner.on_lost(self, self._reason)
