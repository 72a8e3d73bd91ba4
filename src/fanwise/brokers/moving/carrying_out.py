"""A plan carried out on a running network: clients asked to move, a few at a time.

Where clients are, and what room there is, is read off the brokers, not off any note of our own:
stopped and begun again, it goes on from where things are. The order keeps every broker within its
capacity (:mod:`.ordering`); a broker that has no room after all refuses, and nothing is lost.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fanwise.brokers.messages import AskSummary, ListClients, MoveClient, MoveEnded, Summary, View
from fanwise.brokers.messages import Clients as Listed
from fanwise.brokers.moving.ordering import Moving, Step
from fanwise.brokers.moving.summaries import BrokerSummary
from fanwise.brokers.network.asking import Asker, AskingError
from fanwise.brokers.network.endpoint import Admission
from fanwise.errors import InputError

HEARINGS = 4
"""Times that the end of a move is waited for, ten seconds each."""
TRIES = 2
"""Times that a client is asked, if it does not come to it for another reason than its own will."""
PAUSE = 0.05


@dataclass(frozen=True)
class Progress:
    """How far a plan is carried out.

    Attributes
    ----------
    moved
        Moves made, those to a third broker included.
    to_go
        Clients that are not where the plan has them.
    kept_back
        Clients that declined or could not move, and why.
    """

    moved: int
    to_go: int
    kept_back: Mapping[str, str]


@dataclass(frozen=True)
class Outcome:
    """What came of a plan.

    Attributes
    ----------
    stuck
        Clients for whom there was no room, even by way of a third broker.
    missing
        Clients of the plan that are nobody's.
    is_stopped
        Whether somebody stopped it before its end.
    """

    moved: int
    in_place: int
    kept_back: Mapping[str, str]
    stuck: tuple[str, ...]
    missing: tuple[str, ...]
    is_stopped: bool

    @property
    def is_done(self) -> bool:
        return not (self.kept_back or self.stuck or self.missing or self.is_stopped)


@dataclass
class Network:
    """Brokers that are there, and how a tool talks to them."""

    admission: Admission
    addresses: dict[str, str] = field(default_factory=dict)

    @classmethod
    async def find(cls, directory: str, admission: Admission) -> Network:
        """Ask the directory; brokers that are down are no part of it."""
        async with Asker(directory, admission) as asker:
            view = await asker.hear(View)
        rows = view.brokers
        return cls(admission, {row[0]: row[1] for row in rows if row[5]})

    async def ask(self, broker: str, question: Any, answer: type[Any]) -> Any:
        """Return a broker's answer."""
        async with Asker(self.addresses[broker], self.admission) as asker:
            asker.say(question)
            return await asker.hear(answer)

    async def ask_all(self, question: Any, answer: type[Any]) -> dict[str, Any]:
        """Return all brokers' answers."""
        names = sorted(self.addresses)
        answers = await asyncio.gather(*(self.ask(name, question, answer) for name in names))
        return dict(zip(names, answers, strict=True))

    async def move(self, home: str, client: str, to: str) -> str:
        """Have a client asked to move; return how that ended."""
        move = random.getrandbits(53) | 1
        async with Asker(self.addresses[home], self.admission) as asker:
            asker.say(MoveClient(move, client, to, "plan", 0.0))
            for _ in range(HEARINGS - 1):
                with suppress(AskingError):
                    return str((await asker.hear(MoveEnded)).outcome)
            return str((await asker.hear(MoveEnded)).outcome)


async def collect(directory: str, admission: Admission) -> list[BrokerSummary]:
    """Return the summaries of all brokers that are up."""
    network = await Network.find(directory, admission)
    told = await network.ask_all(AskSummary(), Summary)
    found = []
    for name, summary in told.items():
        if not summary.body:
            raise InputError(
                f"{name} makes no summaries; start it with --workload, which has the channels."
            )
        found.append(BrokerSummary.from_body(name, summary.version, summary.body))
    return found


