"""A tool's short conversation with the directory or a broker."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from fanwise.brokers.frames import MOST_BYTES, Decoder
from fanwise.brokers.messages import VERSION, Hello, Message, Ping, Pong, Refused
from fanwise.brokers.network.addresses import parse_address
from fanwise.brokers.network.endpoint import CODEC, Admission
from fanwise.brokers.network.tls import explain
from fanwise.errors import FanwiseError

SECONDS = 10.0


class AskingError(FanwiseError):
    """Nobody answers, or what answers will not talk to us."""

    exit_code = 2


class Asker:
    """A connection of a tool; use it with ``async with``."""

    def __init__(self, address: str, admission: Admission, name: str = "") -> None:
        self._address, self._admission = address, admission
        self._name = name or f"tool-{random.getrandbits(48):012x}"
        self._decoder = Decoder(CODEC, MOST_BYTES)
        self._arrived: list[Any] = []

    async def __aenter__(self) -> Asker:
        host, port = parse_address(self._address)
        try:
            async with asyncio.timeout(SECONDS):
                self._reader, self._writer = await asyncio.open_connection(
                    host, port, ssl=self._admission.trusting
                )
        except OSError as error:
            raise AskingError(f"{self._address}: {explain(error)}.") from None
        self.say(Hello(VERSION, "tool", self._name, self._admission.token))
        greeting = await self.hear(Hello, Refused)
        if type(greeting) is Refused:
            self._writer.close()
            raise AskingError(f"{self._address}: does not let us in: {_explain(greeting)}.")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    def say(self, message: Message) -> None:
        """Send a message."""
        self._writer.write(CODEC.encode(message))

    async def hear(self, *kinds: type[Any]) -> Any:
        """Return the next message of some kinds; others are left aside.

        Raises
        ------
        AskingError
            Where none comes in time.
        """
        try:
            async with asyncio.timeout(SECONDS):
                while True:
                    for place, message in enumerate(self._arrived):
                        if type(message) in kinds:
                            del self._arrived[: place + 1]
                            return message
                    self._arrived = []
                    data = await self._reader.read(1 << 16)
                    if not data:
                        raise AskingError(f"{self._address}: the other end closed it.")
                    self._arrived = list(self._decoder.feed(data))
                    if any(type(one) is Ping for one in self._arrived):
                        self.say(Pong())
        except TimeoutError:
            raise AskingError(f"{self._address}: does not answer.") from None
        except OSError as error:
            raise AskingError(f"{self._address}: {explain(error)}.") from None


def _explain(refused: Refused) -> str:
    if refused.code == "token":
        return "it wants another token; give --peer-tokens"
    if refused.code == "version":
        return "it speaks another version of the protocol"
    return refused.detail or refused.code
