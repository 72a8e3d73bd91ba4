"""Raw traces of a small music service: what a platform logs before it becomes a workload.

Topics are artists, playlists and friends. Listeners follow them, some only for a while; what they
publish follows a rhythm of days and weeks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.errors import ParameterError
from fanwise.progress import SILENT, Progress, Step
from fanwise.workload.folders import atomic_folder
from fanwise.workload.generators import music_names
from fanwise.workload.generators.laws import double_pareto, draw_strata
from fanwise.workload.generators.matching import Matching, check_sizes, draw_degrees, match
from fanwise.workload.generators.music_rhythm import HOURS_OF_WEEK, KINDS, hour_weights
from fanwise.workload.generators.trace_files import (
    FORMATS,
    NO_TIME,
    ODD_TIME,
    TraceWriter,
    time_type,
)
from fanwise.workload.outputs import TRACE

FOLLOWER_EXPONENT = 2.2
FOLLOWING_EXPONENT = 2.4
RATE_TAIL = 1.5
RATE_HEAD = 0.6
COMMUNITIES = 0.5
RETURNING = 0.1
"""Share of the listeners who leave a topic and follow it again later: a second row for the pair."""

_HOUR = 3600
_CHUNK_ROWS = 1_000_000
_LAST_YEAR = 9999

# Bad rows by reason, in the words of ingest. Typed columns cannot hold odd times.
_FINE, _NO_TOPIC, _NO_SUBSCRIBER, _NO_TIME, _ODD_TIME, _ODD_BYTES, _BACKWARDS = range(7)
_PUBLICATION_FAULTS = {
    _NO_TOPIC: "no topic",
    _NO_TIME: "no timestamp",
    _ODD_TIME: "timestamp not ISO 8601 or epoch seconds",
    _ODD_BYTES: "bytes not a number >= 0",
}
_SUBSCRIPTION_FAULTS = {
    _NO_SUBSCRIBER: "no subscriber",
    _NO_TOPIC: "no topic",
    _ODD_TIME: "since not ISO 8601 or epoch seconds",
    _BACKWARDS: "until not after since",
}

Faults = npt.NDArray[np.int8]


@dataclass(frozen=True)
class TraceSummary:
    """What was written; ``trace.json`` says the same.

    Attributes
    ----------
    events, pairs
        Good rows of publications, and distinct pairs of a subscriber and a topic.
    publication_rows, subscription_rows
        Rows of the files: with the bad ones, and with the second rows of returning listeners.
    active_topics
        Topics with at least one event; the others have followers but never publish.
    passing
        Pairs that begin or end inside the span.
    bad_rows
        Bad rows by file and reason.
    """

    publications: str
    subscriptions: str
    start: str
    end: str
    topics: int
    active_topics: int
    subscribers: int
    events: int
    pairs: int
    publication_rows: int
    subscription_rows: int
    passing: int
    bad_rows: dict[str, dict[str, int]]
    seed: int


class _Catalogue(NamedTuple):
    """The topics: names, and for each kind its members, chances and total activity."""

    names: pa.Array
    members: list[IntArray]
    chances: list[FloatArray]  # cumulative, ending at 1
    activity: FloatArray


def music_trace(
    out: str | Path,
    *,
    topics: int = 2_000,
    subscribers: int = 10_000,
    events: int = 200_000,
    pairs: int = 40_000,
    days: int = 10,
    start: str = "2026-03-02",
    churn: float = 0.1,
    bad_rows: int = 0,
    file_format: str = "csv",
    seed: int = 0,
    overwrite: bool = False,
    progress: Progress = SILENT,
) -> TraceSummary:
    """Write the traces of a music service: publications, subscriptions, and ``trace.json``.

    ``publications`` has ``topic``, ``timestamp``, ``bytes``: a row per event in order of time.
    ``subscriptions`` has ``subscriber``, ``topic``, ``since``, ``until``; the last two are empty
    where a subscription reaches beyond the span. Times are UTC, to the second: ISO 8601 text in
    CSV, timestamps in Parquet.

    Statistics aimed at: a tenth of the topics are artists (popular ones rather; few and long
    messages, most on Fridays), a fifth playlists, the rest friends. The expected events of a topic
    have the tail P(X > x) ~ x ** -1.5; followers P(x) ~ x ** -2.2, followings P(x) ~ x ** -2.4;
    half of the pairs lie inside communities. The busiest hour of the day has at least four times
    the events of the quietest, Fridays and weekends more than other days. Events are drawn hour by
    hour and written in pieces: memory grows with the other sizes, not with them.

    Parameters
    ----------
    out
        Folder to write; it appears whole or not at all.
    topics, subscribers, events, pairs
        Sizes. There are at least as many pairs as topics and as subscribers, and at most half of
        all possible ones.
    days, start
        The span: whole days from a date or an instant in ISO 8601; without a zone, UTC.
    churn
        Share of the pairs that begin or end inside the span.
    bad_rows
        How many rows to add that cannot be used, in both files and for various reasons.
    file_format
        ``csv`` or ``parquet``.
    seed
        Makes every random choice repeatable.
    """
    check_sizes(topics, subscribers, pairs)
    if events < 1:
        raise ParameterError("events", "a whole number >= 1", events)
    if not 0 <= churn <= 1:
        raise ParameterError("churn", "a share from 0 to 1", churn)
    if bad_rows < 0:
        raise ParameterError("bad_rows", "a whole number >= 0", bad_rows)
    if file_format not in FORMATS:
        raise ParameterError("format", " or ".join(FORMATS), file_format)
    first = _parse_start(start, days)
    seconds = days * 24 * _HOUR

    for_pairs, for_topics, for_bad_rows, for_churn, for_events = np.random.default_rng(seed).spawn(
        5
    )
    event_faults, pair_faults = _draw_faults(bad_rows, file_format, for_bad_rows)
    with (
        atomic_folder(out, TRACE, overwrite=overwrite) as folder,
        progress.step("Writing traces", total=events + pairs) as step,
    ):
        followers, followings = draw_degrees(
            topics, subscribers, pairs, FOLLOWER_EXPONENT, FOLLOWING_EXPONENT, for_pairs
        )
        catalogue = _draw_catalogue(followers, for_topics)
        matching = match(followings, followers, COMMUNITIES, for_pairs)
        columns = {
            "subscriber": pa.string(),
            "topic": pa.string(),
            "since": time_type(),
            "until": time_type(),
        }
        with TraceWriter(folder, "subscriptions", columns, file_format) as subscriptions:
            passing = _write_subscriptions(
                subscriptions,
                matching,
                music_names.user_names(subscribers, for_topics),
                catalogue.names,
                (first, first + seconds),
                churn,
                pair_faults,
                for_churn,
                step,
            )
        columns = {"topic": pa.string(), "timestamp": time_type(), "bytes": pa.int32()}
        with TraceWriter(folder, "publications", columns, file_format) as publications:
            published = _write_publications(
                publications, catalogue, events, first, days, event_faults, for_events, step
            )
        summary = TraceSummary(
            publications=publications.path.name,
            subscriptions=subscriptions.path.name,
            start=_iso(first),
            end=_iso(first + seconds),
            topics=topics,
            active_topics=int(np.count_nonzero(published)),
            subscribers=subscribers,
            events=events,
            pairs=len(matching.topic),
            publication_rows=publications.rows,
            subscription_rows=subscriptions.rows,
            passing=passing,
            bad_rows={
                "publications": _count_faults(event_faults, _PUBLICATION_FAULTS),
                "subscriptions": _count_faults(pair_faults, _SUBSCRIPTION_FAULTS),
            },
            seed=seed,
        )
        text = json.dumps({"generator": "music-trace", **asdict(summary)}, indent=2)
        (folder / "trace.json").write_text(text + "\n", encoding="utf-8")
    return summary


def _parse_start(start: str, days: int) -> int:
    """Return the epoch second of the start."""
    if days < 1:
        raise ParameterError("days", "a whole number >= 1", days)
    try:
        moment = datetime.fromisoformat(start)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        fits = (moment + timedelta(days=days)).year <= _LAST_YEAR
    except OverflowError:
        fits = False
    except (TypeError, ValueError):
        raise ParameterError("start", "a date or an instant in ISO 8601", start) from None
    if not fits:
        raise ParameterError("days", f"so few that the span ends by {_LAST_YEAR}", days)
    return int(moment.timestamp() // 1)


def _iso(second: int) -> str:
    return str(np.datetime_as_string(np.datetime64(second, "s"), timezone="UTC"))


def _draw_faults(count: int, file_format: str, rng: np.random.Generator) -> tuple[Faults, Faults]:
    """Deal out bad rows: half to each file, there to its reasons in turn, in random order."""
    per_file = [
        np.array([fault for fault in faults if file_format == "csv" or fault != _ODD_TIME], np.int8)
        for faults in (_PUBLICATION_FAULTS, _SUBSCRIPTION_FAULTS)
    ]
    publications, subscriptions = (
        rng.permutation(np.resize(faults, share))
        for faults, share in zip(per_file, (count - count // 2, count // 2), strict=True)
    )
    return publications, subscriptions


def _count_faults(faults: Faults, reasons: dict[int, str]) -> dict[str, int]:
    counts = np.bincount(faults, minlength=_BACKWARDS + 1)
    return {reason: int(counts[fault]) for fault, reason in reasons.items() if counts[fault]}


def _draw_catalogue(followers: LongArray, rng: np.random.Generator) -> _Catalogue:
    count = len(followers)
    # Of two topics the more popular one is likelier an artist, then a playlist, then a friend.
    order = np.argsort(rng.exponential(size=count) / np.sqrt(followers)).astype(np.int32)
    borders = np.round(np.cumsum([kind.share for kind in KINDS.values()]) * count).astype(int)
    members = np.split(order, borders[:-1])
    named = [
        make(len(ids), rng)
        for make, ids in zip(
            (music_names.artist_names, music_names.playlist_names, music_names.friend_names),
            members,
            strict=True,
        )
    ]
    rates = rng.permutation(double_pareto(draw_strata(count, rng), RATE_TAIL, RATE_HEAD, 1.0))
    weights = [
        kind.activity * rates[ids] for kind, ids in zip(KINDS.values(), members, strict=True)
    ]
    return _Catalogue(
        names=pa.concat_arrays(named).take(pa.array(np.argsort(order))),
        members=members,
        chances=[np.cumsum(part) / max(part.sum(), 1e-300) for part in weights],
        activity=np.array([part.sum() for part in weights]),
    )


def _write_subscriptions(
    writer: TraceWriter,
    matching: Matching,
    people: pa.Array,
    topic_names: pa.Array,
    span: tuple[int, int],
    churn: float,
    faults: Faults,
    rng: np.random.Generator,
    step: Step,
) -> int:
    """Write the pairs in random order; return how many begin or end inside the span."""
    num_pairs = len(matching.topic)
    since = np.full(num_pairs, NO_TIME)
    until = np.full(num_pairs, NO_TIME)
    passing = np.flatnonzero(rng.random(num_pairs) < churn)
    first, second, third = _ascending_times(len(passing), span, rng)
    joins, leaves = np.array([(True, False), (False, True), (True, True)])[
        rng.integers(0, 3, len(passing))
    ].T
    since[passing[joins]] = first[joins]
    until[passing[leaves]] = second[leaves]
    returns = leaves & (rng.random(len(passing)) < RETURNING)

    bad = rng.integers(0, num_pairs, len(faults))
    spoilt_since, spoilt_until = since[bad], until[bad]
    spoilt_since[faults == _ODD_TIME] = ODD_TIME
    backwards = faults == _BACKWARDS
    spoilt_since[backwards] = span[0] + _HOUR
    spoilt_until[backwards] = span[0]

    pair = np.concatenate([np.arange(num_pairs), passing[returns], bad])
    since = np.concatenate([since, third[returns], spoilt_since])
    until = np.concatenate([until, np.full(int(returns.sum()), NO_TIME), spoilt_until])
    fault = np.concatenate([np.zeros(len(pair) - len(bad), dtype=np.int8), faults])
    order = rng.permutation(len(pair))
    for begin in range(0, len(order), _CHUNK_ROWS):
        rows = order[begin : begin + _CHUNK_ROWS]
        ids = pair[rows]
        writer.write(
            people.take(pa.array(matching.subscriber[ids], mask=fault[rows] == _NO_SUBSCRIBER)),
            topic_names.take(pa.array(matching.topic[ids], mask=fault[rows] == _NO_TOPIC)),
            writer.times(since[rows]),
            writer.times(until[rows]),
        )
        step.advance(len(rows) * num_pairs / len(pair))
    return len(passing)


def _ascending_times(
    count: int, span: tuple[int, int], rng: np.random.Generator
) -> tuple[LongArray, LongArray, LongArray]:
    """Draw three different seconds inside the span for each, in order."""
    draws = np.sort(rng.integers(span[0] + 1, span[1] - 3, (count, 3)), axis=1)
    first, second, third = (draws + np.arange(3)).T
    return first, second, third


def _write_publications(
    writer: TraceWriter,
    catalogue: _Catalogue,
    events: int,
    first: int,
    days: int,
    faults: Faults,
    rng: np.random.Generator,
    step: Step,
) -> LongArray:
    """Write the events in order of time; return how many each topic got."""
    monday = 4 * 24 * _HOUR  # the epoch began on a Thursday
    first_hour = (first - monday) // _HOUR % HOURS_OF_WEEK
    weights = hour_weights(first_hour, days * 24, catalogue.activity)
    counts = rng.multinomial(events, weights.ravel()).reshape(weights.shape)
    published = np.zeros(len(catalogue.names), dtype=np.int64)
    num_done = num_bad = 0
    for begin, end in _pieces(counts.sum(axis=1)):
        times, topics, sizes = _draw_events(catalogue, counts[begin:end], rng)
        times += first + begin * _HOUR
        published += np.bincount(topics, minlength=len(published))

        num_done += len(times)
        spoil = faults[num_bad : round(len(faults) * num_done / events)]
        num_bad += len(spoil)
        copied = rng.integers(0, max(len(times), 1), len(spoil))
        times = np.concatenate([times, times[copied]])
        order = np.argsort(times, kind="stable")
        times = times[order]
        topics = np.concatenate([topics, topics[copied]])[order]
        sizes = np.concatenate([sizes, sizes[copied]])[order]
        fault = np.concatenate([np.zeros(len(order) - len(spoil), dtype=np.int8), spoil])[order]
        times[fault == _NO_TIME] = NO_TIME
        times[fault == _ODD_TIME] = ODD_TIME
        sizes[fault == _ODD_BYTES] *= -1
        writer.write(
            catalogue.names.take(pa.array(topics, mask=fault == _NO_TOPIC)),
            writer.times(times),
            sizes,
        )
        step.advance(len(times) - len(spoil))
    return published


def _pieces(per_hour: LongArray) -> Iterator[tuple[int, int]]:
    """Cut the hours into stretches of about a chunk of events."""
    piece = np.cumsum(per_hour) // _CHUNK_ROWS
    borders = np.flatnonzero(np.diff(piece)) + 1
    yield from zip([0, *borders.tolist()], [*borders.tolist(), len(per_hour)], strict=True)


def _draw_events(
    catalogue: _Catalogue, counts: LongArray, rng: np.random.Generator
) -> tuple[LongArray, IntArray, IntArray]:
    """Draw times in seconds from the first hour, topics and message sizes, not yet in order."""
    times, topics, sizes = [], [], []
    for column, kind in enumerate(KINDS.values()):
        hours = np.repeat(np.arange(len(counts)), counts[:, column])
        times.append(hours * _HOUR + rng.integers(0, _HOUR, len(hours)))
        drawn = np.searchsorted(catalogue.chances[column], rng.random(len(hours)), side="right")
        last = max(len(catalogue.members[column]) - 1, 0)
        topics.append(catalogue.members[column][np.minimum(drawn, last)])
        spread = np.exp(0.4 * rng.standard_normal(len(hours)))
        sizes.append(np.maximum(kind.median_bytes * spread, 1).astype(np.int32))
    return np.concatenate(times), np.concatenate(topics), np.concatenate(sizes)
