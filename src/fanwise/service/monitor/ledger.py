"""What was counted so far, on disk: one transaction a micro-batch, so that nothing counts twice.

The ledger belongs to Spark's checkpoint in the same state folder. Spark may hand over a batch a
second time after a crash; the ledger knows its number and takes it once. Closing windows is part of
the batch's transaction, so a window closes at one point in the order of batches, whatever is killed
when.

Counts carry how far windows were closed when they were counted. Of a window that was closed already
they are not part: it never changes.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.errors import InputError
from fanwise.service.monitor.sessions import Sessions
from fanwise.service.monitor.subscriptions import (
    FOREVER,
    GAP,
    LOST,
    Subscription,
    SubscriptionChange,
    Subscriptions,
)
from fanwise.service.monitor.windows import WindowRule
from fanwise.service.records import ClosedBy, ClosedWindow, Window

VERSION = 1
NEVER = -(2**62)
"""An instant before all others: nothing is closed yet."""
MORE_TOPICS, FEW_TOPICS = 1.1, 1000
"""Names are looked through once there are that many times as many, and a few more."""
SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE batches (
    number INTEGER PRIMARY KEY, committed_at INTEGER NOT NULL, events INTEGER NOT NULL,
    late INTEGER NOT NULL, bad INTEGER NOT NULL, changes INTEGER NOT NULL
);
CREATE TABLE topics (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE counts (
    pane INTEGER NOT NULL, topic INTEGER NOT NULL, closed_through INTEGER NOT NULL,
    events INTEGER NOT NULL, size_sum REAL NOT NULL, size_known INTEGER NOT NULL,
    PRIMARY KEY (pane, topic, closed_through)
) WITHOUT ROWID;
CREATE TABLE windows (
    start INTEGER NOT NULL, end INTEGER NOT NULL, closed_by TEXT NOT NULL,
    closed_at INTEGER NOT NULL, late INTEGER NOT NULL, bad INTEGER NOT NULL,
    PRIMARY KEY (end, start)
) WITHOUT ROWID;
CREATE TABLE subscriptions (
    row INTEGER PRIMARY KEY, subscriber TEXT NOT NULL, topic TEXT NOT NULL,
    since INTEGER NOT NULL, until INTEGER NOT NULL
);
"""
ENDED_SHARE = 0.1
"""Ended subscriptions go once they are such a share of all: then all rows are written anew."""
MORE = """
CREATE TABLE IF NOT EXISTS heard (topic INTEGER PRIMARY KEY, pane INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (
    client TEXT PRIMARY KEY, is_clean INTEGER NOT NULL, since INTEGER NOT NULL,
    came INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reasons (reason TEXT PRIMARY KEY, rows INTEGER NOT NULL) WITHOUT ROWID;
"""
"""Tables that were added later: missing ones are made."""


class TopicCount(NamedTuple):
    """Events of a topic in a pane, with what is known of their sizes."""

    pane: int
    topic: str
    events: int
    size_sum: float
    size_known: int


@dataclass(frozen=True)
class Batch:
    """One micro-batch as it was read.

    Attributes
    ----------
    number
        Spark's number of the batch.
    last
        The latest event time in it; None without events.
    reasons
        Rows that could not be read, by reason.
    changes
        Of subscriptions and of who is connected, in the order in which they came.
    """

    number: int
    counts: Sequence[TopicCount] = ()
    last: int | None = None
    reasons: Mapping[str, int] = field(default_factory=dict)
    changes: Sequence[SubscriptionChange] = ()


@dataclass(frozen=True)
class Committed:
    """What a batch did.

    Attributes
    ----------
    is_new
        False for a batch that was there already: it did nothing.
    closed
        Windows that it closed, oldest first.
    late
        Events that came too late for some window.
    bad
        Rows that could not be read, or whose meaning could not be told.
    """

    is_new: bool
    closed: Sequence[Window] = ()
    late: int = 0
    bad: int = 0


@dataclass
class _Memory:
    """What is kept in memory of the tables; changed only when a transaction has succeeded."""

    subscriptions: Subscriptions = field(default_factory=Subscriptions)
    sessions: Sessions = field(default_factory=Sessions)
    topics: dict[str, int] = field(default_factory=dict)
    next_topic: int = 0


