"""The bound of :mod:`fanwise.provision.bounds`, by blocks of subscribers and with few sweeps.

Forced copies and least covers are added up block by block. Only subscribers with a short choice
that is not settled take part in the dual ascent and stay in memory; those with a long one count
with their least cover, paying nothing towards incoming copies that are not forced. That is valid:
the shares of some followers may be 0. Their covers are also searched less deeply; where the search
is cut off, the fractional cover counts, which for many topics is nearly the same.

Guarantee
    No plan that keeps its limits costs less.

Complexity
    A few passes over the pairs, and dual ascent on the open rows that memory holds.

References
----------
    Our own; see :mod:`fanwise.provision.bounds`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.provision.bounds import (
    Proven,
    Traffic,
    no_traffic,
    rates_that_fit,
    total_bound,
    whole_price,
)
from fanwise.provision.pairs.charges import Charges, charge, whole_demand
from fanwise.provision.pairs.core import Core, Undecided, list_undecided, split_charges
from fanwise.provision.pairs.core_kernels import count_forced_pairs, settle_subscribers
from fanwise.provision.pairs.cover_kernels import make_workspace
from fanwise.provision.pairs.dual_ascent import IsEnough, never, share
from fanwise.provision.pairs.pair_kernels import choose_greedily, longest_row
from fanwise.provision.problem import Provisioning
from fanwise.provision.proving.weights import (
    Weights,
    price_covers_of,
    price_weights,
    slice_weights,
    tried_in,
    weigh,
)
from fanwise.provision.streamed.kernels import add_counts, keep_short_rows
from fanwise.provision.streamed.pairs import in_order
from fanwise.provision.streamed.source import Block, blocks

SWEEPS = 3
STATES = 100
"""Partial covers kept for one subscriber while it is settled."""
SHORT = 32
"""Subscribers that choose from more topics take no part in the ascent."""
MOST_ITEMS = 40_000_000
"""Items in memory at once; subscribers beyond take no part in the ascent either."""


class Prices(NamedTuple):
    """By topic: what a pair costs, opening a topic, and a pair at worst; and what is paid anyway.

    ``rates`` are 0 for topics that fit no machine; ``num_forced`` pairs nobody can do without.
    """

    rates: FloatArray
    pair: FloatArray
    fixed: FloatArray
    worst: FloatArray
    paid: float
    num_forced: LongArray


class Open(NamedTuple):
    """What is open in a block: its settled price, and by row and item what is not settled.

    ``place`` is where an item's topic stands among its subscriber's interests.
    """

    settled: float
    subscriber: IntArray
    enough: FloatArray
    lengths: LongArray
    topic: IntArray
    place: IntArray


def streamed_bound(problem: Provisioning, is_enough: IsEnough = never) -> Proven:
    """Return what every plan costs at least; see :func:`fanwise.provision.bounds.prove_bound`.

    Nothing is swept once a bound is enough.
    """
    if not np.any(problem.demand > 0):
        return total_bound(problem, no_traffic, is_enough)._replace(value=0.0)
    return total_bound(problem, partial(prove_traffic, problem), is_enough)


def prove_traffic(
    problem: Provisioning, in_price: float, out_price: float, is_enough: IsEnough = never
) -> Traffic:
    """Return what any plan's traffic costs at least at these prices per byte, and why."""
    workload = problem.workload
    charges = charge(problem, in_price, out_price, RELATIVE_TOLERANCE)
    enough = whole_demand(problem, RELATIVE_TOLERANCE)
    core = find_core(problem, charges)
    weights = weigh_core(core, charges, workload.num_followers, workload.num_subscribers, is_enough)
    priced = price_weights(weights, charges, workload.num_followers, core.num_forced)
    rates, tried = rates_that_fit(problem), tried_in(workload.num_pairs)

    def price(block: Block) -> float:
        items = slice_weights(weights, block.first, block.last)
        wanted = enough[block.first : block.last]
        return price_covers_of(block.rows, rates, wanted, priced, items, tried)(0, len(wanted))

    covers = sum(in_order(price, blocks(workload.interests)))
    return Traffic(whole_price(priced.paid + covers, workload.num_pairs), weights)


def weigh_core(
    core: Core,
    charges: Charges,
    followers: LongArray,
    num_subscribers: int,
    is_enough: IsEnough,
) -> Weights:
    """Share incoming copies over a core, and turn the shares into weights."""
    shares = share(core, SWEEPS, is_enough).shares
    always_even = core.pair_price > charges.outgoing
    return weigh(
        core.undecided, shares, core.undecided.pair, followers, always_even, num_subscribers
    )


