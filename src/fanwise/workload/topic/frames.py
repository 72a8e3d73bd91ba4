"""Tables of events and subscriptions in memory, made into a workload by the rules of an ingest.

The same workload and the same counts as ``fanwise ingest`` gives for the same rows in a file.

Complexity
    O(rows log rows), vectorised; times and numbers that come as text cost a Python step each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.arrays.csr import FloatArray
from fanwise.durations import parse_duration
from fanwise.errors import InputError, ParameterError
from fanwise.workload.columns import (
    SECOND,
    Columns,
    Mask,
    number_names,
    parse_instant,
    read_columns,
)
from fanwise.workload.topic.model import TopicWorkload

UNTOLD_SECONDS = 86_400.0
"""The period of ready counts where nothing tells it: a day."""
MESSAGE_BYTES = 200.0
"""Size of messages of which no size is known."""
Reason = tuple[str, str, Mask]
"""What may be wrong with a row: in words, in which column, and where it is so."""


@dataclass(frozen=True)
class Rates:
    """Topics that are published, by name in code-point order: events, and mean message size."""

    names: pa.Array
    events: FloatArray
    sizes: FloatArray


@dataclass(frozen=True)
class _Checked:
    """Which rows of a table count, how many lie outside the period, what is wrong with others."""

    place: str
    counts: Mask
    num_outside: int
    bad: Mapping[str, int]
    first_bad: str

    @property
    def num_rows(self) -> int:
        return len(self.counts)

    @property
    def num_bad(self) -> int:
        return sum(self.bad.values())


@dataclass(frozen=True)
class _Period:
    start: int | None
    end: int | None
    seconds: float


def workload_of_frames(
    events: Any,
    subscriptions: Any,
    *,
    rename: Mapping[str, str] | None = None,
    start: Any = None,
    end: Any = None,
    period: str | float | None = None,
    message_bytes: float = MESSAGE_BYTES,
    keep_empty: bool = False,
    mutual: bool = False,
    max_bad_rows: int | str = 0,
) -> TopicWorkload:
    """Make a workload of two tables; see :meth:`TopicWorkload.from_frames`."""
    if not 0 <= message_bytes < float("inf"):
        raise ParameterError("message_bytes", "a finite number >= 0", message_bytes)
    allowed = _read_allowance(max_bad_rows)
    after = None if start is None else parse_instant(start, "start")
    before = None if end is None else parse_instant(end, "end")
    if after is not None and before is not None and before <= after:
        raise ParameterError("end", "later than start", end)
    length = None if period is None else float(parse_duration(period, "period"))

    published = read_columns(events, "events", rename)
    followed = read_columns(subscriptions, "subscriptions", rename)
    rates, checked_events, num_events, first, last = _count_events(
        published, after, before, message_bytes
    )
    settled = _settle(after, before, length, first, last)
    subscriber, topic, checked_pairs = _find_pairs(followed, settled, mutual=mutual)
    _refuse_bad(allowed, max_bad_rows, checked_events, checked_pairs)
    report = {
        "period_seconds": int(settled.seconds) if settled.seconds.is_integer() else settled.seconds,
        "from": _iso(settled.start),
        "to": _iso(before if before is not None else last),
        "publications": {
            "rows": checked_events.num_rows,
            "bad": dict(checked_events.bad),
            "outside": checked_events.num_outside,
            "events": num_events,
        },
        "subscriptions": {
            "rows": checked_pairs.num_rows,
            "bad": dict(checked_pairs.bad),
            "outside": checked_pairs.num_outside,
        },
    }
    return join_rates(
        rates,
        subscriber,
        topic,
        keep_empty=keep_empty,
        period_seconds=settled.seconds,
        report=report,
    )


def join_rates(
    rates: Rates,
    subscriber: pa.Array,
    topic: pa.Array,
    *,
    keep_empty: bool = False,
    period_seconds: float = UNTOLD_SECONDS,
    report: Mapping[str, Any] | None = None,
) -> TopicWorkload:
    """Put what is published and who follows it together, dropping what has no other side.

    Parameters
    ----------
    rates
        Topics without events count as not published.
    subscriber, topic
        Names, one pair a row; pairs that stand again are merged.
    keep_empty
        Whether subscribers stay of whom every topic was dropped.
    report
        What is known of the rows already; what is dropped is counted beside it, and both are kept
        as the entry ``ingest`` of the workload's ``origin``.
    """
    followed, topic_of_pair = number_names(topic)
    seen, subscriber_of_pair = number_names(subscriber)
    width = max(len(followed), 1)
    keys = np.unique(subscriber_of_pair * width + topic_of_pair)
    subscriber_of_key, topic_of_key = np.divmod(keys, width)

    is_published = rates.events > 0
    names = rates.names.filter(pa.array(is_published))
    position = pc.index_in(followed, value_set=names).fill_null(-1).to_numpy().astype(np.int64)
    is_kept = position[topic_of_key] >= 0
    subscriber_of_key, topic_of_key = subscriber_of_key[is_kept], topic_of_key[is_kept]
    topics = np.flatnonzero(position >= 0)
    subscribers = np.arange(len(seen)) if keep_empty else np.unique(subscriber_of_key)
    counted = {name: value for name, value in (report or {}).items() if name != "subscriptions"}
    counted |= {
        "subscriptions": {
            **(report or {}).get("subscriptions", {}),
            "duplicates": len(topic_of_pair) - len(keys),
            "pairs": len(keys),
        },
        "topics": {
            "published": int(is_published.sum()),
            "followed": len(followed),
            "without_events": len(followed) - len(topics),
            "without_followers": int(is_published.sum()) - len(topics),
            "kept": len(topics),
        },
        "subscribers": {
            "seen": len(seen),
            "without_interests": len(seen) - len(subscribers),
            "kept": len(subscribers),
        },
        "pairs": {"dropped": len(keys) - len(topic_of_key), "kept": len(topic_of_key)},
    }
    among = position[topics]
    return TopicWorkload.from_arrays(
        rates.events[is_published][among],
        np.searchsorted(subscribers, subscriber_of_key),
        np.searchsorted(topics, topic_of_key),
        topic_names=followed.take(pa.array(topics)),
        subscriber_names=seen.take(pa.array(subscribers)),
        message_bytes=rates.sizes[is_published][among],
        period_seconds=period_seconds,
        origin={"ingest": counted},
    )


def _count_events(
    columns: Columns, after: int | None, before: int | None, message_bytes: float
) -> tuple[Rates, _Checked, int, int | None, int | None]:
    """Return rates, which rows counted, how many events, and the first and last time of them."""
    columns.require(["topic"])
    if "timestamp" not in columns and "events" not in columns:
        raise InputError(
            f"events: neither 'timestamp' (one row per event) nor 'events' (ready counts) is among "
            f"the columns {columns.present()}. Say which is meant by "
            "rename={'your column': 'timestamp'}, or add a column 'events' (of ones, where each "
            "row is one event)."
        )
    topic = columns.identifiers("topic")
    reasons: list[Reason] = [("no topic", "topic", _is_null(topic))]
    outside = np.zeros(columns.num_rows, dtype=np.bool_)
    micros = None
    if "timestamp" in columns:
        micros, is_known, is_missing = columns.instants("timestamp")
        reasons += [
            ("no timestamp", "timestamp", is_missing),
            ("timestamp not ISO 8601 or epoch seconds", "timestamp", ~is_known),
        ]
        if after is not None:
            outside |= micros < after
        if before is not None:
            outside |= micros >= before
    weights = np.ones(columns.num_rows)
    if "events" in columns:
        weights = columns.numbers("events").values
        is_count = (weights >= 0) & (weights == np.floor(weights))
        reasons.append(("events not a whole number >= 0", "events", ~is_count))
    sizes = np.full(columns.num_rows, np.nan)
    if "bytes" in columns:
        sizes, has_none = columns.numbers("bytes")
        reasons.append(("bytes not a number >= 0", "bytes", ~has_none & ~(sizes >= 0)))
    checked = _judge(columns, reasons, outside)
    counts = checked.counts
    names, ranks = number_names(topic.filter(pa.array(counts)))
    weights, sizes = weights[counts], sizes[counts]
    is_known = ~np.isnan(sizes)
    known = np.bincount(ranks, weights=weights * is_known, minlength=len(names))
    amount = np.where(is_known, sizes, 0.0) * weights
    total = np.bincount(ranks, weights=amount, minlength=len(names))
    mean = np.full(len(names), float(message_bytes))
    np.divide(total, known, out=mean, where=known > 0)
    events = np.bincount(ranks, weights=weights, minlength=len(names)).astype(np.float64)
    rates = Rates(names, events, mean)
    moments = np.empty(0, np.int64) if micros is None else micros[counts]
    first, last = (int(moments.min()), int(moments.max())) if len(moments) else (None, None)
    return rates, checked, int(weights.sum()), first, last


def _find_pairs(
    columns: Columns, period: _Period, *, mutual: bool
) -> tuple[pa.Array, pa.Array, _Checked]:
    """Return who follows what during the period, one row each, and which rows counted."""
    columns.require(["subscriber", "topic"])
    subscriber, topic = columns.identifiers("subscriber"), columns.identifiers("topic")
    reasons: list[Reason] = [
        ("no subscriber", "subscriber", _is_null(subscriber)),
        ("no topic", "topic", _is_null(topic)),
    ]
    outside = np.zeros(columns.num_rows, dtype=np.bool_)
    spans = {name: columns.instants(name) for name in ("since", "until") if name in columns}
    for name, found in spans.items():
        unreadable = ~found.is_known & ~found.is_missing
        reasons.append((f"{name} not ISO 8601 or epoch seconds", name, unreadable))
    if "since" in spans and period.end is not None:
        outside |= spans["since"].is_known & (spans["since"].micros >= period.end)
    if "until" in spans and period.start is not None:
        outside |= spans["until"].is_known & (spans["until"].micros <= period.start)
    if len(spans) == 2:
        since, until = spans["since"], spans["until"]
        backwards = since.is_known & until.is_known & (until.micros <= since.micros)
        reasons.append(("until not after since", "until", backwards))
    checked = _judge(columns, reasons, outside)
    kept = pa.array(checked.counts)
    subscriber, topic = subscriber.filter(kept), topic.filter(kept)
    if not mutual:
        return subscriber, topic, checked
    both_ways = _Checked(
        checked.place,
        # A bad row stays one row, so that it is counted once.
        np.concatenate([checked.counts, np.ones(checked.num_rows - checked.num_bad, np.bool_)]),
        2 * checked.num_outside,
        checked.bad,
        checked.first_bad,
    )
    one, other = pa.concat_arrays([subscriber, topic]), pa.concat_arrays([topic, subscriber])
    return one, other, both_ways


def _judge(columns: Columns, reasons: Sequence[Reason], outside: Mask) -> _Checked:
    """Give each row the first reason that holds, and remember the first bad row."""
    undecided = np.ones(columns.num_rows, dtype=np.bool_)
    bad: dict[str, int] = {}
    first_row, first_bad = columns.num_rows, ""
    for text, column, holds in reasons:
        found = undecided & holds
        if found.any():
            bad[text] = int(found.sum())
            row = int(np.argmax(found))
            if row < first_row:
                first_row, first_bad = row, f"row {row}, column {column!r}: {text}"
            undecided &= ~holds
    return _Checked(
        columns.place, undecided & ~outside, int((undecided & outside).sum()), bad, first_bad
    )


def _settle(
    after: int | None, before: int | None, length: float | None, first: int | None, last: int | None
) -> _Period:
    """Return the period: what was asked for, else from the first to the last event, else a day."""
    start = after if after is not None else first
    # Half-open: the last event itself is inside.
    end = before if before is not None else (None if last is None else last + 1)
    if start is not None and end is not None and end <= start:
        end = start + 1
    if length is not None:
        return _Period(start, end, length)
    if start is None or end is None:
        return _Period(start, end, UNTOLD_SECONDS)
    micros = end - start - (0 if before is not None else 1)
    return _Period(start, end, max(micros, SECOND) / SECOND)


def _read_allowance(text: int | str) -> tuple[int, float | None]:
    """Return how many bad rows may be left out, or what share of all."""
    digits = str(text).strip()
    try:
        if digits.endswith("%") and 0 <= float(digits[:-1]) <= 100:
            return 0, float(digits[:-1]) / 100
        if not isinstance(text, bool) and int(digits) >= 0:
            return int(digits), None
    except ValueError:
        pass
    raise ParameterError("max_bad_rows", "a whole number >= 0, or a percentage like '0.1%'", text)


def _refuse_bad(allowed: tuple[int, float | None], text: int | str, *tables: _Checked) -> None:
    """Raise where more rows are bad than may be, naming the first of the table with most."""
    number, share = allowed
    num_bad = sum(table.num_bad for table in tables)
    if share is not None:
        number = int(share * sum(table.num_rows for table in tables))
    if num_bad <= number:
        return
    worst = max(tables, key=lambda table: table.num_bad)
    bad = ", ".join(f"{reason} ({count:,})" for reason, count in worst.bad.items())
    raise InputError(
        f"{worst.place}: {worst.first_bad}. Bad rows here: {bad}; {num_bad:,} in all, "
        f"and max_bad_rows is {text}. Repair or drop them, or allow some with max_bad_rows."
    )


def _is_null(array: pa.Array) -> Mask:
    nulls: Mask = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _iso(micros: int | None) -> str | None:
    if micros is None:
        return None
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    return moment.isoformat().replace("+00:00", "Z")
