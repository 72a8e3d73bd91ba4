"""What runs beside a broker: it summarizes clients, tells others, and asks clients to move.

This is the paper's *summarize*: what a client publishes is seen at its home, channel by channel,
and forgotten exponentially. When a client moves, its new home goes on from what the old one told.
No socket and no clock: whoever drives it says what time it is.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fanwise.arrays.csr import FloatArray
from fanwise.brokers.messages import Message, Point, Summary
from fanwise.brokers.moving.densities import Densities
from fanwise.brokers.moving.proposing import Move, Proposer
from fanwise.brokers.moving.settings import MovingSettings
from fanwise.brokers.moving.summaries import BrokerSummary, ClientSummary, sparse_rates
from fanwise.brokers.moving.view import Scene, View
from fanwise.brokers.protocol.broker import BrokerMachine
from fanwise.brokers.protocol.effects import Demands, Event, Propose, Tell
from fanwise.brokers.routing.routers import ChannelFinder
from fanwise.errors import InputError, ParameterError
from fanwise.workload.content import ContentWorkload
from fanwise.workload.content.files import read_content_workload

STALE = 3.0
"""Times between summaries after which one counts no longer."""

MakeMovingCompanion = Callable[[BrokerMachine, float], "MovingCompanion"]


class MovingCompanion:
    """Watches a broker's machine and gives it events of its own.

    Parameters
    ----------
    name
        Of the broker.
    machine
        Who is at home here is read off it.
    scene
        Channels, brokers and prices.
    now
        When it begins.
    """

    def __init__(
        self,
        name: str,
        machine: BrokerMachine,
        scene: Scene,
        settings: MovingSettings,
        seed: int,
        now: float,
    ) -> None:
        channels = scene.workload.channels
        assert channels is not None
        self._name, self._machine, self._scene, self._settings = name, machine, scene, settings
        finder = ChannelFinder(*channels)
        self._densities = Densities(finder, len(channels.lo), settings.half_life)
        self._proposer = Proposer(name, settings, seed)
        self._heard: dict[str, tuple[float, BrokerSummary]] = {}
        self._version = 0
        self._outcomes: Counter[str] = Counter()
        self._costs: FloatArray | None = None
        # The first turn comes after summaries have gone round, others' turns at other times.
        spread = (sum(name.encode()) % 16) / 16
        self._next_summary = now + spread * settings.summary_seconds
        self._next_turn = now + (1 + spread) * settings.turn_seconds
        # Turns may be computed beside the loop in which notes come.
        self._lock = threading.Lock()

    def note(self, now: float, what: str, fields: dict[str, Any]) -> None:
        """Know what the machine has noted."""
        if what == "matched":
            with self._lock:
                self._densities.count(fields["publisher"], fields["point"], now)
        elif what == "home":
            with self._lock:
                self._welcome(fields["client"], now)
        elif what == "move":
            self._outcomes["moved" if fields["outcome"] == "moved" else "not moved"] += 1

    def hear(self, now: float, broker: str, message: Message) -> None:
        """Know what another broker says."""
        if isinstance(message, Summary):
            try:
                told = BrokerSummary.from_body(broker, message.version, message.body)
                self._scene.view([told])  # one that makes no sense would spoil all views
            except (ValueError, InputError):
                self._outcomes["bad summaries"] += 1
                return
            with self._lock:
                self._heard[broker] = now, told

    def tick(self, now: float) -> list[Event]:
        """Return events for the machine: summaries to tell, demands, and proposals."""
        events: list[Event] = []
        if now >= self._next_turn:
            self._next_turn = now + self._settings.turn_seconds
            view = self._view(now)
            mine = {client for client, *_ in self._homes()}
            demands = view.demands()
            events.append(Demands({name: demands[name] for name in mine if name in demands}))
            events += [_proposal(move) for move in self._proposer.turn(now, view)]
            self._costs = view.state().totals
        if now >= self._next_summary:
            self._next_summary = now + self._settings.summary_seconds
            events.append(Tell(None, self.summary(now)))
        return events

    def next_deadline(self) -> float:
        """When to tick."""
        return min(self._next_summary, self._next_turn)

    def summary(self, now: float) -> Summary:
        """Return what there is to tell now."""
        self._version += 1
        return Summary(self._version, self._own(now).body())

    def counts(self) -> dict[str, float]:
        """Return values for metrics: what all costs as this broker sees it, and what it asked."""
        found = {
            "moves_made": float(self._outcomes["moved"]),
            "moves_refused": float(self._outcomes["not moved"]),
            "summaries_refused": float(self._outcomes["bad summaries"]),
        }
        if self._costs is not None:
            found |= {"cost_access": float(self._costs[0]), "cost_core": float(self._costs[1])}
        return found

    def _welcome(self, client: str, now: float) -> None:
        """Go on with a client's density as its last home told it."""
        told = [(at, one) for at, one in self._heard.values() if now - at <= 10 * self._stale]
        for _, summary in sorted(told, key=lambda entry: -entry[0]):
            for known in summary.clients:
                if known.name == client:
                    self._densities.take_over(client, known.channels, known.rates, now)
                    return
        self._densities.watch(client, now)

    @property
    def _stale(self) -> float:
        return STALE * self._settings.summary_seconds

    def _homes(self) -> list[tuple[str, Point, tuple[tuple[Point, Point], ...]]]:
        """Clients at home here with their positions and rectangles."""
        while True:
            try:
                clients = self._machine.clients()
                break
            except RuntimeError:  # somebody came or went while they were counted beside the loop
                continue
        return [(name, place, boxes) for name, (place, _, boxes) in sorted(clients.items())]

    def _own(self, now: float) -> BrokerSummary:
        homes = self._homes()
        clients = []
        with self._lock:
            self._densities.keep(name for name, *_ in homes)
            for name, position, rectangles in homes:
                self._densities.watch(name, now)
                rates = sparse_rates(self._densities.rates(name, now))
                lo, hi = bounding_box(rectangles)
                clients.append(ClientSummary(name, lo, hi, *rates, position=position))
        capacity = self._machine.core.settings.capacity
        proposed = self._proposer.rearrangement
        return BrokerSummary(self._name, capacity, tuple(clients), proposed, self._version)

    def _view(self, now: float) -> View:
        own = self._own(now)
        with self._lock:
            heard = sorted(self._heard.items())
        fresh = [one for _, (at, one) in heard if now - at <= self._stale]
        # Its own summary comes last: it knows best who is at home here.
        return self._scene.view([*fresh, own])


