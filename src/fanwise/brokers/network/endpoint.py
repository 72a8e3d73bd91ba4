"""What has connections: listens, dials, exchanges greetings, and hands messages to a machine.

Who dials says first who it is, with its token; who is dialled answers with its own greeting once it
is satisfied, without a token: nobody gets one by being called.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from fanwise.brokers.frames import Codec
from fanwise.brokers.messages import MESSAGES, REFUSALS, VERSION, Bye, Carry, Hello, Refused
from fanwise.brokers.network.addresses import parse_address
from fanwise.brokers.network.connection import CLOSED, Connection, Pulse
from fanwise.brokers.network.driver import Driver
from fanwise.brokers.network.tls import explain
from fanwise.brokers.network.tokens import Tokens
from fanwise.brokers.protocol.effects import Arrived, Close, Dial, DialFailed, Lost, Opened, Send

log = logging.getLogger(__name__)

CODEC = Codec(MESSAGES)
BEATS = 4
"""Looks at all connections within a heartbeat."""
DIAL_SECONDS = 3.0
"""Seconds that a dialled peer has until the connection stands."""


@dataclass(frozen=True)
class Admission:
    """Who may come in, and how others are approached.

    Attributes
    ----------
    tokens
        What lets in, by role; a role that is missing is let in by nothing.
    token
        Shown to whom we dial.
    serving, trusting
        TLS towards those who dial, and those who are dialled; None for none.
    """

    tokens: dict[str, Tokens] = field(default_factory=dict)
    token: str = field(default="", repr=False)
    serving: ssl.SSLContext | None = None
    trusting: ssl.SSLContext | None = None


class Endpoint:
    """Connections of one machine.

    Parameters
    ----------
    greeting
        Returns the greeting of the moment, without a token.
    take
        Told session, role of the peer and message before the machine is; returns whether that is
        all there is to do about it.

    Attributes
    ----------
    num_refused
        Connections that were turned away.
    """

    def __init__(
        self,
        greeting: Callable[[], Hello],
        admission: Admission,
        pulse: Pulse,
        take: Callable[[int, str, Any], bool] = lambda session, role, message: False,
    ) -> None:
        self._take = take
        self._greeting, self._admission, self._pulse = greeting, admission, pulse
        self._loop = asyncio.get_running_loop()
        self._driver: Driver | None = None
        self._connections: dict[int, Connection] = {}
        self._dialled: dict[int, Dial] = {}
        self._failures: dict[str, str] = {}
        self._dials: set[asyncio.Task[None]] = set()
        self._unsaid: set[int] = set()  # sessions whose loss is the machine's own doing
        self._written: list[Connection] = []
        self._servers: list[asyncio.Server] = []
        self._last_session = 0
        self._is_held = self._is_over = False
        self._beat: asyncio.TimerHandle | None = None
        self.num_refused = 0
        self._closed_bytes = [0, 0]

    @property
    def carriers(self) -> dict[type[Any], Callable[[Any], None]]:
        """What carries out effects that concern connections."""
        return {Send: self._send, Close: self._close, Dial: self._dial}

    @property
    def num_connections(self) -> int:
        """Connections that stand."""
        return len(self._connections)

    def num_bytes(self) -> tuple[int, int]:
        """Return bytes received and sent so far."""
        known = self._connections.values()
        return (
            self._closed_bytes[0] + sum(one.received_bytes for one in known),
            self._closed_bytes[1] + sum(one.sent_bytes for one in known),
        )

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait for peers that are slow."""
        return sum(one.waiting_bytes for one in self._connections.values())

    def begin(self, driver: Driver) -> None:
        """Serve a machine."""
        self._driver = driver
        self._look()

    async def serve(self, listener: socket.socket) -> None:
        """Take connections on a bound socket."""
        server = await self._loop.create_server(
            self._make, sock=listener, ssl=self._admission.serving, backlog=1024
        )
        self._servers.append(server)

    def flush(self) -> None:
        """Write what was sent since the last flush."""
        written, self._written = self._written, []
        for connection in written:
            connection.flush()

    def hold(self, is_held: bool) -> None:
        """Read nothing more, or read again: peers feel it, and publishers wait."""
        self._is_held = is_held
        for connection in list(self._connections.values()):
            connection.hold(is_held)

    def stop_listening(self) -> None:
        """Take no more connections."""
        for server in self._servers:
            server.close()

    async def stop(self) -> None:
        """Say good-bye to everybody, and close."""
        self._is_over = True
        self.stop_listening()
        if self._beat is not None:
            self._beat.cancel()
        for task in list(self._dials):
            task.cancel()
        for connection in list(self._connections.values()):
            if connection.is_known:
                connection.send(Bye("stopping"))
            connection.close("stopping")
        for _ in range(50):
            if not self._connections:
                break
            await asyncio.sleep(0.01)
        for connection in list(self._connections.values()):
            connection.abort("stopping")

    # ---------------------------------------------------------------- connections

    def on_message(self, connection: Connection, message: Any) -> None:
        """Pass a message on, or get to know who sends it."""
        if connection.is_known:
            if type(message) is Bye and "client" not in (
                connection.peer_role,
                self._greeting().role,
            ):
                return  # between others, the end of the connection says the same
            if type(message) is Carry:
                CODEC.build(message.content)  # refuses what is none here, where that is easy
            if self._take(connection.session, connection.peer_role, message):
                return
            if self._driver is not None:
                self._driver.handle(Arrived(connection.session, message))
        elif connection.session in self._dialled:
            self._meet(connection, message)
        else:
            self._greet(connection, message)

    def on_lost(self, connection: Connection, reason: str) -> None:
        """Tell the machine, unless it knows."""
        session = connection.session
        self._connections.pop(session, None)
        self._closed_bytes[0] += connection.received_bytes
        self._closed_bytes[1] += connection.sent_bytes
        dial = self._dialled.pop(session, None)
        if self._driver is None or self._is_over:
            return
        if session in self._unsaid:
            self._unsaid.discard(session)
        elif connection.is_known:
            # Clients and tools come and go all the time.
            is_usual = reason == CLOSED and connection.peer_role in ("client", "tool")
            log.log(logging.DEBUG if is_usual else logging.INFO, "%s: %s", connection.peer, reason)
            self._driver.handle(Lost(session))
        elif dial is not None:
            self._fail_dial(dial, reason)
        else:
            self.num_refused += 1
            log.info("%s was not let in: %s", connection.peer, reason)

    def on_written(self, connection: Connection) -> None:
        """Flush it with the others."""
        if not self._written:
            self._loop.call_soon(self.flush)
        self._written.append(connection)

    def _make(self) -> Connection:
        self._last_session += 1
        return Connection(self, CODEC, self._last_session, self._pulse, self._made)

    def _made(self, connection: Connection) -> None:
        if self._is_over:
            connection.abort("stopping")
            return
        self._connections[connection.session] = connection
        connection.hold(self._is_held)

    def _greet(self, connection: Connection, message: Any) -> None:
        """Let in who dialled us, or not."""
        code = self._judge(message)
        if code:
            if type(message) is Hello:
                connection.peer = f"{message.role} {message.name}"
            connection.send(Refused(code))
            connection.close(f"it {REFUSALS[code]}" if code == "version" else f"refused: {code}")
            return
        assert self._driver is not None
        connection.know(message.role, message.name)
        connection.send(self._greeting())
        self._driver.handle(Opened(connection.session, replace(message, token="")))

    def _judge(self, message: Any) -> str:
        """Return why somebody may not come in; empty if it may."""
        if type(message) is not Hello:
            return "hello"
        if message.version != VERSION:
            return "version"
        tokens = self._admission.tokens.get(message.role)
        if tokens is None:
            return "role"
        return "" if tokens.admits(message.token) else "token"

    # ---------------------------------------------------------------- dialling

    def _dial(self, dial: Dial) -> None:
        task = self._loop.create_task(self._connect(dial))
        self._dials.add(task)
        task.add_done_callback(self._dials.discard)

    async def _connect(self, dial: Dial) -> None:
        try:
            host, port = parse_address(dial.address)
            trusting = self._admission.trusting
            async with asyncio.timeout(DIAL_SECONDS):
                _, connection = await self._loop.create_connection(
                    self._make, host, port, ssl=trusting
                )
        except (OSError, ValueError) as error:
            self._fail_dial(dial, explain(error))
            return
        if connection.is_over:
            self._fail_dial(dial, CLOSED)
            return
        self._dialled[connection.session] = dial
        connection.peer = dial.peer or dial.address
        connection.send(replace(self._greeting(), token=self._admission.token))

    def _meet(self, connection: Connection, message: Any) -> None:
        """Know whom we have dialled, or why it does not want us."""
        dial = self._dialled.pop(connection.session)
        if type(message) is Hello and message.version == VERSION:
            if dial.peer in ("", message.name):
                assert self._driver is not None
                connection.know(message.role, message.name)
                self._failures.pop(dial.address, None)
                self._driver.handle(Opened(connection.session, replace(message, token="")))
                return
            code = f"{message.name} is there, not {dial.peer}"
        elif type(message) is Hello:
            code = "version"
        elif type(message) is Refused:
            code = message.code
        else:
            code = "no greeting"
        self._unsaid.add(connection.session)
        connection.close(code)
        self._fail_dial(dial, code)

    def _fail_dial(self, dial: Dial, code: str) -> None:
        if self._failures.get(dial.address) != code:  # said once, tried again and again
            self._failures[dial.address] = code
            said = REFUSALS.get(code, code)
            log.info("%s at %s: %s", dial.peer or "peer", dial.address, said)
        if self._driver is not None and not self._is_over:
            self._driver.handle(DialFailed(dial.peer, code))

    # ---------------------------------------------------------------- effects

    def _send(self, effect: Send) -> None:
        connection = self._connections.get(effect.session)
        if connection is not None:
            connection.send(effect.message)

    def _close(self, effect: Close) -> None:
        connection = self._connections.get(effect.session)
        if connection is not None and not connection.is_over:
            self._unsaid.add(effect.session)
            connection.close(effect.reason)

    def _look(self) -> None:
        now = self._loop.time()
        for connection in list(self._connections.values()):
            with contextlib.suppress(RuntimeError):
                connection.beat(now)
        self._beat = self._loop.call_later(self._pulse.heartbeat / BEATS, self._look)
