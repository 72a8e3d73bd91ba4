"""What to serve after a window: solved, checked, compared with what is in force, explained."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.errors import InfeasibleError
from fanwise.formatting import number, percent
from fanwise.planning.plan import Plan
from fanwise.select.problem import Selection, served_topics
from fanwise.select.stability.previous import Previous
from fanwise.service.analyzer.effects import weigh_effect
from fanwise.service.analyzer.forecasting import History, foretell
from fanwise.service.analyzer.pricing import price_served
from fanwise.service.analyzer.reasons import list_changes
from fanwise.service.analyzer.workloads import make_workload, traffic_of
from fanwise.service.configuration.model import Decide, Price
from fanwise.service.records import Change, ClosedWindow, Decision, Window
from fanwise.workload.topic import TopicWorkload

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class InForce:
    """The decision that is obeyed now: its hash, and the names of the topics it serves."""

    hash: str
    served: pa.Array


@dataclass(frozen=True, eq=False)
class Decided:
    """A decision with all that it rests on.

    Attributes
    ----------
    changes
        Against what is in force, with reasons.
    served
        Names of the topics to serve.
    plan
        None where no plan exists.
    kept
        What the selection in force is worth on the same window; None where nothing is in force.
    hold
        Why nothing should be switched, with the numbers; None where the gain is large enough.
    """

    decision: Decision
    changes: list[Change]
    served: pa.Array
    workload: TopicWorkload
    plan: Plan | None
    kept: float | None = None
    hold: str | None = None


@dataclass
class Stopwatch:
    """Seconds by part."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add the time of the block to a part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.seconds[part] = round(self.seconds.get(part, 0.0) + spent, 6)


