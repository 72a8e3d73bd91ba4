"""The hash of a workload whose subscribers and interests stay on Spark.

It equals :attr:`fanwise.workload.topic.TopicWorkload.hash`: the same bytes in the same order. The
driver holds topics, and a few parts of everything else at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import IntArray
from fanwise.arrays.text import flat_text
from fanwise.distributed.blocks import Blocks
from fanwise.distributed.subscribers import Subscribers
from fanwise.distributed.topics import Topics

AT_ONCE = 1_000_000
"""Offsets of subscribers without interests that are made at a time."""


def fingerprint(
    topics: Topics,
    subscribers: Subscribers,
    blocks: Blocks,
    *,
    period_seconds: float,
    num_subscribers: int,
    num_pairs: int,
) -> str:
    """Return the workload's hash in O(pairs) time and the memory of a few parts."""
    digest = hashlib.sha256(b"fanwise.workload 1\n")
    digest.update(f"{float(period_seconds)!r}\n".encode())

    def add(name: str, kind: Any, shape: tuple[int, ...], parts: Iterable[Any]) -> None:
        digest.update(f"{name} {np.dtype(kind).str} {shape}\n".encode())
        for part in parts:
            digest.update(memoryview(part).cast("B"))

    for name, column in (
        ("rate", topics.rates),
        ("bytes", topics.message_bytes),
        ("cost", topics.cost),
    ):
        if column is not None:
            add(name, np.float64, column.shape, [np.ascontiguousarray(column)])
    for name, kind in (("tau", np.float64), ("weight", np.float64), ("max_degree", np.int32)):
        if name in subscribers.columns:
            add(name, kind, (num_subscribers,), subscribers.column(name))
    if subscribers.num_axes:
        shape = (num_subscribers, subscribers.num_axes)
        add("net", np.float64, shape, subscribers.column("net"))
    offsets = _offsets(blocks.degrees(), num_subscribers)
    add("indptr", np.int64, (num_subscribers + 1,), offsets)
    add("indices", np.int32, (num_pairs,), blocks.interests())

    starts, text = flat_text(topics.names)
    digest.update(f"topics {len(topics.names)}\n".encode())
    digest.update(np.diff(starts).astype(np.int64).data.cast("B"))
    digest.update(text[starts[0] : starts[-1]].data)
    digest.update(f"subscribers {num_subscribers}\n".encode())
    for name in ("name_lengths", "names"):
        for part in subscribers.column(name):
            digest.update(part)
    return digest.hexdigest()


def _offsets(
    degrees: Iterable[tuple[IntArray, IntArray]], num_subscribers: int
) -> Iterator[npt.NDArray[np.int64]]:
    """Yield where the interests of each subscriber start, also of those that have none."""
    yield np.zeros(1, dtype=np.int64)
    following, total = 0, 0
    for ids, lengths in degrees:
        yield from _repeated(total, int(ids[0]) - following)
        counts = np.zeros(int(ids[-1]) - int(ids[0]) + 1, dtype=np.int64)
        counts[ids - ids[0]] = lengths
        ends = total + np.cumsum(counts)
        yield ends
        following, total = int(ids[-1]) + 1, int(ends[-1])
    yield from _repeated(total, num_subscribers - following)


def _repeated(value: int, count: int) -> Iterator[npt.NDArray[np.int64]]:
    for start in range(0, count, AT_ONCE):
        yield np.full(min(AT_ONCE, count - start), value, dtype=np.int64)
