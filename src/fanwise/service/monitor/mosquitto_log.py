"""Mosquitto's own log as changes of subscriptions.

With ``log_dest topic`` and ``log_type subscribe``, ``unsubscribe``, ``notice`` the broker publishes
below ``$SYS/broker/log/`` who subscribes to what, who no longer does, who comes and who goes. A
client that came with a clean session has no subscriptions left when it goes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fanwise.client.naming import CONTROL, OURS
from fanwise.service.monitor.subscriptions import SubscriptionChange

TOPIC = "$SYS/broker/log/#"
"""What to listen to."""
_PREFIX = "$SYS/broker/log/"
_STAMP = re.compile(r"(?:(\d+): )?(.*)", re.DOTALL)
_SUBSCRIBE = re.compile(r"(.*?) ([012]) (.*)", re.DOTALL)
_COMES = re.compile(r"New client connected from .* as (.*) \(p\d, c([01]), k\d+.*\)\.", re.DOTALL)
_GOES = (
    re.compile(r"Client (.*) disconnected\.", re.DOTALL),
    re.compile(r"Client (.*) has exceeded timeout, disconnecting\.", re.DOTALL),
    re.compile(r"Client (.*) closed its connection\.", re.DOTALL),
    re.compile(r"Client (.*) disconnected(?:,| due to) .*", re.DOTALL),
    re.compile(r"Socket error on client (.*), disconnecting\.", re.DOTALL),
)


@dataclass
class BrokerLog:
    """Reads lines in order; remembers whose session is clean.

    Attributes
    ----------
    names
        Clients that are none of the users: the service itself and what belongs to it. Nor are
        those whose names begin with ``fanwise-``: forwarders.
    """

    names: frozenset[str] = frozenset()
    _is_clean: dict[str, bool] = field(default_factory=dict)

    def read(self, topic: str, line: str, arrived: int) -> SubscriptionChange | None:
        """Return the change that a line tells of, if it does.

        Parameters
        ----------
        topic
            What the line was published on.
        arrived
            When, in microseconds since the epoch: taken where the line has no time of its own.
        """
        kind = topic.removeprefix(_PREFIX)
        stamp = _STAMP.fullmatch(line)
        if stamp is None or kind == topic:
            return None
        instant = arrived if stamp[1] is None else int(stamp[1]) * 10**6
        text = stamp[2]
        if kind == "M/subscribe":
            found = _SUBSCRIBE.fullmatch(text)
            if found is not None:
                return self._change(instant, "subscribe", found[1], found[3])
        elif kind == "M/unsubscribe":
            client, _, name = text.partition(" ")
            if name:
                return self._change(instant, "unsubscribe", client, name)
        elif kind == "N":
            return self._session(instant, text)
        return None

    def _session(self, instant: int, text: str) -> SubscriptionChange | None:
        comes = _COMES.fullmatch(text)
        if comes is not None:
            self._is_clean[comes[1]] = comes[2] == "1"
            # A clean session begins with nothing, whatever the client had before.
            return self._change(instant, "unsubscribe", comes[1], None) if comes[2] == "1" else None
        for pattern in _GOES:
            goes = pattern.fullmatch(text)
            if goes is not None and self._is_clean.get(goes[1], False):
                del self._is_clean[goes[1]]
                return self._change(instant, "unsubscribe", goes[1], None)
        return None

    def _change(
        self, instant: int, action: str, client: str, topic: str | None
    ) -> SubscriptionChange | None:
        if client in self.names or client.startswith(OURS):
            return None
        if topic is not None and topic.startswith(("$SYS/", CONTROL)):
            return None
        return SubscriptionChange(
            instant, "subscribe" if action == "subscribe" else "unsubscribe", client, topic
        )
