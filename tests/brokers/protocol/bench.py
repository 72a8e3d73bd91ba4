"""A broker machine on a bench: peers are played by the test."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from fanwise.brokers.messages import (
    VERSION,
    Carry,
    Connect,
    Hello,
    LinkOpen,
    Message,
    Routes,
    RoutesKnown,
    View,
    Welcome,
    as_tuple,
    from_tuple,
)
from fanwise.brokers.protocol.broker import BrokerMachine
from fanwise.brokers.protocol.effects import Arrived, Close, Lost, Noted, Opened, Record, Send, Tick
from fanwise.brokers.protocol.ports import DirectRouter, PlainMatcher
from fanwise.brokers.protocol.settings import BrokerSettings

SETTINGS = BrokerSettings("b", "b:1", directory="d:1", dimensions=1, capacity=3, window=2)
ALL = ((0.0,), (1.0,))


class Bench:
    """One broker, ``b``, linked with those it is given."""

    def __init__(self, *others: str, settings: BrokerSettings = SETTINGS, router=None, **changed):
        self.settings = replace(settings, **changed)
        self.router = router or DirectRouter()
        self.now = 0.0
        self.numbers = count(1)
        self.log: list[tuple] = []
        self.effects: list = []
        self.received: dict[str, int] = {}
        self._start()
        rows = [(name, f"{name}:1", (), 10.0, 0.0, True, 7) for name in others]
        rows.append(("b", "b:1", (), 3.0, 0.0, True, self.machine.birth))
        self.view = View(1, tuple(sorted(rows)))
        self.directory = self.open("directory", "directory")
        self.say(self.directory, self.view)
        self.links = {name: self.link(name) for name in others}
        self.effects.clear()

    def _start(self) -> None:
        self.machine = BrokerMachine(
            self.settings, self.log, matcher=PlainMatcher, router=self.router, now=self.now, seed=5
        )
        self._keep(self.machine.start())

    def _keep(self, effects: list) -> list:
        for effect in effects:
            if isinstance(effect, Record):
                self.log.append(effect.entry)
        self.effects += effects
        return effects

    def restart(self) -> None:
        """Kill the broker and start it on its log; nobody is connected then."""
        self._start()

    # ------------------------------------------------------------ peers

    def give(self, event) -> list:
        return self._keep(self.machine.handle(self.now, event))

    def open(self, role: str, name: str) -> int:
        session = next(self.numbers)
        birth = 7 if role == "broker" else 0
        self.give(Opened(session, Hello(VERSION, role, name, "", birth, f"{name}:1")))
        return session

    def say(self, session: int, message: Message) -> list[Message]:
        """Say something to the broker; what it answers on this session."""
        return sent(self.give(Arrived(session, message)), session)

    def lose(self, session: int) -> list:
        return self.give(Lost(session))

    def wait(self, seconds: float) -> list:
        """Let time pass, step by step."""
        end, effects = self.now + seconds, []
        while (due := self.machine.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            effects += self.give(Tick())
        self.now = end
        return effects + self.give(Tick())

    def link(self, name: str, first: int = 1, knows: int | None = None) -> int:
        """A broker that has no routes, and knows all of this one's."""
        session = self.open("broker", name)
        version = self.machine.core.state.version if knows is None else knows
        self.say(session, LinkOpen(0, first, first - 1, version, 1))
        self.say(session, Routes(0, True, (), ()))
        self.received.setdefault(name, 0)
        return session

    def carry(self, name: str, message: Message) -> list[Message]:
        """Let another broker say something in its stream."""
        self.received[name] += 1
        return self.say(self.links[name], Carry(self.received[name], as_tuple(message)))

    def routes(self, name: str, *added: tuple) -> None:
        version = self.machine.core.state.members[name].version + 1
        self.say(self.links[name], Routes(version, False, added, ()))

    def know(self, name: str) -> list:
        """Let another broker confirm the routes of now."""
        version = self.machine.core.state.version
        return self.give(Arrived(self.links[name], RoutesKnown(version, self.received[name])))

    def client(self, name: str, *subscriptions: tuple, epoch: int = 1, **named) -> int:
        """A client that is welcome."""
        session = self.open("client", name)
        answer = self.say(session, connect(*subscriptions, epoch=epoch, **named))
        assert isinstance(answer[0], Welcome), answer
        return session

    # ------------------------------------------------------------ what came

    def notes(self, what: str) -> list[dict]:
        return [e.fields for e in self.effects if isinstance(e, Noted) and e.what == what]

    def closed(self) -> set[int]:
        return {effect.session for effect in self.effects if isinstance(effect, Close)}

    @property
    def clients(self):
        return self.machine.core.state.clients


def connect(
    *subscriptions, epoch=1, ticket=0, previous=(), home="", received=0, published=0, demand=1.0
) -> Connect:
    return Connect(epoch, ticket, previous, home, received, published, demand, subscriptions)


def sent(effects: list, session: int, kind: type | None = None) -> list[Message]:
    """What was sent on a session."""
    return [
        effect.message for effect in effects
        if isinstance(effect, Send) and effect.session == session
        and (kind is None or isinstance(effect.message, kind))
    ]  # fmt: skip


def carried(effects: list, session: int) -> list[Message]:
    """What was sent in the stream on a link."""
    return [from_tuple(message.content) for message in sent(effects, session, Carry)]
