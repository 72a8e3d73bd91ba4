"""What goes wrong in a run, and what clients do meanwhile, all drawn from the seed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from fanwise.brokers.messages import Point, RequestToMove
from fanwise.brokers.protocol.broker import BrokerMachine
from fanwise.brokers.protocol.client import ClientMachine, Policy
from fanwise.brokers.protocol.directory import DirectoryMachine
from fanwise.brokers.protocol.effects import Depart, Propose, PublishNew, Subscribe, Unsubscribe
from fanwise.brokers.protocol.ports import DirectRouter, PlainMatcher, Router
from fanwise.brokers.protocol.settings import BrokerSettings, ClientSettings, DirectorySettings
from fanwise.brokers.simulation.world import World

DIRECTORY = "directory"
TROUBLE_SECONDS = 8.0
"""Virtual seconds in which things go wrong; they begin after the first."""

BROKER = BrokerSettings(
    name="-",
    address="-",
    directory=DIRECTORY,
    dimensions=1,
    redirect_seconds=0.5,
    ask_seconds=0.5,
    replicate_seconds=0.5,
    prepared_seconds=2.0,
    resend_seconds=0.4,
    confirm_seconds=0.01,
    routes_seconds=0.01,
    dial_seconds=0.3,
    heartbeat_seconds=1.0,
    window=3,
    most_replicated=8,
)
CLIENT = ClientSettings(
    name="-",
    directory=DIRECTORY,
    connect_seconds=0.5,
    home_seconds=0.6,
    retry_seconds=0.1,
    confirm_seconds=0.03,
    confirm_count=3,
)


class LineRouter:
    """Sends along the line of brokers by name, so that those between are on the way."""

    def next_hops(
        self, here: str, point: Point, destinations: frozenset[str], alive: frozenset[str]
    ) -> dict[str, frozenset[str]]:
        hops: dict[str, frozenset[str]] = {}
        below = frozenset(name for name in destinations if name < here)
        above = destinations - below
        if below:
            hops[max(name for name in alive if name < here)] = below
        if above:
            hops[min(name for name in alive if name > here)] = above
        return hops


@dataclass(frozen=True)
class Machines:
    """What processes are made of; tests put broken ones in their place."""

    broker: type[BrokerMachine] = BrokerMachine
    client: type[ClientMachine] = ClientMachine
    directory: type[DirectoryMachine] = DirectoryMachine


@dataclass
class Scenario:
    """Who is there, and what happens to them.

    Attributes
    ----------
    world
        Where it happens.
    wanted
        Ids of the subscriptions that each client has asked for and not ended.
    """

    world: World
    random: Random
    machines: Machines = field(default_factory=Machines)
    brokers: list[str] = field(default_factory=list)
    clients: list[str] = field(default_factory=list)
    wanted: dict[str, list[str]] = field(default_factory=dict)
    rectangles: dict[str, tuple[float, float]] = field(default_factory=dict)
    count: int = 0
    born: int = 0

    # ------------------------------------------------------------ processes

    def populate(self) -> None:
        """Directory, brokers and clients."""
        draw = self.random
        self.world.add(
            DIRECTORY,
            "directory",
            lambda entries, now, seed: self.machines.directory(
                DirectorySettings(alive_seconds=2.5), entries, now=now, seed=seed
            ),
        )
        clients = draw.randint(2, 5)
        router: Router = LineRouter() if draw.random() < 0.5 else DirectRouter()
        settings = replace(
            BROKER,
            # Two of them, which is the least that stay, have room for all.
            capacity=float(draw.choice([(clients + 1) // 2, (clients + 3) // 2, clients])),
            covers=(((0.0,), (0.3,)),) if draw.random() < 0.2 else (),
        )
        for _ in range(draw.randint(2, 4)):
            self.add_broker(settings, router)
        for number in range(clients):
            self._add_client(f"c{number}")

    def add_broker(self, settings: BrokerSettings, router: Router) -> None:
        """One more broker, on an empty disk."""
        name = f"b{self.born}"
        self.born += 1
        self.brokers.append(name)
        mine = replace(settings, name=name, address=name)
        self._settings, self._router = settings, router
        self.world.note("room", name, mine.capacity)
        self.world.add(
            name,
            "broker",
            lambda entries, now, seed: self.machines.broker(
                mine, entries, matcher=PlainMatcher, router=router, now=now, seed=seed
            ),
        )

    def _add_client(self, name: str) -> None:
        settings = replace(CLIENT, name=name)
        policy = self._policy()
        self.clients.append(name)
        self.wanted[name] = []
        self.world.add(
            name,
            "client",
            lambda entries, now, seed: self.machines.client(
                settings, entries, policy=policy, now=now, seed=seed
            ),
        )

    def _policy(self) -> Policy:
        """Moves mostly; some clients never, or now and then."""
        willing = self.random.choice([1.0, 1.0, 0.7, 0.0])
        own = Random(self.random.getrandbits(32))

        def policy(now: float, request: RequestToMove) -> str:
            return "" if own.random() < willing else "does not want to"

        return policy

    # ------------------------------------------------------------ what happens

    def schedule(self) -> None:
        """Draw what happens when."""
        draw, world = self.random, self.world
        end = 1.0 + TROUBLE_SECONDS
        for client in self.clients:
            for _ in range(draw.randint(1, 2)):
                world.at(draw.uniform(0.0, 1.5), self.subscribe, client)
        for _ in range(draw.randint(10, 30)):
            world.at(draw.uniform(0.5, end), self.publish)
        for _ in range(draw.randint(0, 3)):
            # Many at once: queues, windows, orders.
            time = draw.uniform(1.0, end)
            for _ in range(draw.randint(3, 12)):
                world.at(time + draw.uniform(0.0, 0.05), self.publish)
        for _ in range(draw.randint(2, 8)):
            world.at(draw.uniform(1.0, end), self.propose)
        for _ in range(draw.randint(0, 4)):
            world.at(draw.uniform(1.0, end), self.busy_move)
        for _ in range(draw.randint(0, 2)):
            world.at(draw.uniform(1.0, end), self.crowd)
        for _ in range(draw.randint(0, 5)):
            world.at(draw.uniform(1.0, end), self.change_subscription)
        troubles: list[Any] = [
            *(self.crash, self.crash, self.cut, self.cut, self.part, self.part_client),
            *(self.slow_link, self.full_disk, self.join, self.depart, self.crash_directory),
            *(self.slow_disk, self.crash_in_move, self.cut_in_move),
        ]
        for _ in range(draw.randint(0, 5)):
            world.at(draw.uniform(1.0, end), draw.choice(troubles))

    def publish(self) -> None:
        self._publish(self.random.choice(self.clients), (round(self.random.random(), 3),))

    def _publish(self, client: str, point: Point) -> None:
        machine = self.world.nodes[client].machine
        assert isinstance(machine, ClientMachine)
        self.world.note("publish", client, machine.last_sequence + 1, point)
        self.world.tell(client, PublishNew(point, b"x"))

    def subscribe(self, client: str) -> None:
        self.count += 1
        id = f"s{self.count}"
        lo = round(self.random.random() * 0.8, 3)
        hi = round(min(1.0, lo + self.random.choice([0.1, 0.3, 0.8])), 3)
        self.wanted[client].append(id)
        self.rectangles[id] = (lo, hi)
        self.world.note("subscribe", client, id, (lo,), (hi,))
        self.world.tell(client, Subscribe(id, (lo,), (hi,)))

    def change_subscription(self) -> None:
        client = self.random.choice(self.clients)
        if self.wanted[client] and self.random.random() < 0.6:
            id = self.wanted[client].pop(self.random.randrange(len(self.wanted[client])))
            self.world.note("unsubscribe", client, id)
            self.world.tell(client, Unsubscribe(id))
        else:
            self.subscribe(client)

    def busy_move(self) -> None:
        """Let a client move while more comes for it than it takes at once."""
        client = self.random.choice(self.clients)
        now, draw = self.world.now, self.random
        if draw.random() < 0.5:
            self._slow(frozenset((client, self._broker())))
        for _ in range(draw.randint(6, 15)):
            self.world.at(now + draw.uniform(0.0, 0.1), self._publish_for, client)
        self.world.at(now + draw.uniform(0.0, 0.1), self._propose, client)
        if draw.random() < 0.3:
            self.world.at(now + draw.uniform(0.0, 0.3), draw.choice([self.crash, self.cut]))

    def _publish_for(self, client: str) -> None:
        """Publish what the client wants."""
        rectangles = [self.rectangles[id] for id in self.wanted[client]]
        if rectangles:
            lo, hi = self.random.choice(rectangles)
            point = (round(self.random.uniform(lo, hi), 3),)
            self._publish(self.random.choice(self.clients), point)

    def propose(self) -> None:
        """Let a home ask a client to move."""
        self._propose(self.random.choice(self.clients))

    def crowd(self) -> None:
        """Let all clients move to one broker."""
        to = self._broker()
        for client in self.clients:
            self._propose(client, to)

    def _propose(self, client: str, to: str = "") -> None:
        machine = self.world.nodes[client].machine
        assert isinstance(machine, ClientMachine)
        to = to or self._broker()
        if machine.home and to != machine.home:
            self.world.tell(machine.home, Propose(client, to, "a test", 1.0))

    # ------------------------------------------------------------ what goes wrong

    def _broker(self) -> str:
        return self.random.choice(self.brokers)

    def _away(self) -> float:
        return self.random.choice([0.05, 0.3, 1.0, 3.0])

    def crash(self) -> None:
        self._crash(self._broker())

    def crash_directory(self) -> None:
        self._crash(DIRECTORY)

    def _crash(self, name: str) -> None:
        self.world.kill(name)
        self.world.at(self.world.now + self._away(), self.world.start, name)

    def cut(self) -> None:
        names = self.random.sample(self.brokers, 2)
        if self.random.random() < 0.5:
            names[1] = self.random.choice(self.clients)
        self.world.cut(*names)

    def part(self) -> None:
        self._part(*self.random.sample(self.brokers, 2))

    def part_client(self) -> None:
        self._part(self.random.choice(self.clients), self._broker())

    def _part(self, one: str, other: str) -> None:
        self.world.part(one, other)
        self.world.at(self.world.now + self._away(), self.world.join, one, other)

    def slow_link(self) -> None:
        self._slow(frozenset(self.random.sample([*self.brokers, *self.clients], 2)))

    def _slow(self, pair: frozenset[str]) -> None:
        self.world.slow[pair] = self.random.choice([20.0, 100.0])
        self.world.at(self.world.now + self._away(), self._normal_link, pair)

    def _normal_link(self, pair: frozenset[str]) -> None:
        self.world.slow.pop(pair, None)

    def slow_disk(self) -> None:
        self.world.disk_seconds = 0.1
        self.world.at(self.world.now + self._away(), self._fast_disk)

    def _fast_disk(self) -> None:
        self.world.disk_seconds = 0.0005

    def full_disk(self) -> None:
        name = self.random.choice([*self.brokers, DIRECTORY])
        self.world.fill_disk(name, True)
        self.world.at(self.world.now + self._away(), self.world.fill_disk, name, False)

    def join(self) -> None:
        self.add_broker(self._settings, self._router)

    def depart(self) -> None:
        if len(self.brokers) > 2:
            name = self.brokers.pop(self.random.randrange(len(self.brokers)))
            self.world.says = self._hear
            self.world.tell(name, Depart())
            self.world.at(self.world.now + 1.0, self._insist, name)

    def _insist(self, name: str) -> None:
        """An operator who wants a broker gone says it again, should it have been killed since."""
        node = self.world.nodes[name]
        if not node.is_gone:
            self.world.tell(name, Depart())
            self.world.at(self.world.now + 1.0, self._insist, name)

    def _hear(self, name: str, effect: Any) -> None:
        if effect.what == "left":
            # Once the directory has heard of it.
            self.world.at(self.world.now + 1.0, self.world.remove, name)

    def crash_in_move(self) -> None:
        """Kill one of those who have to do with a move, while it is under way."""
        client = self.random.choice(self.clients)
        self._propose(client)
        now, draw = self.world.now, self.random
        self.world.at(now + draw.uniform(0.0, 0.1), self._crash, self._broker())
        self.world.at(now + draw.uniform(0.0, 0.1), self.publish)

    def cut_in_move(self) -> None:
        """Part the client from a broker while it moves."""
        client = self.random.choice(self.clients)
        self._propose(client)
        self.world.at(
            self.world.now + self.random.uniform(0.0, 0.05), self._part, client, self._broker()
        )
