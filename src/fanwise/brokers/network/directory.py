"""The directory as a process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fanwise.brokers.network.metrics import Reading
from fanwise.brokers.network.server import Facts, Server, ServerOptions, run_server
from fanwise.brokers.protocol.directory import DirectoryMachine
from fanwise.brokers.protocol.effects import Heard
from fanwise.brokers.protocol.settings import DirectorySettings

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DirectoryOptions:
    """A directory."""

    server: ServerOptions
    settings: DirectorySettings


class DirectoryKind:
    """What makes a server a directory."""

    role = "directory"

    def __init__(self, options: DirectoryOptions) -> None:
        self._settings = options.settings
        self.name = options.settings.name
        self._alive: dict[str, bool] = {}

    def make(self, address: str, entries: list[tuple[Any, ...]], now: float) -> DirectoryMachine:
        """Return the machine, as the entries say that it was."""
        return DirectoryMachine(self._settings, entries, now=now, seed=int(now * 1e3))

    def birth(self) -> int:
        """A directory has none."""
        return 0

    def start(self, server: Server) -> None:
        """Nothing runs beside it."""

    def note(self, server: Server, what: str, fields: dict[str, Any]) -> None:
        """Say who comes and goes."""
        if what == "protocol":
            log.warning("%s broke the protocol: %s", fields["peer"], fields["why"])
        elif what == "view":
            alive = {row[0]: bool(row[5]) for row in fields["brokers"]}
            for name in sorted(alive.keys() | self._alive.keys()):
                if alive.get(name) != self._alive.get(name):
                    words = {None: "has left", True: "is there", False: "is not heard any more"}
                    log.info("broker %s %s", name, words[alive.get(name)])
            self._alive = alive

    def hear(self, effect: Heard) -> None:
        """Nobody says anything to it that its machine has no business with."""

    def take(self, server: Server, session: int, role: str, message: Any) -> bool:
        """All is the machine's business."""
        return False

    def read(self) -> Reading:
        """All is in what its machine counts."""
        return {}


def run_directory(options: DirectoryOptions, ready: Callable[[Facts], None]) -> int | None:
    """Run a directory; return the number of the signal that ended it."""
    return run_server(options.server, DirectoryKind(options), ready)
