"""Subscribers in blocks on Spark: each partition holds its own as one CSR, packed into a row.

Packing happens once; every later pass reads the arrays where they lie. A pass runs one kernel over
each block and returns sums per topic as whole numbers, which Spark adds up: the same sums for any
number of partitions. Blocks follow each other by subscriber.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray, build_csr, sum_rows
from fanwise.distributed.partitions import (
    AT_ONCE,
    Row,
    packed_in_order,
    spread_by_id,
    unpacked,
)
from fanwise.distributed.travel import add_sums, squeeze_sums

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SUMS_SCHEMA = "topic int, amount long"
TOTALS = 4
"""A pass may return this many totals beside its sums per topic."""
DIRECT = 8_000_000
"""Partitions x topics up to which the driver adds vectors up itself, which saves a shuffle."""

Hints = npt.NDArray[np.float32]


class Block(NamedTuple):
    """The subscribers of one partition that need something, and what they want.

    The last five are empty until a pass fits an inequality per subscriber (see
    :mod:`fanwise.select.relaxing.inequalities`): its coefficients, its constant, its price, and
    the sets of topics it follows from with their parts, subscriber after subscriber.
    """

    indptr: LongArray
    indices: IntArray
    demand: FloatArray
    weight: FloatArray
    coefficients: Hints
    constants: Hints
    prices: Hints
    sets: npt.NDArray[np.uint8]
    parts: npt.NDArray[np.uint8]


class Listing(NamedTuple):
    """All subscribers of one partition that have interests, by id.

    The interests of those that need something are the block's; those of the others stand here.
    """

    ids: IntArray
    lengths: IntArray
    needs: npt.NDArray[np.bool_]
    idle: IntArray


_KINDS: dict[str, Any] = {
    **dict(zip(Block._fields, ("i8", "i4", "f8", "f8", "f4", "f4", "f4", "u1", "u1"), strict=True)),
    **dict(zip(Listing._fields, ("i4", "i4", "?", "i4"), strict=True)),
}
_BLOCK_SCHEMA = ", ".join(f"{name} binary" for name in Block._fields)
_LISTED = ("ids", "lengths", "needs", "indices", "idle")
"""What the driver asks for more than once, of a few blocks."""
MOST_EVEN = 4_000_000
"""Pairs up to which subscribers are spread by id alone, without a look at who has how many."""
_PACKED_SCHEMA = ", ".join(
    [
        *(f"{name} binary" for name in _KINDS),
        "num_subscribers long, heaviest double, repeats long, first_id int, last_id int",
        "num_pairs long, followers binary, trouble string",
    ]
)

Work = Callable[[Block, LongArray], tuple[int, ...]]
"""Adds to an array with an entry per topic and returns totals; runs on Spark's workers."""


class Facts(NamedTuple):
    """What the driver knows of all blocks together.

    ``num_subscribers`` need something, ``heaviest`` is the largest weight among them, ``repeats``
    counts pairs that stand again; ids run from ``first_id`` to ``last_id``. ``trouble`` says what
    is wrong with the first block in which something is.
    """

    num_subscribers: int
    heaviest: float
    repeats: int
    first_id: int
    last_id: int
    num_pairs: int = 0
    trouble: str | None = None


