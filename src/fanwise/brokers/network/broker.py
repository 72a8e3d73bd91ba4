"""A broker as a process: its machine, and what runs beside it."""

from __future__ import annotations

import asyncio
import logging
import signal
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fanwise.brokers.messages import AskSummary, Message, Summary
from fanwise.brokers.network.companion import Companion, MakeCompanion
from fanwise.brokers.network.metrics import Measure, Reading
from fanwise.brokers.network.server import Facts, Server, ServerOptions, run_server
from fanwise.brokers.protocol.broker import BrokerMachine
from fanwise.brokers.protocol.effects import Depart, Heard
from fanwise.brokers.protocol.ports import MakeMatcher, Router
from fanwise.brokers.protocol.settings import BrokerSettings

log = logging.getLogger(__name__)

PACE: dict[str, Any] = {"confirm_seconds": 0.2, "routes_seconds": 0.02, "routes_rest_seconds": 0.3}
"""Settings of brokers as processes: messages and writes to disk cost more than simulated ones."""
SAID = {
    "ttl": "the time to redirect %(client)s passed before routes had settled; still redirecting",
    "expired": "%(client)s stayed away and is given up, with %(undelivered)s undelivered",
    "protocol": "%(peer)s broke the protocol: %(why)s",
    "expelled": "the directory no longer lists this broker; it ends",
    "linked": "linked with %(broker)s",
    "unlinked": "the link with %(broker)s is lost",
    "ready": "all routes are known; publications are taken",
    "left": "nothing is left here; it ends",
}
"""What is noted and worth a line in the log."""
LOUD = frozenset({"ttl", "expired", "protocol", "expelled"})


@dataclass(frozen=True)
class BrokerOptions:
    """A broker.

    Attributes
    ----------
    settings
        Its address is filled in from where it listens.
    matcher, router
        The index of rectangles, and the ways between brokers.
    companion
        Makes what runs beside the machine; None for nothing.
    """

    server: ServerOptions
    settings: BrokerSettings
    matcher: MakeMatcher
    router: Router
    companion: MakeCompanion | None = None


class BrokerKind:
    """What makes a server a broker."""

    role = "broker"

    def __init__(self, options: BrokerOptions) -> None:
        self._options = options
        self.name = options.settings.name
        self._machine: BrokerMachine
        self._companion: Companion | None = None
        self._server: Server
        self._timer: asyncio.TimerHandle | None = None
        self._answering: set[asyncio.Task[None]] = set()
        self._thinking: asyncio.Task[None] | None = None

    def make(self, address: str, entries: list[tuple[Any, ...]], now: float) -> BrokerMachine:
        """Return the machine, as the entries say that it was."""
        options = self._options
        self._machine = BrokerMachine(
            replace(options.settings, address=address), entries,
            matcher=options.matcher, router=options.router, now=now, seed=_seed(now, self.name),
        )  # fmt: skip
        if options.companion is not None:
            self._companion = options.companion(self._machine, now)
        return self._machine

    def birth(self) -> int:
        """Return the machine's."""
        return self._machine.birth

    def start(self, server: Server) -> None:
        """Begin to propose moves; SIGUSR1 has the broker leave."""
        self._server = server
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, self._depart)
        self._set_timer()

    def note(self, server: Server, what: str, fields: dict[str, Any]) -> None:
        """Say what people want to know; end where nothing is left to do."""
        if what in SAID:
            log.log(logging.WARNING if what in LOUD else logging.INFO, "%s", SAID[what] % fields)
        if self._companion is not None:
            self._companion.note(server.driver.now(), what, fields)
        if what in ("left", "expelled"):
            server.end()

    def hear(self, effect: Heard) -> None:
        """Pass on what other brokers say."""
        if self._companion is not None:
            self._companion.hear(self._server.driver.now(), effect.broker, effect.message)
            self._set_timer()

    def take(self, server: Server, session: int, role: str, message: Any) -> bool:
        """Answer a tool's question for the summary: what the companion would tell others."""
        if type(message) is not AskSummary or role != "tool":
            return False
        task = asyncio.get_running_loop().create_task(self._summarize(session))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        return True

    async def _summarize(self, session: int) -> None:
        found: Message | None = None
        if self._companion is not None:
            now = self._server.driver.now()
            found = await asyncio.to_thread(self._companion.summary, now)
        self._server.send(session, found or Summary(0, {}))

    def read(self) -> Reading:
        """Return what the companion counts."""
        counts = {} if self._companion is None else self._companion.counts()
        return {
            Measure(name, "As the optimiser counts it.", False): counts[name] for name in counts
        }

    def _depart(self) -> None:
        log.info("leaving: all clients are asked to move")
        self._server.driver.handle(Depart())

    def _set_timer(self) -> None:
        if self._companion is None or self._thinking is not None:
            return
        if self._timer is not None:
            self._timer.cancel()
        deadline = self._companion.next_deadline()
        if deadline is not None:
            wait = max(0.0, deadline - self._server.driver.now())
            self._timer = asyncio.get_running_loop().call_later(wait, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._thinking = asyncio.get_running_loop().create_task(self._think())

    async def _think(self) -> None:
        """Let the companion think in a thread, and give the machine what it comes to."""
        assert self._companion is not None
        driver = self._server.driver
        try:
            events = await asyncio.to_thread(self._companion.tick, driver.now())
        except Exception as error:
            self._server.fail(error)
            return
        self._thinking = None
        for event in events:
            driver.handle(event)
        self._set_timer()


def run_broker(options: BrokerOptions, ready: Callable[[Facts], None]) -> int | None:
    """Run a broker; return the number of the signal that ended it, None where it has left."""
    return run_server(options.server, BrokerKind(options), ready)


def _seed(now: float, name: str) -> int:
    """Return a seed that no two brokers share, and no two lives of one."""
    return zlib.crc32(name.encode()) << 32 | int(now * 1e3) & 0xFFFFFFFF
