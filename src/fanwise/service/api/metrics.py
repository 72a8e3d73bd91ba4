"""What Prometheus is told, with reasons as labels."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from fanwise.service.records import Decision
from fanwise.service.status import Input
from fanwise.service.store.errors import StoreUnavailable
from fanwise.service.supervisor import Listener, Supervisor

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


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
        self._decisions = Counter(
            "fanwise_decisions", "Decisions made, by what became of them.", ["state"],
            registry=self.registry,
        )  # fmt: skip
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
        self._failures = Counter(
            "fanwise_apply_failures", "Attempts to tell an output that failed.", ["output"],
            registry=self.registry,
        )  # fmt: skip
        self.registry.register(_Live(service))

    def note_decision(self, decision: Decision) -> None:
        """Count a decision."""
        self._decisions.labels(decision.state).inc()
        for part, seconds in decision.seconds.items():
            self._seconds.labels(part).observe(seconds)
        for name in ("value", "bound", "gap", "changes"):
            value = getattr(decision, name)
            self._last[name].set(float("nan") if value is None else value)

    def note_delivered(self, foretold: float, delivered: float) -> None:
        """Tell how good a forecast was."""
        self._last["delivered_ratio"].set(delivered / foretold if foretold else float("nan"))

    def note_failure(self, output: str) -> None:
        """Count an output that could not be told."""
        self._failures.labels(output).inc()

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
        for reason, many in found.reasons.items():
            bad.add_metric([reason], many)
        yield bad
        for name, text, level in (
            ("lag_seconds", "Between now and the last batch of input.", found.lag),
            ("backlog_bytes", "Input that waits to be counted.", found.backlog),
            ("batch_seconds", "Time of the last micro-batch.", found.batch_seconds),
            ("subscriptions", "Subscriptions in force.", found.subscriptions),
        ):
            yield GaugeMetricFamily(f"fanwise_{name}", text, level)
        well = GaugeMetricFamily("fanwise_part_up", "Whether a part is well.", labels=["part"])
        for part, trouble in self._service.health.__dict__.items():
            well.add_metric([part], 0.0 if trouble else 1.0)
        yield well
        try:
            status = self._service.executor.status()
        except StoreUnavailable:
            return
        yield GaugeMetricFamily("fanwise_epoch", "Applications so far.", status.epoch)
        yield GaugeMetricFamily(
            "fanwise_outputs_behind", "Outputs that miss what is in force.", len(status.unaware)
        )


def _counter(name: str, text: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(name, text, value)
