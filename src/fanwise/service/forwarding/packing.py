"""Properties of messages on their way out, packed once: most of the time of sending is in there."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties, VariableByteIntegers

from fanwise.client.naming import ID, Identity
from fanwise.service.forwarding.records import Record

_USER_PROPERTY = b"\x26"


class PackedProperties(Properties):
    """Properties as the bytes that are sent."""

    def __init__(self, packed: bytes) -> None:
        vars(self)["packetType"] = PacketTypes.PUBLISH
        vars(self)["_packed"] = packed

    def pack(self) -> bytes:
        """Return them as they are sent."""
        packed: bytes = vars(self)["_packed"]
        return packed


def pack_properties(
    record: Record, log_name: str, more: Sequence[tuple[str, str]] = ()
) -> PackedProperties:
    """Return the properties that a message is sent with: its own, its id, and more."""
    own = record.properties
    if own:
        own = own[VariableByteIntegers.decode(own)[1] :]  # type: ignore[no-untyped-call]
    pairs = ((ID, str(Identity(log_name, record.sequence))), *more)
    body = own + b"".join(_pack_pair(*pair) for pair in pairs)
    length: bytes = VariableByteIntegers.encode(len(body))  # type: ignore[no-untyped-call]
    return PackedProperties(length + body)


def _pack_pair(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    sizes = struct.pack("!H", len(key)), struct.pack("!H", len(text))
    return b"".join((_USER_PROPERTY, sizes[0], key, sizes[1], text))
