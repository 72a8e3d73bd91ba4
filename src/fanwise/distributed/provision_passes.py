"""What Spark's workers do with a block of subscribers in each pass of provision.

Passes are small objects that travel to the workers; vectors reach them as broadcast variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray
from fanwise.arrays.tolerance import ROUNDING, least_enough
from fanwise.distributed.blocks import Block

Broadcast = Any
"""A variable that workers read by ``.value``."""

SPLIT = -1
"""In place of a machine: the topic is on several."""

PACKED = ("indptr", "indices", "demand", "ids", "needs")
"""What a block is packed into, with the ids of its subscribers."""
OPEN_SCHEMA = (
    "settled double, subscriber binary, enough binary, lengths binary, topic binary, place binary"
)


class Parts(NamedTuple):
    """The parts of topics on machines, by topic and machine.

    Attributes
    ----------
    vm
        By part.
    first_pair
        By part, and one more: how many pairs of all topics come before.
    first_of_topic
        By topic: the same of its first part.
    vm_of_topic
        By topic: its machine, or ``SPLIT``.
    """

    vm: IntArray
    first_pair: LongArray
    first_of_topic: LongArray
    vm_of_topic: IntArray


def enough_of(demand: FloatArray, *, is_whole: bool) -> FloatArray:
    """Return what is enough for subscribers, as :mod:`fanwise.provision.pairs.charges` does."""
    enough: FloatArray = least_enough(demand)
    return np.ceil(enough) if is_whole else enough


@dataclass(frozen=True)
class CountChosen:
    """Counts the greedy pairs of each topic; total: subscribers that get too little."""

    rates: Broadcast

    def __call__(self, block: Block, amounts: LongArray) -> tuple[int, ...]:
        from fanwise.arrays.csr import sum_rows
        from fanwise.provision.problem import SOLVER_TOLERANCE
        from fanwise.provision.streamed.kernels import add_counts

        found, topics = _choose(block.indptr, block.indices, block.demand, self.rates.value)
        add_counts(topics, amounts)
        delivered = sum_rows(found, topics, self.rates.value)
        least = block.demand * (1 - SOLVER_TOLERANCE) * (1 - ROUNDING)
        return (int(np.count_nonzero(delivered < least)),)


@dataclass(frozen=True)
class CountMissed:
    """Counts, by topic that fits no machine, the subscribers that need it."""

    rates: Broadcast

    def __call__(self, block: Block, amounts: LongArray) -> tuple[int, ...]:
        from fanwise.arrays.csr import sum_rows
        from fanwise.provision.problem import SOLVER_TOLERANCE

        rates = self.rates.value
        reachable = sum_rows(block.indptr, block.indices, rates)
        is_short = reachable < block.demand * (1 - SOLVER_TOLERANCE)
        theirs = block.indices[np.repeat(is_short, np.diff(block.indptr))]
        np.add.at(amounts, theirs[rates[theirs] == 0], 1)
        return (int(np.count_nonzero(is_short)),)


@dataclass(frozen=True)
class CountForced:
    """Counts by topic the pairs that nobody can do without, and behind them the likely ones."""

    rates: Broadcast
    is_whole: bool

    def __call__(self, block: Block, amounts: LongArray) -> tuple[int, ...]:
        from fanwise.provision.pairs.core_kernels import count_forced_pairs
        from fanwise.provision.pairs.pair_kernels import choose_greedily
        from fanwise.provision.streamed.kernels import add_counts

        rates = self.rates.value
        enough = enough_of(block.demand, is_whole=self.is_whole)
        amounts[: len(rates)] += count_forced_pairs(block.indptr, block.indices, rates, enough)
        if len(amounts) > len(rates):
            _, likely = choose_greedily(block.indptr, block.indices, rates, enough, 0.0)
            add_counts(likely, amounts[len(rates) :])
        return ()


@dataclass(frozen=True)
class AddLeastBytes:
    """Adds up the paper's least bytes of each subscriber."""

    rates: Broadcast
    sizes: Broadcast

    def __call__(self, block: Block) -> pa.RecordBatch:
        from fanwise.provision.pairs.pair_kernels import cover_fractionally

        least = cover_fractionally(
            block.indptr, block.indices, self.rates.value, self.sizes.value, block.demand
        )
        return pa.RecordBatch.from_pydict({"bytes": pa.array([float(least.sum())])})


