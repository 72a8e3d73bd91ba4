"""What Prometheus is told, with reasons as labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from fanwise.service.executor.errors import FailureKind
from fanwise.service.records import ClosedBy, Decision, State
from fanwise.service.status import Input
from fanwise.service.store.decisions import DECISION
from fanwise.service.store.errors import StoreUnavailable
from fanwise.service.store.windows import WINDOW
from fanwise.service.supervisor import Listener, Supervisor

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

OTHER = "other"
REASONS = frozenset(
    {
        "action neither subscribe nor unsubscribe",
        "bytes not a number >= 0",
        "events not a whole number >= 0",
        "malformed row",
        "no subscriber",
        "no timestamp",
        "no topic",
        "not JSON",
        "not a JSON object",
        "timestamp in the future",
        "timestamp not ISO 8601 or epoch seconds",
        "topic not UTF-8",
    }
)
BEGINNINGS = ("larger than", "no id", "no time in")
"""The same where a setting follows."""
"""Why rows cannot be read; publishers may write other reasons, and must not make labels."""


def name_reason(reason: str) -> str:
    """Return a reason as a label, of which there are few."""
    if reason in REASONS:
        return reason
    return next((one for one in BEGINNINGS if reason.startswith(f"{one} ")), OTHER)


class Metrics(Listener):
    """Counts what happens, and reads the rest when it is asked."""

    def __init__(self, service: Supervisor) -> None:
        """Begin to count.

        Parameters
        ----------
        service
            The supervisor.
        """
        self.registry = CollectorRegistry()
        self._seconds = Histogram(
            "fanwise_decision_seconds", "Time of a decision, by part.", ["part"],
            buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30), registry=self.registry,
        )  # fmt: skip
        self._last = {
            name: Gauge(f"fanwise_decision_{name}", text, registry=self.registry)
            for name, text in (
                ("value", "Objective of the last decision."),
                ("bound", "Proven bound of the last decision."),
                ("gap", "Certified gap of the last decision."),
                ("changes", "Topics switched by the last decision."),
                ("delivered_ratio", "Delivered over foretold value of the decision before."),
            )
        }
        for level in self._last.values():
            level.set(float("nan"))  # nothing is known yet, and 0 would look perfect
        self._failures = Counter(
            "fanwise_apply_failures", "Attempts to tell an output that failed.",
            ["output", "reason"], registry=self.registry,
        )  # fmt: skip
        self.registry.register(_Live(service))

    def note_decision(self, decision: Decision) -> None:
        """Tell of a decision; the store counts what becomes of it."""
        for part, seconds in decision.seconds.items():
            self._seconds.labels(part).observe(seconds)
        for name in ("value", "bound", "gap", "changes"):
            value = getattr(decision, name)
            self._last[name].set(float("nan") if value is None else value)

    def note_delivered(self, foretold: float, delivered: float) -> None:
        """Tell how good a forecast was."""
        self._last["delivered_ratio"].set(delivered / foretold if foretold else float("nan"))

    def note_failure(self, output: str, kind: str) -> None:
        """Count an output that could not be told."""
        self._failures.labels(output, kind if kind in get_args(FailureKind) else OTHER).inc()

    def text(self) -> bytes:
        """Return everything as Prometheus reads it."""
        return generate_latest(self.registry)


class _Live:
    """Reads the state of the service each time it is asked."""

    def __init__(self, service: Supervisor) -> None:
        self._service = service

    def collect(self) -> Iterable[Metric]:
        """Yield what can be read now."""
        found: Input = self._service.input()
        for name, text, value in (
            ("events", "Events counted.", found.events),
            ("late", "Events that came after their window had closed.", found.late),
            ("duplicates", "Events dropped because they had come before.", found.duplicates),
            ("redelivered", "Messages that the broker sent again.", found.redelivered),
            ("gaps", "Times that changes of subscriptions may have been missed.", found.gaps),
            ("lost_sessions", "Times that the broker forgot the receiver.", found.lost_sessions),
        ):
            yield _counter(f"fanwise_{name}", text, value)
        bad = CounterMetricFamily("fanwise_bad", "Rows that cannot be read.", labels=["reason"])
        reasons: dict[str, int] = {}
        for reason, many in found.reasons.items():
            reasons[name_reason(reason)] = reasons.get(name_reason(reason), 0) + many
        for reason, many in reasons.items():
            bad.add_metric([reason], many)
        yield bad
        yield from self._happened()
        for name, text, level in (
            ("lag_seconds", "How old the newest counted event is.", found.lag),
            ("idle_seconds", "Since the last batch with input.", found.idle),
            ("backlog_bytes", "Input that waits to be counted.", found.backlog),
            ("batch_seconds", "Time of the last micro-batch.", found.batch_seconds),
            ("subscriptions", "Subscriptions in force.", found.subscriptions),
        ):
            known = float("nan") if level is None else level
            yield GaugeMetricFamily(f"fanwise_{name}", text, known)
        well = GaugeMetricFamily("fanwise_part_up", "Whether a part is well.", labels=["part"])
        for part, trouble in self._service.health.__dict__.items():
            well.add_metric([part], 0.0 if trouble else 1.0)
        yield well
        try:
            status = self._service.executor.status()
            dead = self._service.store.count_dead_letters()
        except StoreUnavailable:
            return
        yield GaugeMetricFamily("fanwise_epoch", "Applications so far.", status.epoch)
        yield GaugeMetricFamily(
            "fanwise_outputs_behind", "Outputs that miss what is in force.", len(status.unaware)
        )
        yield GaugeMetricFamily(
            "fanwise_dead_letters", "Deliveries that were given up and are kept.", dead
        )

    def _happened(self) -> Iterable[Metric]:
        """Yield what the store has counted since it was opened."""
        happened = self._service.store.happened
        decisions = CounterMetricFamily(
            "fanwise_decisions", "How often decisions came to a state.", labels=["state"]
        )
        for state in get_args(State):
            decisions.add_metric([state], happened[DECISION, state])
        yield decisions
        windows = CounterMetricFamily(
            "fanwise_windows", "Windows that closed, by what closed them.", labels=["closed_by"]
        )
        for closed_by in get_args(ClosedBy):
            windows.add_metric([closed_by], happened[WINDOW, closed_by])
        yield windows


def _counter(name: str, text: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(name, text, value)
