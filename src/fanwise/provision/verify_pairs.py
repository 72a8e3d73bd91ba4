"""The independent check of who gets what: an allocation against the interests, in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.provision.verify_chunks import AllocationRows, Chunk, Piles, Row, pile_size
from fanwise.workload.topic import RELATIVE_TOLERANCE

if TYPE_CHECKING:
    from fanwise.workload.topic import TopicWorkload

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


class Lack(NamedTuple):
    """A subscriber that gets too little, in events."""

    subscriber: int
    gets: float
    needs: float


class Match(NamedTuple):
    """What comparing allocation and interests gives.

    Attributes
    ----------
    invented
        (subscriber, topic): the first pair that is no interest, of every block that has one.
    lack
        The first subscriber that gets too little.
    num_in_need
        Subscribers with a threshold above 0.
    least_bytes
        The fewest bytes that satisfy everybody, by the paper's Alg. 5.
    """

    invented: list[tuple[int, int]]
    lack: Lack | None
    num_in_need: int
    least_bytes: float


class Block(NamedTuple):
    """Subscribers from ``first`` to ``last``: by pair, the row (from 0) and the topic."""

    first: int
    last: int
    rows: Longs
    topics: npt.NDArray[np.int32]


def match_pairs(
    workload: TopicWorkload, tau: float | str, sizes: Floats, allocation: AllocationRows
) -> Match:
    """Compare, block by block of subscribers."""
    starts = _starts(workload)
    piles = _pile_by_subscriber(allocation, starts)
    invented: list[tuple[int, int]] = []
    lack: Lack | None = None
    num_in_need, least_bytes = 0, 0.0
    for pile, block in enumerate(_cut(workload, starts)):
        rates = workload.rates[block.topics]
        is_allocated, stranger = _look_up(piles.take(pile), block, workload.num_topics)
        if stranger is not None:
            invented.append(stranger)
        demand = demand_of(workload, tau, block, rates)
        gets = _add_up(block.rows, rates * is_allocated, len(demand))
        lacks = gets < demand * (1 - RELATIVE_TOLERANCE)
        if lack is None and lacks.any():
            row = int(np.argmax(lacks))
            lack = Lack(block.first + row, float(gets[row]), float(demand[row]))
        num_in_need += int(np.count_nonzero(demand > 0))
        least_bytes += float(np.sum(_least_bytes(block, rates, sizes, demand)))
    piles.close()
    return Match(invented, lack, num_in_need, least_bytes)


def find_invented(allocation: AllocationRows, invented: list[tuple[int, int]]) -> Row:
    """Return the first row with a pair that is no interest.

    It is the first of its block, so that its pair is among the given ones.
    """

    def is_invented(chunk: Chunk) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(chunk.vm), dtype=bool)
        for subscriber, topic in invented:
            found |= (chunk.subscriber == subscriber) & (chunk.topic == topic)
        return found

    return allocation.find(is_invented)


def _starts(workload: TopicWorkload) -> Longs:
    """Cut subscribers into blocks of about as many pairs; return the first of each."""
    indptr, size = workload.interests.indptr, pile_size(workload.num_pairs)
    starts, first = [], 0
    while first < workload.num_subscribers:
        starts.append(first)
        first = max(int(np.searchsorted(indptr, indptr[first] + size, side="left")), first + 1)
    return np.array(starts, dtype=np.int64)


def blocks_of(workload: TopicWorkload) -> Iterator[Block]:
    """Yield subscribers in blocks of about as many pairs."""
    return _cut(workload, _starts(workload))


def _cut(workload: TopicWorkload, starts: Longs) -> Iterator[Block]:
    indptr, indices = workload.interests
    for first, last in zip(starts, [*starts[1:], workload.num_subscribers], strict=False):
        rows = np.repeat(np.arange(last - first), np.diff(indptr[first : last + 1]))
        yield Block(int(first), int(last), rows, indices[indptr[first] : indptr[last]])


def _pile_by_subscriber(allocation: AllocationRows, starts: Longs) -> Piles:
    piles = Piles(len(starts), 2, allocation.num_rows)
    for chunk in allocation.chunks():
        block = np.searchsorted(starts, chunk.subscriber, side="right") - 1
        piles.throw(block, np.column_stack((chunk.subscriber, chunk.topic)))
    return piles


def _look_up(
    pairs: npt.NDArray[np.int32], block: Block, num_topics: int
) -> tuple[npt.NDArray[np.bool_], tuple[int, int] | None]:
    """Return which interests of a block are among the pairs, and the first pair that is none."""
    interests = block.rows * num_topics + block.topics
    wanted = (pairs[:, 0].astype(np.int64) - block.first) * num_topics + pairs[:, 1]
    asked = np.sort(wanted)  # sorted questions walk through the interests in order
    is_allocated = np.zeros(len(interests), dtype=bool)
    position = np.searchsorted(interests, asked)
    is_real = position < len(interests)
    is_real[is_real] = interests[position[is_real]] == asked[is_real]
    is_allocated[position[is_real]] = True
    if is_real.all():
        return is_allocated, None
    first = int(np.argmax(np.isin(wanted, asked[~is_real])))
    return is_allocated, (int(pairs[first, 0]), int(pairs[first, 1]))


def demand_of(workload: TopicWorkload, tau: float | str, block: Block, rates: Floats) -> Floats:
    """Return what each subscriber of a block needs: tau, or all there is for it."""
    column = np.zeros(workload.num_subscribers) if workload.tau is None else workload.tau
    wanted: Any = column[block.first : block.last] if tau == "column" else tau
    demand: Floats = np.minimum(wanted, _add_up(block.rows, rates, block.last - block.first))
    return demand


def _least_bytes(block: Block, rates: Floats, sizes: Floats, demand: Floats) -> Floats:
    """Return the fewest bytes that satisfy each subscriber if topics could be had in part.

    Topics of small messages first; but no less than its smallest topic.
    """
    rows, each = block.rows, sizes[block.topics]
    smallest = np.full(len(demand), np.inf)
    np.minimum.at(smallest, rows, rates * each)
    if len(each) and each.min() < each.max():
        order = np.lexsort((each, rows))
        rates, each = rates[order], each[order]
    position = np.searchsorted(rows, np.arange(len(demand) + 1))
    end, position = position[1:], position[:-1].copy()
    cover, missing = np.zeros(len(demand)), demand.copy()
    active = np.flatnonzero(missing > 0)
    while len(active):  # the cheapest topic of everybody, then the second of those who lack
        taken = np.minimum(rates[position[active]], missing[active])
        cover[active] += taken * each[position[active]]
        missing[active] -= taken
        position[active] += 1
        active = active[(missing[active] > 0) & (position[active] < end[active])]
    return np.where(demand > 0, np.maximum(cover, smallest), 0.0)


def _add_up(groups: Longs, values: Floats, num_groups: int) -> Floats:
    return np.bincount(groups, weights=values, minlength=num_groups).astype(np.float64)
