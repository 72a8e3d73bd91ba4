"""Virtual time, a network, disks, and processes on them that are killed and come back.

A connection keeps the order of what is said on it; between connections nothing has an order. What
was under way when a process is killed arrives up to some point. Of its disk it gets back what was
durable, and nothing that it wanted to do after a record that was not durable has happened.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from fanwise.brokers.messages import VERSION, Hello, Message
from fanwise.brokers.protocol.effects import (
    Arrived,
    Close,
    Dial,
    DialFailed,
    Disk,
    Effect,
    Event,
    Handed,
    Lost,
    Noted,
    Opened,
    Record,
    Send,
    Tick,
)

Trace = list[tuple[Any, ...]]


class Machine(Protocol):
    """Of the protocol: broker, client or directory."""

    def start(self) -> list[Effect]: ...

    def handle(self, now: float, event: Event) -> list[Effect]: ...

    def next_deadline(self) -> float | None: ...

    def snapshot(self) -> list[tuple[Any, ...]]: ...


MakeMachine = Callable[[list[tuple[Any, ...]], float, int], Any]
"""Of entries of the log, time, and a seed."""


@dataclass(slots=True)
class Node:
    """A process, or the place of one that was killed.

    Attributes
    ----------
    log
        ``(entry, time when it is durable)``.
    ready
        When the last record that effects wait for is durable.
    tick
        The deadline that is in the schedule.
    sessions
        Ends of connections by number.
    """

    name: str
    role: str
    make: MakeMachine
    machine: Machine | None = None
    log: list[tuple[tuple[Any, ...], float]] = field(default_factory=list)
    durable: float = 0.0
    ready: float = 0.0
    tick: float = float("inf")
    life: int = 0
    sessions: dict[int, End] = field(default_factory=dict)
    is_disk_full: bool = False
    is_gone: bool = False


@dataclass(slots=True, eq=False)
class End:
    """One of the two ends of a connection.

    Attributes
    ----------
    last
        When the last message that was sent to here arrives.
    is_open
        False once this side has closed it, or has been told that it is lost.
    until
        When the connection broke: what would arrive later does not.
    dialled
        Whom this side has dialled, by the name that it used.
    is_known
        This side has been told that the connection stands.
    """

    node: Node
    session: int
    other: End | None = None
    last: float = 0.0
    is_open: bool = True
    until: float = float("inf")
    dialled: str | None = None
    is_known: bool = False


class World:
    """All processes, and what happens next."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.random = Random(seed)
        self.nodes: dict[str, Node] = {}
        self.trace: Trace = []
        self.says: Callable[[str, Any], None] | None = None
        self.slow: dict[frozenset[str], float] = {}
        self.apart: set[frozenset[str]] = set()
        self.disk_seconds = 0.0005
        self.steps = 0
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        self._session = 0

    # ------------------------------------------------------------ time

    def at(self, time: float, work: Callable[..., None], *arguments: Any) -> None:
        self._count += 1
        heapq.heappush(self._heap, (time, self._count, work, arguments))

    def run(self, until: float) -> None:
        """Let things happen up to a time."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.now, _, work, arguments = heapq.heappop(heap)
            work(*arguments)
        self.now = max(self.now, until)

    def note(self, *what: Any) -> None:
        self.trace.append((round(self.now, 6), *what))

    # ------------------------------------------------------------ processes

    def add(self, name: str, role: str, make: MakeMachine) -> None:
        """Start a process on an empty disk."""
        self.nodes[name] = Node(name, role, make)
        self.start(name)

    def start(self, name: str) -> None:
        """Start a process on the disk that it left."""
        node = self.nodes[name]
        if node.machine is not None or node.is_gone:
            return
        entries = [entry for entry, _ in node.log]
        if entries and self.random.random() < 0.5:
            # As after a compaction of the log.
            entries = node.make(entries, self.now, 0).snapshot()
            node.log = [(entry, self.now) for entry in entries]
        node.machine = node.make(entries, self.now, self.random.getrandbits(48))
        node.ready = node.durable = self.now
        node.tick = float("inf")
        self.note("start", name)
        self._carry_out(node, node.machine.start())
        if node.is_disk_full:
            self.tell(name, Disk(True))

    def kill(self, name: str) -> None:
        """Kill a process at once."""
        node = self.nodes[name]
        if node.machine is None:
            return
        node.machine = None
        node.life += 1
        node.log = [(entry, time) for entry, time in node.log if time <= self.now]
        self.note("kill", name)
        for end in list(node.sessions.values()):
            end.is_open = False
            self._break(end)
        node.sessions.clear()

    def remove(self, name: str) -> None:
        """End a process for good."""
        self.kill(name)
        self.nodes[name].is_gone = True

    def tell(self, name: str, event: Event) -> None:
        """Give an event to a process."""
        node = self.nodes[name]
        if node.machine is None:
            return
        self.steps += 1
        self._carry_out(node, node.machine.handle(self.now, event))

    def _carry_out(self, node: Node, effects: list[Effect]) -> None:
        for effect in effects:
            if type(effect) is Record:
                # A write takes its time; one after the other.
                seconds = self.disk_seconds * (0.5 + self.random.random())
                node.durable = max(node.durable, self.now + seconds)
                node.log.append((effect.entry, node.durable))
                if effect.must_wait:
                    node.ready = node.durable
            elif node.ready >= self.now:
                # Also at the very moment: what was held back before goes first.
                self.at(node.ready, self._do, node, node.life, effect)
            else:
                self._do(node, node.life, effect)
        machine = node.machine
        if machine is not None:
            due = machine.next_deadline()
            if due is not None and due < node.tick:
                node.tick = max(due, self.now)
                self.at(node.tick, self._tick, node, node.life, node.tick)

    def _tick(self, node: Node, life: int, due: float) -> None:
        if node.life == life and node.tick == due:
            node.tick = float("inf")
            self.tell(node.name, Tick())

    def _do(self, node: Node, life: int, effect: Effect) -> None:
        if node.life != life:
            return
        if type(effect) is Send:
            end = node.sessions.get(effect.session)
            if end is not None:
                self._send(end, effect.message)
        elif type(effect) is Close:
            end = node.sessions.pop(effect.session, None)
            if end is not None:
                end.is_open = False
                self._later_lost(end)
        elif type(effect) is Dial:
            delay = self._delay(node.name, effect.address)
            self.at(self.now + delay, self._dial, node, life, effect)
        elif type(effect) is Handed:
            self.note("handed", node.name, *effect.publication[:3])
        elif type(effect) is Noted:
            if effect.what != "view":
                self.note(effect.what, node.name, effect.fields)
            if self.says is not None:
                self.says(node.name, effect)

    # ------------------------------------------------------------ network

    def _delay(self, one: str, other: str) -> float:
        pair = frozenset((one, other))
        delay = 0.001 + self.random.expovariate(200.0)
        return delay * self.slow.get(pair, 1.0)

    def _dial(self, node: Node, life: int, effect: Dial) -> None:
        if node.life != life:
            return
        other = self.nodes.get(effect.address)
        pair = frozenset((node.name, effect.address))
        if other is None or other.machine is None or pair in self.apart:
            self.at(
                self.now + self._delay(node.name, effect.address),
                self._tell_alive, node, life, DialFailed(effect.peer),
            )  # fmt: skip
            return
        here, there = self._end(node), self._end(other)
        here.other, there.other, here.dialled = there, here, effect.peer
        for end, peer in ((there, node), (here, other)):
            hello = Hello(
                VERSION, peer.role, peer.name, "", getattr(peer.machine, "birth", 0), peer.name
            )
            self._arrive_later(end, Opened(end.session, hello))

    def _end(self, node: Node) -> End:
        self._session += 1
        end = End(node, self._session)
        node.sessions[end.session] = end
        return end

    def _send(self, end: End, message: Message) -> None:
        to = end.other
        assert to is not None
        if not to.is_open:
            return
        self._arrive_later(to, Arrived(to.session, message))

    def _arrive_later(self, to: End, event: Event) -> None:
        other = to.other
        assert other is not None
        to.last = self.arrival(to.last, self.now + self._delay(to.node.name, other.node.name))
        self.at(to.last, self._arrive, to, to.node.life, event)

    def arrival(self, last: float, time: float) -> float:
        """When a message arrives that would alone at ``time``, on a connection."""
        return max(last, time)

    def _arrive(self, to: End, life: int, event: Event) -> None:
        if to.node.life == life and to.is_open:
            if self.now > to.until and type(event) is not Lost:
                return
            if type(event) is Lost:
                to.is_open = False
                to.node.sessions.pop(to.session, None)
                if not to.is_known:
                    if to.dialled is not None:
                        self.tell(to.node.name, DialFailed(to.dialled))
                    return
            elif type(event) is Opened:
                to.is_known = True
            self.tell(to.node.name, event)

    def _tell_alive(self, node: Node, life: int, event: Event) -> None:
        if node.life == life:
            self.tell(node.name, event)

    def _later_lost(self, end: End) -> None:
        """The other side hears of the end after all that was sent before."""
        if end.other is not None and end.other.is_open:
            self._arrive_later(end.other, Lost(end.other.session))

    def _break(self, end: End) -> None:
        """The other side loses the connection, and some of what was under way to it."""
        to = end.other
        if to is None or not to.is_open:
            return
        to.until = self.now + self.random.random() * max(0.0, to.last - self.now)
        self._later_lost(end)

    def cut(self, one: str, other: str) -> None:
        """Break all connections between two processes; they hear of it at different times."""
        for end in list(self.nodes[one].sessions.values()):
            if end.other is not None and end.other.node.name == other:
                for side in (end, end.other):
                    if side.other is not None and side.other.is_open:
                        side.until = self.now + self.random.random() * 0.01
                        self.at(
                            self.now + self.random.random() * 0.3,
                            self._arrive, side, side.node.life, Lost(side.session),
                        )  # fmt: skip

    def part(self, one: str, other: str) -> None:
        """Nothing passes between two processes until they are joined again."""
        self.apart.add(frozenset((one, other)))
        self.cut(one, other)

    def join(self, one: str, other: str) -> None:
        """Let it pass again."""
        self.apart.discard(frozenset((one, other)))

    def fill_disk(self, name: str, is_full: bool) -> None:
        """Let a disk run full, or free it."""
        self.nodes[name].is_disk_full = is_full
        self.tell(name, Disk(is_full))