class Blocks:
    """Blocks of subscribers that stay where they are.

    Parameters
    ----------
    num_topics
        Length of the vectors that travel.

    Attributes
    ----------
    frame
        The blocks, one row each, kept by Spark.
    """

    def __init__(self, frame: DataFrame, num_partitions: int, num_topics: int) -> None:
        self.frame = frame.persist()
        self.num_partitions = num_partitions
        self.num_topics = num_topics
        self._kept: list[Row] | None = None

    def facts(self) -> tuple[Facts, LongArray]:
        """Add up what each block says of itself; return also the followers of each topic."""
        names = ("num_subscribers", "heaviest", "repeats", "first_id", "last_id", "num_pairs",
                 "trouble")  # fmt: skip
        is_direct = self.num_partitions * self.num_topics <= DIRECT
        table = self.frame.select(*names, *(["followers"] if is_direct else [])).toArrow()
        found = {name: table.column(name).to_pylist() for name in names}
        troubles = [trouble for trouble in found["trouble"] if trouble is not None]
        followers = np.zeros(self.num_topics, dtype=np.int64)
        if is_direct and not troubles:
            for data in table.column("followers").to_pylist():
                add_sums(data, followers)
        elif not troubles:
            spread = partial(_spread, length=self.num_topics)
            followers = self._added(
                self.frame.select("followers").mapInArrow(spread, _SUMS_SCHEMA), self.num_topics
            )
        facts = Facts(
            sum(found["num_subscribers"]),
            max(found["heaviest"], default=0.0),
            sum(found["repeats"]),
            min(found["first_id"], default=0),
            max(found["last_id"], default=-1),
            sum(found["num_pairs"]),
            min(troubles, default=None),
        )
        return facts, followers

    def sums(self, work: Work, num_vectors: int = 1) -> tuple[LongArray, LongArray]:
        """Run a pass; return its sums per topic, a vector after the other, and its totals."""
        length = num_vectors * self.num_topics + TOTALS
        blocks = self.frame.select(*Block._fields)
        if self.num_partitions * length > DIRECT:
            added = blocks.mapInArrow(
                partial(_add_up, work=work, length=length, is_direct=False), _SUMS_SCHEMA
            )
            sums = self._added(added, length)
        else:
            added = blocks.mapInArrow(
                partial(_add_up, work=work, length=length, is_direct=True), "sums binary"
            )
            sums = np.zeros(length, dtype=np.int64)
            for data in added.toArrow().column("sums").to_pylist():
                add_sums(data, sums)
        return sums[:-TOTALS], sums[-TOTALS:]

    def _added(self, amounts: DataFrame, length: int) -> LongArray:
        """Let Spark add up amounts by topic."""
        from pyspark.sql import functions as F

        table = amounts.groupBy("topic").agg(F.sum("amount").alias("amount")).toArrow()
        sums = np.zeros(length, dtype=np.int64)
        sums[table.column("topic").to_numpy()] = table.column("amount").to_numpy()
        return sums

    @contextmanager
    def broadcast(self, value: Any) -> Iterator[Any]:
        """Yield a variable that passes can read on every worker; it is gone afterwards."""
        variable = self.frame.sparkSession.sparkContext.broadcast(value)
        try:
            yield variable
        finally:
            variable.destroy()

    def map(self, function: Callable[[Block], pa.RecordBatch], schema: str) -> DataFrame:
        """Return the rows that a function makes of each block."""
        frame = self.frame.select(*Block._fields)
        return frame.mapInArrow(partial(_each, function=function), schema)

    def refit(self, function: Callable[[Block], Block]) -> Blocks:
        """Return blocks that a function makes of these; they stay as well once they are used."""

        def work(block: Block) -> pa.RecordBatch:
            return pa.RecordBatch.from_pydict(_packed(function(block)))

        return Blocks(self.map(work, _BLOCK_SCHEMA), self.num_partitions, self.num_topics)

    def degrees(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield ids and numbers of interests, block by block, ids ascending."""
        for row in self._rows(("ids", "lengths")):
            yield _array(row, "ids"), _array(row, "lengths")

    def interests(self) -> Iterator[IntArray]:
        """Yield the topics of all subscribers in the order of their ids, block by block."""
        for row in self._rows(("indices", "idle", "lengths", "needs")):
            is_needed = np.repeat(_array(row, "needs"), _array(row, "lengths"))
            topics = np.empty(len(is_needed), dtype=np.int32)
            topics[is_needed] = _array(row, "indices")
            topics[~is_needed] = _array(row, "idle")
            yield topics

    def _rows(self, columns: tuple[str, ...]) -> Iterator[Row]:
        """Yield columns block by block; of a few blocks everything is fetched at once, and kept."""
        if self.num_partitions > AT_ONCE:
            yield from map(unpacked, packed_in_order(self.frame, columns))
            return
        if self._kept is None:
            self._kept = list(packed_in_order(self.frame, _LISTED))
        for row in self._kept:
            yield unpacked({name: row[name] for name in columns})

    def listings(self) -> Iterator[tuple[IntArray, IntArray, npt.NDArray[np.bool_]]]:
        """Yield ids, numbers of interests and whether they need something, block by block."""
        for row in self._rows(("ids", "lengths", "needs")):
            yield _array(row, "ids"), _array(row, "lengths"), _array(row, "needs")

    def hints(self, function: Callable[[Block], Block]) -> Iterator[Block]:
        """Yield what a function makes of each block, of which hints travel, ids ascending."""
        columns = ("prices", "sets", "parts")

        def work(block: Block) -> pa.RecordBatch:
            packed = _packed(function(block))
            return pa.RecordBatch.from_pydict({name: packed[name] for name in columns})

        schema = ", ".join(f"{name} binary" for name in columns)
        nothing: Any = np.empty(0)
        for row in map(unpacked, packed_in_order(self.map(work, schema), columns)):
            yield Block(*[nothing] * 6, *(_array(row, name) for name in columns))

    def release(self) -> None:
        """Let Spark forget the blocks."""
        self._kept = None
        self.frame.unpersist()


def pack_blocks(
    pairs: DataFrame,
    num_partitions: int,
    rates: Any,
    tau: float | None,
    num_topics: int,
    *,
    num_subscribers: int,
    num_pairs: int,
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
    num_subscribers, num_pairs
        How many there should be; many pairs are spread by a look at a sample of them.
    """
    if num_pairs <= MOST_EVEN:
        spread = spread_by_id(pairs, "subscriber", num_partitions, num_subscribers)
    else:
        spread = pairs.repartitionByRange(num_partitions, "subscriber")
    packed = spread.mapInArrow(partial(_pack, rates=rates, tau=tau), _PACKED_SCHEMA)
    return Blocks(packed, num_partitions, num_topics)


def _pack(batches: Iterable[pa.RecordBatch], rates: Any, tau: float | None) -> Iterator[Any]:
    parts = [batch for batch in batches if batch.num_rows]
    if not parts:
        return
    table = pa.Table.from_batches(parts)
    trouble = _find_trouble(table, len(rates.value))
    if trouble is not None:
        table = table.slice(0, 0)
    topic = np.ascontiguousarray(table.column("topic").to_numpy(), dtype=np.int32)
    # Ids in order: sums over a subscriber's topics are then the same in every block.
    ids, first, row = np.unique(
        table.column("subscriber").to_numpy(), return_index=True, return_inverse=True
    )
    csr = build_csr(row.astype(np.int32), topic, len(first))
    received = sum_rows(csr.indptr, csr.indices, rates.value)
    wanted = tau if tau is not None else table.column("tau").to_numpy()[first]
    demand = np.minimum(wanted, received)
    weight = np.ones(len(first))
    if "weight" in table.column_names:
        weight = table.column("weight").to_numpy()[first].astype(np.float64)
    needs, lengths = demand > 0, np.diff(csr.indptr)
    is_needed = np.repeat(needs, lengths)
    indptr = np.concatenate([[0], np.cumsum(lengths[needs])]).astype(np.int64)
    nothing_yet: Any = np.empty(0)
    block = Block(indptr, csr.indices[is_needed], demand[needs], weight[needs], *[nothing_yet] * 5)
    listing = Listing(ids, lengths.astype(np.int32), needs, csr.indices[~is_needed])
    yield pa.RecordBatch.from_pydict(
        {
            **_packed(block),
            **_packed(listing),
            "num_subscribers": pa.array([len(block.demand)], pa.int64()),
            "heaviest": pa.array([float(block.weight.max(initial=0.0))], pa.float64()),
            "repeats": pa.array([_count_repeats(csr)], pa.int64()),
            "first_id": pa.array([ids[0] if len(ids) else 0], pa.int32()),
            "last_id": pa.array([ids[-1] if len(ids) else -1], pa.int32()),
            "num_pairs": pa.array([table.num_rows], pa.int64()),
            "followers": pa.array([squeeze_sums(np.bincount(topic, minlength=len(rates.value)))]),
            "trouble": pa.array([trouble], pa.string()),
        }
    )


def _find_trouble(table: pa.Table, num_topics: int) -> str | None:
    """Say which id must not reach a kernel."""
    for column in ("topic", "subscriber"):
        if table.column(column).null_count:
            return f"column {column!r} has an empty cell; every row needs an id."
    topics = table.column("topic").to_numpy()
    unknown = topics[(topics < 0) | (topics >= num_topics)]
    if len(unknown):
        return f"topic {unknown.min()} is not in topics.parquet (0 to {num_topics - 1})."
    return None


def _count_repeats(csr: Csr) -> int:
    is_repeat = np.diff(csr.indices, prepend=-1) == 0
    is_repeat[csr.indptr[:-1]] = False
    return int(np.count_nonzero(is_repeat))


def _packed(arrays: Block | Listing) -> dict[str, pa.Array]:
    return {
        name: pa.array([np.ascontiguousarray(array, dtype=_KINDS[name]).tobytes()])
        for name, array in arrays._asdict().items()
    }


def _array(row: Any, name: str) -> npt.NDArray[Any]:
    return np.frombuffer(row[name], dtype=_KINDS[name])


def _unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[Block]:
    for batch in batches:
        for row in range(batch.num_rows):
            yield Block(
                *(
                    np.frombuffer(batch.column(name)[row].as_buffer(), dtype=_KINDS[name])
                    for name in Block._fields
                )
            )


def _add_up(
    batches: Iterable[pa.RecordBatch], work: Work, length: int, is_direct: bool
) -> Iterator[Any]:
    sums = np.zeros(length, dtype=np.int64)
    for block in _unpack(batches):
        totals = work(block, sums[:-TOTALS])
        sums[-TOTALS : len(sums) - TOTALS + len(totals)] += np.array(totals, dtype=np.int64)
    if is_direct:
        yield pa.RecordBatch.from_pydict({"sums": pa.array([squeeze_sums(sums)])})
    else:
        yield _listed(sums)


def _spread(batches: Iterable[pa.RecordBatch], length: int) -> Iterator[Any]:
    sums = np.zeros(length, dtype=np.int64)
    for batch in batches:
        for data in batch.column("followers").to_pylist():
            add_sums(data, sums)
    yield _listed(sums)


def _listed(sums: LongArray) -> Any:
    topics = np.flatnonzero(sums)
    return pa.RecordBatch.from_pydict({"topic": topics.astype(np.int32), "amount": sums[topics]})


def _each(
    batches: Iterable[pa.RecordBatch], function: Callable[[Block], pa.RecordBatch]
) -> Iterator[Any]:
    for block in _unpack(batches):
        yield function(block)
