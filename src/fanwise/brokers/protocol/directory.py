"""The directory: which brokers there are, where, and with what room."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import dist
from random import Random
from typing import Any

from fanwise.brokers.messages import (
    Ask,
    Brokers,
    Heartbeat,
    Hello,
    Join,
    Leave,
    Message,
    NotDone,
    Point,
    View,
)
from fanwise.brokers.protocol.effects import (
    Arrived,
    Close,
    Disk,
    Effect,
    Event,
    Lost,
    Noted,
    Opened,
    Record,
    Send,
)
from fanwise.brokers.protocol.settings import DirectorySettings
from fanwise.brokers.protocol.timers import Timers


@dataclass(slots=True)
class _Broker:
    """A broker that has joined; what is after ``birth`` is not on disk."""

    name: str
    address: str
    position: Point
    capacity: float
    birth: int
    load: float = 0.0
    is_ready: bool = False
    is_alive: bool = False
    heard: float = 0.0
    session: int = 0


class DirectoryMachine:
    """A directory without sockets, clock and disk."""

    def __init__(
        self,
        settings: DirectorySettings,
        entries: Iterable[tuple[Any, ...]] = (),
        *,
        now: float,
        seed: int,
    ) -> None:
        self.settings = settings
        self.now = now
        self._random = Random(seed)
        self._timers = Timers()
        self._effects: list[Effect] = []
        self._peers: dict[int, Hello] = {}
        self._brokers: dict[str, _Broker] = {}
        self._left: set[tuple[str, int]] = set()
        self._epoch = 0
        self._is_disk_full = False
        self._is_telling = False
        for entry in entries:
            self._apply(entry)

    # ------------------------------------------------------------ for drivers

    def start(self) -> list[Effect]:
        """Begin; once, before all events. Brokers have time to be heard."""
        for broker in self._brokers.values():
            broker.heard = self.now
            self._timers.at(self.now + self.settings.alive_seconds, self._look, broker)
        return []

    def handle(self, now: float, event: Event) -> list[Effect]:
        """What is to be done about an event."""
        self.now = now
        if isinstance(event, Opened):
            self._peers[event.session] = event.peer
            if event.peer.role == "tool":
                self._send(event.session, self._view())
        elif isinstance(event, Lost):
            self._peers.pop(event.session, None)
        elif isinstance(event, Disk):
            self._is_disk_full = event.is_full
        elif isinstance(event, Arrived) and event.session in self._peers:
            self._hear(event.session, event.message)
        self._timers.run(now)
        effects, self._effects = self._effects, []
        return effects

    def next_deadline(self) -> float | None:
        """When a ``Tick`` is due."""
        return self._timers.next()

    def counts(self) -> dict[str, float]:
        """Numbers for metrics."""
        brokers = self._brokers.values()
        return {
            "brokers": len(brokers),
            "alive": sum(broker.is_alive for broker in brokers),
            "capacity": sum(broker.capacity for broker in brokers),
            "load": sum(broker.load for broker in brokers),
        }

    def snapshot(self) -> list[tuple[Any, ...]]:
        """Entries that make the state on disk what it is."""
        entries: list[tuple[Any, ...]] = [
            ("broker", b.name, b.address, b.position, b.capacity, b.birth)
            for b in self._brokers.values()
        ]
        entries.extend(("was", name, birth) for name, birth in sorted(self._left))
        return [*entries, ("epoch", self._epoch)]

    # ------------------------------------------------------------ state on disk

    def _apply(self, entry: tuple[Any, ...]) -> None:
        kind, values = entry[0], entry[1:]
        if kind == "broker":
            broker = self._brokers.get(values[0])
            if broker is not None and broker.birth != values[4]:
                self._left.add((broker.name, broker.birth))
            if broker is None or broker.birth != values[4]:
                self._brokers[values[0]] = _Broker(*values)
            else:
                broker.address, broker.position, broker.capacity = values[1:4]
            self._epoch += 1
        elif kind == "left":
            broker = self._brokers.pop(values[0])
            self._left.add((broker.name, broker.birth))
            self._epoch += 1
        elif kind == "was":
            self._left.add((values[0], values[1]))
        elif kind == "epoch":
            self._epoch = values[0]

    def _commit(self, *entry: Any) -> None:
        self._apply(entry)
        self._effects.append(Record(entry))
        self._tell_later()

    # ------------------------------------------------------------ messages

    def _send(self, session: int, message: Message) -> None:
        self._effects.append(Send(session, message))

    def _hear(self, session: int, message: Message) -> None:
        role = self._peers[session].role
        if isinstance(message, Ask):
            self._send(session, Brokers(self._best(message)))
        elif isinstance(message, Join) and role == "broker":
            self._join(session, message)
        elif isinstance(message, Heartbeat) and role == "broker":
            self._beat(session, message)
        elif isinstance(message, Leave) and role in ("broker", "tool"):
            self._leave(session, message)
        else:
            self._send(session, NotDone("role", f"{role} sent {type(message).__name__}"))

    def _join(self, session: int, message: Join) -> None:
        name = self._peers[session].name
        known = self._brokers.get(name)
        if not name or message.name != name:
            self._send(session, NotDone("name", f"{message.name!r} came as {name!r}"))
            return
        if (name, message.birth) in self._left:
            self._send(session, NotDone("left", f"{name} has left; start it on an empty disk"))
            return
        if known is not None and known.birth != message.birth and known.is_alive:
            self._send(session, NotDone("name", f"another broker {name} is there"))
            return
        said = (message.address, message.position, message.capacity, message.birth)
        is_new = known is None or said != (
            known.address, known.position, known.capacity, known.birth
        )  # fmt: skip
        if is_new:
            if self._is_disk_full:
                self._send(session, NotDone("full disk"))
                # It joins again with its next connection.
                self._effects.append(Close(session, "full disk"))
                self._peers.pop(session)
                return
            self._commit("broker", name, *said)
        broker = self._brokers[name]
        broker.session, broker.load = session, message.load
        self._alive(broker)
        self._send(session, self._view())

    def _beat(self, session: int, message: Heartbeat) -> None:
        broker = self._brokers.get(self._peers[session].name)
        if broker is None or broker.session != session:
            return
        if (broker.load, broker.is_ready) != (message.load, message.is_ready):
            self._tell_later()
        broker.load, broker.is_ready = message.load, message.is_ready
        self._alive(broker)

    def _alive(self, broker: _Broker) -> None:
        broker.heard = self.now
        if not broker.is_alive:
            broker.is_alive = True
            self._tell_later()
            self._timers.at(self.now + self.settings.alive_seconds, self._look, broker)

    def _look(self, broker: _Broker) -> None:
        due = broker.heard + self.settings.alive_seconds
        if self.now < due:
            self._timers.at(due, self._look, broker)
        elif broker.is_alive:
            broker.is_alive = False
            self._tell_later()

    def _leave(self, session: int, message: Leave) -> None:
        peer = self._peers[session]
        if message.name not in self._brokers:
            self._send(session, NotDone("unknown", message.name))
        elif peer.role == "broker" and peer.name != message.name:
            self._send(session, NotDone("role", f"{peer.name} cannot send {message.name} away"))
        elif self._is_disk_full:
            self._send(session, NotDone("full disk"))
        else:
            self._commit("left", message.name)
            self._send(session, self._view())

    # ------------------------------------------------------------ answers

    def _best(self, ask: Ask) -> tuple[tuple[str, str], ...]:
        """Live brokers with room: the closest first, or the emptiest where places are unknown."""

        def order(broker: _Broker) -> tuple[float, float, str]:
            far = 0.0
            if ask.position and len(ask.position) == len(broker.position):
                far = dist(ask.position, broker.position)
            used = broker.load / broker.capacity
            return (far, used, broker.name)

        able = [
            broker for broker in self._brokers.values()
            if broker.is_alive and broker.is_ready and broker.load + ask.demand <= broker.capacity
        ]  # fmt: skip
        best = sorted(able, key=order)[: self.settings.most_told]
        return tuple((broker.name, broker.address) for broker in best)

    def _view(self) -> View:
        brokers = sorted(self._brokers.values(), key=lambda broker: broker.name)
        return View(
            self._epoch,
            tuple((b.name, b.address, b.position, b.capacity, b.load, b.is_alive, b.birth)
                  for b in brokers),
        )  # fmt: skip

    def _tell_later(self) -> None:
        if not self._is_telling:
            self._is_telling = True
            self._timers.at(self.now + self.settings.view_seconds, self._tell)

    def _tell(self) -> None:
        self._is_telling = False
        view = self._view()
        for session, peer in self._peers.items():
            if peer.role in ("broker", "tool"):
                self._send(session, view)
        self._effects.append(Noted("view", {"epoch": view.epoch, "brokers": view.brokers}))
