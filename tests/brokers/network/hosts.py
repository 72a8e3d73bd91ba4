"""Endpoints with a machine that does little, and raw sockets that talk to them."""

from __future__ import annotations

import asyncio
import socket

from tests.brokers.network.fakes import Counter

from fanwise.brokers.messages import VERSION, Hello
from fanwise.brokers.network.connection import Pulse
from fanwise.brokers.network.driver import Driver
from fanwise.brokers.network.endpoint import CODEC, Admission, Endpoint
from fanwise.brokers.network.tokens import Tokens
from fanwise.brokers.protocol.effects import Dial

OPEN = {role: Tokens() for role in ("client", "broker", "directory", "tool")}
QUICK = Pulse(heartbeat=0.05, silence=0.3)
PATIENCE = 20


class Host:
    """An endpoint that listens on loopback."""

    def __init__(self, name="east", admission=None, pulse=QUICK, role="broker") -> None:
        self.machine = Counter()
        self.endpoint = Endpoint(
            lambda: Hello(VERSION, role, name, "", 7, "here:1"),
            admission or Admission(OPEN), pulse,
        )  # fmt: skip
        self.failed: list[BaseException] = []
        self.driver = Driver(
            self.machine, self.endpoint.carriers, flush=self.endpoint.flush, fail=self.failed.append
        )
        self.endpoint.begin(self.driver)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"

    async def __aenter__(self):
        await self.endpoint.serve(self.listener)
        return self

    async def __aexit__(self, *_) -> None:
        await self.driver.stop()
        await self.endpoint.stop()
        assert not self.failed

    def dial(self, address: str, peer: str = "") -> None:
        self.endpoint.carriers[Dial](Dial(peer, address))

    async def until(self, condition):
        async with asyncio.timeout(PATIENCE):
            while not (found := condition()):
                await asyncio.sleep(0.002)
        return found

    async def hears(self, kind):
        """Return the first event of a kind, once it is there."""
        return (await self.until(lambda: self.machine.of(kind)))[0]


class Stranger:
    """A connection that says what a test says."""

    def __init__(self, reader, writer) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def at(cls, host: Host, **more) -> Stranger:
        return cls(*await asyncio.open_connection("127.0.0.1", host.port, **more))

    def say(self, *messages) -> None:
        for message in messages:
            self.writer.write(message if isinstance(message, bytes) else CODEC.encode(message))

    async def hear(self):
        """Return the next message; None where the connection ends."""
        async with asyncio.timeout(PATIENCE):
            try:
                length = int.from_bytes(await self.reader.readexactly(4), "big")
                return CODEC.decode(await self.reader.readexactly(length))
            except (asyncio.IncompleteReadError, ConnectionError):
                return None

    async def hear_all(self) -> list:
        found = []
        while (message := await self.hear()) is not None:
            found.append(message)
        return found

    def close(self) -> None:
        self.writer.close()


def hello(role="client", name="ann", token="", version=VERSION) -> Hello:
    return Hello(version, role, name, token)
