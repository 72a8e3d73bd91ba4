"""Events that lie far from all others in time: a clock that was never set, a test row.

One event of 1970 among those of a day must not make the period 56 years. Where there is a gap of
about a year or more (:data:`GAP`), and at least three times as long as what is on its side with
most events, the events beyond it are outliers. Times are looked at in spans of 30 days.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fanwise.errors import InputError
from fanwise.pipeline.shared.times import SECOND, iso

SPAN = 30 * 86400 * SECOND
GAP = 12 * SPAN
"""Between two events: then there are 11 spans between theirs that have none."""
TIMES = 3
MOST_SHARE = 0.01
"""Of all events may be outliers; with more of them the period is in doubt."""
RING = 64
"""Spans in a ring: bit ``i`` of a mask says that spans ``i``, ``i + 64``, … have events."""


@dataclass(frozen=True)
class Span:
    """The first and the last of ``events`` events, in microseconds since the epoch."""

    first: int
    last: int
    events: int


@dataclass(frozen=True)
class Outliers:
    """Events left out for their time, and where the others are."""

    events: int
    first: int
    last: int
    bulk: Span

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the report."""
        return {"events": self.events, "first": iso(self.first), "last": iso(self.last)}


def may_have_gap(first: int | None, last: int | None, ring: int) -> bool:
    """Whether there may be a gap of :data:`GAP` somewhere; False only if there is none."""
    if first is None or last is None or last - first < GAP:
        return False
    low, high = first // SPAN, last // SPAN
    if high - low >= RING:
        return True
    silent = 0
    for span in range(low, high + 1):
        silent = 0 if ring >> (span % RING) & 1 else silent + 1
        if silent * SPAN >= GAP - SPAN:
            return True
    return False


def find_outliers(spans: Sequence[Span]) -> Outliers | None:
    """Return what lies far from the bulk of events, None where nothing does.

    Parameters
    ----------
    spans
        Of each span of 30 days with events, what is in it; in any order. Longer ones than 30 days
        may be cut anywhere.
    """
    clusters: list[Span] = []
    for span in sorted(spans, key=lambda span: span.first):
        if clusters and span.first - clusters[-1].last < GAP:
            clusters[-1] = _joined(clusters[-1], span)
        else:
            clusters.append(span)
    if len(clusters) < 2:
        return None
    # The earliest of those with most events; then whatever is near for its size joins it.
    low = high = max(range(len(clusters)), key=lambda index: clusters[index].events)
    bulk = clusters[low]
    while True:
        near = TIMES * (bulk.last - bulk.first)
        if low > 0 and bulk.first - clusters[low - 1].last < near:
            low -= 1
            bulk = _joined(clusters[low], bulk)
        elif high + 1 < len(clusters) and clusters[high + 1].first - bulk.last < near:
            high += 1
            bulk = _joined(bulk, clusters[high])
        else:
            break
    others = clusters[:low] + clusters[high + 1 :]
    if not others:
        return None
    return Outliers(
        sum(cluster.events for cluster in others), others[0].first, others[-1].last, bulk
    )


def refuse_many(outliers: Outliers, place: str) -> None:
    """Raise if so many events lie far from the others that either may be the ones meant."""
    total = outliers.events + outliers.bulk.events
    if outliers.events > MOST_SHARE * total:
        bulk = outliers.bulk
        raise InputError(
            f"{place}: {outliers.events} of {total} events are far in time from the others "
            f"({iso(outliers.first)} to {iso(outliers.last)}, where most are from "
            f"{iso(bulk.first)} to {iso(bulk.last)}); say which count with --from and --to."
        )


def _joined(early: Span, late: Span) -> Span:
    return Span(early.first, max(early.last, late.last), early.events + late.events)
