"""Who subscribes to what, and since when: kept in memory as arrays, changed event by event.

The ledger keeps the same on disk. A change names a subscriber and a topic, or a filter with the
wildcards of MQTT, which stands for all topics that it matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.service.records import Window

FOREVER = int(np.iinfo(np.int64).max)
"""The end of a subscription that nobody ended."""
ALL = None
"""In place of a topic: all that the subscriber has."""

Action = Literal[
    "subscribe", "unsubscribe", "clean", "kept", "leave", "expire", "start", "gap", "doubt"
]
ACTIONS: tuple[str, ...] = get_args(Action)
SUBSCRIBE: Literal["subscribe"] = "subscribe"
UNSUBSCRIBE: Literal["unsubscribe"] = "unsubscribe"
CLEAN: Literal["clean"] = "clean"
"""A client comes to the broker with a clean session. In place of a topic is when we had lost the
broker, by our clock, if the line was sent before that and came again."""
KEPT: Literal["kept"] = "kept"
"""The same, to a session that the broker keeps when it goes."""
LEAVE: Literal["leave"] = "leave"
"""A client goes."""
EXPIRE: Literal["expire"] = "expire"
"""A session that was kept is given up."""
START: Literal["start"] = "start"
"""The broker was started; the topic is when we lost it, by our clock, or None."""
GAP: Literal["gap"] = "gap"
"""Changes may have been missed; the topic says why."""
LOST, AWAY = "session", "away"
"""Why: the broker had forgotten us, or had not heard of us for long."""
DOUBT: Literal["doubt"] = "doubt"
"""A line that can be read in several ways, in place of the subscriber; the topic is its action."""


class SubscriptionChange(NamedTuple):
    """Somebody subscribes, or no longer does.

    Attributes
    ----------
    instant
        When, in microseconds since the epoch.
    topic
        A topic or a filter with wildcards; None with ``unsubscribe``: all of them.
    came
        When it arrived by our clock, in microseconds since the epoch; 0 where nobody knows.
    """

    instant: int
    action: Action
    subscriber: str
    topic: str | None
    came: int = 0


class Subscription(NamedTuple):
    """A span of time in which a subscriber wants a topic or what a filter matches."""

    subscriber: str
    topic: str
    since: int
    until: int


@dataclass
class Subscriptions:
    """All subscriptions that a window still to come can see.

    Attributes
    ----------
    open_
        Of each subscriber, the topics and filters that it wants now, with where they stand.
    num_open
        How many those are in all.
    """

    subscribers: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    since: list[int] = field(default_factory=list)
    until: list[int] = field(default_factory=list)
    open_: dict[str, dict[str, int]] = field(default_factory=dict)
    num_open: int = 0

    def __len__(self) -> int:
        return len(self.since)

    def load(self, rows: Iterable[Subscription]) -> None:
        """Add what was kept on disk."""
        for subscriber, topic, since, until in rows:
            self._append(subscriber, topic, since, until)

    def apply(self, change: SubscriptionChange) -> list[int]:
        """Apply a change; return the rows that are new or ended by it.

        Subscribing twice is once, and ending what is not there is nothing.
        """
        own = self.open_.get(change.subscriber, {})
        if change.action == "subscribe":
            if change.topic is None or change.topic in own:
                return []
            self._append(change.subscriber, change.topic, change.instant, FOREVER)
            return [len(self.since) - 1]
        topics = list(own) if change.topic is ALL else [change.topic]
        ended = []
        for topic in topics:
            row = own.pop(topic, None)
            if row is not None:
                self.num_open -= 1
                # A clock that went back must not make a span that ends before it begins.
                self.until[row] = max(change.instant, self.since[row])
                ended.append(row)
        return ended

    def row(self, index: int) -> Subscription:
        """Return a row."""
        return Subscription(
            self.subscribers[index], self.topics[index], self.since[index], self.until[index]
        )

    def replace_all(self, pairs: Iterable[tuple[str, str]], instant: int) -> Iterator[int]:
        """Make the pairs all there is from an instant on; yield rows that are new or ended."""
        wanted = dict.fromkeys(pairs)
        gone = [
            (subscriber, topic)
            for subscriber, own in self.open_.items()
            for topic in own
            if (subscriber, topic) not in wanted
        ]
        for subscriber, topic in gone:
            yield from self.apply(SubscriptionChange(instant, "unsubscribe", subscriber, topic))
        for subscriber, topic in wanted:
            yield from self.apply(SubscriptionChange(instant, "subscribe", subscriber, topic))

    def forget_before(self, instant: int) -> int:
        """Drop what ended before an instant; return how many rows that were."""
        kept = [index for index, until in enumerate(self.until) if until > instant]
        gone = len(self.until) - len(kept)
        if gone:
            rows = [self.row(index) for index in kept]
            for column in (self.subscribers, self.topics, self.since, self.until, self.open_):
                column.clear()
            self.num_open = 0
            self.load(rows)
        return gone

    def pairs_in(self, window: Window, seen: pa.Array) -> pa.Table:
        """Return ``subscriber`` and ``topic`` of all that overlap a window, each pair once.

        Parameters
        ----------
        seen
            Topics with events in the window: what filters are matched with.
        """
        since, until = np.array(self.since, dtype=np.int64), np.array(self.until, dtype=np.int64)
        rows = np.flatnonzero((since < window.end) & (until > window.start))
        topics = pa.array(self.topics, pa.string()).take(pa.array(rows))
        subscribers = pa.array(self.subscribers, pa.string()).take(pa.array(rows))
        names, whose = expand_filters(topics, subscribers, seen)
        pairs = pa.table({"subscriber": whose, "topic": names})
        return pairs.group_by(["subscriber", "topic"], use_threads=False).aggregate([])

    def _append(self, subscriber: str, topic: str, since: int, until: int) -> None:
        self.subscribers.append(subscriber)
        self.topics.append(topic)
        self.since.append(since)
        self.until.append(until)
        if until == FOREVER:
            own = self.open_.setdefault(subscriber, {})
            self.num_open += topic not in own
            own[topic] = len(self.since) - 1


def expand_filters(
    topics: pa.Array, subscribers: pa.Array, seen: pa.Array
) -> tuple[pa.Array, pa.Array]:
    """Replace filters by the topics that they match; plain topics stay as they are."""
    is_filter = pc.match_substring_regex(topics, r"(^|/)[+#](/|$)|^\$share/")
    plain = pc.invert(is_filter)
    if not pc.any(is_filter).as_py():
        return topics, subscribers
    tree = TopicTree.of(seen.to_pylist())
    names, whose = [], []
    matched: dict[str, list[str]] = {}
    for name, subscriber in zip(
        topics.filter(is_filter).to_pylist(), subscribers.filter(is_filter).to_pylist(), strict=True
    ):
        if name not in matched:
            matched[name] = list(tree.match(name))
        names += matched[name]
        whose += [subscriber] * len(matched[name])
    return (
        pa.concat_arrays([topics.filter(plain), pa.array(names, pa.string())]),
        pa.concat_arrays([subscribers.filter(plain), pa.array(whose, pa.string())]),
    )


@dataclass
class TopicTree:
    """Topics by level, so that a filter looks only at what it may match.

    Attributes
    ----------
    topic
        The topic that ends at this level, if one does.
    below
        The next levels by name.
    """

    topic: str | None = None
    below: dict[str, TopicTree] = field(default_factory=dict)

    @classmethod
    def of(cls, topics: Iterable[str]) -> TopicTree:
        """Return the tree of some topics."""
        root = cls()
        for topic in topics:
            node = root
            for level in topic.split("/"):
                if level not in node.below:
                    node.below[level] = cls()
                node = node.below[level]
            node.topic = topic
        return root

    def match(self, name: str) -> Iterator[str]:
        """Yield the topics that a filter matches, by the rules of MQTT.

        ``+`` stands for one level, ``#`` for all that follow and for none; neither matches a first
        level that begins with ``$``. Of ``$share/group/filter`` the filter counts.
        """
        levels = name.split("/")
        if levels[0] == "$share" and len(levels) > 2:
            levels = levels[2:]
        left = [(self, 0)]  # topics may have more levels than Python's stack
        while left:
            node, depth = left.pop()
            if depth == len(levels):
                if node.topic is not None:
                    yield node.topic
            elif levels[depth] == "#":
                yield from node._all(is_first=depth == 0)
            elif levels[depth] == "+":
                left += [(below, depth + 1) for below in node._wild(is_first=depth == 0)]
            elif levels[depth] in node.below:
                left.append((node.below[levels[depth]], depth + 1))

    def _all(self, *, is_first: bool) -> Iterator[str]:
        left, is_top = [self], is_first
        while left:
            node = left.pop()
            if node.topic is not None:
                yield node.topic
            left += node._wild(is_first=is_top)
            is_top = False

    def _wild(self, *, is_first: bool) -> Iterator[TopicTree]:
        """Yield the next levels that a wildcard may stand for."""
        for level, node in self.below.items():
            if not (is_first and level.startswith("$")):
                yield node
