"""Mosquitto's own log as changes of subscriptions.

With ``log_dest topic`` and ``log_type subscribe``, ``unsubscribe``, ``notice`` the broker publishes
below ``$SYS/broker/log/`` who subscribes to what, who no longer does, who comes and who goes. What
that means for subscriptions depends on what came before and is decided in the ledger
(:mod:`fanwise.service.monitor.sessions`); here lines are only taken apart.

Clients choose their names, and lines do not quote them. Nobody can forge how a line begins and
ends, so that is what is looked at; a line that can be read in several ways is passed on as a doubt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from fanwise.client.naming import CONTROL, OURS
from fanwise.service.monitor.subscriptions import (
    CLEAN,
    DOUBT,
    EXPIRE,
    KEPT,
    LEAVE,
    SUBSCRIBE,
    UNSUBSCRIBE,
    Action,
    SubscriptionChange,
)

TOPIC, UPTIME = "$SYS/broker/log/#", "$SYS/broker/uptime"
"""What to listen to."""
LONGEST = 999
"""Bytes of a line; the broker cuts longer ones off."""
EXPIRES_SECONDS = 20.0
"""How long the broker keeps a line for somebody who is away."""
_PREFIX = "$SYS/broker/log/"
_EPOCH = re.compile(r"(\d{1,12}): ")
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?)(Z|[+-]\d\d:?\d\d)?: ", re.ASCII
)
_DATED = re.compile(r"[^:]*\d.*?: ", re.DOTALL)
_COMES = re.compile(r"New (?:client|bridge) connected from [^ ]*:\d+ as (.*)", re.DOTALL)
_NAMELESS = re.compile(r"(.*) \(p\d+, c([01]), k\d+\)\.", re.DOTALL)
_NAMED = re.compile(r" \(p\d+, c([01]), k\d+, u'")
_EXPIRES = re.compile(r"Expiring client (.*) due to timeout\.", re.DOTALL)
_GOES = re.compile(
    r"(?: disconnected| has exceeded timeout, disconnecting| closed its connection"
    r"| been disconnected by administrative action| disconnected, not authorised"
    r"| disconnected due to [\w ]+)\.\Z"
)
_GOES_WHY = re.compile(r" disconnected: (?=.*\.\Z)", re.DOTALL)
_FAILS = re.compile(r"(?:Bad socket read/write|Socket error) on client ")
_FAILS_WHY = re.compile(r": |, disconnecting\.\Z")

AMBIGUOUS = "line of the broker's log can be read in several ways"
CUT = "line of the broker's log is cut off"
STAMPED = "log_timestamp_format of the broker is neither left out nor ISO 8601"
UNKNOWN = "line of the broker's log is not understood"


@dataclass
class BrokerLog:
    """Takes lines apart, in order.

    Attributes
    ----------
    names
        Clients that are none of the users: the service itself and what belongs to it. Nor are
        those whose names begin with ``fanwise-``: forwarders.
    line, own
        The time of the last line, and of the last one about a subscription of ours, in microseconds
        since the epoch by the broker's clock; None before the first one of a connection.
    """

    names: frozenset[str] = frozenset()
    line: int | None = None
    own: int | None = None
    _stamp: str | None = field(default=None, repr=False)

    def begin(self) -> None:
        """Begin with a new connection: the broker may be another, with other settings."""
        self.line = self.own = self._stamp = None

    def read(self, topic: str, payload: bytes, arrived: int) -> SubscriptionChange | str | None:
        """Return what a line tells, if it does; or why it cannot be read.

        Parameters
        ----------
        topic
            What the line was published on.
        arrived
            When, in microseconds since the epoch: taken where the line has no time of its own.
        """
        kind = topic.removeprefix(_PREFIX)
        if kind not in ("M/subscribe", "M/unsubscribe", "N") or kind == topic:
            return None
        text = payload.decode(errors="replace")
        is_ours = self._learn(text)
        stamped = self._take_stamp(text, arrived)
        if stamped is None:
            return STAMPED
        instant, text = stamped
        self.line = instant
        if is_ours:
            self.own = instant
            return None
        if kind == "N":
            if not text.startswith(("New client", "New bridge", "Client ", "Expiring", *_BROKEN)):
                return None
            if len(payload) >= LONGEST:
                return CUT
            return self._read_notice(instant, text)
        if len(payload) >= LONGEST:
            return CUT
        action: Action = SUBSCRIBE if kind == "M/subscribe" else UNSUBSCRIBE
        return self._choose(instant, action, text, SPLITS[action](text))

    def _read_notice(self, instant: int, text: str) -> SubscriptionChange | str | None:
        comes = _COMES.fullmatch(text)
        if comes is not None:
            found = _client_of(comes[1])
            if isinstance(found, str):
                return found
            client, is_clean = found
            return self._change(instant, CLEAN if is_clean else KEPT, client, None)
        expires = _EXPIRES.fullmatch(text)
        if expires is not None:
            return self._change(instant, EXPIRE, expires[1], None)
        return self._choose(instant, LEAVE, text, split_leave(text))

    def _choose(
        self, instant: int, action: Action, text: str, ways: list[tuple[str, str | None]]
    ) -> SubscriptionChange | str | None:
        """Return the change if there is one way to read it, and a doubt if there are several."""
        if not ways:
            return None if action == LEAVE else UNKNOWN
        if len(ways) == 1:
            return self._change(instant, action, *ways[0])
        if ways[0][0] in self.names or text.startswith(OURS):
            return None
        return SubscriptionChange(instant, DOUBT, text, action)

    def _change(
        self, instant: int, action: Action, client: str, topic: str | None
    ) -> SubscriptionChange | None:
        if client in self.names or client.startswith(OURS) or is_inside(topic):
            return None
        return SubscriptionChange(instant, action, client, topic)

    def _learn(self, text: str) -> bool:
        """Learn from a line of our own how lines begin; return whether it is one."""
        for name in self.names:
            before, found, after = text.rpartition(f"{name} 1 {TOPIC}")
            if found and not after and (not before or before.endswith(": ")):
                self._stamp = before
                return True
        return False

    def _take_stamp(self, text: str, arrived: int) -> tuple[int, str] | None:
        """Return when a line was written and what it says; None if its time cannot be read."""
        if self._stamp == "":
            return arrived, text
        epoch = _EPOCH.match(text)
        if epoch is not None:
            return int(epoch[1]) * 10**6, text[epoch.end() :]
        iso = _ISO.match(text)
        if iso is not None:
            return _instant(iso[1], iso[2], arrived), text[iso.end() :]
        return None if self._stamp or _DATED.match(text) else (arrived, text)


_BROKEN = ("Bad socket", "Socket error")


def _instant(stamp: str, zone: str | None, arrived: int) -> int:
    """Return the time of a line; without a zone nobody knows it, and that of its arrival counts."""
    if zone is None:
        return arrived
    try:
        moment = datetime.fromisoformat(stamp.replace(",", ".") + zone)
    except ValueError:
        return arrived
    return round(moment.timestamp() * 10**6)


def _client_of(text: str) -> tuple[str, bool] | str:
    """Return who came and whether with a clean session; or why that cannot be told.

    The line ends with what the client cannot choose, unless it gave a user's name.
    """
    nameless = _NAMELESS.fullmatch(text)
    if nameless is not None:
        return nameless[1], nameless[2] == "1"
    named = list(_NAMED.finditer(text))
    if len(named) != 1 or not text.endswith("')."):
        return AMBIGUOUS if named else UNKNOWN
    return text[: named[0].start()], named[0][1] == "1"


def is_inside(topic: str | None) -> bool:
    """Whether a topic is one that the broker or the service speaks on: nobody's traffic."""
    return topic is not None and topic.startswith(("$SYS/", CONTROL))


