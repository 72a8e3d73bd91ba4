"""Small topic traces in memory to the tables of a workload: what the Spark builder does, in NumPy.

Same verdicts, same numbers, same ids. Sums of message sizes are taken in the order of rows, so that
means of sizes that are no whole numbers can differ from Spark's in the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.arrays.csr import FloatArray
from fanwise.errors import InputError
from fanwise.pipeline.local import values
from fanwise.pipeline.local.tables import LocalTrace
from fanwise.pipeline.local.values import Instants, Mask
from fanwise.pipeline.shared import empty, reasons
from fanwise.pipeline.shared.options import Limit
from fanwise.pipeline.shared.outliers import SPAN as OUTLIER_SPAN
from fanwise.pipeline.shared.outliers import Outliers, Span, find_outliers, refuse_many
from fanwise.pipeline.shared.period import Period, Scope, settle
from fanwise.pipeline.shared.report import Rows
from fanwise.pipeline.shared.time_units import names_of
from fanwise.pipeline.shared.windows_of_time import floors
from fanwise.pipeline.topic import columns
from fanwise.pipeline.topic.actions import Actions, LogCounts
from fanwise.pipeline.topic.report import Report, Window

Codes = npt.NDArray[np.int64]
Verdicts = npt.NDArray[np.int16]

_MIN, _MAX = np.iinfo(np.int64).min, np.iinfo(np.int64).max
"""Subscriptions without ``since`` or ``until`` hold from and to there."""


@dataclass(frozen=True)
class TopicTables:
    """One workload: names in code-point order, which is their ids', and pairs of ids."""

    topics: list[str]
    rates: FloatArray
    message_bytes: FloatArray
    subscribers: list[str]
    pair_subscriber: npt.NDArray[np.int32]
    pair_topic: npt.NDArray[np.int32]

    def as_tables(self) -> dict[str, pa.Table]:
        """Return the files of a workload folder."""
        ids = pa.array(np.arange(len(self.topics), dtype=np.int32))
        who = pa.array(np.arange(len(self.subscribers), dtype=np.int32))
        return {
            "topics": pa.table(
                {
                    "topic": ids,
                    "name": pa.array(self.topics, pa.string()),
                    "rate": pa.array(self.rates),
                    "bytes": pa.array(self.message_bytes),
                }
            ),
            "subscribers": pa.table(
                {"subscriber": who, "name": pa.array(self.subscribers, pa.string())}
            ),
            "interests": pa.table(
                {"subscriber": pa.array(self.pair_subscriber), "topic": pa.array(self.pair_topic)}
            ),
        }


@dataclass(frozen=True)
class BadRow:
    """A row set aside: from which trace and file, why, and how it was written."""

    trace: str
    file: str
    reason: str
    row: dict[str, Any] | str


@dataclass(frozen=True)
class LocalWorkload:
    """Whole workload, or one per window by the start of each; the report; rows set aside."""

    whole: TopicTables | None
    windows: Mapping[int, TopicTables]
    report: Report
    bad: Sequence[BadRow]


@dataclass(frozen=True)
class Checked:
    """A trace with the verdict on each row."""

    trace: LocalTrace
    verdict: Verdicts

    @property
    def fine(self) -> Mask:
        fine: Mask = self.verdict == reasons.FINE
        return fine

    def count(self) -> dict[int, int]:
        """Return the rows of each verdict, a file set aside as one row."""
        codes, counts = np.unique(self.verdict, return_counts=True)
        by_verdict = dict(zip(codes.tolist(), counts.tolist(), strict=True))
        if self.trace.unreadable:
            by_verdict[reasons.verdict(reasons.UNREADABLE)] = len(self.trace.unreadable)
        return by_verdict


@dataclass
class _Events:
    """Fine events: the code of each one's topic, and what is added up."""

    names: list[str]
    topic: Codes
    weight: FloatArray
    size: FloatArray
    instant: Instants | None


@dataclass
class _Pairs:
    """Spans of subscriptions; codes of both sides."""

    subscribers: list[str]
    topics: list[str]
    subscriber: Codes
    topic: Codes
    since: Instants
    until: Instants