def bounding_box(rectangles: tuple[tuple[Point, Point], ...]) -> tuple[Point, Point]:
    """Return the smallest rectangle that holds all; empty tuples where there are none."""
    full = [(lo, hi) for lo, hi in rectangles if all(a <= b for a, b in zip(lo, hi, strict=True))]
    if not full:
        return (), ()
    lo = tuple(map(min, zip(*(low for low, _ in full), strict=True)))
    hi = tuple(map(max, zip(*(high for _, high in full), strict=True)))
    return lo, hi


def _proposal(move: Move) -> Propose:
    return Propose(move.client, move.to, move.reason, move.gain)


def make_companion(
    workload: ContentWorkload | Path, name: str, settings: MovingSettings, seed: int = 0
) -> MakeMovingCompanion:
    """Return what makes the companion of a broker's machine.

    Parameters
    ----------
    workload
        Channels, brokers and prices, and where clients are.
    """
    loaded = workload if isinstance(workload, ContentWorkload) else read_content_workload(workload)
    if name not in loaded.broker_names.to_pylist():
        raise ParameterError("name", "one of the brokers of the workload", name)
    scene = Scene(loaded)

    def make(machine: BrokerMachine, now: float) -> MovingCompanion:
        return MovingCompanion(name, machine, scene, settings, seed, now)

    return make
