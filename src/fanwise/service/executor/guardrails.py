"""Guardrails of mode auto: each says in a sentence why it does not let a decision pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from fanwise.formatting import number, percent
from fanwise.service.executor.settings import Guardrails, read_span


@dataclass(frozen=True)
class Case:
    """What is known of a decision when it is to be applied.

    Attributes
    ----------
    changes
        Topics that are switched against what is in force now.
    value, gap
        Of the decision.
    is_first
        Whether nothing is in force yet.
    kept
        Value that what is in force has on the same window; None if it is not known.
    now
        Microseconds since the epoch.
    must_change
        Whether what is in force cannot stay, whatever is gained.
    rolled_back_by
        Who went back to what is in force by hand; None where nobody did.
    """

    changes: int
    value: float
    gap: float | None
    is_first: bool
    kept: float | None
    now: int
    must_change: bool = False
    rolled_back_by: str | None = None

    @property
    def improvement(self) -> float | None:
        """Gain over what is in force, as a share of that."""
        if self.kept is None:
            return None
        gain = self.value - self.kept
        if self.kept == 0:
            return math.inf if gain > 0 else 0.0
        return gain / abs(self.kept)


def find_refusals(guardrails: Guardrails, case: Case) -> list[str]:
    """Return why a decision must wait for a person, or for another hour; empty if it need not."""
    return [why for check in _CHECKS for why in check(guardrails, case)]


def _check_changes(guardrails: Guardrails, case: Case) -> Iterator[str]:
    most = guardrails.most_changes
    if most is not None and case.changes > most:
        yield f"It switches {number(case.changes)} topics, most_changes is {number(most)}."


def _check_improvement(guardrails: Guardrails, case: Case) -> Iterator[str]:
    least = guardrails.least_improvement
    if least is None or case.is_first or case.must_change:
        return
    if case.improvement is None:
        yield "What is in force has no value on this window, so that no improvement is known."
    elif case.improvement < least:
        yield (
            f"It improves the value by {percent(case.improvement)}, "
            f"least_improvement is {percent(least)}."
        )


def _check_gap(guardrails: Guardrails, case: Case) -> Iterator[str]:
    largest = guardrails.largest_gap
    if largest is None:
        return
    if case.gap is None or math.isnan(case.gap):
        yield f"It has no certified gap, largest_gap is {percent(largest)}."
    elif case.gap > largest:
        yield f"Its certified gap is {percent(case.gap)}, largest_gap is {percent(largest)}."


def _check_hours(guardrails: Guardrails, case: Case) -> Iterator[str]:
    if not guardrails.quiet_hours:
        return
    zone = ZoneInfo(guardrails.time_zone)
    clock = datetime.fromtimestamp(case.now / 1e6, UTC).astimezone(zone).time()
    for written in guardrails.quiet_hours:
        start, end = read_span(written)
        is_in = start <= clock < end if start < end else clock >= start or clock < end
        if is_in:
            yield f"It is {clock:%H:%M} in {guardrails.time_zone}, within quiet_hours {written}."


def _check_rolled_back(guardrails: Guardrails, case: Case) -> Iterator[str]:
    if case.rolled_back_by is not None:
        yield (
            f"{case.rolled_back_by} went back to what is in force; it stays until somebody "
            "approves a decision."
        )


_CHECKS: tuple[Callable[[Guardrails, Case], Iterator[str]], ...] = (
    _check_changes,
    _check_improvement,
    _check_gap,
    _check_hours,
    _check_rolled_back,
)
