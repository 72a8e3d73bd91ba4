"""Which column is which: by their names first, by what is in them where names say nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fanwise.pipeline.local.values import is_number, parse_instant
from fanwise.pipeline.look.samples import Sample
from fanwise.pipeline.shared import time_units
from fanwise.pipeline.shared.outliers import SPAN as OUTLIER_SPAN
from fanwise.pipeline.shared.outliers import Span, find_outliers
from fanwise.pipeline.shared.reasons import REPLACEMENT
from fanwise.pipeline.shared.times import SECOND, iso
from fanwise.pipeline.topic.actions import Actions

PUBLICATIONS, SUBSCRIPTIONS, LOG, EDGES = "publications", "subscriptions", "log", "edges"

_NAMES = {
    "topic": (
        "topic", "channel", "subject", "artist", "song", "track", "feed", "hashtag", "stream",
        "followee", "followed", "target", "item", "symbol", "key", "topicname", "topicid",
        "artistid", "channelid",
    ),
    "subscriber": (
        "subscriber", "subscriberid", "follower", "followerid", "user", "userid", "username",
        "client", "clientid", "member", "account", "accountid", "uid", "consumer", "listener",
        "source",
    ),
    "timestamp": (
        "timestamp", "time", "ts", "datetime", "eventtime", "createdat", "created", "occurredat",
        "publishedat", "at", "when", "date", "datum",
    ),
    "bytes": ("bytes", "size", "length", "payloadsize", "messagesize", "msgsize", "bytessent"),
    "events": ("events", "count", "numevents", "n", "messages", "total", "plays"),
    "since": ("since", "validfrom", "from", "begin", "start", "startdate", "subscribedat"),
    "until": ("until", "validto", "to", "end", "enddate", "unsubscribedat"),
    "action": ("action", "op", "operation", "change", "event", "type", "kind"),
    "event_id": ("eventid", "id", "messageid", "msgid", "uuid", "eid"),
}  # fmt: skip
_DIGITS_OF_DATE = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])")


@dataclass
class Guess:
    """What a trace is taken to be.

    Attributes
    ----------
    role
        ``publications``, ``subscriptions``, ``log`` (of subscriptions) or ``edges``.
    columns
        From the names that ingest knows to the trace's own.
    times
        In which forms times come.
    problems
        What is wrong or worth a look, for people.
    """

    role: str
    columns: dict[str, str] = field(default_factory=dict)
    times: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def guess(sample: Sample) -> Guess:
    """Guess what a trace is and which of its columns is which."""
    columns = {name: cells for name, cells in sample.columns.items() if any(cells)}
    found: dict[str, str] = {}

    def take(wanted: str, fits: Callable[[Sequence[str]], bool]) -> None:
        names = _NAMES[wanted]
        ranked = sorted(
            (names.index(word), len(name), name)
            for name, cells in columns.items()
            if (word := _plain(name)) in names
            and name not in found.values()
            and fits([cell for cell in cells if cell])
        )
        if ranked:
            found[wanted] = ranked[0][-1]

    known = Actions().words
    take("action", lambda cells: _share(cells, lambda one: one.strip().lower() in known) > 0.9)
    take("timestamp", _are_times)
    take("since", _are_times)
    take("until", _are_times)
    if not {"timestamp", "since", "until"} & {*found}:
        others = [
            name
            for name, cells in columns.items()
            if _are_times([cell for cell in cells if cell]) and not _are_small(cells)
        ]
        if others:
            found["timestamp"] = others[0]
    take("event_id", lambda cells: len(set(cells)) > 0.5 * len(cells))
    take("bytes", lambda cells: _share(cells, is_number) > 0.9)
    take("events", lambda cells: _share(cells, is_number) > 0.9)
    take("topic", lambda cells: True)
    take("subscriber", lambda cells: True)
    _fill_names(columns, found)
    role = _role(sample, found)
    result = Guess(role, _of_role(role, found))
    _find_problems(sample, result)
    return result


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.rsplit(".", 1)[-1].lower())


def _share(cells: Sequence[str], holds: Callable[[str], bool]) -> float:
    return sum(map(holds, cells)) / len(cells) if cells else 0.0


def _are_times(cells: Sequence[str]) -> bool:
    return _share(cells[:200], lambda one: parse_instant(one) is not None) > 0.8


def _are_small(cells: Sequence[str | None]) -> bool:
    """Whether numbers are too small to be times of our days."""
    return all(cell is None or (is_number(cell) and abs(float(cell)) < 10**8) for cell in cells)


def _fill_names(columns: dict[str, list[str | None]], found: dict[str, str]) -> None:
    """Guess topic and subscriber among what is left: names, of which the topics repeat most."""
    left = [name for name in columns if name not in found.values()]
    if "topic" not in found and left:
        words = [name for name in left if not _are_small(columns[name])] or left
        found["topic"] = min(words, key=lambda name: len(set(columns[name])))
        left.remove(found["topic"])
    if "subscriber" not in found and "timestamp" not in found and "events" not in found and left:
        found["subscriber"] = left[0]


def _role(sample: Sample, found: dict[str, str]) -> str:
    if sample.kind == "edges":
        return EDGES
    if "action" in found and "subscriber" in found:
        return LOG
    has_when = "timestamp" in found or "events" in found
    if "subscriber" in found and (not has_when or {"since", "until"} & {*found}):
        return SUBSCRIPTIONS
    return PUBLICATIONS if has_when else SUBSCRIPTIONS


def _of_role(role: str, found: dict[str, str]) -> dict[str, str]:
    wanted = {
        PUBLICATIONS: ("topic", "timestamp", "events", "bytes", "event_id"),
        SUBSCRIPTIONS: ("subscriber", "topic", "since", "until"),
        LOG: ("subscriber", "topic", "action", "timestamp"),
        EDGES: ("subscriber", "topic"),
    }[role]
    kept = {name: found[name] for name in wanted if name in found}
    if "timestamp" in kept and role == PUBLICATIONS:
        kept.pop("events", None)
    return kept


def _find_problems(sample: Sample, result: Guess) -> None:
    problems = result.problems
    problems += sample.remarks
    if sample.malformed:
        shown = sample.malformed[0][:80]
        problems.append(f"{len(sample.malformed)} rows cannot be taken apart, as {shown!r}")
    needed = {PUBLICATIONS: ("topic",), LOG: ("subscriber", "topic", "action", "timestamp")}
    for name in needed.get(result.role, ("subscriber", "topic")):
        if name not in result.columns:
            problems.append(f"no column looks like {name}: name it with --rename COLUMN={name}")
    for name in ("topic", "subscriber"):
        column = result.columns.get(name)
        cells = sample.columns.get(column, []) if column else []
        lacking = sum(cell is None for cell in cells)
        if lacking:
            problems.append(f"{lacking} of {len(cells)} rows have no {name}")
        if any(cell and REPLACEMENT in cell for cell in cells) and sample.encoding is None:
            problems.append(f"column {column!r} was written in another encoding once")
    _look_at_times(sample, result)


def _look_at_times(sample: Sample, result: Guess) -> None:
    column = result.columns.get("timestamp")
    if column is None:
        return
    cells = [cell for cell in sample.columns[column] if cell]
    own = sample.types.get(column, "")
    if own.startswith(("timestamp", "date")):
        result.times = [own]
    else:
        units = [
            time_units.unit_of(float(cell)) if is_number(cell) else "ISO 8601"
            for cell in cells
            if parse_instant(cell) is not None
        ]
        result.times = sorted(set(units), key=units.count, reverse=True)
    instants = sorted(at for cell in cells if (at := parse_instant(cell)) is not None)
    if len(instants) < len(cells):
        odd = next(cell for cell in cells if parse_instant(cell) is None)
        result.problems.append(f"{len(cells) - len(instants)} times cannot be read, as {odd!r}")
    if not instants:
        return
    if all(_DIGITS_OF_DATE.fullmatch(cell) for cell in cells):
        result.problems.append(
            "times are dates without dashes (20240131): they would be taken for seconds of 1970; "
            "write dashes"
        )
    elif instants[-1] < 366 * 86400 * SECOND:
        result.problems.append("all times are of 1970: is their unit another? See --time-unit")
    spans = [Span(at, at, 1) for at in instants]
    if instants[-1] - instants[0] > OUTLIER_SPAN:
        outliers = find_outliers(spans)
        if outliers is not None:
            result.problems.append(
                f"{outliers.events} of {len(instants)} times are far from the others, as "
                f"{iso(outliers.first)}: see --from and --to"
            )