def split_subscribe(text: str) -> list[tuple[str, str | None]]:
    """Return all ways to read ``client quality topic``."""
    places = [found.start() for found in re.finditer(r" (?=[012] )", text)]
    ways = [(text[:place], text[place + 3 :]) for place in places]
    return [(client, topic) for client, topic in ways if client and topic]


def split_unsubscribe(text: str) -> list[tuple[str, str | None]]:
    """Return all ways to read ``client topic``."""
    places = [found.start() for found in re.finditer(" ", text)]
    ways = [(text[:place], text[place + 1 :]) for place in places]
    return [(client, topic) for client, topic in ways if client and topic]


def split_leave(text: str) -> list[tuple[str, str | None]]:
    """Return all clients that a line may say have gone."""
    fails = _FAILS.match(text)
    if fails is not None:
        places = [found.start() for found in _FAILS_WHY.finditer(text, fails.end())]
        return [(text[fails.end() : place], None) for place in places]
    if not text.startswith("Client "):
        return []
    ends = [found.start() for found in _GOES_WHY.finditer(text)]
    # Each end is looked for where the shortest name would leave it.
    ends += [place for place in range(7, len(text)) if _GOES.match(text, place)]
    return [(text[7:end], None) for end in sorted(set(ends)) if end > 7]


SPLITS = {SUBSCRIBE: split_subscribe, UNSUBSCRIBE: split_unsubscribe, LEAVE: split_leave}
"""How lines of each kind are taken apart."""
