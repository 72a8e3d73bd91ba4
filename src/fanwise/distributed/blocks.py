"""Subscribers in blocks on Spark: each partition holds its own as one CSR, packed into a row.

Packing happens once; every later pass reads the arrays where they lie. A pass runs one kernel over
each block and returns sums per topic as whole numbers, which Spark adds up: the same sums for any
number of partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import FloatArray, IntArray, LongArray, build_csr, sum_rows
from fanwise.errors import WorkloadError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOTALS = 4
"""A pass may return this many totals beside its sums per topic."""
DIRECT = 8_000_000
"""Partitions x topics up to which the driver adds vectors up itself, which saves a shuffle."""
_BLOCK_SCHEMA = (
    "indptr binary, indices binary, demand binary, weight binary, "
    "num_subscribers long, heaviest double, repeats long"
)


class Block(NamedTuple):
    """The subscribers of one partition that need something, and what they want."""

    indptr: LongArray
    indices: IntArray
    demand: FloatArray
    weight: FloatArray


Work = Callable[[Block, LongArray], tuple[int, ...]]
"""Adds to an array with an entry per topic and returns totals; runs on Spark's workers."""


class Blocks:
    """All subscribers of a workload as blocks that stay where they are.

    Attributes
    ----------
    num_topics
        Length of the vectors that travel.
    num_subscribers
        How many need something.
    heaviest
        The largest weight among them.
    """

    def __init__(self, frame: DataFrame, num_partitions: int, num_topics: int) -> None:
        from pyspark.sql import functions as F

        self._frame = frame.persist()
        self.num_partitions = num_partitions
        self.num_topics = num_topics
        totals = self._frame.agg(
            F.sum("num_subscribers"), F.max("heaviest"), F.sum("repeats")
        ).first()
        assert totals is not None
        self.num_subscribers = int(totals[0] or 0)
        self.heaviest = float(totals[1] or 0.0)
        if totals[2]:
            self.release()
            raise WorkloadError(
                f"interests.parquet: {totals[2]} pairs stand more than once; "
                "each (subscriber, topic) must stand once."
            )

    def sums(self, work: Work) -> tuple[LongArray, LongArray]:
        """Run a pass; return its sums per topic and its totals."""
        from pyspark.sql import functions as F

        function = partial(_add_up, work=work, num_topics=self.num_topics)
        added = self._frame.mapInArrow(function, "topic int, amount long")
        if self.num_partitions * self.num_topics > DIRECT:
            added = added.groupBy("topic").agg(F.sum("amount").alias("amount"))
        table = added.toArrow()
        sums = np.zeros(self.num_topics + TOTALS, dtype=np.int64)
        np.add.at(sums, table.column("topic").to_numpy(), table.column("amount").to_numpy())
        return sums[: self.num_topics], sums[self.num_topics :]

    def map(self, function: Callable[[Block], pa.RecordBatch], schema: str) -> DataFrame:
        """Return the rows that a function makes of each block."""
        return self._frame.mapInArrow(partial(_each, function=function), schema)

    def release(self) -> None:
        """Let Spark forget the blocks."""
        self._frame.unpersist()


def pack_blocks(
    pairs: DataFrame, num_partitions: int, rates: Any, tau: float | None, num_topics: int
) -> Blocks:
    """Spread pairs over partitions by subscriber and pack each partition into a block.

    Parameters
    ----------
    pairs
        ``subscriber``, ``topic``; optional ``tau`` and ``weight`` of the subscriber on every row.
    rates
        A broadcast variable with the rate of each topic.
    tau
        One threshold for everybody; None to take the column.
    """
    packed = pairs.repartition(num_partitions, "subscriber").mapInArrow(
        partial(_pack, rates=rates, tau=tau), _BLOCK_SCHEMA
    )
    return Blocks(packed, num_partitions, num_topics)


def _pack(batches: Iterable[pa.RecordBatch], rates: Any, tau: float | None) -> Iterator[Any]:
    parts = [batch for batch in batches if batch.num_rows]
    if not parts:
        return
    table = pa.Table.from_batches(parts)
    subscriber = table.column("subscriber").to_numpy()
    topic = np.ascontiguousarray(table.column("topic").to_numpy(), dtype=np.int32)
    # Ids in order: sums over a subscriber's topics are then the same in every block.
    _, first, row = np.unique(subscriber, return_index=True, return_inverse=True)
    csr = build_csr(row.astype(np.int32), topic, len(first))
    is_repeat = np.diff(csr.indices, prepend=-1) == 0
    is_repeat[csr.indptr[:-1]] = False
    received = sum_rows(csr.indptr, csr.indices, rates.value)
    wanted = tau if tau is not None else table.column("tau").to_numpy()[first]
    demand = np.minimum(wanted, received)
    weight = np.ones(len(first))
    if "weight" in table.column_names:
        weight = table.column("weight").to_numpy()[first].astype(np.float64)
    needs = demand > 0
    lengths = np.diff(csr.indptr)
    indptr = np.concatenate([[0], np.cumsum(lengths[needs])]).astype(np.int64)
    block = Block(indptr, csr.indices[np.repeat(needs, lengths)], demand[needs], weight[needs])
    packed = {name: pa.array([array.tobytes()]) for name, array in block._asdict().items()}
    yield pa.RecordBatch.from_pydict(
        {
            **packed,
            "num_subscribers": pa.array([len(block.demand)], pa.int64()),
            "heaviest": pa.array([float(block.weight.max(initial=0.0))], pa.float64()),
            "repeats": pa.array([int(np.count_nonzero(is_repeat))], pa.int64()),
        }
    )


def _unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[Block]:
    kinds = (np.int64, np.int32, np.float64, np.float64)
    for batch in batches:
        for row in range(batch.num_rows):
            yield Block(
                *(
                    np.frombuffer(batch.column(name)[row].as_buffer(), dtype=kind)
                    for name, kind in zip(Block._fields, kinds, strict=True)
                )
            )


def _add_up(batches: Iterable[pa.RecordBatch], work: Work, num_topics: int) -> Iterator[Any]:
    sums = np.zeros(num_topics + TOTALS, dtype=np.int64)
    for block in _unpack(batches):
        totals = work(block, sums[:num_topics])
        sums[num_topics : num_topics + len(totals)] += np.array(totals, dtype=np.int64)
    topics = np.flatnonzero(sums)
    yield pa.RecordBatch.from_pydict({"topic": topics.astype(np.int32), "amount": sums[topics]})


def _each(
    batches: Iterable[pa.RecordBatch], function: Callable[[Block], pa.RecordBatch]
) -> Iterator[Any]:
    for block in _unpack(batches):
        yield function(block)
