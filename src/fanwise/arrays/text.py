"""Columns of strings as flat arrays: offsets and UTF-8 bytes, no Python object per string."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.jit import kernel

ByteArray = npt.NDArray[np.uint8]


def flat_text(strings: pa.Array) -> tuple[npt.NDArray[Any], ByteArray]:
    """Return the offsets (one more than strings) into the bytes of an Arrow string array."""
    width = np.int64 if pa.types.is_large_string(strings.type) else np.int32
    if len(strings) == 0:
        return np.zeros(1, dtype=width), np.zeros(0, dtype=np.uint8)
    _, offsets, text = strings.buffers()
    bounds = np.frombuffer(offsets, dtype=width)
    bounds = bounds[strings.offset : strings.offset + len(strings) + 1]
    characters = np.zeros(0, dtype=np.uint8) if text is None else np.frombuffer(text, np.uint8)
    return bounds, characters


def find_repeat(strings: pa.Array) -> tuple[int, int] | None:
    """Return the rows of the first string that stands twice, first and second, or None.

    Equal strings have equal hashes: only strings whose hash repeats are looked at themselves.
    """
    with np.errstate(over="ignore"):  # hashing wraps around on purpose
        hashes = hash_strings(*flat_text(strings))
    ascending = np.sort(hashes)
    repeated = ascending[1:][ascending[1:] == ascending[:-1]]
    if not len(repeated):
        return None
    row_of_text: dict[str, int] = {}
    for row in np.flatnonzero(np.isin(hashes, repeated)):
        text = strings[int(row)].as_py()
        if text in row_of_text:
            return row_of_text[text], int(row)
        row_of_text[text] = int(row)
    return None


@kernel
def hash_strings(offsets: npt.NDArray[Any], characters: ByteArray) -> npt.NDArray[np.uint64]:
    """Hash each string to 64 bits: FNV-1a with a final mix. Changes nothing."""
    prime = np.uint64(0x100000001B3)
    hashes = np.empty(len(offsets) - 1, dtype=np.uint64)
    for row in range(len(offsets) - 1):
        value = np.uint64(0xCBF29CE484222325)
        for i in range(offsets[row], offsets[row + 1]):
            value = (value ^ np.uint64(characters[i])) * prime
        value ^= value >> np.uint64(32)
        hashes[row] = value
    return hashes