class Packed(NamedTuple):
    """A block: the interests and demands of its subscribers that need something, and their ids."""

    rows: Csr
    demand: FloatArray
    subscribers: IntArray


def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[Packed]:
    """Yield the blocks of batches with the columns :data:`PACKED`."""
    for batch in batches:
        for row in range(batch.num_rows):
            indptr, indices, demand, ids, needs = (
                np.frombuffer(batch.column(name)[row].as_buffer(), dtype=kind)
                for name, kind in zip(PACKED, ("i8", "i4", "f8", "i4", "?"), strict=True)
            )
            yield Packed(Csr(indptr, indices), demand, ids[needs])


def settle_blocks(
    batches: Iterable[pa.RecordBatch], prices: Broadcast, is_whole: bool
) -> Iterator[Any]:
    """Settle subscribers; what is open comes back as arrays in a row."""
    from fanwise.provision.streamed.bounds import settle_block

    for block in unpack(batches):
        enough = enough_of(block.demand, is_whole=is_whole)
        found = settle_block(0, block.rows, enough, prices.value)
        found = found._replace(subscriber=block.subscribers[found.subscriber])
        arrays = found._asdict()
        arrays.pop("settled")
        yield pa.RecordBatch.from_pydict(
            {
                "settled": pa.array([float(found.settled)]),
                **{name: pa.array([array.tobytes()]) for name, array in arrays.items()},
            }
        )


class Priceable(NamedTuple):
    """What it takes to price the covers of a block at the shares of a certificate."""

    rates: FloatArray
    priced: Any
    weights: Any
    tried: int
    is_whole: bool


def price_blocks(batches: Iterable[pa.RecordBatch], question: Broadcast) -> Iterator[Any]:
    """Return the least price of the covers of each block."""
    from fanwise.provision.proving.weights import price_covers_of

    rates, priced, weights, tried, is_whole = question.value
    for block in unpack(batches):
        position = np.searchsorted(block.subscribers, weights.subscriber)
        is_here = position < len(block.subscribers)
        is_here[is_here] = block.subscribers[position[is_here]] == weights.subscriber[is_here]
        items = {
            "row": position[is_here],
            "place": weights.place[is_here],
            "weight": weights.weight[is_here],
        }
        enough = enough_of(block.demand, is_whole=is_whole)
        price = price_covers_of(block.rows, rates, enough, priced, items, tried)(0, len(enough))
        yield pa.RecordBatch.from_pydict({"price": pa.array([float(price)])})


def allocate_chosen(
    batches: Iterable[pa.RecordBatch], rates: Broadcast, parts: Broadcast
) -> Iterator[Any]:
    """Turn blocks into chosen pairs with the machine of each, as far as the topic tells it."""
    for block in unpack(batches):
        found, topics = _choose(*block.rows, block.demand, rates.value)
        subscribers = np.repeat(block.subscribers, np.diff(found))
        vms = parts.value.vm_of_topic[topics]
        yield pa.RecordBatch.from_pydict({"vm": vms, "topic": topics, "subscriber": subscribers})


def allocate_split(batches: Iterable[pa.RecordBatch], parts: Broadcast) -> Iterator[Any]:
    """Find the machine of pairs of split topics by their rank among the topic's subscribers."""
    known = parts.value
    for batch in batches:
        topics = batch.column("topic").to_numpy()
        pairs = known.first_of_topic[topics] + batch.column("rank").to_numpy()
        part = np.searchsorted(known.first_pair, pairs, side="right") - 1
        yield pa.RecordBatch.from_pydict(
            {
                "vm": known.vm[part],
                "topic": topics,
                "subscriber": batch.column("subscriber").to_numpy(),
            }
        )


def _choose(
    indptr: LongArray, indices: IntArray, demand: FloatArray, rates: FloatArray
) -> tuple[LongArray, IntArray]:
    from fanwise.provision.pairs.pair_kernels import choose_greedily
    from fanwise.provision.problem import SOLVER_TOLERANCE

    found: tuple[LongArray, IntArray] = choose_greedily(
        indptr, indices, rates, demand, SOLVER_TOLERANCE
    )
    return found
