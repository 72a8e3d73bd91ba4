"""What a network of brokers owes its clients, from a plain trace of what was asked, got and noted.

A trace is a list of ``(time, what, who, …)``. Of clients: subscribe (id, lo, hi), settled (ids,
everywhere), unsubscribe (id), unregistered (id), publish (sequence, point), published, rejected,
handed (publisher, sequence, point). Of brokers: room (capacity), prepared, dropped, home, away,
expired. Nothing else of a run is known here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

NEVER = float("inf")


@dataclass
class Subscription:
    lo: tuple
    hi: tuple
    settled: float = NEVER
    ended: float = NEVER
    gone: float = NEVER

    def has(self, point: tuple) -> bool:
        return all(a <= x <= b for a, x, b in zip(self.lo, point, self.hi, strict=True))


@dataclass
class Publication:
    time: float
    point: tuple
    answer: str = ""


@dataclass
class Story:
    """All that clients asked for and got."""

    subscriptions: dict = field(default_factory=dict)
    publications: dict = field(default_factory=dict)
    handed: dict = field(default_factory=dict)
    wrong: list = field(default_factory=list)


def read(trace: list) -> Story:
    story = Story()
    for time, what, who, *rest in trace:
        if what == "subscribe":
            id, lo, hi = rest
            story.subscriptions[who, id] = Subscription(lo, hi)
        elif what == "settled" and rest[0]["everywhere"]:
            for id in rest[0]["ids"]:
                one = story.subscriptions[who, id]
                one.settled = min(one.settled, time)
        elif what == "unsubscribe":
            story.subscriptions[who, rest[0]].ended = time
        elif what == "unregistered":
            story.subscriptions[who, rest[0]["id"]].gone = time
        elif what == "publish":
            story.publications[who, rest[0]] = Publication(time, rest[1])
        elif what in ("published", "rejected"):
            story.publications[who, rest[0]["sequence"]].answer = what
        elif what == "handed":
            publisher, sequence, point = rest
            if (who, publisher, sequence) in story.handed:
                story.wrong.append(f"doubled: {publisher} {sequence} came to {who} twice")
            story.handed[who, publisher, sequence] = (time, point)
        elif what == "protocol":
            story.wrong.append(f"protocol: {who}: {rest[0]['why']}")
    return story


def deliveries(story: Story) -> list:
    """What was lost, and what came to somebody who did not want it."""
    wrong = []
    clients = {client for client, _ in story.subscriptions}
    for (publisher, sequence), publication in story.publications.items():
        if not publication.answer:
            wrong.append(f"unanswered: {publisher} {sequence}")
        for client in clients:
            mine = [
                one for (who, _), one in story.subscriptions.items()
                if who == client and one.has(publication.point)
            ]  # fmt: skip
            came = story.handed.get((client, publisher, sequence))
            # Settled before it was published, and kept ever since.
            due = any(one.settled < publication.time and one.ended == NEVER for one in mine)
            if came is None and due and publication.answer == "published":
                wrong.append(f"lost: {publisher} {sequence} did not come to {client}")
            if came is not None and all(one.gone < publication.time for one in mine):
                wrong.append(f"unwanted: {publisher} {sequence} came to {client}")
    for (client, publisher, sequence), (_, point) in story.handed.items():
        sent = story.publications.get((publisher, sequence))
        if sent is None or sent.point != point:
            wrong.append(f"invented: {publisher} {sequence} came to {client}")
    return wrong


def homes(trace: list) -> list:
    """Two homes of one epoch, and brokers that keep more room than they have."""
    wrong = []
    home_of: dict = {}
    rooms: dict = {}
    kept: dict = {}
    for _, what, who, *rest in trace:
        if what == "room":
            rooms[who] = rest[0]
            kept[who] = {}
        if who not in kept or what not in (
            "prepared", "home", "dropped", "away", "expired", "forgotten"
        ):  # fmt: skip
            continue
        client = rest[0]["client"]
        if what == "home":
            epoch = rest[0]["epoch"]
            if home_of.setdefault((client, epoch), who) != who:
                there = home_of[client, epoch]
                wrong.append(f"two homes: {client} at {there} and {who} at epoch {epoch}")
        if what in ("prepared", "home"):
            kept[who][client] = rest[0]["demand"]
            if sum(kept[who].values()) > rooms[who] + 1e-9:
                wrong.append(f"no room: {who} keeps {sum(kept[who].values()):g} of {rooms[who]:g}")
        else:
            kept[who].pop(client, None)
    return wrong


def served(trace: list) -> list:
    """Clients that were welcomed by a broker which, by then, was not or no longer their home."""
    wrong = []
    best: dict = {}
    for _, what, who, *rest in trace:
        if what == "welcome":
            epoch = rest[0]["epoch"]
            if epoch < best.get(who, (0, ""))[0]:
                wrong.append(f"epoch: {who} was welcomed at {epoch} after {best[who]}")
            if epoch == best.get(who, (0, ""))[0] and rest[0]["broker"] != best[who][1]:
                wrong.append(f"epoch: {who} was welcomed twice at {epoch}")
            best[who] = (epoch, rest[0]["broker"])
    return wrong


def violations(trace: list, remains: tuple = ()) -> list:
    """All that is wrong with a run; empty if nothing is."""
    story = read(trace)
    return [
        *story.wrong,
        *deliveries(story),
        *homes(trace),
        *served(trace),
        *(f"remains: {remain}" for remain in remains),
    ]