class Ledger:
    """Counts, closed windows and subscriptions."""

    def __init__(self, path: Path, rule: WindowRule) -> None:
        """Open the ledger, or begin one.

        Raises
        ------
        InputError
            Where the file is of another version, or its windows are of other lengths.
        """
        self.path, self.rule = path, rule
        self._lock = RLock()
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._prepare()
        self._memory = self._load()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    # Writing

    def commit(self, batch: Batch) -> Committed:
        """Take a batch, once: count it, apply its changes, close the windows that it closes."""
        with self._lock, self._transaction():
            if self._has_batch(batch.number):
                return Committed(is_new=False)
            through = self._get("closed_through")
            late = self._count(batch.counts, through)
            reasons = Counter(batch.reasons) + self._change(batch.changes)
            bad = reasons.total()
            self._add_reasons(reasons)
            self._add("late", late)
            self._add("bad", bad)
            last = max(self._get("last"), NEVER if batch.last is None else batch.last)
            self._set("last", last)
            now_through = (
                max(through, self.rule.closed_by_watermark(last)) if last > NEVER else (through)
            )
            closed = self._close_through(now_through, "watermark")
            self._database.execute(
                "INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?)",
                (
                    batch.number,
                    _now(),
                    sum(count.events for count in batch.counts),
                    late,
                    bad,
                    len(batch.changes),
                ),
            )
            return Committed(is_new=True, closed=closed, late=late, bad=bad)

    def close_silent(self, now: int) -> list[Window]:
        """Close the windows that are open, because nothing came for long.

        Parameters
        ----------
        now
            The time: windows that it has not passed yet stay open, for more may come.
        """
        with self._lock, self._transaction():
            row = self._database.execute("SELECT max(pane) FROM counts").fetchone()
            if row[0] is None:
                return []
            through = min(self.rule.closed_by_silence(row[0]), self.rule.closed_by_watermark(now))
            return self._close_through(max(self._get("closed_through"), through), "idle")

    def take_snapshot(self, pairs: Iterable[tuple[str, str]], instant: int) -> int:
        """Make the pairs all subscriptions from an instant on; return how many rows changed."""
        with self._lock, self._transaction():
            subscriptions = self._memory.subscriptions
            rows = list(subscriptions.replace_all(pairs, instant))
            self._write_subscriptions(rows)
            self._set("snapshot", 1)
            return len(rows)

    def has_snapshot(self) -> bool:
        """Whether a snapshot was taken."""
        with self._lock:
            return bool(self._get("snapshot"))

    def first_batch(self) -> int:
        """Return the number of the first batch of the checkpoint that is in use."""
        with self._lock:
            return self._get("first_batch")

    def set_first_batch(self, number: int) -> None:
        """Use another checkpoint from a batch on."""
        with self._lock, self._transaction():
            self._set("first_batch", number)

    def has_batch(self, number: int) -> bool:
        """Whether a batch was counted, as far as is remembered."""
        with self._lock:
            return self._has_batch(number)

    def go_back(self, now: int) -> int:
        """Forget what was counted after an instant; return up to which end windows are closed.

        Subscriptions of that time begin and end at the instant.
        """
        with self._lock, self._transaction():
            ends = self._database.execute("SELECT max(end) FROM windows WHERE start <= ?", (now,))
            known = ends.fetchone()[0]
            by_time = self.rule.closed_by_watermark(now)
            through = min(self._get("closed_through"), max(by_time, known or NEVER))
            for statement, value in (
                ("DELETE FROM windows WHERE start > ?", now),
                ("DELETE FROM counts WHERE pane >= ?", max(through, self.rule.pane_of(now))),
                ("DELETE FROM heard WHERE pane > ?", now),
                ("UPDATE subscriptions SET since = min(since, ?1) WHERE since > ?1", now),
                (
                    "UPDATE subscriptions SET until = max(since, ?1) "
                    f"WHERE until > ?1 AND until < {FOREVER}",
                    now,
                ),
                ("UPDATE sessions SET since = min(since, ?1), came = min(came, ?1)", now),
            ):
                self._database.execute(statement, (value,))
            self._set("closed_through", through)
            self._set("last", min(self._get("last"), now))
            self._memory = self._load(in_transaction=True)
        return through

    def last_instant(self) -> int:
        """Return the latest event time; NEVER before the first event."""
        with self._lock:
            return self._get("last")

    def last_batch(self) -> int:
        """Return the number of the last batch that was counted; -1 before the first."""
        with self._lock:
            found = self._database.execute("SELECT max(number) FROM batches").fetchone()[0]
            return -1 if found is None else int(found)

    def forget(self, keep_from: int, heard_from: int = NEVER) -> None:
        """Drop counts, windows and ended subscriptions that no window from an instant on needs.

        Parameters
        ----------
        heard_from
            From when on it is known that a topic had events.
        """
        with self._lock, self._transaction():
            self._database.execute("DELETE FROM heard WHERE pane < ?", (heard_from,))
            through = min(self._get("closed_through"), keep_from)
            self._database.execute("DELETE FROM counts WHERE pane < ?", (through,))
            self._database.execute("DELETE FROM windows WHERE end <= ?", (through,))
            # The last batches alone are ever asked for again.
            self._database.execute(
                "DELETE FROM batches WHERE number < (SELECT max(number) FROM batches) - 1000"
            )
            if self._forget_topics() + self._forget_subscriptions(through):
                self._memory = self._load(in_transaction=True)

    # Reading

    def heard_since(self, instant: int) -> set[str]:
        """Return the topics that had events in closed windows from an instant on."""
        with self._lock:
            rows = self._database.execute(
                "SELECT t.name FROM heard h JOIN topics t ON t.id = h.topic WHERE h.pane >= ?",
                (self.rule.pane_of(instant),),
            )
            return {row[0] for row in rows}

    def windows_after(self, end: int = NEVER) -> list[Window]:
        """Return closed windows that end after an instant, oldest first."""
        with self._lock:
            rows = self._database.execute(
                "SELECT start, end FROM windows WHERE end > ? ORDER BY end, start", (end,)
            )
            return [Window(*row) for row in rows]

    def has_window(self, window: Window) -> bool:
        """Whether a window is closed and its counts are kept."""
        with self._lock:
            found = self._database.execute(
                "SELECT 1 FROM windows WHERE start = ? AND end = ?", (window.start, window.end)
            ).fetchone()
            return found is not None

    def closed_window(self, window: Window) -> ClosedWindow:
        """Return what was counted in a closed window, and who wanted what in it."""
        with self._lock:
            about = self._database.execute(
                "SELECT closed_by, late, bad FROM windows WHERE start = ? AND end = ?",
                (window.start, window.end),
            ).fetchone()
            if about is None:
                raise KeyError(window)
            topics, events, size = self.counts_in(window)
            pairs = self._memory.subscriptions.pairs_in(window, topics)
        return ClosedWindow(
            window=window,
            closed_by=about[0],
            topics=topics,
            events=events,
            size=size,
            pairs=pairs,
            late=about[1],
            bad=about[2],
        )

    def counts_in(self, window: Window) -> tuple[pa.Array, Any, Any]:
        """Return topics in code-point order, their events, and the mean size of their messages."""
        with self._lock:
            rows = self._database.execute(
                "SELECT t.name, sum(c.events), sum(c.size_sum), sum(c.size_known) FROM counts c "
                "JOIN topics t ON t.id = c.topic "
                "WHERE c.pane >= ? AND c.pane < ? AND c.closed_through < ? GROUP BY c.topic",
                (window.start, window.end, window.end),
            ).fetchall()
        names = pa.array([row[0] for row in rows], pa.string())
        order = np.asarray(pc.sort_indices(names), dtype=np.int64)
        columns = [
            np.array([row[column] for row in rows], dtype=kind)[order]
            for column, kind in ((1, np.int64), (2, np.float64), (3, np.float64))
        ]
        events, total, known = columns
        size = np.divide(total, known, out=np.full(len(order), np.nan), where=known > 0)
        return names.take(pa.array(order)), events, size

    def totals(self) -> Mapping[str, int]:
        """Return what was counted since the beginning: events, late, bad, batches, last."""
        with self._lock:
            return {
                "events": self._get("events"),
                "late": self._get("late_in_all") + self._get("late"),
                "bad": self._get("bad_in_all") + self._get("bad"),
                "batch": self.last_batch(),
                "last": self._get("last"),
                "closed_through": self._get("closed_through"),
                "gaps": self._get("gaps"),
                "lost_sessions": self._get("lost_sessions"),
                "subscriptions": self._memory.subscriptions.num_open,
            }

    def reasons(self) -> dict[str, int]:
        """Return the rows that could not be read since the beginning, by reason."""
        with self._lock:
            return dict(self._database.execute("SELECT reason, rows FROM reasons"))

    # Inside

    def _prepare(self) -> None:
        rule = {"length": self.rule.length, "slide": self.rule.slide}
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            with self._transaction():
                for statement in (SCHEMA + MORE).split(";"):
                    self._database.execute(statement)
                for name, value in {**rule, "closed_through": NEVER, "last": NEVER}.items():
                    self._set(name, value)
                self._database.execute(f"PRAGMA user_version = {VERSION}")
            return
        if version != VERSION:
            raise InputError(
                f"{self.path}: is of version {version}, and this fanwise reads {VERSION}; "
                "use the one that wrote it."
            )
        for statement in MORE.split(";"):
            self._database.execute(statement)
        for name, value in rule.items():
            if self._get(name) != value:
                raise InputError(
                    f"{self.path}: windows there have another {name} ({self._get(name) / 1e6:g} s "
                    f"instead of {value / 1e6:g} s); begin with a new state folder."
                )

    def _load(self, *, in_transaction: bool = False) -> _Memory:
        memory = _Memory()
        memory.topics = dict(self._database.execute("SELECT name, id FROM topics"))
        memory.next_topic = max(memory.topics.values(), default=-1) + 1
        rows = self._database.execute(
            "SELECT subscriber, topic, since, until FROM subscriptions ORDER BY row"
        )
        memory.subscriptions.load(Subscription(*row) for row in rows)
        memory.sessions.load(
            self._database.execute("SELECT client, is_clean, since, came FROM sessions")
        )
        # Rows are numbered from 0 on without holes, in memory as on disk.
        numbers = self._database.execute("SELECT count(*), max(row) FROM subscriptions").fetchone()
        if numbers[0] and numbers[1] != numbers[0] - 1:
            with nullcontext() if in_transaction else self._transaction():
                self._database.execute("DELETE FROM subscriptions")
                self._write_rows(range(len(memory.subscriptions)), memory.subscriptions)
        return memory

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run a block as one transaction; after a failure memory is what is on disk."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            if hasattr(self, "_memory"):
                self._memory = self._load()
            raise

    def _has_batch(self, number: int) -> bool:
        found = self._database.execute("SELECT 1 FROM batches WHERE number = ?", (number,))
        return found.fetchone() is not None

    def _count(self, counts: Sequence[TopicCount], through: int) -> int:
        """Add counts to panes; return the events that are late for some window or for all."""
        late = total = 0
        rows = []
        for count in counts:
            total += count.events
            ends = self.rule.ends_over(count.pane)
            if ends[0] <= through:
                late += count.events
            if ends[-1] > through:
                rows.append(
                    (
                        count.pane,
                        self._topic_id(count.topic),
                        through,
                        count.events,
                        count.size_sum,
                        count.size_known,
                    )
                )
        self._database.executemany(
            "INSERT INTO counts VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (pane, topic, closed_through) DO UPDATE SET "
            "events = events + excluded.events, size_sum = size_sum + excluded.size_sum, "
            "size_known = size_known + excluded.size_known",
            rows,
        )
        self._add("events", total)
        return late

    def _topic_id(self, name: str) -> int:
        known = self._memory.topics
        if name not in known:
            known[name] = self._memory.next_topic
            self._memory.next_topic += 1
            self._database.execute("INSERT INTO topics VALUES (?, ?)", (known[name], name))
        return known[name]

    def _forget_topics(self) -> int:
        """Drop the names of topics that nothing counts, once there may be many; return how many."""
        if len(self._memory.topics) <= MORE_TOPICS * self._get("topics_kept") + FEW_TOPICS:
            return 0
        gone = self._database.execute(
            "DELETE FROM topics WHERE id NOT IN (SELECT topic FROM counts) "
            "AND id NOT IN (SELECT topic FROM heard)"
        ).rowcount
        self._set("topics_kept", len(self._memory.topics) - gone)
        return gone

    def _forget_subscriptions(self, through: int) -> int:
        """Drop subscriptions that ended before an instant, once they are many; return how many."""
        ended, total = self._database.execute(
            "SELECT count(*) FILTER (WHERE until <= ?), count(*) FROM subscriptions", (through,)
        ).fetchone()
        if not ended or ended < ENDED_SHARE * total:
            return 0
        self._database.execute("DELETE FROM subscriptions WHERE until <= ?", (through,))
        return int(ended)

    def _change(self, changes: Sequence[SubscriptionChange]) -> Counter[str]:
        """Apply changes; return those that were set aside, by reason."""
        memory, bad = self._memory, Counter[str]()
        rows: dict[int, None] = {}
        clients: dict[str, None] = {}
        for change in changes:
            if change.action == GAP:
                self._add("lost_sessions" if change.topic == LOST else "gaps", 1)
                continue
            outcome = memory.sessions.apply(change, memory.subscriptions)
            for one in outcome.changes:
                rows |= dict.fromkeys(memory.subscriptions.apply(one))
            clients |= dict.fromkeys(outcome.clients)
            if outcome.bad:
                bad[outcome.bad] += 1
        self._write_subscriptions(rows)
        self._write_sessions(clients)
        return bad

    def _write_sessions(self, clients: Iterable[str]) -> None:
        known = self._memory.sessions.of
        for client in clients:
            if client in known:
                self._database.execute(
                    "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)", (client, *known[client])
                )
            else:
                self._database.execute("DELETE FROM sessions WHERE client = ?", (client,))

    def _add_reasons(self, reasons: Mapping[str, int]) -> None:
        self._database.executemany(
            "INSERT INTO reasons VALUES (?, ?) "
            "ON CONFLICT (reason) DO UPDATE SET rows = rows + excluded.rows",
            reasons.items(),
        )

    def _write_subscriptions(self, rows: Iterable[int]) -> None:
        self._write_rows(rows, self._memory.subscriptions)

    def _write_rows(self, rows: Iterable[int], subscriptions: Subscriptions) -> None:
        self._database.executemany(
            "INSERT OR REPLACE INTO subscriptions VALUES (?, ?, ?, ?, ?)",
            ((row, *subscriptions.row(row)) for row in rows),
        )

    def _close_through(self, through: int, closed_by: ClosedBy) -> list[Window]:
        before = self._get("closed_through")
        if through <= before:
            return []
        panes = [
            row[0]
            for row in self._database.execute(
                "SELECT DISTINCT pane FROM counts WHERE pane > ? AND pane < ?",
                (before - self.rule.length - 1, through),
            )
        ]
        closed = self.rule.closing(panes, before, through)
        self._set("closed_through", through)
        self._database.execute(
            "INSERT INTO heard SELECT topic, max(pane) FROM counts WHERE pane > ? AND pane < ? "
            "GROUP BY topic ON CONFLICT (topic) DO UPDATE SET pane = max(pane, excluded.pane)",
            (before - self.rule.length - 1, through),
        )
        if not closed:
            return []
        late, bad = self._get("late"), self._get("bad")
        for index, window in enumerate(closed):
            is_last = index == len(closed) - 1
            self._database.execute(
                "INSERT INTO windows VALUES (?, ?, ?, ?, ?, ?)",
                (
                    window.start,
                    window.end,
                    closed_by,
                    _now(),
                    late if is_last else 0,
                    bad if is_last else 0,
                ),
            )
        self._add("late_in_all", late)
        self._add("bad_in_all", bad)
        self._set("late", 0)
        self._set("bad", 0)
        return closed

    def _get(self, name: str) -> int:
        row = self._database.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return 0 if row is None else int(row[0])

    def _set(self, name: str, value: int) -> None:
        self._database.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def _add(self, name: str, amount: int) -> None:
        if amount:
            self._set(name, self._get(name) + amount)


def _now() -> int:
    return time.time_ns() // 1000