class Analyzer:
    """Decides window by window."""

    def __init__(
        self,
        settings: Decide,
        history: History,
        *,
        price: Price | None = None,
        now: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        """Begin with settings.

        Parameters
        ----------
        history
            Gives earlier windows to forecasts.
        now
            The time in microseconds since the epoch.
        """
        self._settings, self._history, self._price, self._now = settings, history, price, now

    def decide(
        self,
        closed: ClosedWindow,
        in_force: InForce | None,
        *,
        pin: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> Decided:
        """Return the decision for a window.

        Parameters
        ----------
        in_force
            What is obeyed now; changes are counted against it.
        pin, exclude
            Topics fixed by hand while the service runs, beside those of the configuration.
        """
        settings, watch = self._settings, Stopwatch()
        with watch.timed("build"):
            foretold = foretell(settings.forecast, closed.window, traffic_of(closed), self._history)
            workload = make_workload(
                foretold, closed.pairs, closed.window, message_bytes=settings.message_bytes
            )
        fixed = fix_topics(workload, [*settings.pin, *pin], [*settings.exclude, *exclude])
        was_served = mark_served(workload, in_force)
        try:
            with watch.timed("solve"):
                problem = self._pose(workload, in_force, was_served, *fixed)
                plan = problem.solve(time_limit=settings.time_limit, gap=settings.gap)
        except InfeasibleError as error:
            return self._without_plan(closed.window, workload, in_force, str(error), watch)
        with watch.timed("verify"):
            plan.verify()
        served = served_topics(plan.tables["topics"], workload.num_topics)
        with watch.timed("explain"):
            changes = list_changes(problem, was_served, served)
            effect = weigh_effect(problem, was_served, served)
        facts = self._facts(problem, plan, served)
        facts["effect"] = effect
        facts["switched_on"] = sum(change.served for change in changes)
        if self._price is not None:
            with watch.timed("price"):
                facts["price"] = price_served(
                    problem, served, self._price, time_limit=settings.time_limit
                )
        kept = None if in_force is None else effect["before"]["value"]
        hold, why = self._weigh(problem, was_served, kept, plan.objective, len(changes))
        decision = Decision(
            hash=plan.id,
            window=closed.window,
            state="pending",
            value=plan.objective,
            bound=plan.bound,
            gap=plan.gap,
            changes=len(changes),
            workload=workload.hash,
            made_at=self._now(),
            previous=None if in_force is None else in_force.hash,
            forecast=settings.forecast.kind,
            predicted=plan.objective,
            facts=facts,
            seconds=dict(watch.seconds),
            why=why,
        )
        names = workload.topic_names.filter(pa.array(served))
        return Decided(decision, changes, names, workload, plan, kept, hold)

    def delivered_value(self, closed: ClosedWindow, served: pa.Array) -> float:
        """Return what serving topics was worth on what really came in a window."""
        settings = self._settings
        workload = make_workload(
            traffic_of(closed), closed.pairs, closed.window, message_bytes=settings.message_bytes
        )
        problem = Selection(
            workload, tau=settings.tau, capacity=settings.capacity, metric=settings.metric
        )
        return problem.value(_is_named(workload.topic_names, served))

    def _pose(
        self,
        workload: TopicWorkload,
        in_force: InForce | None,
        was_served: Mask,
        pin: list[str],
        exclude: list[str],
    ) -> Selection:
        settings = self._settings
        limits: dict[str, Any] = {}
        if in_force is not None:
            vanished = len(in_force.served) - int(was_served.sum())
            limits["previous"] = Previous(in_force.hash, was_served, vanished)
            limits["max_changes"] = settings.max_changes
            limits["change_price"] = settings.change_price
        return Selection(
            workload,
            tau=settings.tau,
            capacity=settings.capacity,
            metric=settings.metric,
            pin=pin,
            exclude=exclude,
            **limits,
        )

    def _facts(self, problem: Selection, plan: Plan, served: Mask) -> dict[str, Any]:
        workload = problem.workload
        return {
            "topics": workload.num_topics,
            "subscribers": workload.num_subscribers,
            "pairs": workload.num_pairs,
            "served": int(served.sum()),
            "satisfied": plan.metrics["satisfied"],
            "used": plan.metrics["used"],
            "capacity": problem.limit,
            "everything": float(problem.cost.sum()),
            "tau": self._settings.tau,
            "metric": problem.metric,
            "stopped": plan.stopped,
            "proof": None if plan.proof is None else plan.proof.kind,
        }

    def _weigh(
        self, problem: Selection, was_served: Mask, kept: float | None, value: float, changes: int
    ) -> tuple[str | None, str]:
        """Say why switching is not worth it, if so, and what else there is to say of the gain."""
        least = self._settings.least_gain
        if kept is None or not changes or least == 0:
            return None, ""
        used = float(problem.cost[was_served].sum())
        if not problem.fits(used):
            return None, (
                f"what is in force would need {number(used)} of {number(problem.limit)} now"
            )
        gain = (value - kept) / kept if kept > 0 else float(value > 0)
        if gain >= least:
            return None, f"gains {percent(gain)} against what is in force"
        return (
            f"would gain {percent(gain)} against what is in force, less than the "
            f"{percent(least)} that switches must be worth"
        ), ""

    def _without_plan(
        self,
        window: Window,
        workload: TopicWorkload,
        in_force: InForce | None,
        why: str,
        watch: Stopwatch,
    ) -> Decided:
        """Return the decision that there is none to make: what is in force stays."""
        mark = f"no plan {window.start} {window.end} {workload.hash}"
        decision = Decision(
            hash=hashlib.sha256(mark.encode()).hexdigest(),
            window=window,
            state="failed",
            value=0.0,
            bound=None,
            gap=None,
            changes=0,
            workload=workload.hash,
            made_at=self._now(),
            previous=None if in_force is None else in_force.hash,
            forecast=self._settings.forecast.kind,
            seconds=dict(watch.seconds),
            why=why,
        )
        return Decided(decision, [], pa.array([], pa.string()), workload, None)


def mark_served(workload: TopicWorkload, in_force: InForce | None) -> Mask:
    """Return which topics of a workload are served now."""
    if in_force is None:
        return np.zeros(workload.num_topics, dtype=bool)
    return _is_named(workload.topic_names, in_force.served)


def fix_topics(
    workload: TopicWorkload, pin: Iterable[str], exclude: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Return the topics to pin and to exclude, of those that the window has.

    A topic that is both is excluded: what was switched off by hand must not come back.
    """
    on, off = set(pin), set(exclude)
    there = set(workload.topic_names.to_pylist()) if on or off else set()
    return sorted((on - off) & there), sorted(off & there)


def _is_named(names: pa.Array, some: pa.Array) -> Mask:
    found = pc.is_in(names, value_set=some.cast(names.type))
    return np.asarray(found, dtype=bool)
