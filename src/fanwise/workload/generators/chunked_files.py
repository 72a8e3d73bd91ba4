"""Topic workloads written in chunks: what is in memory does not grow with the pairs."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.threads import cut_rows, num_threads
from fanwise.errors import InputError
from fanwise.progress import Step

PART_PAIRS = 1 << 25
CHUNK_PAIRS = 1 << 22

_ROW_GROUP = 1 << 20
_CHUNK_IDS = 1 << 20
_GIB = 2**30

_TOPICS = pa.schema(
    [("topic", pa.int32()), ("name", pa.string()), ("rate", pa.float64()), ("bytes", pa.float64())]
)
_SUBSCRIBERS = pa.schema([("subscriber", pa.int32()), ("name", pa.string())])
_INTERESTS = pa.schema([("subscriber", pa.int32()), ("topic", pa.int32())])


def check_disk(destination: Path, needed: float) -> None:
    """Raise unless the disk of ``destination`` has this many bytes free."""
    folder = destination.absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise InputError(
            f"{destination}: needs about {needed / _GIB:.1f} GiB of disk, where "
            f"{free / _GIB:.1f} GiB are free; choose another place or a smaller scale."
        )


def write_topics(folder: Path, rates: FloatArray, message_bytes: float) -> None:
    """Write ``topics.parquet`` with the names t0, t1 and so on."""
    with pq.ParquetWriter(folder / "topics.parquet", _TOPICS) as writer:
        for first, last in _stretches(len(rates)):
            ids, names = _ids_and_names("t", first, last)
            sizes = np.full(last - first, message_bytes)
            writer.write_table(pa.table([ids, names, rates[first:last], sizes], schema=_TOPICS))


def write_subscribers(folder: Path, count: int) -> None:
    """Write ``subscribers.parquet`` with the names s0, s1 and so on."""
    with pq.ParquetWriter(folder / "subscribers.parquet", _SUBSCRIBERS) as writer:
        for first, last in _stretches(count):
            writer.write_table(pa.table(_ids_and_names("s", first, last), schema=_SUBSCRIBERS))


def write_interests(
    folder: Path,
    indptr: LongArray,
    find_rows: Callable[[LongArray], IntArray],
    step: Step,
    *,
    part_pairs: int = PART_PAIRS,
    chunk_pairs: int = CHUNK_PAIRS,
) -> None:
    """Write ``interests.parquet`` as a folder of part files, subscribers ascending throughout.

    Parts are made at the same time, one on each core; an error or Ctrl-C stops them at the next
    chunk.

    Parameters
    ----------
    indptr
        Row starts of the whole graph.
    find_rows
        Called with a stretch of ``indptr``, gives the topics of its rows; from several threads.
    step
        Is advanced by pairs.
    """
    target = folder / "interests.parquet"
    target.mkdir()
    stop = threading.Event()

    def write_part(number: int, first: int, last: int) -> None:
        file = target / f"part-{number:05}.parquet"
        rows = indptr[first : last + 1]
        # Ids of topics hardly repeat in a row group: a dictionary would only cost time.
        with pq.ParquetWriter(file, _INTERESTS, use_dictionary=["subscriber"]) as writer:
            for start, end in cut_rows(rows - rows[0], _pieces(rows, chunk_pairs)):
                if stop.is_set():
                    return
                if start == end:
                    continue
                chunk = rows[start : end + 1]
                subscribers = np.repeat(
                    np.arange(first + start, first + end, dtype=np.int32), np.diff(chunk)
                )
                columns = [pa.array(subscribers), pa.array(find_rows(chunk))]
                writer.write_table(pa.table(columns, schema=_INTERESTS), row_group_size=_ROW_GROUP)
                step.advance(len(subscribers))

    parts = [cut for cut in cut_rows(indptr, _pieces(indptr, part_pairs)) if cut[0] < cut[1]]
    with ThreadPoolExecutor(num_threads()) as pool:
        jobs = [pool.submit(write_part, number, *cut) for number, cut in enumerate(parts)]
        try:
            for job in as_completed(jobs):
                job.result()
        except BaseException:
            stop.set()
            for job in jobs:
                job.cancel()
            raise


def _pieces(indptr: LongArray, pairs: int) -> int:
    return max(1, -(-int(indptr[-1] - indptr[0]) // pairs))


def _stretches(count: int) -> Iterator[tuple[int, int]]:
    for first in range(0, count, _CHUNK_IDS):
        yield first, min(first + _CHUNK_IDS, count)


def _ids_and_names(prefix: str, first: int, last: int) -> list[pa.Array]:
    import pyarrow.compute as pc

    ids = pa.array(np.arange(first, last, dtype=np.int32))
    return [ids, pc.binary_join_element_wise(pa.scalar(prefix), ids.cast(pa.string()), "")]