@dataclass(frozen=True)
class TopicOptions:
    """What shapes a topic workload; see :func:`fanwise.pipeline.topic.build.build_workload`."""

    scope: Scope
    message_bytes: float
    keep_empty: bool
    mutual: bool
    limit: Limit
    time_unit: str
    event_id: str | None
    actions: Actions | None
    allow_empty: bool


def rows_of(by_verdict: Mapping[int, int]) -> Rows:
    """Return the rows of a trace from how many there are of each verdict."""
    return Rows(
        rows=sum(by_verdict.values()),
        outside=by_verdict.get(reasons.OUTSIDE, 0),
        fine=by_verdict.get(reasons.FINE, 0) + by_verdict.get(reasons.DUPLICATE, 0),
        bad=reasons.count_reasons(by_verdict),
    )


class LocalBuilder:
    """Builds a topic workload in memory.

    Complexity
        O(rows · log rows), and with windows O(pairs) for each.
    """

    def __init__(
        self, options: TopicOptions, places: Sequence[str], doubts: Sequence[bool]
    ) -> None:
        self.options = options
        self.places = dict(zip(("publications", "subscriptions"), places, strict=True))
        self.doubts = dict(zip(("publications", "subscriptions"), doubts, strict=True))
        self.checked: dict[str, Checked] = {}
        self.rows: dict[str, Rows] = {}

    def build(self, publications: LocalTrace, subscriptions: LocalTrace) -> LocalWorkload:
        """Return the workload, its report and the rows set aside."""
        options = self.options
        place = self.places["publications"]
        timed = columns.check_publications(
            list(publications.columns),
            place,
            has_window=options.scope.window is not None,
            event_id=options.event_id,
        )
        columns.check_follows(
            list(subscriptions.columns),
            self.places["subscriptions"],
            is_log=options.actions is not None,
        )

        events, bits, outliers = self.read_events(publications, timed)
        num_doubles = self.count_doubles()
        first, last = None, None
        if timed and len(events.topic) and events.instant is not None:
            first, last = int(events.instant.min()), int(events.instant.max())
        period = settle(options.scope, first, last, place)
        pairs, log = self.read_pairs(subscriptions, period)
        self.refuse_bad_rows()
        if not options.allow_empty:
            empty.refuse_no_events(self.rows["publications"], place)
            empty.refuse_no_subscriptions(self.rows["subscriptions"], self.places["subscriptions"])
        spans = _distinct(pairs, pairs_only=options.scope.window is None)
        whole, windows, listed, kept = self.tables(events, spans, period)
        pairs_seen = len(np.unique(_keys(spans.subscriber, spans.topic, len(spans.topics))))
        published = {events.names[code] for code in _published(events)}
        followed = {spans.topics[code] for code in np.unique(spans.topic).tolist()}
        report = Report(
            publications=self.rows["publications"],
            subscriptions=self.rows["subscriptions"],
            events=int(events.weight.sum()),
            duplicates=self.rows["subscriptions"].fine - pairs_seen,
            pairs_seen=pairs_seen,
            topics_published=len(published),
            topics_followed=len(followed),
            subscribers_seen=len(np.unique(spans.subscriber)),
            topics=kept[0],
            subscribers=kept[1],
            pairs=kept[2],
            period_seconds=period.seconds,
            start=period.start,
            end=options.scope.end if options.scope.end is not None else last,
            window=options.scope.window,
            windows=listed,
            time_units=tuple(names_of(bits)),
            outliers=outliers,
            event_doubles=num_doubles,
            log=log,
        )
        if not report.pairs and not options.allow_empty:
            empty.refuse_no_pairs(
                len(published), len(followed), place, self.places["subscriptions"]
            )
        return LocalWorkload(whole, windows, report, list(self.bad_rows()))

    def read_events(self, trace: LocalTrace, timed: bool) -> tuple[_Events, int, Outliers | None]:
        """Return the fine events, in which forms their times came, and what lies far away."""
        options, place = self.options, self.places["publications"]
        topics = values.identifiers(_column(trace, "topic"), "topic", place)
        why = self.doubted("publications", trace, [topics])
        why.append(("no topic", _is_null(topics)))
        instants: Instants | None = None
        bits = np.zeros(trace.rows, np.uint8)
        if timed:
            raw = _column(trace, "timestamp")
            instants, known, bits = values.instants(raw, "timestamp", place, options.time_unit)
            why.append(("no timestamp", values.missing(raw)))
            why.append(("timestamp not ISO 8601 or epoch seconds", ~known))
        weight = np.ones(trace.rows)
        if (raw_events := trace.find("events")) is not None:
            weight = values.numbers(raw_events, "events", place)
            with np.errstate(invalid="ignore"):
                is_count = (weight >= 0) & (weight <= values.LARGEST) & (weight == np.floor(weight))
            why.append(("events not a whole number >= 0", ~is_count))
        size = np.full(trace.rows, np.nan)
        if (raw_sizes := trace.find("bytes")) is not None:
            size = values.numbers(raw_sizes, "bytes", place)
            is_size = (size >= 0) & (size <= values.LARGEST)
            why.append(("bytes not a number >= 0", ~values.missing(raw_sizes) & ~is_size))
        ids = None
        if options.event_id is not None:
            ids = values.identifiers(_column(trace, options.event_id), options.event_id, place)
            why.append(("no event id", _is_null(ids)))
        outside = np.zeros(trace.rows, np.bool_)
        if instants is not None:
            if options.scope.start is not None:
                outside |= instants < options.scope.start
            if options.scope.end is not None:
                outside |= instants >= options.scope.end
        verdict = _judge(trace.rows, why, outside)
        outliers = None
        is_open = options.scope.start is None or options.scope.end is None
        if instants is not None and is_open:
            outliers = _outliers_of(instants[verdict == reasons.FINE])
            if outliers is not None:
                refuse_many(outliers, place)
                bulk = outliers.bulk
                far = (instants < bulk.first) | (instants > bulk.last)
                verdict[(verdict == reasons.FINE) & far] = reasons.OUTSIDE
        if ids is not None:
            _mark_doubles(verdict, ids, topics, instants, weight, size)
        self.note("publications", trace, verdict)
        fine = verdict == reasons.FINE
        coded = pc.dictionary_encode(pc.filter(topics, pa.array(fine)))
        events = _Events(
            coded.dictionary.to_pylist(),
            coded.indices.to_numpy(zero_copy_only=False).astype(np.int64),
            weight[fine],
            size[fine],
            None if instants is None else instants[fine],
        )
        mask = int(np.bitwise_or.reduce(bits[fine])) if timed and fine.any() else 0
        return events, mask, outliers

    def read_pairs(self, trace: LocalTrace, period: Period) -> tuple[_Pairs, LogCounts | None]:
        """Return the subscriptions that count, and of a change log what its rows did."""
        options, place = self.options, self.places["subscriptions"]
        who = values.identifiers(_column(trace, "subscriber"), "subscriber", place)
        topics = values.identifiers(_column(trace, "topic"), "topic", place)
        why = self.doubted("subscriptions", trace, [who, topics])
        why += [("no subscriber", _is_null(who)), ("no topic", _is_null(topics))]
        if options.actions is not None:
            return self.read_log(trace, who, topics, why, period, options.actions)
        since = np.full(trace.rows, _MIN)
        until = np.full(trace.rows, _MAX)
        for name, side in (("since", since), ("until", until)):
            raw = trace.find(name)
            if raw is not None:
                found, known, _ = values.instants(raw, name, place, options.time_unit)
                side[known] = found[known]
                why.append((f"{name} not ISO 8601 or epoch seconds", ~known & ~values.missing(raw)))
        both = (since != _MIN) & (until != _MAX)
        why.append(("until not after since", both & (until <= since)))
        verdict = _judge(trace.rows, why, _beyond(since, until, period))
        pairs = _coded(who, topics, since, until, verdict == reasons.FINE)
        self.note("subscriptions", trace, verdict)
        if options.mutual:
            good = verdict < reasons.FIRST_BAD
            doubled = np.concatenate([verdict, verdict[good]])
            self.rows["subscriptions"] = rows_of(Checked(trace, doubled).count())
            pairs = _both_ways(pairs)
        return pairs, None

    def read_log(
        self,
        trace: LocalTrace,
        who: pa.Array,
        topics: pa.Array,
        why: list[tuple[str, Mask]],
        period: Period,
        actions: Actions,
    ) -> tuple[_Pairs, LogCounts]:
        """Turn a change log into spans: from where a pair begins to where it ends."""
        place = self.places["subscriptions"]
        raw = _column(trace, "timestamp")
        instants, known, _ = values.instants(raw, "timestamp", place, self.options.time_unit)
        words = values.identifiers(_column(trace, "action"), "action", place)
        begins = pa.array(
            [
                None if word is None else actions.words.get(word.strip(" ").lower())
                for word in words.to_pylist()
            ],
            pa.bool_(),
        )
        why += [
            ("action neither subscribe nor unsubscribe", _is_null(begins)),
            ("no timestamp", values.missing(raw)),
            ("timestamp not ISO 8601 or epoch seconds", ~known),
        ]
        verdict = _judge(trace.rows, why, np.zeros(trace.rows, np.bool_))
        self.note("subscriptions", trace, verdict)
        fine = verdict == reasons.FINE
        rows = _coded(who, topics, instants, instants, fine)
        starts = np.asarray(pc.fill_null(begins, False).to_numpy(zero_copy_only=False))[fine]
        key = _keys(rows.subscriber, rows.topic, len(rows.topics))
        order = np.lexsort((starts, rows.since, key))
        key, starts, at = key[order], starts[order], rows.since[order]
        # What a pair's row says anew: other than the row before; the first one only if it begins.
        same = np.zeros(len(key), np.bool_)
        same[1:] = key[1:] == key[:-1]
        before = np.zeros(len(key), np.bool_)
        before[1:] = starts[:-1] & same[1:]
        changes = starts != before
        turn = np.flatnonzero(changes)
        opened = turn[starts[turn]]
        following = np.searchsorted(turn, opened, side="right")
        closes = np.full(len(opened), _MAX)
        has_next = following < len(turn)
        next_row = turn[np.minimum(following, max(len(turn) - 1, 0))] if len(turn) else opened
        has_next &= key[next_row] == key[opened]
        closes[has_next] = at[next_row][has_next]
        picked = order[opened]
        spans = _spanned(rows, picked, at[opened], closes)
        outside = _beyond(spans.since, spans.until, period)
        counts = Checked(trace, verdict).count()
        counts.pop(reasons.FINE, None)
        times = 2 if self.options.mutual else 1
        counts[reasons.OUTSIDE] = int(outside.sum()) * times
        counts[reasons.FINE] = int((~outside).sum()) * times
        self.rows["subscriptions"] = rows_of({code: n for code, n in counts.items() if n})
        log = LogCounts(
            rows=trace.rows + len(trace.unreadable),
            began=len(opened),
            ended=len(turn) - len(opened),
            without_effect=int((~changes).sum()),
        )
        kept = _Pairs(
            spans.subscribers, spans.topics,
            *(side[~outside] for side in (spans.subscriber, spans.topic, spans.since, spans.until)),
        )  # fmt: skip
        return (_both_ways(kept) if self.options.mutual else kept), log

    def tables(
        self, events: _Events, pairs: _Pairs, period: Period
    ) -> tuple[
        TopicTables | None, dict[int, TopicTables], tuple[Window, ...], tuple[int, int, int]
    ]:
        """Return the tables, of each window if there are any, and what is kept in all."""
        options = self.options
        if period.window is None:
            one = make_tables(events, pairs, options.message_bytes, options.keep_empty)
            return one, {}, (), (len(one.topics), len(one.subscribers), len(one.pair_topic))
        window = period.window
        assert events.instant is not None
        window_of_event = floors(events.instant, window)
        order = np.argsort(window_of_event, kind="stable")
        sorted_windows = window_of_event[order]
        first = np.where(pairs.since == _MIN, _MIN, floors(pairs.since, window))
        last = np.where(pairs.until == _MAX, _MAX, floors(pairs.until - 1, window))
        found: dict[int, TopicTables] = {}
        listed: list[Window] = []
        topics: set[str] = set()
        subscribers: set[str] = set()
        for start in period.window_starts:
            low, high = np.searchsorted(sorted_windows, [start, start + 1])
            here = order[low:high]
            holds = (first <= start) & (last >= start)
            one = make_tables(
                _Events(events.names, events.topic[here], events.weight[here], events.size[here],
                        None),
                _distinct(_Pairs(pairs.subscribers, pairs.topics, pairs.subscriber[holds],
                                 pairs.topic[holds], pairs.since[holds], pairs.until[holds]),
                          pairs_only=True),
                options.message_bytes, options.keep_empty,
            )  # fmt: skip
            found[start] = one
            topics |= set(one.topics)
            subscribers |= set(one.subscribers)
            listed.append(
                Window(start, start + window, len(one.topics), len(one.subscribers),
                       len(one.pair_topic))
            )  # fmt: skip
        num_pairs = sum(one.pairs for one in listed)
        return None, found, tuple(listed), (len(topics), len(subscribers), num_pairs)

    def doubted(
        self, name: str, trace: LocalTrace, names: Sequence[pa.Array]
    ) -> list[tuple[str, Mask]]:
        """Return the reasons that come first: another encoding, rows that are none."""
        found: list[tuple[str, Mask]] = []
        if self.doubts[name]:
            texts = [*names, *([trace.malformed] if trace.malformed is not None else [])]
            foreign = np.zeros(trace.rows, np.bool_)
            for text in texts:
                holds = pc.match_substring(text, reasons.REPLACEMENT)
                foreign |= pc.fill_null(holds, False).to_numpy(zero_copy_only=False)
            found.append((reasons.NOT_UTF8, foreign))
        if trace.malformed is not None:
            found.append(("malformed row", ~_is_null(trace.malformed)))
        return found

    def note(self, name: str, trace: LocalTrace, verdict: Verdicts) -> None:
        """Note how the rows of a trace were judged."""
        self.checked[name] = Checked(trace, verdict)
        self.rows[name] = rows_of(self.checked[name].count())

    def count_doubles(self) -> int | None:
        """Return the events that were there already, None where nobody asked."""
        if self.options.event_id is None:
            return None
        verdict = self.checked["publications"].verdict
        return int((verdict == reasons.DUPLICATE).sum())

    def refuse_bad_rows(self) -> None:
        """Raise if there are more bad rows than may be left out."""
        limit = self.options.limit
        if limit.share is None:
            for name, rows in self.rows.items():
                if not limit.allows(rows.num_bad, rows.rows):
                    raise self._too_many(name, rows.num_bad)
        num_bad = sum(rows.num_bad for rows in self.rows.values())
        if not limit.allows(num_bad, sum(rows.rows for rows in self.rows.values())):
            worst = max(reversed(self.rows), key=lambda name: self.rows[name].num_bad)
            raise self._too_many(worst, num_bad)

    def _too_many(self, name: str, num_bad: int) -> InputError:
        from fanwise.pipeline.local.quarantine import shown_row
        from fanwise.pipeline.shared.bad_rows import too_many_message

        rows = self.rows[name]
        reason = max(rows.bad.items(), key=lambda item: item[1])[0]
        example = next((row for row in self.bad_rows(name) if row.reason == reason), None)
        return too_many_message(
            str(self.options.limit),
            rows,
            self.places[name],
            num_bad,
            None if example is None else (example.file, shown_row(example)),
        )

    def bad_rows(self, only: str | None = None) -> Iterator[BadRow]:
        """Return the rows set aside, as they were."""
        for name, checked in self.checked.items():
            if only not in (None, name):
                continue
            trace = checked.trace
            for file, reason in trace.unreadable.items():
                yield BadRow(name, file, reasons.UNREADABLE, reason)
            for row in np.flatnonzero(checked.verdict >= reasons.FIRST_BAD).tolist():
                why = reasons.ALL_REASONS[checked.verdict[row] - reasons.FIRST_BAD]
                raw = None if trace.malformed is None else trace.malformed[row].as_py()
                cells = {
                    column: cell.as_py()
                    for column, cells in trace.columns.items()
                    if (cell := cells[row]).is_valid
                }
                yield BadRow(name, trace.files[trace.file_of_row[row]], why, raw or cells)


