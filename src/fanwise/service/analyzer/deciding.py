"""What to serve after a window: solved, checked, compared with what is in force, explained."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
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
from fanwise.service.analyzer.ahead import look_ahead
from fanwise.service.analyzer.effects import weigh_effect
from fanwise.service.analyzer.forecasting import History, foretell
from fanwise.service.analyzer.pricing import price_served
from fanwise.service.analyzer.reasons import list_changes
from fanwise.service.analyzer.silent import ByHand, InForce, Silent, find_silent
from fanwise.service.analyzer.steadying import Steadiness, first_price, read_price, topic_prices
from fanwise.service.analyzer.workloads import Traffic, make_workload, traffic_of
from fanwise.service.configuration.model import Decide, Price
from fanwise.service.records import Change, ClosedWindow, Decision, Window
from fanwise.workload.topic import TopicWorkload

Mask = npt.NDArray[np.bool_]


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
    must
        Why what is in force cannot stay, whatever the gain; None where it can.
    """

    decision: Decision
    changes: list[Change]
    served: pa.Array
    workload: TopicWorkload
    plan: Plan | None
    kept: float | None = None
    hold: str | None = None
    must: str | None = None


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
        self._counted: tuple[ClosedWindow, TopicWorkload] | None = None

    def decide(
        self,
        closed: ClosedWindow,
        in_force: InForce | None,
        *,
        pin: Iterable[str] = (),
        exclude: Iterable[str] = (),
        before: Mapping[str, Any] | None = None,
    ) -> Decided:
        """Return the decision for a window.

        Parameters
        ----------
        in_force
            What is obeyed now; changes are counted against it.
        pin, exclude
            Topics fixed by hand while the service runs, beside those of the configuration.
        before
            Facts of the decision before, which say what a switch must gain now.
        """
        settings, watch = self._settings, Stopwatch()
        with watch.timed("build"):
            foretold = foretell(settings.forecast, closed.window, traffic_of(closed), self._history)
            workload = (
                self._workload_of(closed)
                if foretold.kind == "last"
                else self._make_workload(foretold.traffic, closed)
            )
        by_hand = ByHand.of([*settings.pin, *pin], [*settings.exclude, *exclude])
        silent = find_silent(workload, in_force, by_hand)
        was_served = mark_served(workload, in_force)
        try:
            with watch.timed("solve"):
                problem = self._pose(workload, in_force, was_served, by_hand)
            steadiness = None
            if settings.give_up is not None and in_force is not None:
                with watch.timed("look_ahead"):
                    problem, steadiness = self._steady(problem, closed, before or {})
            with watch.timed("solve"):
                plan = problem.solve(
                    time_limit=settings.time_limit,
                    gap=settings.gap,
                    seed=_seed(closed.window, workload, silent),
                )
        except InfeasibleError as error:
            return self._without_plan(closed.window, workload, in_force, str(error), watch)
        if plan.stopped == "interrupted":
            # Whoever ends the service does not wait for a decision, and gets none made in haste.
            raise KeyboardInterrupt
        with watch.timed("verify"):
            plan.verify()
        served = served_topics(plan.tables["topics"], workload.num_topics)
        with watch.timed("explain"):
            changes = list_changes(problem, was_served, served)
            effect = weigh_effect(problem, was_served, served)
        silent = silent.within(settings.max_changes, len(changes))
        changes += silent.changes()
        facts = self._facts(problem, plan, served)
        facts["effect"] = effect
        facts["switched_on"] = sum(change.served for change in changes)
        facts["silent"] = len(silent.stay)
        if steadiness is not None:
            facts["stability"] = steadiness.after(plan.metrics)
        if foretold.lacks:
            facts["forecast_lacks"] = foretold.lacks
        if self._price is not None:
            with watch.timed("price"):
                facts["price"] = price_served(
                    problem, served, self._price, time_limit=settings.time_limit
                )
        kept = None if in_force is None else effect["before"]["value"]
        must = None if in_force is None else self._find_must(problem, was_served, silent)
        hold, why = (None, must) if must else self._weigh(kept, plan.objective, len(changes))
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
            forecast=foretold.kind,
            predicted=plan.objective,
            facts=facts,
            seconds=dict(watch.seconds),
            why=why,
        )
        names = workload.topic_names.filter(pa.array(served)).to_pylist()
        every = pa.array(sorted([*names, *silent.stay]), pa.string())
        return Decided(decision, changes, every, workload, plan, kept, hold, must)

    def delivered_value(self, closed: ClosedWindow, served: pa.Array) -> float:
        """Return what serving topics was worth on what really came in a window."""
        settings, workload = self._settings, self._workload_of(closed)
        problem = Selection(
            workload, tau=settings.tau, capacity=settings.capacity, metric=settings.metric
        )
        return problem.value(_is_named(workload.topic_names, served))

    def _workload_of(self, closed: ClosedWindow) -> TopicWorkload:
        """Return what was counted in a window as a workload; of the last one asked for it is kept.

        A window is asked for twice: what the decision before it was worth, and what to do next.
        """
        if self._counted is None or self._counted[0] is not closed:
            self._counted = closed, self._make_workload(traffic_of(closed), closed)
        return self._counted[1]

    def _make_workload(self, traffic: Traffic, closed: ClosedWindow) -> TopicWorkload:
        size = self._settings.message_bytes
        return make_workload(traffic, closed.pairs, closed.window, message_bytes=size)

    def _pose(
        self,
        workload: TopicWorkload,
        in_force: InForce | None,
        was_served: Mask,
        by_hand: ByHand,
    ) -> Selection:
        settings = self._settings
        limits: dict[str, Any] = {}
        there = set(workload.topic_names.to_pylist()) if by_hand else set()
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
            pin=sorted(by_hand.pin & there),
            exclude=sorted(by_hand.exclude & there),
            **limits,
        )

    def _steady(
        self, problem: Selection, closed: ClosedWindow, before: Mapping[str, Any]
    ) -> tuple[Selection, Steadiness]:
        """Return the question with prices of switches, and how they came about."""
        settings, was_served = self._settings, problem.before
        value, many = problem.value(was_served), int(np.count_nonzero(was_served))
        unit = first_price(value, many)
        price = read_price(before) if settings.give_up else 0.0
        price = unit if price is None else price
        first = 1 if settings.forecast.kind == "last" else 2
        ahead = look_ahead(problem, closed.window, traffic_of(closed), self._history, first=first)
        steadiness = Steadiness(settings.give_up or 0.0, price, unit, ahead.rests_on)
        prices = topic_prices(price, ahead, was_served)
        return replace(problem, change_price=prices), steadiness

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

    def _find_must(self, problem: Selection, was_served: Mask, silent: Silent) -> str | None:
        """Return why what is in force cannot stay, whatever the gain."""
        used = float(problem.cost[was_served].sum())
        if not problem.fits(used):
            return f"what is in force would need {number(used)} of {number(problem.limit)} now"
        against = (was_served & problem.is_excluded) | (~was_served & problem.is_pinned)
        if against.any() or silent.is_by_hand:
            return "what is in force does not have the topics that were pinned or excluded since"
        return None

    def _weigh(self, kept: float | None, value: float, changes: int) -> tuple[str | None, str]:
        """Say why switching is not worth it, if so, and what else there is to say of the gain."""
        least = self._settings.least_gain
        if kept is None or not changes or least == 0:
            return None, ""
        gain = (value - kept) / kept if kept > 0 else float(value > 0)
        if gain >= least:
            return None, f"gains {percent(gain)} against what is in force"
        return (
            f"would gain {percent(gain)} against what is in force, less than the "
            f"{percent(least)} that switches must be worth"
        ), ""

    def give_up(self, window: Window, in_force: InForce | None, why: str) -> Decided:
        """Return the decision that there is none to make: what is in force stays."""
        nothing = TopicWorkload.from_arrays([], [], [], num_subscribers=0)
        return self._without_plan(window, nothing, in_force, why, Stopwatch())

    def _without_plan(
        self,
        window: Window,
        workload: TopicWorkload,
        in_force: InForce | None,
        why: str,
        watch: Stopwatch,
    ) -> Decided:
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


def _seed(window: Window, workload: TopicWorkload, silent: Silent) -> int:
    """Return the seed of a window's plan.

    A plan's id knows topics by their numbers. Of its parameters the seed is the one that may differ
    without making the plan another one, so it stands for the names: what has the same hash serves
    the same topics.
    """
    about = (window.start, window.end, workload.hash, silent.stay, silent.leave)
    return int(hashlib.sha256(repr(about).encode()).hexdigest()[:13], 16)


def _is_named(names: pa.Array, some: pa.Array) -> Mask:
    found = pc.is_in(names, value_set=some.cast(names.type))
    return np.asarray(found, dtype=bool)
