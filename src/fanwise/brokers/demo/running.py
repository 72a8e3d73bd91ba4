"""The demo: a network on loopback, clients that publish and drift, and what it costs meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.brokers.demo.audit import Audit, Due
from fanwise.brokers.demo.beside import Beside, prepare
from fanwise.brokers.demo.costs import Costs, cost_of, loads_of, solve_centrally
from fanwise.brokers.demo.crowd import Crowd
from fanwise.brokers.demo.processes import Processes
from fanwise.brokers.library.asynchronous import AsyncClient
from fanwise.brokers.library.errors import NotConnectedError, RejectedError
from fanwise.workload.content.files import write_content_workload

CONNECT_SECONDS = 120.0
CONNECTED_AT_ONCE = 20
QUIET, SILENCE, PATIENCE = 3.0, 30.0, 120.0
"""Seconds without a message after which all should have come, and after which what is missing is
lost; and how long to wait at most."""
CENTRAL_SECONDS = 4.0
"""That a central plan may take."""


@dataclass(frozen=True)
class DemoSettings:
    """How large the demo is and how long it goes on.

    Attributes
    ----------
    rate
        Publications per second, of all clients.
    drift
        Seconds after which a client wants something else, on average.
    turn
        Seconds between two looks of a broker at what could move.
    central_every
        Seconds between two central plans to compare with.
    """

    brokers: int = 8
    clients: int = 500
    seconds: float = 120.0
    rate: float = 40.0
    drift: float = 120.0
    turn: float = 3.0
    central_every: float = 20.0
    seed: int = 1


@dataclass(frozen=True)
class Snapshot:
    """What there is to show."""

    phase: str
    costs: tuple[Costs, ...]
    published: int
    received: int
    moves: int
    clients: tuple[int, ...] = ()
    load: tuple[float, ...] = ()
    capacity: tuple[float, ...] = ()


class Demo:
    """A run of the demo.

    Parameters
    ----------
    home
        A folder for the logs of brokers.
    show
        Told of what there is to show, about once a second.
    """

    def __init__(
        self, settings: DemoSettings, home: Path, show: Callable[[Snapshot], None]
    ) -> None:
        self._settings, self._home, self._show = settings, home, show
        self.crowd = Crowd(settings.brokers, settings.clients, settings.rate, settings.seed)
        self.audit = Audit()
        self.costs: list[Costs] = []
        self.moves = 0
        self._clients: list[AsyncClient] = []
        self._row_of_name = {
            name: row for row, name in enumerate(self.crowd.workload.subscriber_names.to_pylist())
        }
        names = self.crowd.workload.broker_names.to_pylist()
        self._id_of_broker = {name: broker for broker, name in enumerate(names)}
        self._first: IntArray | None = None
        self._last_received = 0.0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._publishing: set[asyncio.Task[Any]] = set()

    async def run(self) -> dict[str, Any]:
        """Run to the end of the time; return what came of it."""
        async with AsyncExitStack() as stack:
            self._beside = stack.enter_context(Beside())
            self._tell("compiling kernels, on a machine's first run")
            await self._beside.run(prepare)
            processes = await stack.enter_async_context(Processes(self._home))
            address = await self._start(processes)
            await self._connect(address, stack)
            await self._subscribe()
            self._began = time.monotonic()
            self._first = self._homes()
            self._take_costs()
            try:
                await self._live(processes)
                if self._publishing:  # a busy machine answers late: what is taken counts
                    await asyncio.wait(self._publishing, timeout=PATIENCE)
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)
            self._tell("waiting for the last messages")
            await self._wait_for_quiet()
            self._take_costs()
            homes, workload = self._homes(), self.crowd.workload
            self._tell("solving centrally, to compare")
            central = await self._beside.run(solve_centrally, workload, CENTRAL_SECONDS, homes)
            self._add_central(self.costs[-1].seconds, central)
            self._tell("stopping")
        verdict = self.audit.verdict()
        settings = self._settings
        return {
            "brokers": settings.brokers,
            "clients": settings.clients,
            "published": self.audit.num_published,
            "delivered": verdict.delivered,
            "lost": verdict.lost,
            "doubled": verdict.doubled,
            "moves": self.moves,
            "cost_first": self.costs[0].now,
            "cost_last": self.costs[-1].now,
            "cost_central": central,
        }

    # ------------------------------------------------------------ starting

    async def _start(self, processes: Processes) -> str:
        settings, workload = self._settings, self.crowd.workload
        self._tell("starting the directory")
        folder = self._home / "workload"
        write_content_workload(workload, folder)
        address = await processes.start("directory", "directory", "--listen", "127.0.0.1:0")
        self._tell("starting brokers")
        assert workload.capacity is not None
        turn = settings.turn
        starting = []
        for broker, name in enumerate(workload.broker_names.to_pylist()):
            position = ",".join(map(repr, workload.broker_positions[broker].tolist()))
            options = {
                "name": name, "directory": address, "workload": folder, "position": position,
                "capacity": float(workload.capacity[broker]), "half-life": "30s",
                "summary-every": f"{turn / 2}s", "turn-every": f"{turn}s", "rest": f"{5 * turn}s",
                "moves-per-minute": 240, "look": 2, "redirect": "2s",
            }  # fmt: skip
            words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
            starting.append(processes.start(name, "run", *words))
        await asyncio.gather(*starting)
        return address

    async def _connect(self, address: str, stack: AsyncExitStack) -> None:
        workload, demands = self.crowd.workload, self.crowd.demands
        gate = asyncio.Semaphore(CONNECTED_AT_ONCE)
        for row, name in enumerate(workload.subscriber_names.to_pylist()):
            client = AsyncClient(
                name,
                address,
                position=workload.positions[row].tolist(),
                demand=max(float(demands[row]), 1e-9),
                on_message=self._receiver(row),
            )
            client.listeners.append(self._watcher())
            self._clients.append(client)

        async def connect(client: AsyncClient) -> None:
            async with gate:
                await client.start(CONNECT_SECONDS)
                self._tell(f"connecting clients, {len(stack_of)} so far")
                stack_of.append(client)

        stack_of: list[AsyncClient] = []
        stack.push_async_callback(self._stop_clients, stack_of)
        await asyncio.gather(*(connect(client) for client in self._clients))

    async def _stop_clients(self, clients: list[AsyncClient]) -> None:
        await asyncio.gather(*(client.stop() for client in clients), return_exceptions=True)

    async def _subscribe(self) -> None:
        gate = asyncio.Semaphore(CONNECTED_AT_ONCE)

        async def subscribe(row: int) -> None:
            lo, hi = self.crowd.rectangle(row)
            async with gate:
                await self._clients[row].subscribe("0", lo, hi, timeout=CONNECT_SECONDS)
            self.audit.wants(row, lo, hi, time.monotonic())

        self._tell("subscribing")
        await asyncio.gather(*(subscribe(row) for row in range(len(self._clients))))

    def _receiver(self, row: int) -> Callable[[Any], None]:
        def receive(message: Any) -> None:
            self.audit.received(row, message.publisher, message.sequence)
            self._last_received = time.monotonic()

        return receive

    def _watcher(self) -> Callable[[str, dict[str, Any]], None]:
        home = ""

        def watch(what: str, fields: dict[str, Any]) -> None:
            nonlocal home
            if what == "welcome":
                self.moves += bool(home) and home != fields["broker"]
                home = fields["broker"]

        return watch

    # ------------------------------------------------------------ living

    async def _live(self, processes: Processes) -> None:
        settings = self._settings
        end = self._began + settings.seconds
        self._spawn(self._publish(end))
        self._spawn(self._drift(end))
        self._spawn(self._compare(end))
        while time.monotonic() < end:
            await asyncio.sleep(min(1.0, max(end - time.monotonic(), 0.0)))
            processes.check()
            self._take_costs()
            self._tell("running")

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _publish(self, end: float) -> None:
        due = time.monotonic()
        while (due := due + self.crowd.draw_pause(self._settings.rate)) < end:
            await asyncio.sleep(max(due - time.monotonic(), 0.0))
            row, point = self.crowd.draw_publication()
            task = self._spawn(self._publish_one(row, point))
            self._publishing.add(task)
            task.add_done_callback(self._publishing.discard)

    async def _publish_one(self, row: int, point: tuple[float, ...]) -> None:
        client, began = self._clients[row], time.monotonic()
        try:
            sequence = await client.publish(point, b"")
        except (RejectedError, NotConnectedError):
            return
        self.audit.published(client.name, sequence, began, time.monotonic(), point)

    async def _drift(self, end: float) -> None:
        numbers = [0] * len(self._clients)
        busy: set[int] = set()

        async def change(row: int) -> None:
            old = str(numbers[row])
            numbers[row] += 1
            lo, hi = self.crowd.drift(row)
            client = self._clients[row]
            try:
                await client.subscribe(str(numbers[row]), lo, hi, timeout=None)
                now = time.monotonic()
                self.audit.wants(row, lo, hi, now)
                self.audit.ends(row, now)
                await client.unsubscribe(old, timeout=None)
            finally:
                busy.discard(row)

        rate = len(self._clients) / self._settings.drift
        while time.monotonic() < end:
            await asyncio.sleep(self.crowd.draw_pause(rate))
            row = self.crowd.draw_client()
            if row not in busy:
                busy.add(row)
                self._spawn(change(row))

    async def _compare(self, end: float) -> None:
        """Solve centrally now and then, beside the loop."""
        while time.monotonic() + CENTRAL_SECONDS < end:
            workload, homes = self.crowd.workload, self._homes()
            seconds = time.monotonic() - self._began
            central = await self._beside.run(solve_centrally, workload, CENTRAL_SECONDS, homes)
            self._add_central(seconds, central)
            await asyncio.sleep(self._settings.central_every)

    async def _wait_for_quiet(self) -> None:
        """Wait until all that was due has come, or nothing comes any more."""
        end = time.monotonic() + PATIENCE
        self._last_received = time.monotonic()
        missing: list[Due] | None = None
        while time.monotonic() < end:
            waiting = sum(client.num_unanswered for client in self._clients)
            quiet = time.monotonic() - self._last_received
            if not waiting and quiet > QUIET:
                missing = self.audit.missing() if missing is None else missing
                missing = [due for due in missing if not self.audit.has_come(due)]
                if not missing or quiet > SILENCE:
                    return
            await asyncio.sleep(0.2)

    # ------------------------------------------------------------ looking

    def _homes(self) -> IntArray:
        """The broker of each client; where it has none just now, the first."""
        homes = [self._id_of_broker.get(client.home, 0) for client in self._clients]
        return np.array(homes, dtype=np.int32)

    def _take_costs(self) -> None:
        assert self._first is not None
        workload = self.crowd.workload
        seconds = time.monotonic() - self._began
        now, never = cost_of(workload, self._homes()), cost_of(workload, self._first)
        self.costs.append(Costs(seconds, now, never))

    def _add_central(self, seconds: float, central: float) -> None:
        at = min(range(len(self.costs)), key=lambda i: abs(self.costs[i].seconds - seconds))
        found = self.costs[at]
        self.costs[at] = Costs(found.seconds, found.now, found.never, central)

    def _tell(self, phase: str) -> None:
        if not self.costs:
            self._show(Snapshot(phase, (), 0, 0, 0))
            return
        workload = self.crowd.workload
        assert workload.capacity is not None
        clients, load = loads_of(workload, self._homes())
        self._show(
            Snapshot(
                phase,
                tuple(self.costs),
                self.audit.num_published,
                self.audit.num_received,
                self.moves,
                tuple(clients),
                tuple(load),
                tuple(workload.capacity.tolist()),
            )
        )
