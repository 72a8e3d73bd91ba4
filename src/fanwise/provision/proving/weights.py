"""Certificates: shares of incoming copies in a form that is small and true whatever it says.

Shares are kept as whole weights. Whoever checks them divides each topic's incoming price in
proportion, so that no weights can claim too much; what they prove is computed here in the same way,
from the weights and not from the shares they came from. See :mod:`fanwise.provision.verify_proof`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray
from fanwise.provision.pairs.charges import Charges
from fanwise.provision.pairs.core import Undecided
from fanwise.provision.pairs.cover_kernels import make_workspace
from fanwise.provision.pairs.pair_kernels import longest_row
from fanwise.provision.proving.cover_price_kernels import price_covers

MOST_WEIGHT = 65535
LEVELS = (MOST_WEIGHT, 255, 15)
"""The largest weight: as many levels as there can be."""
BYTES_EACH, SMALL_PROOF = 16, 16_384
"""Bytes that a certificate may have for a subscriber or topic, and in any case."""
BYTES_AT_WORST = 11
"""Bytes of a weight before compression, with its place."""
FEW_TRIED, MORE_TRIED, SMALL_WORKLOAD = 8, 12, 10_000
STATES = 8000


class Weights(NamedTuple):
    """Who pays for incoming copies, and in which proportion.

    Attributes
    ----------
    even
        Topics whose copies all followers pay for alike, ascending.
    subscriber, place, weight
        The other ones' shares: who pays, for which of its interests (from 0, by topic), how much.
    item_topic
        The topic of each weight, which need not be written down.
    """

    even: IntArray
    subscriber: IntArray
    place: IntArray
    weight: npt.NDArray[np.uint16]
    item_topic: IntArray

    def tables(self, name: str) -> dict[str, pa.Table]:
        """Return the tables of the proof, named for what the shares are of."""
        return {
            f"{name}_even": pa.table({"topic": self.even}),
            f"{name}_shares": pa.table(
                {"subscriber": self.subscriber, "place": self.place, "weight": self.weight}
            ),
        }


def no_weights() -> Weights:
    """Return the weights of copies that nobody shares."""
    ids: IntArray = np.zeros(0, dtype=np.int32)
    return Weights(ids, ids, ids, np.zeros(0, dtype=np.uint16), ids)


class Priced(NamedTuple):
    """What the weights make pairs cost: by topic, and on top for single pairs.

    Attributes
    ----------
    pair
        By topic: outgoing traffic, and the share of even topics.
    paid
        Copies of topics that nobody shares but somebody cannot do without.
    of_weight
        By topic: what one weight pays.
    """

    pair: FloatArray
    paid: float
    of_weight: FloatArray


def weigh(
    undecided: Undecided,
    shares: FloatArray,
    positions: IntArray,
    followers: LongArray,
    always_even: npt.NDArray[np.bool_],
    num_subscribers: int,
) -> Weights:
    """Return weights for shares, with as many levels as a certificate may have.

    Parameters
    ----------
    places
        By item: its position among its subscriber's interests.
    followers
        By topic: how many there are.
    always_even
        By topic: whether all followers pay alike, whoever they are.
    """
    most_bytes = max(BYTES_EACH * (num_subscribers + len(followers)), SMALL_PROOF)
    for levels in LEVELS:
        weights = _weigh(undecided, shares, positions, followers, always_even, levels)
        if len(weights.weight) * BYTES_AT_WORST <= most_bytes or _size(weights) <= most_bytes:
            return weights
    keep = int(len(weights.weight) * most_bytes / _size(weights) * 0.9)
    large = np.sort(np.argsort(-weights.weight.astype(np.int64), kind="stable")[:keep])
    return weights._replace(
        subscriber=weights.subscriber[large],
        place=weights.place[large],
        weight=weights.weight[large],
        item_topic=weights.item_topic[large],
    )


def _weigh(
    undecided: Undecided,
    shares: FloatArray,
    positions: IntArray,
    followers: LongArray,
    always_even: npt.NDArray[np.bool_],
    levels: int,
) -> Weights:
    items = undecided.contest_items
    starts = undecided.contest_indptr[:-1]
    counts = np.diff(undecided.contest_indptr)
    is_even = always_even.copy()
    weight = np.zeros(len(items), dtype=np.uint16)
    if len(items):
        largest = np.maximum.reduceat(shares[items], starts)
        scale = np.where(largest > 0, levels / np.where(largest > 0, largest, 1.0), 0.0)
        weight[:] = np.rint(shares[items] * np.repeat(scale, counts))
        lowest, highest = np.minimum.reduceat(weight, starts), np.maximum.reduceat(weight, starts)
        is_same = (lowest == highest) & (counts == followers[undecided.contested])
        is_even[undecided.contested[is_same & (highest > 0)]] = True
    is_kept = (weight > 0) & ~is_even[undecided.topic[items]]
    items, weight = items[is_kept], weight[is_kept]
    subscriber = undecided.subscriber[undecided.row[items]]
    order = np.lexsort((positions[items], subscriber))
    return Weights(
        even=np.flatnonzero(is_even).astype(np.int32),
        subscriber=subscriber[order].astype(np.int32),
        place=positions[items][order].astype(np.int32),
        weight=weight[order],
        item_topic=undecided.topic[items][order],
    )


def _size(weights: Weights) -> int:
    """Return the size of a certificate on disk."""
    size = 0
    for table in weights.tables("bytes").values():
        buffer = BytesIO()
        pq.write_table(table, buffer, compression="zstd")
        size += buffer.tell()
    return size


def price_weights(
    weights: Weights,
    charges: Charges,
    followers: LongArray,
    num_forced: LongArray,
) -> Priced:
    """Return what weights make pairs cost.

    Parameters
    ----------
    num_forced
        By topic: pairs that nobody can do without.
    """
    num_topics = len(followers)
    is_even = np.zeros(num_topics, dtype=bool)
    is_even[weights.even] = True
    most = _largest_sums(weights.weight, weights.item_topic, charges.held)
    copies = np.where(is_even | (most > 0), 0.0, np.ceil(num_forced / charges.held))
    sharers = np.maximum(np.minimum(followers, charges.held), 1.0)
    return Priced(
        pair=charges.outgoing + np.where(is_even, charges.incoming / sharers, 0.0),
        paid=float(np.dot(copies, charges.incoming)),
        of_weight=charges.incoming / np.maximum(most, 1.0),
    )


def _largest_sums(weight: npt.NDArray[np.uint16], topics: IntArray, held: FloatArray) -> FloatArray:
    """Return the sum of the ``held`` largest weights of each topic."""
    order = np.lexsort((-weight.astype(np.int64), topics))
    topics, weight = topics[order], weight[order]
    rank = np.arange(len(topics)) - np.searchsorted(topics, topics)
    counts = rank < held[topics]
    sums: FloatArray = np.bincount(topics[counts], weight[counts], minlength=len(held)).astype(
        np.float64
    )
    return sums


def tried_in(num_pairs: int) -> int:
    """Return of how many topics whoever checks tries every choice."""
    return MORE_TRIED if num_pairs <= SMALL_WORKLOAD else FEW_TRIED


def price_covers_of(
    rows: Csr,
    rates: FloatArray,
    enough: FloatArray,
    priced: Priced,
    items: Mapping[str, npt.NDArray[np.generic]],
    tried: int,
) -> Callable[[int, int], float]:
    """Return what tells how much the subscribers of a block pay at least, from one up to another.

    Parameters
    ----------
    items
        Weights of the block: ``row`` (from 0 in the block), ``place`` and ``weight``, in order.
    """
    pairs = rows.indptr[items["row"]] + items["place"]
    shares = items["weight"] * priced.of_weight[rows.indices[pairs]]
    longest = max(longest_row(rows.indptr), 1)

    def price(first: int, last: int) -> float:
        workspace = make_workspace(longest, STATES)
        found: float = price_covers(
            first, last, *rows, rates, enough, priced.pair, pairs, shares, tried, workspace
        )
        return found

    return price


def slice_weights(weights: Weights, first: int, last: int) -> dict[str, npt.NDArray[np.generic]]:
    """Return the weights of the subscribers from ``first`` up to ``last``."""
    start, end = np.searchsorted(weights.subscriber, [first, last])
    return {
        "row": weights.subscriber[start:end] - first,
        "place": weights.place[start:end],
        "weight": weights.weight[start:end],
    }
