"""What runs beside a broker's machine: it watches what is noted, and proposes moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from fanwise.brokers.messages import Message


class Companion(Protocol):
    """Watches a broker, and gives its machine events of its own.

    All but `tick` and `summary` is called in the event loop, also while a tick goes on.
    """

    def note(self, now: float, what: str, fields: dict[str, Any]) -> None:
        """Know what the machine has noted."""

    def hear(self, now: float, broker: str, message: Message) -> None:
        """Know what another broker says."""

    def tick(self, now: float) -> Sequence[Any]:
        """Return events for the machine; called at deadlines, in a thread, one at a time."""

    def next_deadline(self) -> float | None:
        """Return when to tick."""

    def summary(self, now: float) -> Message | None:
        """Return what there is to tell others now; None for nothing. Called in a thread."""

    def counts(self) -> dict[str, float]:
        """Return values for metrics."""


MakeCompanion = Callable[[Any, float], Companion]
"""Makes the companion of a machine at a time."""
