"""A broker that messages are sent to: in order, and again until it has acknowledged them.

A few messages wait in memory. Where a broker is slow or away, the rest stays in the log and is
read from there when it is its turn; so it is after a restart.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import NamedTuple

from paho.mqtt.reasoncodes import ReasonCode

from fanwise.client.wire import FAILURE, Listener, Place, Session, Wire
from fanwise.service.forwarding.log import Log
from fanwise.service.forwarding.packing import pack_properties
from fanwise.service.forwarding.records import BACK_END, Record

log = logging.getLogger(__name__)

MOST_QUEUED = 1_000
MOST_BYTES = 16 * 10**6
"""Messages that wait in memory for a broker, and their bytes."""
MOST_IN_FLIGHT = 100
"""Messages sent and not yet acknowledged."""
MOST_LOOKED_AT = 500
"""Messages of the log looked at before others get a turn."""


class Address(NamedTuple):
    """Which messages are for a broker.

    Attributes
    ----------
    key
        Names its place: ``back-end``, or ``edge/NODE``.
    node
        Of an edge broker; None for the back end.
    """

    key: str
    node: str | None

    def is_of(self, record: Record) -> bool:
        """Whether a message goes there."""
        if self.node is None:
            return record.side == BACK_END
        return self.node in record.nodes


class Destination(Listener):
    """Sends to one broker.

    Parameters
    ----------
    place
        Sequence up to which it has everything.
    on_up
        Told of each connection.

    Attributes
    ----------
    refused
        Messages that the broker did not want; they are not sent again.
    trouble
        Why it cannot be reached; empty if it can.
    """

    def __init__(
        self,
        address: Address,
        log: Log,
        place: int,
        broker: Place,
        client_id: str,
        *,
        explain: Callable[[BaseException], str | None] = lambda error: None,
        on_up: Callable[[], None] = lambda: None,
        on_message: Callable[[object], None] = lambda message: None,
    ) -> None:
        self.address, self._log = address, log
        self.wire = Wire(broker, client_id, self, Session(), explain=explain)
        self._hear_up, self._hear_message = on_up, on_message
        self.refused = 0
        self.sent = 0
        self.trouble = "not connected yet"
        self._queue: deque[Record] = deque()
        self._bytes = 0
        self._in_flight: OrderedDict[int, Record] = OrderedDict()
        self._window = 0
        self._next = place + 1
        """Sequence from which on the log holds messages that were not queued."""
        self._is_behind = True
        self._pump_is_due = False

    @property
    def place(self) -> int:
        """Sequence up to which the broker has acknowledged everything for it."""
        if self._in_flight:
            return min(record.sequence for record in self._in_flight.values()) - 1
        if self._queue:
            return self._queue[0].sequence - 1
        return self._next - 1

    def start(self) -> None:
        """Connect, and send what waits."""
        self.wire.start()

    async def stop(self) -> None:
        """Leave the broker."""
        await self.wire.stop()

    def offer(self, record: Record) -> None:
        """Take a message that is on disk now, in order; those for other brokers come too."""
        if self._is_behind or record.sequence < self._next:
            return
        if len(self._queue) >= MOST_QUEUED or self._bytes >= MOST_BYTES:
            self._is_behind = True
            return
        self._queue_up(record)

    def pump(self) -> None:
        """Send as much as the broker takes, soon."""
        if not self._pump_is_due:
            self._pump_is_due = True
            asyncio.get_running_loop().call_soon(self._pump)

    def on_up(self, is_resumed: bool, window: int) -> None:
        """Send again, first, what the last connection left open."""
        if self.trouble and self.trouble != "not connected yet":
            log.info("%s at %s is back.", self.address.key, self.wire.place)
        self.trouble = ""
        self._window = min(window, MOST_IN_FLIGHT)
        self._queue.extendleft(reversed(self._in_flight.values()))
        self._in_flight.clear()
        self._bytes = sum(len(record.payload) for record in self._queue)
        self._hear_up()
        self.pump()

    def on_down(self, reason: str) -> None:
        """Wait."""
        if self.trouble != reason:
            log.warning("%s at %s: %s; trying again.", self.address.key, self.wire.place, reason)
        self.trouble = reason

    def on_message(self, message: object) -> None:
        """Pass on what clients ask."""
        self._hear_message(message)

    def on_sent(self, number: int, reason: ReasonCode) -> None:
        """Know that the broker has a message."""
        record = self._in_flight.pop(number, None)
        if record is None:
            return
        if reason.value >= FAILURE:
            self.refused += 1
            if self.refused == 1:
                log.warning(
                    "%s refuses %r: %s; it is not sent again.",
                    self.address.key, record.topic, reason,
                )  # fmt: skip
        else:
            self.sent += 1
        self.pump()

    def _pump(self) -> None:
        self._pump_is_due = False
        if self._has_room():
            self._refill()
        if not self.wire.is_up:
            return
        queue, in_flight = self._queue, self._in_flight
        while queue and len(in_flight) < self._window:
            record = queue.popleft()
            self._bytes -= len(record.payload)
            number = self.wire.publish(
                record.topic,
                record.payload,
                properties=pack_properties(record, self._log.name),
            )
            in_flight[number] = record

    def _refill(self) -> None:
        """Queue messages of the log, until memory is used, or none are left."""
        looked_at = 0
        for record in self._log.read(self._next, self._next + MOST_LOOKED_AT - 1):
            looked_at += 1
            self._queue_up(record)
            if self._bytes >= MOST_BYTES:
                return
        if self._next > self._log.position:
            self._is_behind = False
        elif looked_at == 0:  # damaged, or removed by hand
            self._next = min(self._next + MOST_LOOKED_AT, self._log.position + 1)
        if self._has_room():
            self.pump()

    def _queue_up(self, record: Record) -> None:
        self._next = record.sequence + 1
        if self.address.is_of(record):
            self._queue.append(record)
            self._bytes += len(record.payload)

    def _has_room(self) -> bool:
        """Whether there is something to read from the log, and memory for it."""
        is_low = len(self._queue) < MOST_QUEUED // 2 and self._bytes < MOST_BYTES // 2
        return self._is_behind and is_low
