"""What people ask: status, differences, single topics and subscribers, what-if."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanwise import __version__
from fanwise.arrays.tolerance import is_enough, most_within
from fanwise.errors import FanwiseError
from fanwise.planning.plan import certified_gap
from fanwise.select.explain.facts import TopicFacts
from fanwise.select.explain.sentences import reason
from fanwise.select.problem import Selection, served_topics
from fanwise.service.analyzer.deciding import mark_served
from fanwise.service.analyzer.silent import ByHand
from fanwise.service.analyzer.taking import to_satisfy, to_serve
from fanwise.service.api import bodies, page_bodies
from fanwise.service.api.curves import draw_curve
from fanwise.service.api.looking_up import LookingUp
from fanwise.service.api.network import describe_network
from fanwise.service.executor.errors import ConflictError, UnknownDecisionError
from fanwise.service.records import Decision, Role
from fanwise.service.store.rows import Application
from fanwise.workload.topic import TopicWorkload

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
        windows, decide = service.configuration.windows, service.configuration.decide
        newest = self._store.newest()
        return bodies.StatusBody(
            version=__version__,
            mode=executor.mode,
            ready=not troubles,
            troubles=troubles,
            parts=dict(service.health.__dict__),
            now=None if current is None else _weigh_now(current, newest),
            newest=None if newest is None else bodies.DecisionBody.of(newest),
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
            settings={
                "tau": decide.tau,
                "capacity": decide.capacity,
                "metric": decide.metric,
                "max_changes": decide.max_changes,
                "change_price": decide.change_price,
                "give_up": decide.give_up,
                "time_limit": decide.time_limit,
            },
            you=role,
        )

    def series(self, limit: int) -> page_bodies.Series:
        """Return the last decisions over time."""
        found = self._store.last_decisions(limit)
        before = [
            {} if one.previous is None else one.facts.get("effect", {}).get("before", {})
            for one in found
        ]
        return page_bodies.Series(
            end=[one.window.end for one in found],
            state=[one.state for one in found],
            value=[one.value for one in found],
            bound=[one.bound for one in found],
            in_force=[row.get("value") for row in before],
            used=[one.facts.get("used") for one in found],
            in_force_used=[row.get("used") for row in before],
            capacity=[one.facts.get("capacity") for one in found],
            changes=[one.changes for one in found],
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
        with self._one_at_a_time():
            begun = time.perf_counter()
            stated = self._state(decided.workload)
            problem = Selection(decided.workload, **stated | question.given())
            limit = self._service.configuration.server.what_if_seconds
            plan = problem.solve(time_limit=limit, proof=False)
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

    def curve(self, question: page_bodies.CurveQuestion) -> page_bodies.Curve:
        """Return value and bound against capacity in the last window."""
        decided = self._looking_up.last().decided
        with self._one_at_a_time():
            begun = time.perf_counter()
            asked = {name: value for name, value in question if value is not None}
            stated = self._state(decided.workload) | asked | {"capacity": "100%"}
            problem = Selection(decided.workload, **stated)
            points = draw_curve(problem, self._service.configuration.server.what_if_seconds)
        return page_bodies.Curve(
            window=bodies.WindowBody.of(decided.decision.window),
            tau=float(problem.tau),
            metric=problem.metric,
            everything=problem.limit,
            points=[
                page_bodies.CurvePoint(
                    capacity=point.parameters["capacity"],
                    value=float(point.value or 0.0),
                    bound=point.bound,
                    served=point.metrics["served"],
                )
                for point in points
            ],
            seconds=round(time.perf_counter() - begun, 3),
        )

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Solve in the block, unless as many do already as may."""
        if not self._solving.acquire(blocking=False):
            raise Busy("Another what-if question is being answered; try again in a moment.")
        try:
            yield
        finally:
            self._solving.release()

    def search(self, text: str, limit: int) -> page_bodies.Found:
        """Return names of topics and subscribers that contain a text, whatever its case."""
        workload = self._looking_up.last().decided.workload
        return page_bodies.Found(
            topics=_containing(workload.topic_names, text, limit),
            subscribers=_containing(workload.subscriber_names, text, limit),
        )

    def network(self) -> page_bodies.NetworkBody:
        """Return the offload network, if the configuration says where it is described."""
        folder = self._service.configuration.server.network
        if folder is None:
            return page_bodies.NetworkBody(configured=False)
        events = {}
        if self._store.newest() is not None:
            workload = self._looking_up.last().decided.workload
            names = workload.topic_names.to_pylist()
            events = dict(zip(names, workload.rates.tolist(), strict=True))
        return describe_network(folder, events)

    def topic(self, name: str) -> bodies.TopicBody:
        """Say why a topic is served or offloaded in the last window."""
        last = self._looking_up.last()
        decided = last.decided
        if decided.plan is None:
            raise ConflictError(f"The last window has no plan: {decided.decision.why}")
        facts = last.explain(decided.plan, name)
        pins = {pin.topic: pin.kind for pin in self._store.pins()}
        takes = None
        if not facts["served"]:
            problem = Selection.state_from(decided.workload, decided.plan.parameters)
            served = served_topics(decided.plan.tables["topics"], decided.workload.num_topics)
            found = to_serve(problem, served, last.topics.find(name))
            takes = bodies.ServingBody(**asdict(found))
        return bodies.TopicBody(
            topic=name,
            served=bool(facts["served"]),
            in_force=self._looking_up.is_in_force(name),
            window=bodies.WindowBody.of(decided.decision.window),
            facts={key: value for key, value in facts.items() if key != "topic"},
            pinned=pins.get(name),
            why=reason(TopicFacts(**facts)),
            takes=takes,
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
        problem = Selection(workload, tau=self._service.configuration.decide.tau, capacity="100%")
        rows: list[dict[str, Any]] = [
            {
                "topic": workload.topic_names[int(topic)].as_py(),
                "events": float(workload.rates[topic]),
                "cost": float(problem.cost[topic]),
                "served": bool(served[topic]),
            }
            for topic in topics[:MOST_TOPICS]
        ]
        takes = to_satisfy(problem, served, number)
        return bodies.SubscriberBody(
            subscriber=name,
            window=bodies.WindowBody.of(decided.decision.window),
            needs=needs,
            gets=gets,
            satisfied=is_enough(gets, needs),
            topics=rows,
            takes=[] if takes is None else list(takes.topics),
            takes_cost=None if takes is None else takes.cost,
        )

    def _state(self, workload: TopicWorkload) -> dict[str, Any]:
        """Return the question as it is configured, with what people have fixed."""
        settings, by_hand = self._service.configuration.decide, self._find_by_hand()
        there = set(workload.topic_names.to_pylist()) if by_hand else set()
        return {
            "tau": settings.tau,
            "capacity": settings.capacity,
            "metric": settings.metric,
            "pin": sorted(by_hand.pin & there),
            "exclude": sorted(by_hand.exclude & there),
        }

    def _find_by_hand(self) -> ByHand:
        """Return the topics that the configuration and people have fixed."""
        settings, pins = self._service.configuration.decide, self._store.pins()
        return ByHand.of(
            [*settings.pin, *(one.topic for one in pins if one.kind == "pin")],
            [*settings.exclude, *(one.topic for one in pins if one.kind == "exclude")],
        )


def _weigh_now(current: Decision, newest: Decision | None) -> bodies.NowBody | None:
    """Return what is in force on the newest window that it was weighed on."""
    facts, value = current.facts, current.value
    window, bound, before = current.window, current.bound, facts
    if newest is not None and newest.number != current.number and newest.previous == current.hash:
        before = newest.facts.get("effect", {}).get("before", {})
        facts, value = newest.facts, before.get("value", 0.0)
        window, bound = newest.window, newest.bound
    if not facts.keys() >= _OF_NOW or not before.keys() >= {"satisfied", "used", "served"}:
        return None
    is_within = before["used"] <= most_within(facts["capacity"])
    return bodies.NowBody(
        window=bodies.WindowBody.of(window),
        satisfied=before["satisfied"],
        subscribers=facts["subscribers"],
        value=value,
        bound=bound,
        gap=certified_gap(value, bound, is_feasible=is_within),
        used=before["used"],
        capacity=facts["capacity"],
        served=before["served"],
        topics=facts["topics"],
    )


_OF_NOW = {"subscribers", "capacity", "topics"}


def _containing(names: pa.Array, text: str, limit: int) -> list[str]:
    """Return names that contain a text; those that begin with it first, then in their order."""
    found = names.filter(pc.match_substring(names, text, ignore_case=True))
    begins = pc.starts_with(found, text, ignore_case=True)
    first = found.filter(begins).slice(0, limit).to_pylist()
    rest = found.filter(pc.invert(begins)).slice(0, limit - len(first)).to_pylist()
    return [*first, *rest]