def find_core(problem: Provisioning, charges: Charges) -> Core:
    """Settle what settles itself, and what is too long; see :mod:`fanwise.provision.pairs.core`."""
    interests = problem.workload.interests
    enough = whole_demand(problem, RELATIVE_TOLERANCE)
    prices = make_prices(problem, charges, *_count(problem, charges, enough))

    def settle(block: Block) -> Open:
        return settle_block(block.first, block.rows, enough[block.first : block.last], prices)

    return gather_core(in_order(settle, blocks(interests)), prices, charges)


def make_prices(
    problem: Provisioning, charges: Charges, num_forced: LongArray, num_likely: LongArray
) -> Prices:
    """Split charges by what is forced and what is likely."""
    split = split_charges(problem, charges, num_forced, num_likely)
    return Prices(rates_that_fit(problem), *split, num_forced)


def settle_block(first: int, rows: Csr, enough: FloatArray, prices: Prices) -> Open:
    """Settle the subscribers of a block, from ``first`` on, but for those with a short choice."""
    workspace = make_workspace(max(longest_row(rows.indptr), 1), STATES)
    is_chosen = np.zeros(len(rows.indices), dtype=np.bool_)
    rates, pair = prices.rates, prices.pair
    price, subscriber, lacks, indptr, items = settle_subscribers(
        0, len(enough), *rows, rates, enough, pair, prices.fixed, prices.worst, is_chosen, workspace
    )
    topics = rows.indices[items]
    lengths = np.diff(indptr)
    positions = items - np.repeat(rows.indptr[subscriber], lengths)
    extra, is_kept, topic = keep_short_rows(lacks, indptr, topics, rates, pair, SHORT, workspace)
    return Open(
        price + extra,
        (subscriber[is_kept] + first).astype(np.int32),
        lacks[is_kept],
        lengths[is_kept],
        topic,
        positions[np.repeat(is_kept, lengths)].astype(np.int32),
    )


def gather_core(parts: Iterable[Open], prices: Prices, charges: Charges) -> Core:
    """Put together what is open, as much as memory holds; the rest is settled alone."""
    found = []
    settled, num_items = prices.paid, 0
    for part in parts:
        settled += part.settled
        if num_items + len(part.topic) > MOST_ITEMS:
            settled += _price_alone(part, prices)
        else:
            num_items += len(part.topic)
            found.append(part)
    undecided = _gather(found, prices, charges)
    nothing = np.zeros(0, dtype=np.bool_)
    return Core(settled, nothing, undecided, prices.pair, prices.num_forced, num_seen=0)


def _count(
    problem: Provisioning, charges: Charges, enough: FloatArray
) -> tuple[LongArray, LongArray]:
    """Count forced pairs by topic, and where topics may be split, likely ones."""
    workload, rates = problem.workload, rates_that_fit(problem)
    may_split = bool(np.any(workload.num_followers > charges.held))

    def count(block: Block) -> tuple[LongArray, IntArray]:
        wanted = enough[block.first : block.last]
        forced: LongArray = count_forced_pairs(*block.rows, rates, wanted)
        likely: IntArray = np.zeros(0, dtype=np.int32)
        if may_split:
            _, likely = choose_greedily(*block.rows, rates, wanted, 0.0)
        return forced, likely

    num_forced = np.zeros(workload.num_topics, dtype=np.int64)
    num_likely = np.zeros(workload.num_topics, dtype=np.int64)
    for forced, likely in in_order(count, blocks(workload.interests)):
        num_forced += forced
        add_counts(likely, num_likely)
    return num_forced, num_likely if may_split else num_forced


def _price_alone(part: Open, prices: Prices) -> float:
    """Return the least price of open rows that pay nothing towards incoming copies."""
    indptr = np.concatenate([[0], np.cumsum(part.lengths)]).astype(np.int64)
    workspace = make_workspace(max(int(part.lengths.max(initial=1)), 1), STATES)
    price, _, _ = keep_short_rows(
        part.enough, indptr, part.topic, prices.rates, prices.pair, 0, workspace
    )
    return float(price)


def _gather(found: list[Open], prices: Prices, charges: Charges) -> Undecided:
    """Put open rows together; a pair is known by its position among its subscriber's interests."""

    def join(name: str, kind: type[np.generic]) -> Any:
        return np.concatenate([np.zeros(0, dtype=kind), *(getattr(part, name) for part in found)])

    return list_undecided(
        join("subscriber", np.int32),
        join("enough", np.float64),
        join("lengths", np.int64),
        join("place", np.int32),
        join("topic", np.int32),
        (prices.rates, prices.pair, prices.fixed, charges.held),
    )
