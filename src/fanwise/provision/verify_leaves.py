"""The independent check of a search over all plans of a tiny question: every case, and its price.

To machines the pairs of a topic are alike, so a plan is how many pairs each topic has, split into
what each machine holds. A leaf names least numbers of pairs; it stands for every plan that has at
least as many. The leaves must cover all ways to satisfy everybody; then no plan is cheaper than the
cheapest leaf, whose price is found by a table over all smaller numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.planning.proof import Proof, ProofError
from fanwise.planning.verify import ROUNDING

MOST_FOLLOWED = 12
"""Topics of one subscriber up to which all of its covers are listed."""
MOST_CASES, MOST_STATES, MOST_LEAVES = 50_000, 5_000, 2_000
"""Above these nobody checks leaves: it would take too long."""

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Kind(NamedTuple):
    """A type of machine: its rent, the bytes it may move, and its limits."""

    rent: float
    room: float
    max_topics: float
    max_pairs: float


class Subscriber(NamedTuple):
    """What one subscriber chooses from, and what is enough for it."""

    topics: npt.NDArray[np.int32]
    rates: Floats
    enough: float


def price_leaves(
    proof: Proof,
    subscribers: Iterable[Subscriber],
    need: Floats,
    kinds: Sequence[Kind],
    prices: tuple[float, float],
) -> float:
    """Return the price of the cheapest leaf, after a look whether the leaves cover every case.

    Parameters
    ----------
    need
        By topic: the bytes of one copy, and of one pair.
    prices
        Money for a byte in and for a byte out.
    """
    leaves, topics = _read_leaves(proof, len(need))
    covers = [_list_covers(one, topics) for one in subscribers if one.enough > 0]
    _check_all_cases(leaves, covers)
    packed = _pack_all(leaves.max(axis=0), need[topics], kinds, prices[0])
    outgoing = prices[1] * (leaves @ need[topics])
    return float(np.min(outgoing + packed[tuple(leaves.T)]))


def _read_leaves(proof: Proof, num_topics: int) -> tuple[Counts, Counts]:
    """Return the least numbers of pairs, by leaf and topic, and the topics they are of."""
    table = proof.table("leaves", {"leaf": "id", "topic": "id", "pairs": "id"})
    leaf, topic, pairs = (table.column(name).to_numpy() for name in ("leaf", "topic", "pairs"))
    for name, is_wrong in (
        ("leaf", (leaf < 0) | (leaf >= MOST_LEAVES)),
        ("topic", (topic < 0) | (topic >= num_topics)),
        ("pairs", (pairs < 1) | (pairs > MOST_STATES)),
    ):
        if is_wrong.any():
            row = int(np.argmax(is_wrong))
            raise ProofError(f"proof/leaves.parquet, row {row}: {name} is out of range")
    if not len(leaf) or not np.array_equal(np.unique(leaf), np.arange(leaf.max() + 1)):
        raise ProofError("proof/leaves.parquet: leaves must be numbered from 0, none left out")
    if len(np.unique(leaf.astype(np.int64) * num_topics + topic)) < len(leaf):
        raise ProofError("proof/leaves.parquet: a topic stands twice in a leaf")
    topics, index = np.unique(topic, return_inverse=True)
    leaves = np.zeros((int(leaf.max()) + 1, len(topics)), dtype=np.int64)
    leaves[leaf, index] = pairs
    return leaves, topics.astype(np.int64)


def _list_covers(subscriber: Subscriber, topics: Counts) -> Counts:
    """Return the covers of a subscriber without a topic too many, by topic of the leaves.

    Topics that no leaf names need not be counted: they only add to the price.
    """
    rates = subscriber.rates
    if len(rates) > MOST_FOLLOWED:
        raise ProofError("leaves are for subscribers with few topics")
    choices = np.arange(1, 2 ** len(rates))[:, None] >> np.arange(len(rates)) & 1
    total = choices @ rates
    smallest = np.min(np.where(choices == 1, rates, np.inf), axis=1)
    enough = subscriber.enough * (1 - ROUNDING)
    choices = choices[(total >= enough) & (total - smallest < enough)]
    index = np.searchsorted(topics, subscriber.topics)
    is_named = index < len(topics)
    is_named[is_named] = topics[index[is_named]] == subscriber.topics[is_named]
    covers = np.zeros((len(choices), len(topics)), dtype=np.int64)
    covers[:, index[is_named]] = choices[:, is_named]
    return np.unique(covers, axis=0)


def _check_all_cases(leaves: Counts, covers: Sequence[Counts]) -> None:
    """Add up covers subscriber by subscriber; cases that a leaf stands for are done with."""
    cases = np.zeros((1, leaves.shape[1]), dtype=np.int64)
    for ways in covers:
        cases = (cases[:, None, :] + ways[None, :, :]).reshape(-1, leaves.shape[1])
        if len(cases) > MOST_CASES:
            raise ProofError("leaves are for tiny questions; this one has too many cases")
        cases = np.unique(cases, axis=0)
        for leaf in leaves:
            cases = cases[~(cases >= leaf).all(axis=1)]
        if not len(cases):
            return
    if covers:
        raise ProofError("proof/leaves.parquet: some way to satisfy everybody is in no leaf")


def _pack_all(most: Counts, need: Floats, kinds: Sequence[Kind], in_price: float) -> Floats:
    """Return the least price of machines and incoming copies, by numbers of pairs up to ``most``.

    Machine by machine: the one that holds a pair of the first topic there is may hold anything
    else that fits beside it.
    """
    shape = tuple(int(count) + 1 for count in most)
    if np.prod(shape, dtype=np.float64) > MOST_STATES:
        raise ProofError("leaves are for tiny questions; this one has too many pairs")
    states = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
    copies = states > 0
    used = states @ need + copies @ need
    rent = np.full(len(states), np.inf)
    for kind in kinds:
        fits = (
            (used <= kind.room)
            & (copies.sum(axis=1) <= kind.max_topics)
            & (states.sum(axis=1) <= kind.max_pairs)
        )
        rent[fits] = np.minimum(rent[fits], kind.rent)
    price = rent + in_price * (copies @ need)
    loads = np.flatnonzero(np.isfinite(price) & copies.any(axis=1))
    least = np.full(len(states), np.inf)
    least[0] = 0.0
    for state in range(1, len(states)):
        first = int(np.argmax(copies[state]))
        inside = loads[loads <= state]
        is_part = (states[inside] <= states[state]).all(axis=1) & copies[inside, first]
        inside = inside[is_part]
        least[state] = np.min(price[inside] + least[state - inside], initial=np.inf)
    return least.reshape(shape)