def make_tables(
    events: _Events, pairs: _Pairs, message_bytes: float, keep_empty: bool
) -> TopicTables:
    """Keep the topics with events and followers, number what is kept, link pairs to it."""
    count = len(events.names)
    rates = np.bincount(events.topic, weights=events.weight, minlength=count).astype(np.float64)
    known = ~np.isnan(events.size)
    weights = np.where(known, events.weight, 0.0)
    sizes = np.where(known, events.size, 0.0) * events.weight
    size_sum = np.bincount(events.topic, weights=sizes, minlength=count)
    size_known = np.bincount(events.topic, weights=weights, minlength=count)
    code_of = {name: code for code, name in enumerate(events.names)}
    # From the topics of pairs to those of events, -1 where there is none with events.
    event_code = np.array([code_of.get(name, -1) for name in pairs.topics], np.int64)
    has_events = rates > 0
    usable = (event_code >= 0) & np.append(has_events, False)[event_code]
    linked = usable[pairs.topic]
    kept = sorted(
        (pairs.topics[code], int(event_code[code])) for code in np.unique(pairs.topic[linked])
    )
    codes = np.array([code for _, code in kept], np.int64)
    topic_id = np.full(count + 1, -1, np.int32)
    topic_id[codes] = np.arange(len(kept), dtype=np.int32)
    present = np.unique(pairs.subscriber if keep_empty else pairs.subscriber[linked]).tolist()
    ordered = sorted(present, key=lambda code: pairs.subscribers[code])
    subscriber_id = np.full(len(pairs.subscribers) + 1, -1, np.int32)
    subscriber_id[np.array(ordered, np.int64)] = np.arange(len(ordered), dtype=np.int32)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: FloatArray = np.where(size_known > 0, size_sum / size_known, message_bytes)
    pair_subscriber = subscriber_id[pairs.subscriber[linked]]
    pair_topic = topic_id[event_code[pairs.topic[linked]]]
    order = np.lexsort((pair_topic, pair_subscriber))
    return TopicTables(
        [name for name, _ in kept],
        rates[codes],
        means[codes],
        [pairs.subscribers[code] for code in ordered],
        pair_subscriber[order],
        pair_topic[order],
    )


