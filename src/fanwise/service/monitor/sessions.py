"""Who is connected to the broker, and what that means for subscriptions.

The ledger keeps this with the subscriptions and changes both in one transaction: so a client that
goes while the service is started again, or in a batch that is taken twice, goes once.

A client that came with a clean session has no subscriptions left when it goes, when it comes again,
and when the broker was started anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from fanwise.service.monitor.mosquitto_log import AMBIGUOUS, SPLITS, is_inside
from fanwise.service.monitor.subscriptions import (
    ALL,
    CLEAN,
    DOUBT,
    EXPIRE,
    KEPT,
    LEAVE,
    START,
    SUBSCRIBE,
    UNSUBSCRIBE,
    SubscriptionChange,
    Subscriptions,
)


class Session(NamedTuple):
    """A client that is connected.

    Attributes
    ----------
    since, came
        When it connected by the broker's clock, and when the line that says so arrived by ours; of
        a line that came again, the end of the connection on which it had come before.
    """

    is_clean: bool
    since: int
    came: int


class Outcome(NamedTuple):
    """What a change comes to.

    Attributes
    ----------
    changes
        Of subscriptions alone.
    clients
        Whose sessions are new, others or gone.
    bad
        Why the change was set aside; empty if it was not.
    """

    changes: tuple[SubscriptionChange, ...] = ()
    clients: tuple[str, ...] = ()
    bad: str = ""


@dataclass
class Sessions:
    """All clients that are known to be connected."""

    of: dict[str, Session] = field(default_factory=dict)

    def load(self, rows: Iterable[tuple[str, int, int, int]]) -> None:
        """Add what was kept on disk."""
        for client, is_clean, since, came in rows:
            self.of[client] = Session(bool(is_clean), since, came)

    def apply(self, change: SubscriptionChange, subscriptions: Subscriptions) -> Outcome:
        """Apply a change; return what it comes to."""
        client = change.subscriber
        if change.action in (SUBSCRIBE, UNSUBSCRIBE):
            return Outcome((change,))
        if change.action == DOUBT:
            return self._resolve(change, subscriptions)
        if change.action == START:
            return self._start(change)
        before = self.of.pop(client, None)
        was_clean = before is not None and before.is_clean
        if change.action in (CLEAN, KEPT):
            came = int(change.topic) if change.topic else change.came
            self.of[client] = Session(change.action == CLEAN, change.instant, came)
        # A clean session begins with nothing, whatever the client had before.
        is_over = change.action in (CLEAN, EXPIRE) or was_clean
        return Outcome((_end(change.instant, client),) if is_over else (), (client,))

    def _start(self, change: SubscriptionChange) -> Outcome:
        """End what did not survive the start of the broker at an instant.

        Whoever came before it is gone; and so is who came before we lost the connection that the
        start ended, which the change has in place of a topic.
        """
        lost = int(change.topic) if change.topic else 0
        gone = [
            client
            for client, session in self.of.items()
            if session.since < change.instant or session.came <= lost
        ]
        clean = [client for client in gone if self.of.pop(client).is_clean]
        return Outcome(tuple(_end(change.instant, client) for client in clean), tuple(gone))

    def _resolve(self, change: SubscriptionChange, subscriptions: Subscriptions) -> Outcome:
        """Read a line in the one way that goes with what is known, or set it aside.

        Only who is connected can subscribe and go, and ending what nobody has is nothing.
        """
        action = change.topic
        if action == SUBSCRIBE:
            ways = [way for way in SPLITS[SUBSCRIBE](change.subscriber) if way[0] in self.of]
        elif action == UNSUBSCRIBE:
            ways = [
                (client, topic)
                for client, topic in SPLITS[UNSUBSCRIBE](change.subscriber)
                if topic in subscriptions.open_.get(client, {})
            ]
        elif action == LEAVE:
            ways = [way for way in SPLITS[LEAVE](change.subscriber) if way[0] in self.of]
        else:
            return Outcome(bad=AMBIGUOUS)
        if len(ways) != 1:
            is_nothing = not ways and action != SUBSCRIBE
            return Outcome() if is_nothing else Outcome(bad=AMBIGUOUS)
        client, topic = ways[0]
        if is_inside(topic):
            return Outcome()
        clear = change._replace(action=action, subscriber=client, topic=topic)
        return self.apply(clear, subscriptions)


def _end(instant: int, client: str) -> SubscriptionChange:
    return SubscriptionChange(instant, UNSUBSCRIBE, client, ALL)
