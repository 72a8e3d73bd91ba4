"""What people ask: status, differences, single topics and subscribers, what-if."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from fanwise import __version__
from fanwise.arrays.tolerance import is_enough
from fanwise.errors import FanwiseError
from fanwise.select.problem import Selection, served_topics
from fanwise.service.analyzer.deciding import mark_served
from fanwise.service.analyzer.silent import ByHand
from fanwise.service.api import bodies
from fanwise.service.api.looking_up import LookingUp
from fanwise.service.executor.errors import ConflictError, UnknownDecisionError
from fanwise.service.records import Decision, Role
from fanwise.service.store.rows import Application

if TYPE_CHECKING:
    from fanwise.service.supervisor import Supervisor

MOST_TOPICS = 1000
"""Topics of a subscriber that are listed."""


class Busy(FanwiseError):  # noqa: N818 - it passes
    """As many questions are being answered as may be at a time."""


class Questions:
    """Answers about a running service."""

    def __init__(self, service: Supervisor) -> None:
        self._service, self._store = service, service.store
        at_once = service.configuration.server.what_if_at_once
        self._solving = threading.BoundedSemaphore(at_once)
        self._looking_up = LookingUp(service)

    @staticmethod
    def now() -> int:
        """Return microseconds since the epoch."""
        return time.time_ns() // 1000

    def status(self, role: Role | None) -> bodies.StatusBody:
        """Return how the service is."""
        service = self._service
        executor, found = service.executor.status(), service.input()
        current, pending = self._store.current(), self._store.pending()
        troubles = service.health.troubles
        windows = service.configuration.windows
        newest = self._store.newest()
        return bodies.StatusBody(
            version=__version__,
            mode=executor.mode,
            ready=not troubles,
            troubles=troubles,
            in_force=None if current is None else bodies.DecisionBody.of(current),
            pending=None if pending is None else bodies.DecisionBody.of(pending),
            epoch=executor.epoch,
            applying=[bodies.ApplyingBody.of(one, executor.waiting) for one in executor.applying],
            outputs=[
                bodies.OutputBody(**asdict(one), is_behind=one.name in executor.unaware)
                for one in executor.outputs
            ],
            dead_letters=self._store.count_dead_letters(),
            input=bodies.InputBody(**asdict(found)),
            windows=bodies.WindowsBody(
                length=windows.length,
                slide=windows.slide or windows.length,
                lateness=windows.lateness,
                last=None if newest is None else bodies.WindowBody.of(newest.window),
            ),
            decisions=self._store.count_decisions(),
            you=role,
        )

    def find(self, hash: str) -> Decision:
        """Return a decision by its hash."""
        decision = self._store.find(hash)
        if decision is None:
            raise UnknownDecisionError(hash)
        return decision

    def diff(self, hash: str, limit: int, offset: int) -> bodies.DiffBody:
        """Return what a decision switches, a page of it."""
        decision = self.find(hash)
        changes, total = self._store.changes_of(decision.number, offset, limit)
        end = offset + len(changes)
        on = int(decision.facts.get("switched_on", 0))
        return bodies.DiffBody(
            hash=hash,
            previous=decision.previous,
            on=on,
            off=decision.changes - on,
            changes=list(map(bodies.ChangeBody.of, changes)),
            next=end if changes and end < total else None,
        )

    def applied(self, hash: str, application: Application, seconds: float) -> bodies.Applied:
        """Return what an application came to after some seconds at most."""
        done = self._service.executor.wait(application.epoch, seconds)
        return bodies.Applied(
            decision=bodies.DecisionBody.of(self.find(hash)),
            epoch=done.epoch,
            state=done.state,
            why=done.why,
        )

    def what_if(self, question: bodies.WhatIf) -> bodies.WhatIfAnswer:
        """Solve the last window with other parameters, within the time that is allowed."""
        decided = self._looking_up.last().decided
        if not self._solving.acquire(blocking=False):
            raise Busy("Another what-if question is being answered; try again in a moment.")
        try:
            begun = time.perf_counter()
            settings = self._service.configuration.decide
            by_hand = self._find_by_hand()
            there = set(decided.workload.topic_names.to_pylist()) if by_hand else set()
            stated = {
                "tau": settings.tau,
                "capacity": settings.capacity,
                "metric": settings.metric,
                "pin": sorted(by_hand.pin & there),
                "exclude": sorted(by_hand.exclude & there),
            }
            problem = Selection(decided.workload, **stated | question.given())
            limit = self._service.configuration.server.what_if_seconds
            plan = problem.solve(time_limit=limit, proof=False)
        finally:
            self._solving.release()
        served = served_topics(plan.tables["topics"], decided.workload.num_topics)
        now = mark_served(decided.workload, self._service.in_force())
        return bodies.WhatIfAnswer(
            window=bodies.WindowBody.of(decided.decision.window),
            tau=float(problem.tau),
            capacity=problem.limit,
            metric=problem.metric,
            value=plan.objective,
            bound=plan.bound,
            gap=plan.gap,
            served=int(served.sum()),
            changes=int(np.count_nonzero(served != now)),
            seconds=round(time.perf_counter() - begun, 3),
        )

    def topic(self, name: str) -> bodies.TopicBody:
        """Say why a topic is served or offloaded in the last window."""
        last = self._looking_up.last()
        decided = last.decided
        if decided.plan is None:
            raise ConflictError(f"The last window has no plan: {decided.decision.why}")
        facts = last.explain(decided.plan, name)
        pins = {pin.topic: pin.kind for pin in self._store.pins()}
        return bodies.TopicBody(
            topic=name,
            served=bool(facts["served"]),
            in_force=self._looking_up.is_in_force(name),
            window=bodies.WindowBody.of(decided.decision.window),
            facts={key: value for key, value in facts.items() if key != "topic"},
            pinned=pins.get(name),
        )

    def subscriber(self, name: str) -> bodies.SubscriberBody:
        """Say what a subscriber wants in the last window, and what it gets."""
        last = self._looking_up.last()
        decided, workload = last.decided, last.decided.workload
        number = last.subscribers.find(name)
        indptr, indices = workload.interests
        topics = indices[indptr[number] : indptr[number + 1]]
        served = np.zeros(workload.num_topics, dtype=bool)
        if decided.plan is not None:
            served = served_topics(decided.plan.tables["topics"], workload.num_topics)
        needs = float(workload.demand(self._service.configuration.decide.tau)[number])
        gets = float(workload.rates[topics[served[topics]]].sum())
        rows: list[dict[str, Any]] = [
            {
                "topic": workload.topic_names[int(topic)].as_py(),
                "events": float(workload.rates[topic]),
                "served": bool(served[topic]),
            }
            for topic in topics[:MOST_TOPICS]
        ]
        return bodies.SubscriberBody(
            subscriber=name,
            window=bodies.WindowBody.of(decided.decision.window),
            needs=needs,
            gets=gets,
            satisfied=is_enough(gets, needs),
            topics=rows,
        )

    def _find_by_hand(self) -> ByHand:
        """Return the topics that the configuration and people have fixed."""
        settings, pins = self._service.configuration.decide, self._store.pins()
        return ByHand.of(
            [*settings.pin, *(one.topic for one in pins if one.kind == "pin")],
            [*settings.exclude, *(one.topic for one in pins if one.kind == "exclude")],
        )
