"""A broker's state on disk: what entries of its log make of it.

Nothing else changes this state, so that a broker that comes back is where it was: `State.apply` is
called with each entry when it is written, and with all of them when the log is read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from fanwise.brokers.messages import Point, Publication, Redirect, as_tuple
from fanwise.brokers.protocol.clients import HOME, LEAVING, PREPARED, Client
from fanwise.brokers.protocol.members import Member, Stream
from fanwise.brokers.protocol.ports import MakeMatcher

Entry = tuple[Any, ...]


class State:
    """Clients, brokers and routes.

    Attributes
    ----------
    version
        Counts changes of the routes to here.
    changed
        Told of each change of the routes to here: key, and the rectangle or None.
    """

    def __init__(self, matcher: MakeMatcher) -> None:
        self.birth = 0
        self.is_ready = False
        self.clients: dict[str, Client] = {}
        self.members: dict[str, Member] = {}
        self.load = 0.0
        self.version = 0
        self.key = 0
        self.routes: dict[int, tuple[Point, Point]] = {}
        self.covers: tuple[tuple[Point, Point], ...] = ()
        self.changed: Callable[[int, tuple[Point, Point] | None], None] = lambda key, to: None
        self._local = matcher()
        self._client_of_key: dict[int, Client] = {}
        self._remote = matcher()
        self._member_of_key: dict[int, str] = {}
        self._remote_key = 0
        self._appliers: dict[str, Callable[..., None]] = {
            name.removeprefix("_apply_"): getattr(self, name)
            for name in dir(self) if name.startswith("_apply_")
        }  # fmt: skip

    def apply(self, entry: Entry) -> None:
        """Change the state as the entry says."""
        self._appliers[entry[0]](*entry[1:])

    # ------------------------------------------------------------ questions

    def clients_at(self, point: Point) -> tuple[str, ...]:
        """Clients here that want the point, served or leaving, by name."""
        of = self._client_of_key
        keys = self._local.match(point)
        return tuple(sorted({of[key].name for key in keys})) if len(keys) else ()

    def brokers_at(self, point: Point) -> tuple[str, ...]:
        """Other brokers that want the point, by name."""
        of = self._member_of_key
        keys = self._remote.match(point)
        return tuple(sorted({of[key] for key in keys})) if len(keys) else ()

    def next_keys(self, count: int) -> range:
        """Keys for so many new subscriptions."""
        return range(self.key + 1, self.key + 1 + count)

    def _apply_all(self, *entries: Entry) -> None:
        for entry in entries:
            self.apply(entry)

    # ------------------------------------------------------------ this broker and others

    def _apply_born(self, birth: int) -> None:
        self.birth = birth

    def _apply_ready(self) -> None:
        self.is_ready = True

    def _apply_covers(self, covers: tuple[tuple[Point, Point], ...]) -> None:
        """Tell these rectangles, and of subscriptions only those that are in none of them."""
        self.covers = covers
        self.routes = {-number: cover for number, cover in enumerate(covers, 1)}
        for client in self.clients.values():
            if not client.is_withdrawn:
                for lo, hi, key in client.subscriptions.values():
                    self._advertise(lo, hi, key)
        self.version += 1

    def _apply_member(self, name: str, address: str, birth: int) -> None:
        member = self.members.get(name)
        if member is None:
            self.members[name] = Member(name, address, birth)
        else:
            member.address = address

    def _apply_gone(self, name: str) -> None:
        member = self.members.pop(name)
        for key, _, _ in member.routes.values():
            self._remote.remove(key)
            del self._member_of_key[key]

    def _apply_routes(
        self, name: str, version: int, is_full: bool, added: Iterable[Any], removed: Iterable[int]
    ) -> None:
        member = self.members[name]
        for key in list(member.routes) if is_full else removed:
            if key in member.routes:
                here = member.routes.pop(key)[0]
                self._remote.remove(here)
                del self._member_of_key[here]
        for key, lo, hi in added:
            if key not in member.routes:
                self._remote_key += 1
                member.routes[key] = (self._remote_key, lo, hi)
                self._remote.add(self._remote_key, lo, hi)
                self._member_of_key[self._remote_key] = name
        member.version = version

    # ------------------------------------------------------------ publications and streams

    def _give(self, names: Iterable[str], publication: Publication) -> None:
        for name in names:
            client = self.clients[name]
            if client.role == HOME:
                client.enqueue(publication)
            else:
                self._redirect(client, publication)

    def _redirect(self, client: Client, publication: Publication) -> None:
        member = self.members.get(client.target)
        if member is not None:
            member.stream.append(as_tuple(Redirect(client.name, publication)))

    def _apply_publish(
        self, publisher: str, sequence: int, point: Point, payload: bytes,
        brokers: Iterable[str], clients: Iterable[str],
    ) -> None:  # fmt: skip
        publication = (publisher, sequence, point, payload)
        self.clients[publisher].note_published(sequence)
        for name in brokers:
            self.members[name].stream.append(publication)
        self._give(clients, publication)

    def _apply_arrive(
        self, origin: str, number: int, publication: Publication, clients: Iterable[str]
    ) -> None:
        self.members[origin].received = number
        self._give(clients, publication)

    def _apply_taken(self, origin: str, number: int) -> None:
        self.members[origin].received = number

    def _apply_out(self, name: str, content: Entry) -> None:
        self.members[name].stream.append(content)

    def _apply_enqueue(self, name: str, publication: Publication) -> None:
        self._give((name,), publication)

    def _apply_confirm(self, name: str, number: int) -> None:
        if name in self.clients:
            self.clients[name].confirm(number)

    # ------------------------------------------------------------ subscriptions

    def _apply_subscribe(self, name: str, id: str, lo: Point, hi: Point, key: int) -> None:
        client = self.clients[name]
        if id in client.subscriptions:
            self._apply_unsubscribe(name, id)
        self._add(client, id, lo, hi, key)

    def _apply_unsubscribe(self, name: str, id: str) -> None:
        client = self.clients[name]
        _, _, key = client.subscriptions.pop(id)
        if client.role != PREPARED:
            self._unindex(key)
        self._withdraw(key)

    def _add(self, client: Client, id: str, lo: Point, hi: Point, key: int) -> None:
        self.key = max(self.key, key)
        client.subscriptions[id] = (lo, hi, key)
        if client.role != PREPARED:
            self._index(client, lo, hi, key)
        self._advertise(lo, hi, key)

    def _index(self, client: Client, lo: Point, hi: Point, key: int) -> None:
        self._local.add(key, lo, hi)
        self._client_of_key[key] = client

    def _unindex(self, key: int) -> None:
        self._local.remove(key)
        del self._client_of_key[key]

    def _advertise(self, lo: Point, hi: Point, key: int) -> None:
        for low, high in self.covers:
            if all(a <= b for a, b in zip(low, lo, strict=True)) and all(
                a >= b for a, b in zip(high, hi, strict=True)
            ):
                return
        if key not in self.routes:
            self.routes[key] = (lo, hi)
            self.version += 1
            self.changed(key, (lo, hi))

    def _withdraw(self, key: int) -> None:
        if self.routes.pop(key, None) is not None:
            self.version += 1
            self.changed(key, None)

    # ------------------------------------------------------------ clients that come and go

    def _apply_home(
        self, name: str, epoch: int, demand: float, published: int, received: int,
        subscriptions: Iterable[Any], sources: Iterable[tuple[str, int]],
    ) -> None:  # fmt: skip
        """Serve a client; what is here already of it stays. Subscriptions: id, lo, hi, key."""
        client = self.clients.get(name)
        if client is None:
            client = self.clients[name] = Client(name, HOME, epoch, demand)
        else:
            if client.role != LEAVING:
                self.load -= client.demand
            if client.role == PREPARED:
                waits = [entry for entry in client.queue if entry[0] > received]
                client.queue, client.number = deque(), 0
                for _, publication in waits:
                    client.enqueue(publication)
                for lo, hi, key in client.subscriptions.values():
                    self._index(client, lo, hi, key)
            else:
                client.confirm(received)
            if client.is_withdrawn:
                for lo, hi, key in client.subscriptions.values():
                    self._advertise(lo, hi, key)
        client.role, client.epoch, client.demand = HOME, epoch, demand
        client.move, client.target, client.ticket, client.upto = 0, "", 0, 0
        client.is_covered = client.is_withdrawn = False
        client.all_published(published)
        client.sources.update(sources)
        self.load += demand
        self._change_subscriptions(client, subscriptions)

    def _change_subscriptions(self, client: Client, subscriptions: Iterable[Any]) -> None:
        wanted = {id: (lo, hi, key) for id, lo, hi, key in subscriptions}
        for id in list(client.subscriptions):
            if id not in wanted:
                self._apply_unsubscribe(client.name, id)
        for id, (lo, hi, key) in wanted.items():
            if id not in client.subscriptions or client.subscriptions[id][2] != key:
                self._apply_subscribe(client.name, id, lo, hi, key)

    def _apply_resume(
        self, name: str, published: int, received: int, subscriptions: Iterable[Any]
    ) -> None:
        """The client is back on another connection."""
        client = self.clients[name]
        client.confirm(received)
        client.all_published(published)
        client.move, client.target, client.ticket, client.upto = 0, "", 0, 0
        self._change_subscriptions(client, subscriptions)

    def _apply_demand(self, name: str, demand: float) -> None:
        client = self.clients[name]
        self.load += demand - client.demand
        client.demand = demand

    def _apply_handing(self, name: str, move: int, target: str, ticket: int, upto: int) -> None:
        client = self.clients[name]
        client.move, client.target, client.ticket, client.upto = move, target, ticket, upto

    def _apply_leaving(self, name: str, epoch: int, target: str, skip: int) -> None:
        """Redirect all that waits after number ``skip``, and what comes."""
        client = self.clients[name]
        if client.role == HOME:
            self.load -= client.demand
        client.role, client.epoch, client.target = LEAVING, epoch, target
        client.move, client.ticket, client.is_covered = 0, 0, False
        for number, publication in client.queue:
            if number > skip:
                self._redirect(client, publication)
        client.queue.clear()

    def _apply_prepared(
        self, name: str, move: int, home: str, epoch: int, ticket: int, demand: float,
        published: int, subscriptions: Iterable[Any], queue: Iterable[tuple[int, Publication]],
    ) -> None:  # fmt: skip
        client = Client(name, PREPARED, epoch, demand, published=published)
        client.move, client.target, client.ticket = move, home, ticket
        client.queue.extend((number, publication) for number, publication in queue)
        self.clients[name] = client
        self.load += demand
        for id, lo, hi, key in subscriptions:
            self._add(client, id, lo, hi, key)

    def _apply_covered(self, name: str) -> None:
        self.clients[name].is_covered = True

    def _apply_withdrawn(self, name: str) -> None:
        client = self.clients[name]
        client.is_withdrawn = True
        for _, _, key in client.subscriptions.values():
            self._withdraw(key)
        # A version of its own, also where a covering rectangle leads here in any case: that others
        # know it tells what they sent before.
        self.version += 1
        self.changed(0, None)

    def _apply_source(self, name: str, source: str, epoch: int) -> None:
        self.clients[name].sources[source] = epoch

    def _apply_released(self, name: str, source: str) -> None:
        self.clients[name].sources.pop(source, None)

    def _apply_forgotten(self, name: str) -> None:
        client = self.clients[name]
        for id in list(client.subscriptions):
            self._apply_unsubscribe(name, id)
        if client.role != LEAVING:
            self.load -= client.demand
        del self.clients[name]

    # ------------------------------------------------------------ snapshots

    def snapshot(self) -> list[Entry]:
        """Entries that make this state of an empty one."""
        entries: list[Entry] = [("born", self.birth)]
        if self.is_ready:
            entries.append(("ready",))
        if self.covers:
            entries.append(("covers", self.covers))
        for member in self.members.values():
            routes = tuple((key, lo, hi) for key, (_, lo, hi) in member.routes.items())
            entries.append(("member", member.name, member.address, member.birth))
            if member.version >= 0:
                entries.append(("routes", member.name, member.version, True, routes, ()))
            stream = member.stream
            entries.append(
                ("streams", member.name, member.received, stream.first, stream.entries())
            )
        entries.extend(("client", *_values(client)) for client in self.clients.values())
        entries.append(("counts", self.version, self.key))
        return entries

    def _apply_counts(self, version: int, key: int) -> None:
        self.version, self.key = version, key

    def _apply_streams(self, name: str, received: int, first: int, entries: Iterable[Any]) -> None:
        member = self.members[name]
        member.received, member.stream = received, Stream(first, tuple(entries))

    def _apply_client(self, *values: Any) -> None:
        client = Client(*values[:4])
        (subscriptions, queue, client.number, client.published, skipped, sources, client.move,
         client.target, client.ticket, client.upto, client.is_covered,
         client.is_withdrawn) = values[4:]  # fmt: skip
        client.queue.extend(queue)
        client.skipped.update(skipped)
        client.sources.update(sources)
        self.clients[client.name] = client
        if client.role != LEAVING:
            self.load += client.demand
        for id, lo, hi, key in subscriptions:
            self._add(client, id, lo, hi, key)
            if client.is_withdrawn:
                self._withdraw(key)


def _values(client: Client) -> Entry:
    return (
        *(client.name, client.role, client.epoch, client.demand),
        tuple((id, *rest) for id, rest in client.subscriptions.items()),
        tuple(client.queue),
        *(client.number, client.published, tuple(sorted(client.skipped))),
        tuple(client.sources.items()),
        *(client.move, client.target, client.ticket, client.upto),
        *(client.is_covered, client.is_withdrawn),
    )
