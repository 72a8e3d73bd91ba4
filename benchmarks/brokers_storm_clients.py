"""Many clients in one process: they subscribe, publish at a rate, and keep what comes.

Talks by lines: says ``ready``, is told ``go`` and ``stop``, says how much was published, is told
``end``, and leaves what it has seen in a file.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from fanwise.brokers.library import AsyncClient, Message, NotConnectedError
from fanwise.brokers.protocol.effects import Dial

TICK = 0.02
AT_ONCE = 25
"""Clients that connect at the same time."""


def rectangles(num_clients: int, seed: int, fan_out: float) -> tuple[np.ndarray, np.ndarray]:
    """Return corners of each client's rectangle: so many want a point, on average."""
    generator = np.random.default_rng(seed)
    side = min(1.0, (fan_out / num_clients) ** 0.5)
    lo = generator.random((num_clients, 2)) * (1 - side)
    return lo, lo + side


class Crowd:
    """The clients of one process: every ``step``-th of all."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.lo, self.hi = rectangles(given.clients, given.seed, given.fan_out)
        self.numbers = list(range(given.first, given.clients, given.step))
        self.clients: dict[int, AsyncClient] = {}
        self.published: list[tuple[int, int, float, float]] = []
        self.num_sent = 0
        self.rejected = 0
        self.came: list[tuple[int, int, int, float, float]] = []
        self.dialled: dict[int, float] = {}
        self.pauses: list[tuple[int, float, float, int]] = []
        self.random = random.Random(given.seed * 1_000 + given.first)

    async def start(self) -> None:
        gate = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(self._start(number, gate) for number in self.numbers))

    async def _start(self, number: int, gate: asyncio.Semaphore) -> None:
        place = self.random.random(), self.random.random()

        def hear(message: Message) -> None:
            sent = float(message.payload[:20])
            publisher = int(message.publisher.removeprefix("c"))
            self.came.append((number, publisher, message.sequence, sent, time.monotonic()))

        client = AsyncClient(
            f"c{number}", self.given.directory, position=place, demand=1.0, on_message=hear
        )
        async with gate:
            await client.start(timeout=60)
            self._watch(number, client)
            await client.subscribe(
                "all", self.lo[number], self.hi[number], settle="everywhere", timeout=60
            )
        self.clients[number] = client

    def _watch(self, number: int, client: AsyncClient) -> None:
        """Note when the client leaves one broker, and when the next one serves it."""
        carry = client._driver._carry
        dial = carry[Dial]

        def dialled(effect: Dial) -> None:
            self.dialled.setdefault(number, time.monotonic())
            dial(effect)

        def noted(what: str, fields: dict[str, Any]) -> None:
            if what == "welcome":
                at = self.dialled.pop(number, None)
                if at is not None:
                    self.pauses.append((number, at, time.monotonic(), fields["epoch"]))

        carry[Dial] = dialled
        client.listeners.append(noted)

    async def publish(self, is_over: asyncio.Event) -> None:
        """Publish from random clients, at a rate."""
        clients, rate = list(self.clients.items()), self.given.rate
        started = time.monotonic()
        filler = b" " * max(0, self.given.payload - 20)
        while not is_over.is_set():
            due = int((time.monotonic() - started) * rate) - self.num_sent
            for _ in range(due):
                number, client = self.random.choice(clients)
                x, y = self.random.random(), self.random.random()
                self.num_sent += 1
                future = client.send((x, y), b"%020.9f" % time.monotonic() + filler)
                future.add_done_callback(
                    lambda done, number=number, x=x, y=y: self._answered(done, number, x, y)
                )
            await asyncio.sleep(TICK)

    def _answered(self, done: asyncio.Future[int], number: int, x: float, y: float) -> None:
        if done.cancelled() or done.exception() is not None:
            self.rejected += 1
        else:
            self.published.append((number, done.result(), x, y))

    async def settle(self, seconds: float = 60.0) -> None:
        """Wait for answers to all publications."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and any(one.num_unanswered for one in self.clients.values()):
            await asyncio.sleep(0.05)

    def save(self, path: Path) -> None:
        np.savez(
            path,
            published=np.array(self.published, dtype=float).reshape(-1, 4),
            came=np.array(self.came, dtype=float).reshape(-1, 5),
            pauses=np.array(self.pauses, dtype=float).reshape(-1, 4),
        )


async def run(given: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line.strip())

    import threading

    threading.Thread(target=read, daemon=True).start()
    crowd = Crowd(given)
    await crowd.start()
    say(ready=len(crowd.clients))
    assert await lines.get() == "go"
    is_over = asyncio.Event()
    publishing = asyncio.create_task(crowd.publish(is_over))
    while (line := await lines.get()) != "stop":
        if line == "count":
            say(came=len(crowd.came), sent=crowd.num_sent)
    is_over.set()
    await publishing
    await crowd.settle()
    say(published=len(crowd.published), sent=crowd.num_sent, rejected=crowd.rejected)
    while (line := await lines.get()) != "end":
        if line == "count":
            say(came=len(crowd.came))
    crowd.save(Path(given.out))
    say(saved=given.out, seconds=time.process_time())
    for client in crowd.clients.values():
        with contextlib.suppress(NotConnectedError):
            await client.stop()


def say(**words: Any) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--directory", required=True)
    parser.add_argument("--out", required=True)
    for name in ("clients", "first", "step", "seed", "payload"):
        parser.add_argument(f"--{name}", type=int, required=True)
    for name in ("rate", "fan-out"):
        parser.add_argument(f"--{name}", type=float, required=True)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
