"""What comes from the ingress: each message once, with its id and its side.

The ingress sends again what it knows of no acknowledgement: after a lost connection, and after the
forwarder was killed. It says so (DUP) and keeps packet id and content, so that a message that is
on disk already is acknowledged again, and not taken again. Messages of publishers that number
theirs are taken in the order of their numbers, each once.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from paho.mqtt.client import MQTTMessage
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from fanwise.client.naming import NUMBER, OURS, PUBLISHER
from fanwise.service.forwarding.log import Log
from fanwise.service.forwarding.records import Record
from fanwise.service.forwarding.routing import Router

RECEIVE_MAXIMUM = 2_000
"""Messages that the ingress sends before it waits; no older one can be a redelivery."""
MOST_FORGOTTEN = 1_000
"""Publishers that are remembered though the log has forgotten them."""
MOST_PUBLISHER = 200
"""Characters of a publisher's name."""
KEPT = (
    "PayloadFormatIndicator",
    "MessageExpiryInterval",
    "ContentType",
    "ResponseTopic",
    "CorrelationData",
    "UserProperty",
)
"""Properties that are passed on."""
_KEPT = frozenset(KEPT)


class Arrival(NamedTuple):
    """Something to do once all that came before it is on disk.

    Attributes
    ----------
    record
        What to bring to disk first; None for what is acknowledged only.
    done
        Called afterwards.
    """

    record: Record | None
    done: Callable[[], None]


@dataclass
class Counts:
    """What became of messages since the forwarder started.

    Attributes
    ----------
    taken
        Got an id.
    again
        Sent again by the ingress though they were taken.
    repeated, early
        Of publishers with numbers: taken before, and ahead of one that is missing.
    """

    taken: int = 0
    again: int = 0
    repeated: int = 0
    early: int = 0


class Intake:
    """Turns messages of the ingress into records.

    Attributes
    ----------
    sequence
        Given last.
    """

    def __init__(self, log: Log, router: Router, now: Callable[[], int]) -> None:
        self._router, self._now = router, now
        self.sequence = log.position
        self.numbers = {name: number for name, (number, _) in log.numbers.items()}
        self.counts = Counts()
        self._recent: OrderedDict[int, tuple[int, int]] = OrderedDict()
        for record in log.read(max(1, log.position - RECEIVE_MAXIMUM + 1)):
            self._remember(record.packet, record.fingerprint, record.sequence)

    def begin_session(self, is_resumed: bool) -> None:
        """Know that packet ids of the ingress mean something new, unless its session goes on."""
        if not is_resumed:
            self._recent.clear()

    def take(self, message: MQTTMessage) -> Record | None:
        """Return the record of a message; None for one that was taken before."""
        topic, payload = message.topic, bytes(message.payload)
        fingerprint = zlib.crc32(payload, zlib.crc32(topic.encode()))
        publisher, number, properties = "", 0, b""
        given = message.properties
        if given is not None and not _KEPT.isdisjoint(vars(given)):
            publisher, number, properties = read_properties(given)
        if number:
            last = self.numbers.get(publisher, 0)
            if number <= last:
                self.counts.repeated += 1
                return None
            if number > last + 1:
                self.counts.early += 1
                return None
        elif message.dup and self._knows(message.mid, fingerprint):
            self.counts.again += 1
            return None
        self.sequence += 1
        side, nodes = self._router.route(topic)
        if number:
            self.numbers[publisher] = number
        elif message.qos:
            self._remember(message.mid, fingerprint, self.sequence)
        self.counts.taken += 1
        return Record(
            self.sequence, self._now(), side, nodes, topic, payload, properties, publisher,
            number, 0 if number else message.mid, fingerprint,
        )  # fmt: skip

    def forget(self, known: Iterable[str]) -> None:
        """Forget publishers that the log has forgotten; never while messages wait for the disk."""
        if len(self.numbers) > MOST_FORGOTTEN + len(list(known)):
            self.numbers = {name: self.numbers[name] for name in known if name in self.numbers}

    def _knows(self, packet: int, fingerprint: int) -> bool:
        found = self._recent.get(packet)
        if found is None or found[1] <= self.sequence - RECEIVE_MAXIMUM:
            return False
        return found[0] == fingerprint

    def _remember(self, packet: int, fingerprint: int, sequence: int) -> None:
        if packet:
            self._recent[packet] = fingerprint, sequence
            self._recent.move_to_end(packet)
            if len(self._recent) > RECEIVE_MAXIMUM:
                self._recent.popitem(last=False)


def read_properties(given: Properties) -> tuple[str, int, bytes]:
    """Return what a message says of its publisher, and the rest of its properties, packed."""
    publisher, number = "", 0
    kept = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    is_empty = True
    for name in KEPT:
        value = getattr(given, name, None)
        if value is None:
            continue
        if name == "UserProperty":
            publisher, number = _find_publisher(value)
            value = [pair for pair in value if not pair[0].startswith(OURS)]
            if not value:
                continue
        setattr(kept, name, value)
        is_empty = False
    return publisher, number, b"" if is_empty else kept.pack()  # type: ignore[no-untyped-call]


def _find_publisher(pairs: Iterable[tuple[str, str]]) -> tuple[str, int]:
    found = dict(pairs)
    publisher, number = found.get(PUBLISHER, ""), found.get(NUMBER, "")
    if not 0 < len(publisher) <= MOST_PUBLISHER or not number.isdecimal() or len(number) > 18:
        return "", 0
    return publisher, int(number)
