"""Many clients of the helper in a few processes: what each was handed, and which way it came."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from array import array
from collections.abc import Iterable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from fanwise.client import AsyncClient
from fanwise.client.naming import CONTROL

PATIENCE = 120.0
AT_ONCE = 10
"""Clients that subscribe at a time."""


class Member(NamedTuple):
    """A client: its name, the port of its edge broker, and what it wants."""

    name: str
    edge: int
    topics: tuple[str, ...]


class Seen(NamedTuple):
    """Numbers of messages.

    Attributes
    ----------
    handed
        What the program was given, in this order.
    sides
        What arrived at the back end and at the edge broker, doubles among it: a message that is
        asked for too early still comes its own way.
    """

    handed: array[int]
    sides: tuple[array[int], array[int]]


class Crowd:
    """Clients in processes, from the beginning to the end of a block."""

    def __init__(
        self, members: Iterable[Member], back_end: int, forwarder: str, *, processes: int = 1
    ) -> None:
        members = list(members)
        spawn = multiprocessing.get_context("spawn")
        self._pipes, self._processes = [], []
        for number in range(processes):
            ours, theirs = spawn.Pipe()
            part = members[number::processes]
            process = spawn.Process(target=attend, args=(theirs, part, back_end, forwarder))
            self._pipes.append(ours)
            self._processes.append(process)

    def __enter__(self) -> Crowd:
        for process in self._processes:
            process.start()
        for pipe in self._pipes:
            assert pipe.poll(PATIENCE), "clients do not subscribe"
            assert pipe.recv() == "ready"
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.terminate()
            process.join()

    def handed(self) -> int:
        """Return how many messages all of them were handed so far."""
        return sum(self._ask("handed"))

    def finish(self) -> tuple[dict[str, Seen], dict[str, int]]:
        """Return what each has seen, and what they counted in all."""
        seen: dict[str, Seen] = {}
        counts = {"repaired": 0, "doubles": 0, "lost": 0}
        for found, more in self._ask("finish"):
            seen |= found
            counts = {name: many + more[name] for name, many in counts.items()}
        return seen, counts

    def _ask(self, question: str) -> list[Any]:
        for pipe in self._pipes:
            pipe.send(question)
        return [pipe.recv() for pipe in self._pipes]


def attend(pipe: Connection, members: list[Member], back_end: int, forwarder: str) -> None:
    """Run clients until asked to finish."""
    asyncio.run(_attend(pipe, members, back_end, forwarder))


async def _attend(pipe: Connection, members: list[Member], back_end: int, forwarder: str) -> None:
    places = asyncio.Semaphore(AT_ONCE)
    listeners = [_Listener(member, back_end, forwarder) for member in members]
    await asyncio.gather(*(one.come(places) for one in listeners))
    pipe.send("ready")
    while True:
        while not pipe.poll():
            await asyncio.sleep(0.02)
        if pipe.recv() == "handed":
            pipe.send(sum(len(one.seen.handed) for one in listeners))
            continue
        total = {
            name: sum(getattr(one.client.counts, name) for one in listeners)
            for name in ("repaired", "doubles", "lost")
        }
        pipe.send(({one.member.name: one.seen for one in listeners}, total))
        for one in listeners:
            await one.client.__aexit__()
        return


class _Listener:
    """A client, with an ear at each of its two connections."""

    def __init__(self, member: Member, back_end: int, forwarder: str) -> None:
        self.member = member
        self.seen = Seen(array("q"), (array("q"), array("q")))
        self.client = AsyncClient(
            f"127.0.0.1:{back_end}", f"127.0.0.1:{member.edge}", name=member.name,
            forwarders=[forwarder], check=3.0,
            on_message=lambda message: self.seen.handed.append(_number(message.payload)),
        )  # fmt: skip
        for side, numbers in zip(self.client._sides, self.seen.sides, strict=True):
            side.on_message = self._overhear(side.on_message, numbers)

    def _overhear(self, hear: Any, numbers: array[int]) -> Any:
        def on_message(message: Any) -> None:
            if not message.topic.startswith(CONTROL):
                numbers.append(_number(message.payload))
            hear(message)

        return on_message

    async def come(self, places: asyncio.Semaphore) -> None:
        async with places:
            await self.client.__aenter__()
            await self.client.subscribe(*self.member.topics, timeout=PATIENCE)


def _number(payload: bytes) -> int:
    return json.loads(payload)["id"]
