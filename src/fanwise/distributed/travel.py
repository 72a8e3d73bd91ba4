"""How arrays travel between Spark's workers and the driver: as few bytes as is cheap.

Sums per topic are whole numbers, most of them small and many of them 0: bits say which are not,
and their bytes go plane by plane, so that high bytes, mostly 0, take nothing once compressed.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import LongArray

_LENGTH = struct.Struct("<q")
_CODEC = "zstd"


def squeeze(data: bytes) -> bytes:
    """Return compressed bytes that know their length."""
    packed: bytes = pa.compress(data, codec=_CODEC, asbytes=True)
    return _LENGTH.pack(len(data)) + packed


def expand(data: bytes) -> bytes:
    """Return what :func:`squeeze` was given."""
    (length,) = _LENGTH.unpack_from(data)
    found: bytes = pa.decompress(
        memoryview(data)[_LENGTH.size :], decompressed_size=length, codec=_CODEC, asbytes=True
    )
    return found


def squeeze_sums(sums: LongArray) -> bytes:
    """Return a vector of whole numbers in few bytes."""
    is_there = sums != 0
    planes = sums[is_there].astype("<i8").view(np.uint8).reshape(-1, 8).T
    return squeeze(np.packbits(is_there).tobytes() + planes.tobytes())


def add_sums(data: bytes, sums: LongArray) -> None:
    """Add what :func:`squeeze_sums` was given to ``sums``, of the same length."""
    raw = np.frombuffer(expand(data), dtype=np.uint8)
    num_bytes = -(-len(sums) // 8)
    is_there = np.unpackbits(raw[:num_bytes], count=len(sums)).view(np.bool_)
    planes = raw[num_bytes:].reshape(8, -1)
    sums[is_there] += np.ascontiguousarray(planes.T).view("<i8").ravel()


def squeeze_ids(ids: npt.NDArray[np.int32]) -> bytes:
    """Return ascending ids in few bytes: their differences are mostly 1."""
    return squeeze(np.diff(ids, prepend=np.int32(0)).astype("<i4").tobytes())


def expand_ids(data: bytes) -> npt.NDArray[np.int32]:
    """Return what :func:`squeeze_ids` was given."""
    return np.cumsum(np.frombuffer(expand(data), dtype="<i4"), dtype=np.int32)
