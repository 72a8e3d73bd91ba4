"""What arrives from MQTT as records of the spool: events, subscription changes, bad messages."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fanwise.client.naming import CONTROL
from fanwise.service.monitor.mosquitto_log import BrokerLog
from fanwise.service.monitor.subscriptions import SubscriptionChange

Record = dict[str, Any]
MOST_IDS = 1_000_000
"""Ids of events that are remembered, to know a double when it comes."""
MOST_SHOWN = 200
"""Characters of a bad message that are kept."""


class Arrival(NamedTuple):
    """A message as it came.

    Attributes
    ----------
    at
        When, in microseconds since the epoch.
    is_again
        Whether the broker says that it sent the message before.
    """

    topic: str
    payload: bytes
    at: int
    is_again: bool = False


@dataclass
class MessageReader:
    """Turns messages into records.

    Attributes
    ----------
    time_field, id_field
        Fields of JSON payloads that have an event's time and its identity, if any.
    largest
        Most bytes of a message.
    log
        Reads the broker's own log.
    ignored
        Topics of ours: decisions that we publish are no traffic, nor is what is below ``fanwise/``.
    doubles
        Events that came again, as far as their ids tell; ``again`` counts what the broker says it
        sent again, whether it had arrived or not.
    """

    time_field: str | None
    id_field: str | None
    largest: int
    log: BrokerLog
    ignored: frozenset[str] = frozenset()
    doubles: int = 0
    again: int = 0
    _ids: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def read(self, arrival: Arrival) -> Record | None:
        """Return the record of a message; None for a double, and for lines that say nothing."""
        topic, payload, at, is_again = arrival
        if topic.startswith("$SYS/"):
            change = self.log.read(topic, payload, at)
            if isinstance(change, str):
                return bad(change, topic, payload, at)
            return None if change is None else change_record(change._replace(came=at))
        if topic in self.ignored or topic.startswith(CONTROL):
            return None
        self.again += is_again
        if len(payload) > self.largest:
            return bad(f"larger than {self.largest:,} bytes", topic, b"", at)
        record: Record = {
            "kind": "event", "topic": topic, "timestamp": _seconds(at), "bytes": len(payload),
        }  # fmt: skip
        if self.time_field is None and self.id_field is None:
            return record
        try:
            fields = json.loads(payload)
        except (ValueError, RecursionError):
            return bad("not JSON", topic, payload, at)
        if not isinstance(fields, dict):
            return bad("not a JSON object", topic, payload, at)
        if self.time_field is not None:
            stamp = fields.get(self.time_field)
            if isinstance(stamp, bool) or not isinstance(stamp, str | int | float):
                return bad(f"no time in {self.time_field!r}", topic, payload, at)
            record["timestamp"] = str(stamp)
        return record if self.id_field is None else self._with_id(record, fields, payload, at)

    def remember(self, record: Record) -> None:
        """Know an event that was written before this reader was made."""
        if isinstance(record.get("id"), str):
            self._ids[record["id"]] = None

    def _with_id(
        self, record: Record, fields: dict[str, Any], payload: bytes, at: int
    ) -> Record | None:
        identity = fields.get(self.id_field or "")
        if isinstance(identity, bool) or not isinstance(identity, str | int):
            return bad(f"no id in {self.id_field!r}", record["topic"], payload, at)
        record["id"] = str(identity)
        if record["id"] in self._ids:
            self.doubles += 1
            return None
        self._ids[record["id"]] = None
        if len(self._ids) > MOST_IDS:
            self._ids.popitem(last=False)
        return record


def bad(reason: str, topic: str, payload: bytes, at: int) -> Record:
    """Return the record of a message that cannot be read, set aside with the reason."""
    shown = payload[:MOST_SHOWN].decode(errors="replace")
    return {
        "kind": "bad", "topic": topic, "timestamp": _seconds(at), "reason": reason, "raw": shown,
    }  # fmt: skip


def change_record(change: SubscriptionChange) -> Record:
    """Return the record of a change."""
    return {
        "kind": change.action,
        "subscriber": change.subscriber,
        "topic": change.topic,
        "timestamp": _seconds(change.instant),
        "came": change.came,
    }


def _seconds(micros: int) -> str:
    """Write microseconds since the epoch as seconds, exactly."""
    sign, whole = ("-", -micros) if micros < 0 else ("", micros)
    return f"{sign}{whole // 10**6}.{whole % 10**6:06d}"
