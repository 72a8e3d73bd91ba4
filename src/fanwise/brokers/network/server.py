"""A machine that others connect to, as a process: its disk, connections, metrics, and end."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fanwise.brokers.messages import VERSION, Hello
from fanwise.brokers.network.addresses import format_address
from fanwise.brokers.network.connection import Pulse
from fanwise.brokers.network.driver import Driver, Machine
from fanwise.brokers.network.endpoint import Admission, Endpoint
from fanwise.brokers.network.measures import read_common
from fanwise.brokers.network.metrics import Measure, MetricsServer, Reading
from fanwise.brokers.protocol.effects import Heard, Noted, Send
from fanwise.brokers.storage.folder import DataFolder
from fanwise.brokers.storage.journal import LEAST_FREE, Journal
from fanwise.errors import FanwiseError, ParameterError

log = logging.getLogger(__name__)

CRASH = "crash.txt"


class CrashError(FanwiseError):
    """A mistake of ours; what is on disk is right."""

    exit_code = 1


@dataclass(frozen=True)
class ServerOptions:
    """What brokers and directories have in common.

    Attributes
    ----------
    data
        Folder of the log.
    host, port
        To listen on; port 0 takes a free one.
    advertise
        Address that others are told, where it is another one.
    metrics_host, metrics_port
        To answer Prometheus on; None for not at all, 0 for a free port.
    least_free, disk_limit
        Bytes of the disk that stay free, and most bytes of the log: beyond, nothing new is taken.
    """

    data: Path
    host: str = "127.0.0.1"
    port: int = 0
    advertise: str = ""
    admission: Admission = field(default_factory=Admission)
    pulse: Pulse = field(default_factory=Pulse)
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = None
    least_free: int = LEAST_FREE
    disk_limit: int = 4 * 10**9

    def __post_init__(self) -> None:
        if self.least_free < 0:
            raise ParameterError("least_free", "a number of bytes >= 0", self.least_free)
        if not self.disk_limit > 0:
            raise ParameterError("disk_limit", "a number of bytes > 0", self.disk_limit)


@dataclass(frozen=True)
class Facts:
    """What a server says of itself once it is ready.

    Attributes
    ----------
    address, listen
        What others are told, and where it listens: the same unless told otherwise.
    """

    name: str
    address: str
    listen: str
    data: Path
    metrics: str | None


class Kind(Protocol):
    """What makes a server a broker or a directory."""

    name: str
    role: str

    def make(self, address: str, entries: list[tuple[Any, ...]], now: float) -> Machine:
        """Return the machine, as the entries say that it was."""

    def birth(self) -> int:
        """Return what tells a machine that came back from one that has forgotten everything."""

    def note(self, server: Server, what: str, fields: dict[str, Any]) -> None:
        """Know what the machine has noted."""

    def hear(self, effect: Heard) -> None:
        """Know what another broker says."""

    def take(self, server: Server, session: int, role: str, message: Any) -> bool:
        """Answer what the machine has no business with; return whether it was that."""

    def start(self, server: Server) -> None:
        """Begin whatever runs beside the machine."""

    def read(self) -> Reading:
        """Return metrics."""


class Server:
    """Runs one machine until it is told to end.

    Attributes
    ----------
    noted
        How often each thing was noted.
    """

    def __init__(self, options: ServerOptions, kind: Kind) -> None:
        self.options, self.kind = options, kind
        self.noted: Counter[str] = Counter()
        self.moves: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._is_over: asyncio.Event | None = None
        self._failure: BaseException | None = None
        self.driver: Driver
        self.endpoint: Endpoint
        self.journal: Journal

    async def run(self, is_over: asyncio.Event, ready: Callable[[Facts], None]) -> None:
        """Run until the event is set, or the machine has nothing left to do.

        Raises
        ------
        FanwiseError
            Where it cannot begin, or cannot go on.
        """
        options, kind = self.options, self.kind
        self._is_over = is_over
        # The folder first: of two processes on one folder, the second changes and hears nothing.
        self.journal = Journal(
            DataFolder(options.data), f"{kind.role} {kind.name}",
            least_free=options.least_free, limit=options.disk_limit,
        )  # fmt: skip
        try:
            listener = bind(options.host, options.port)
            try:
                await self._serve(listener, is_over, ready)
            finally:
                listener.close()
        finally:
            self.journal.close()
        if self._failure is not None:
            raise self._explain(self._failure)

    async def _serve(
        self, listener: socket.socket, is_over: asyncio.Event, ready: Callable[[Facts], None]
    ) -> None:
        options, kind = self.options, self.kind
        listen = format_address(options.host, listener.getsockname()[1])
        address = options.advertise or listen
        self.endpoint = Endpoint(
            lambda: Hello(VERSION, kind.role, kind.name, "", kind.birth(), address),
            options.admission, options.pulse,
            lambda session, role, message: kind.take(self, session, role, message),
        )  # fmt: skip
        carry = self.endpoint.carriers | {Noted: self._note, Heard: kind.hear}
        machine = kind.make(address, self.journal.take_entries(), time.time())
        self.driver = Driver(
            machine, carry, self.journal,
            flush=self.endpoint.flush, hold=self.endpoint.hold, fail=self.fail,
        )  # fmt: skip
        metrics = MetricsServer(self._read, {kind.role: kind.name})
        told = None
        try:
            if options.metrics_port is not None:
                told = await self._start_metrics(metrics)
            self.endpoint.begin(self.driver)
            self.driver.start()
            await self.driver.settle()  # who it is, is on disk before anybody hears of it
            kind.start(self)
            await self.endpoint.serve(listener)
            gc.freeze()
            ready(Facts(kind.name, address, listen, options.data, told))
            await is_over.wait()
        finally:
            self.endpoint.stop_listening()
            await self.driver.stop()
            await self.endpoint.stop()
            await metrics.stop()

    async def _start_metrics(self, metrics: MetricsServer) -> str:
        options = self.options
        assert options.metrics_port is not None
        try:
            port = await metrics.start(options.metrics_host, options.metrics_port)
        except OSError as error:
            raise FanwiseError(
                f"--metrics: cannot listen on {options.metrics_host}:{options.metrics_port}: "
                f"{error.strerror}."
            ) from None
        return format_address(options.metrics_host, port)

    def end(self) -> None:
        """End before long."""
        if self._is_over is not None:
            self._is_over.set()

    def _note(self, effect: Noted) -> None:
        what = effect.what
        self.noted[what] += 1
        if what == "move":
            self.moves[str(effect.fields.get("outcome", ""))] += 1
        self.kind.note(self, what, effect.fields)

    def send(self, session: int, message: Any) -> None:
        """Say something that the machine has no business with."""
        self.endpoint.carriers[Send](Send(session, message))

    def _read(self) -> Reading:
        found: dict[Measure, Any] = dict(read_common(self))
        found.update(self.kind.read())
        return found

    def fail(self, error: BaseException) -> None:
        """End, for this reason."""
        self._failure = error
        self.end()

    def _explain(self, error: BaseException) -> FanwiseError:
        if isinstance(error, FanwiseError):
            return error
        path = self.options.data / CRASH
        told = f"{type(error).__name__}: {error}"
        try:
            path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        except OSError:
            return CrashError(f"stopped by a mistake of its own: {told}; start it again.")
        return CrashError(
            f"stopped by a mistake of its own: {told}; {path} has more. Start it again."
        )


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound, so that its port is known before anybody can connect.

    Raises
    ------
    FanwiseError
        Where that cannot be.
    """
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(where[:2], family=family, backlog=1024)
    except OSError as error:
        raise FanwiseError(
            f"--listen: cannot listen on {format_address(host, port)}: {error.strerror or error}."
        ) from None


def run_server(options: ServerOptions, kind: Kind, ready: Callable[[Facts], None]) -> int | None:
    """Run a server; return the number of the signal that ended it, None where it ended itself."""
    sys.setswitchinterval(0.001)  # the thread that writes to disk does not wait for its turn
    gc.set_threshold(20_000, 20, 50)
    return asyncio.run(_run(options, kind, ready))


async def _run(options: ServerOptions, kind: Kind, ready: Callable[[Facts], None]) -> int | None:
    is_over = asyncio.Event()
    heard: list[int] = []

    def stop(number: int) -> None:
        heard.append(number)
        is_over.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    await Server(options, kind).run(is_over, ready)
    return heard[0] if heard else None