class Carrying:
    """A plan on its way.

    Parameters
    ----------
    targets
        Broker of each client, by names.
    at_once
        Most clients on the way at a time.
    show
        Told of the progress after each move.
    """

    def __init__(
        self,
        network: Network,
        targets: Mapping[str, str],
        *,
        at_once: int,
        show: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self._network, self._targets = network, targets
        self._at_once, self._show = at_once, show
        self._is_stopped = False
        self._kept_back: dict[str, str] = {}
        self._tries: Counter[int] = Counter()
        self._moved = 0
        self._moving: Moving
        self._tasks: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """Begin no further move; those on the way come to their end."""
        self._is_stopped = True

    async def run(self) -> Outcome:
        """Move clients until all are where they belong, as far as that goes."""
        await self._look()
        while True:
            while not self._is_stopped and self._moving.num_moving < self._at_once:
                step = self._moving.next_step()
                if step is None:
                    break
                self._moving.begin(step)
                task = asyncio.create_task(self._move(step))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            if not self._tasks:
                break
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in [one for one in self._tasks if one.done()]:
                task.result()
            self._show(Progress(self._moved, len(self._away()), dict(self._kept_back)))
        stuck = [] if self._is_stopped else self._moving.waiting()
        missing = tuple(sorted(set(self._targets) - set(self._names)))
        return Outcome(
            self._moved,
            len(self._names) - len(self._away()),
            dict(self._kept_back),
            tuple(sorted(self._names[client] for client in stuck)),
            missing,
            self._is_stopped and bool(self._moving.waiting()),
        )

    async def _look(self) -> None:
        """Read off the brokers who is where, and what room there is."""
        listed: dict[str, Listed] = await self._network.ask_all(ListClients(), Listed)
        unknown = sorted(set(self._targets.values()) - set(listed))
        if unknown:
            raise InputError(
                f"{unknown[0]}: the plan has clients there, and it is not up; start it, or make a "
                "plan without it."
            )
        self._brokers = sorted(listed)
        ids = {name: broker for broker, name in enumerate(self._brokers)}
        homes = {row[0]: (ids[name], row[2]) for name in listed for row in listed[name].rows}
        self._names = sorted(name for name in homes if name in self._targets)
        others = sorted(set(homes) - set(self._names))
        # Those whom the plan does not know stay where they are and take their room.
        every = [*self._names, *others]
        at = np.array([homes[name][0] for name in every], dtype=np.int32)
        target = at.copy()
        target[: len(self._names)] = [ids[self._targets[name]] for name in self._names]
        demand = np.array([homes[name][1] for name in every], dtype=np.float64)
        capacity = np.array([listed[name].capacity for name in self._brokers], dtype=np.float64)
        self._target = target
        self._moving = Moving(demand, at, target, capacity)

    def _away(self) -> list[int]:
        return np.flatnonzero(self._moving.at != self._target).tolist()

    async def _move(self, step: Step) -> None:
        """Ask for a move and wait for its end."""
        home = self._brokers[int(self._moving.at[step.client])]
        name, to = self._names[step.client], self._brokers[step.broker]
        try:
            outcome = await self._network.move(home, name, to)
        except AskingError as error:
            outcome = await self._find_out(name, to, str(error))
        self._moving.end(step.client, has_moved=outcome == "moved")
        if outcome == "moved":
            self._moved += 1
            return
        self._tries[step.client] += 1
        if outcome.startswith("declined") or self._tries[step.client] >= TRIES:
            self._moving.give_up(step.client)
            self._kept_back[name] = outcome
        else:
            await asyncio.sleep(PAUSE)

    async def _find_out(self, name: str, to: str, why: str) -> str:
        """Return whether a client has moved although its old home no longer says so."""
        try:
            listed = await self._network.ask(to, ListClients(), Listed)
        except AskingError:
            return why
        return "moved" if any(row[0] == name for row in listed.rows) else why
