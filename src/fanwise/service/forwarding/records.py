"""Records of the log: a message with its id and where it goes, behind its length and checksum.

A record is ``length``, ``checksum`` (CRC-32 of what follows), both 4 bytes little-endian, and
``length`` bytes. In a segment the first holds JSON about the segment, the others messages.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

FRAME = struct.Struct("<II")
"""Length and checksum."""
_FIXED = struct.Struct("<QQBHIQHHHI")
"""sequence, at, side, packet, fingerprint, number; bytes of nodes, publisher, topic, properties."""
LEAST = 2
"""Bytes of the shortest record: what a disk leaves as zeros is none."""
LARGEST = 1 << 29

BACK_END, OFFLOAD = 0, 1
"""Sides."""


class Record(NamedTuple):
    """A message as the log has it.

    Attributes
    ----------
    at
        When it was taken, in microseconds since the epoch.
    nodes
        Edge brokers that it is sent to; none on the side of the back end.
    publisher, number
        What its publisher says of itself; empty and 0 if nothing.
    packet, fingerprint
        Packet id and checksum under which it came from the ingress: they tell a redelivery.
    properties
        MQTT properties of the message without ours, packed.
    """

    sequence: int
    at: int
    side: int
    nodes: tuple[str, ...]
    topic: str
    payload: bytes
    properties: bytes = b""
    publisher: str = ""
    number: int = 0
    packet: int = 0
    fingerprint: int = 0


def frame(body: bytes) -> bytes:
    """Put length and checksum in front."""
    return FRAME.pack(len(body), zlib.crc32(body)) + body


def encode(record: Record) -> bytes:
    """Return a record as the log keeps it."""
    nodes = ",".join(record.nodes).encode()
    publisher, topic = record.publisher.encode(), record.topic.encode()
    fixed = _FIXED.pack(
        record.sequence, record.at, record.side, record.packet, record.fingerprint, record.number,
        len(nodes), len(publisher), len(topic), len(record.properties),
    )  # fmt: skip
    return frame(b"".join((fixed, nodes, publisher, topic, record.properties, record.payload)))


def decode(body: bytes) -> Record:
    """Return what :func:`encode` put behind the frame."""
    sequence, at, side, packet, fingerprint, number, *sizes = _FIXED.unpack_from(body)
    parts, place = [], _FIXED.size
    for size in sizes:
        parts.append(body[place : place + size])
        place += size
    nodes, publisher, topic, properties = parts
    return Record(
        sequence, at, side, tuple(nodes.decode().split(",")) if nodes else (), topic.decode(),
        body[place:], properties, publisher.decode(), number, packet, fingerprint,
    )  # fmt: skip


def scan(data: bytes, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Return offsets and contents of whole records, up to the first that is not."""
    place, end = start, len(data)
    while place + FRAME.size <= end:
        length, checksum = FRAME.unpack_from(data, place)
        stop = place + FRAME.size + length
        if not LEAST <= length <= LARGEST or stop > end:
            return
        body = data[place + FRAME.size : stop]
        if zlib.crc32(body) != checksum:
            return
        yield place, body
        place = stop


def peek(body: bytes) -> tuple[int, bytes]:
    """Return sequence and topic of a message without reading the rest."""
    fields = _FIXED.unpack_from(body)
    place = _FIXED.size + fields[6] + fields[7]
    return fields[0], body[place : place + fields[8]]