def _column(trace: LocalTrace, name: str) -> pa.Array:
    found = trace.find(name)
    assert found is not None
    return found


def _is_null(column: pa.Array) -> Mask:
    mask: Mask = pc.is_null(column).to_numpy(zero_copy_only=False)
    return mask


def _judge(rows: int, why: Sequence[tuple[str, Mask]], outside: Mask) -> Verdicts:
    """Return the verdicts: the first reason that holds, else outside, else fine."""
    verdict = np.where(outside, reasons.OUTSIDE, reasons.FINE).astype(np.int16)
    for text, holds in reversed(why):
        verdict[holds] = reasons.verdict(text)
    assert len(verdict) == rows
    return verdict


def _outliers_of(instants: Instants) -> Outliers | None:
    if not len(instants):
        return None
    ordered = np.sort(instants)
    cut = np.flatnonzero(np.diff(ordered // OUTLIER_SPAN)) + 1
    starts, ends = np.append(0, cut), np.append(cut, len(ordered))
    return find_outliers(
        [
            Span(int(ordered[low]), int(ordered[high - 1]), int(high - low))
            for low, high in zip(starts.tolist(), ends.tolist(), strict=True)
        ]
    )


def _mark_doubles(
    verdict: Verdicts,
    ids: pa.Array,
    topics: pa.Array,
    instants: Instants | None,
    weight: FloatArray,
    size: FloatArray,
) -> None:
    """Let the least event of each id stand: by time, topic, events, size; no size comes first."""
    fine = np.flatnonzero(verdict == reasons.FINE)
    if not len(fine):
        return
    at = pa.array(fine)
    codes = pc.dictionary_encode(ids.take(at)).indices.to_numpy(zero_copy_only=False)
    ranked = _ranks(topics.take(at))
    moments = np.zeros(len(fine), np.int64) if instants is None else instants[fine]
    sizes = np.where(np.isnan(size[fine]), -1.0, size[fine])
    order = np.lexsort((sizes, weight[fine], ranked, moments, codes))
    ordered = codes[order]
    again = np.zeros(len(fine), np.bool_)
    again[1:] = ordered[1:] == ordered[:-1]
    verdict[fine[order[again]]] = reasons.DUPLICATE


def _ranks(names: pa.Array) -> Codes:
    coded = pc.dictionary_encode(names)
    words = coded.dictionary.to_pylist()
    rank = np.empty(len(words), np.int64)
    rank[sorted(range(len(words)), key=words.__getitem__)] = np.arange(len(words))
    ranks: Codes = rank[coded.indices.to_numpy(zero_copy_only=False)]
    return ranks


def _coded(who: pa.Array, topics: pa.Array, since: Instants, until: Instants, fine: Mask) -> _Pairs:
    keep = pa.array(fine)
    a, b = (pc.dictionary_encode(pc.filter(column, keep)) for column in (who, topics))
    return _Pairs(
        a.dictionary.to_pylist(),
        b.dictionary.to_pylist(),
        a.indices.to_numpy(zero_copy_only=False).astype(np.int64),
        b.indices.to_numpy(zero_copy_only=False).astype(np.int64),
        since[fine],
        until[fine],
    )


def _spanned(rows: _Pairs, picked: Codes, since: Instants, until: Instants) -> _Pairs:
    """Return some of the rows with other spans."""
    return _Pairs(
        rows.subscribers, rows.topics, rows.subscriber[picked], rows.topic[picked], since, until
    )


def _both_ways(pairs: _Pairs) -> _Pairs:
    """Add each pair the other way round."""
    names = list(dict.fromkeys([*pairs.subscribers, *pairs.topics]))
    code = {name: index for index, name in enumerate(names)}
    a = np.array([code[name] for name in pairs.subscribers], np.int64)[pairs.subscriber]
    b = np.array([code[name] for name in pairs.topics], np.int64)[pairs.topic]
    return _Pairs(
        names,
        names,
        np.concatenate([a, b]),
        np.concatenate([b, a]),
        np.tile(pairs.since, 2),
        np.tile(pairs.until, 2),
    )


def _keys(a: Codes, b: Codes, num_b: int) -> Codes:
    return a * max(num_b, 1) + b


def _distinct(pairs: _Pairs, *, pairs_only: bool = False) -> _Pairs:
    """Return each pair once, with its spans once each unless pairs alone matter."""
    key = _keys(pairs.subscriber, pairs.topic, len(pairs.topics))
    if pairs_only:
        _, keep = np.unique(key, return_index=True)
    else:
        spans = np.stack([key, pairs.since, pairs.until], axis=1)
        _, keep = np.unique(spans, axis=0, return_index=True)
    return _spanned(pairs, keep, pairs.since[keep], pairs.until[keep])


def _beyond(since: Instants, until: Instants, period: Period) -> Mask:
    start, end = period.covered
    outside = np.zeros(len(since), np.bool_)
    if start is not None:
        outside |= until <= start
    if end is not None:
        outside |= since >= end
    return outside


def _published(events: _Events) -> list[int]:
    rates = np.bincount(events.topic, weights=events.weight, minlength=len(events.names))
    return np.flatnonzero(rates > 0).tolist()
