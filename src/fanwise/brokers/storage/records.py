"""Records on disk: an entry behind its length and checksum.

A record is ``length`` and ``checksum`` (CRC-32 of what follows), both 4 bytes little-endian, and
``length`` bytes of MessagePack.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

import msgpack

HEAD = struct.Struct("<II")
LARGEST = 1 << 30


def pack(entry: tuple[Any, ...]) -> bytes:
    """Return an entry as a record."""
    body: bytes = msgpack.packb(entry, use_bin_type=True)
    return HEAD.pack(len(body), zlib.crc32(body)) + body


def unpack(body: bytes | memoryview) -> Any:
    """Return the entry of a record's content."""
    return msgpack.unpackb(
        body, use_list=False, raw=False, strict_map_key=False,
        max_array_len=LARGEST, max_map_len=LARGEST, max_bin_len=LARGEST, max_str_len=LARGEST,
    )  # fmt: skip


def scan(data: bytes | memoryview) -> Iterator[tuple[int, memoryview]]:
    """Return where whole records end, and their contents, up to the first that is not whole."""
    view = memoryview(data)
    place, end = 0, len(view)
    while place + HEAD.size <= end:
        length, checksum = HEAD.unpack_from(view, place)
        stop = place + HEAD.size + length
        # An empty record is none: a disk may leave zeros where nothing was written.
        if not 0 < length <= LARGEST or stop > end:
            return
        body = view[place + HEAD.size : stop]
        if zlib.crc32(body) != checksum:
            return
        yield stop, body
        place = stop
