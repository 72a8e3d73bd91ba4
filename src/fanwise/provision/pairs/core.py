"""The core of stage 1: the few subscribers whose choice depends on what others choose.

Choosing pairs well means paying as little as possible for

    sum over topics of in_price x copies + out_price x pairs,

where a topic with any pairs has at least one incoming copy, and at least ceil(pairs / held) if no
machine holds more than ``held`` of its pairs. It is a facility location problem: topics are opened,
subscribers are served by covers. Most of it settles itself. A topic that some subscriber cannot do
without is open anyway; a subscriber whose cheapest cover, incoming copies not counted, has only
open topics takes that. What is left, the core, is small: one in a hundred subscribers on traces
where most follow one topic.

Guarantee
    What is settled costs no more than in any choice of pairs, but for copies that are open and for
    searches that were cut off.

Complexity
    O(pairs), but for subscribers with hundreds of topics.

References
----------
    E. Balas, E. Zemel: An algorithm for large zero-one knapsack problems. Operations Research
    28(5), 1980: solve the core, settle the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray, count_offsets, scatter_rows
from fanwise.provision.pairs.charges import Charges
from fanwise.provision.pairs.core_kernels import count_forced_pairs, settle_subscribers
from fanwise.provision.pairs.cover_kernels import make_workspace
from fanwise.provision.pairs.pair_kernels import choose_greedily, longest_row
from fanwise.provision.pairs.passes import IsOver, never_over, pass_over
from fanwise.provision.problem import Provisioning

STATES = 8000
"""Partial covers kept for one subscriber; what is cut off there costs the bound next to nothing."""


FEW_HELD = 64
"""Pairs on one machine up to which the copy that one more pair may need is looked at."""
MAX_OPEN = 20_000
"""Followers of such topics, all together, up to which they are looked at one by one."""


class Undecided(NamedTuple):
    """Subscribers whose choice is open: what they lack, and the pairs they choose from.

    Attributes
    ----------
    subscriber, enough, indptr
        By row: who, the events it lacks, where its items start.
    pair, topic, rate, price, row
        By item: its place among the interests, its topic, its events, its price with the incoming
        copy paid for, its row.
    contested, contest_indptr, contest_items
        Topics whose incoming copy is not paid for yet, and the items of each.
    fixed
        By topic: the price of that copy, 0 where it is paid for.
    held
        By topic: how many pairs share one copy at most.
    """

    subscriber: IntArray
    enough: FloatArray
    indptr: LongArray
    pair: IntArray
    topic: IntArray
    rate: FloatArray
    price: FloatArray
    row: IntArray
    contested: IntArray
    contest_indptr: LongArray
    contest_items: IntArray
    fixed: FloatArray
    held: FloatArray


class Core(NamedTuple):
    """What is settled, and what is not.

    Attributes
    ----------
    settled
        A lower bound on the price of everything that is settled.
    is_chosen
        By pair of the workload's interests: whether it is settled that it is chosen. Empty where
        nobody asks for that.
    pair_price, num_forced
        By topic: the price of a pair with the incoming copy paid for, and how many subscribers
        cannot get enough without it.
    num_seen
        Subscribers from here on were not looked at: they are in no row, nothing is chosen for them,
        and what they pay is not in ``settled``. 0 where ``is_chosen`` is empty.
    """

    settled: float
    is_chosen: npt.NDArray[np.bool_]
    undecided: Undecided
    pair_price: FloatArray
    num_forced: LongArray
    num_seen: int


def find_core(
    problem: Provisioning,
    charges: Charges,
    enough: FloatArray,
    rates: FloatArray,
    is_open: npt.NDArray[np.bool_] | None = None,
    is_over: IsOver = never_over,
) -> Core:
    """Settle what settles itself.

    ``rates`` are 0 for topics that must not be used. O(pairs) but for subscribers with hundreds of
    topics. Whoever would take a topic that ``is_open`` is not settled: it is carried anyway, but
    one more pair may need one more copy. When the time is over, the last subscribers are not seen.
    """
    interests = problem.workload.interests
    num_forced = count_forced_pairs(*interests, rates, enough)
    num_likely = num_forced
    if np.any(problem.workload.num_followers > charges.held):
        _, likely = choose_greedily(*interests, rates, enough, 0.0)
        num_likely = np.bincount(likely, minlength=problem.workload.num_topics)
    pair, fixed, worst, paid = split_charges(problem, charges, num_forced, num_likely)
    unsettling = fixed if is_open is None else np.where(is_open, charges.incoming, fixed)
    is_chosen = np.zeros(problem.workload.num_pairs, dtype=np.bool_)
    longest = longest_row(interests.indptr)

    def settle(first: int, last: int) -> tuple[float, IntArray, FloatArray, LongArray, IntArray]:
        workspace = make_workspace(longest, STATES)
        found: tuple[float, IntArray, FloatArray, LongArray, IntArray] = settle_subscribers(
            first, last, *interests, rates, enough, pair, unsettling, worst, is_chosen, workspace
        )
        return found

    parts, num_seen = pass_over(interests.indptr, settle, is_over)
    pairs = np.concatenate([part[4] for part in parts])
    undecided = list_undecided(
        np.concatenate([part[1] for part in parts]),
        np.concatenate([part[2] for part in parts]),
        np.concatenate([np.diff(part[3]) for part in parts]),
        pairs,
        interests.indices[pairs],
        (rates, pair, fixed, charges.held),
    )
    settled = paid + sum(part[0] for part in parts)
    return Core(settled, is_chosen, undecided, pair, num_forced, num_seen)


def list_undecided(
    subscriber: IntArray,
    enough: FloatArray,
    lengths: LongArray,
    pair: IntArray,
    topic: IntArray,
    by_topic: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
) -> Undecided:
    """Return the undecided subscribers, in order, and what they choose from.

    Parameters
    ----------
    lengths
        By row: from how many pairs it chooses.
    by_topic
        Rate, price of a pair, price of a copy that is not paid for yet, and pairs on one machine.
    """
    rates, price, fixed, held = by_topic
    contests = list_contests(topic, fixed)
    return Undecided(
        subscriber=subscriber,
        enough=enough,
        indptr=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        pair=pair,
        topic=topic,
        rate=rates[topic],
        price=price[topic],
        row=np.repeat(np.arange(len(lengths), dtype=np.int32), lengths),
        contested=contests.contested,
        contest_indptr=contests.contest_indptr,
        contest_items=contests.contest_items,
        fixed=fixed,
        held=held,
    )


def split_charges(
    problem: Provisioning, charges: Charges, num_forced: LongArray, num_likely: LongArray
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Return the price of a pair, of opening a topic, of a pair at worst, and what is paid anyway.

    The copies that the forced pairs of a topic need are paid anyway. Where there may be more pairs
    than one machine holds, n of them need at least n / held copies, so each can be charged its
    share instead. Either is valid; the guess which is more decides. Without forced pairs, a copy
    is left for those to share who take the topic.
    """
    forced_copies = np.ceil(num_forced / charges.held)
    is_split = problem.workload.num_followers > charges.held
    is_shared = is_split & (num_forced > 0) & (num_likely / charges.held > forced_copies)
    pair = charges.outgoing + np.where(is_shared, charges.incoming / charges.held, 0.0)
    fixed = np.where(num_forced > 0, 0.0, charges.incoming)
    worst = charges.outgoing + np.where(is_split | (fixed > 0), charges.incoming, 0.0)
    paid = float((np.where(is_shared, 0.0, forced_copies) * charges.incoming).sum())
    return pair, fixed, worst, paid


def list_open(problem: Provisioning, charges: Charges) -> npt.NDArray[np.bool_]:
    """Return the topics that must be split if all who follow them take them, and pay for it.

    Only those of which a machine holds few pairs: of others, one more copy is little to each. Those
    of which it holds fewest come first, as long as they have not too many followers together.
    """
    followers = problem.workload.num_followers
    topics = np.flatnonzero((followers > charges.held) & (charges.held <= FEW_HELD))
    topics = topics[np.argsort(charges.held[topics], kind="stable")]
    is_open = np.zeros(len(followers), dtype=np.bool_)
    is_open[topics[np.cumsum(followers[topics]) <= MAX_OPEN]] = True
    return is_open


class _Contests(NamedTuple):
    contested: IntArray
    contest_indptr: LongArray
    contest_items: IntArray


def list_contests(topic: IntArray, fixed: FloatArray) -> _Contests:
    """Return the topics with a fixed price and the items of each."""
    items = np.flatnonzero(fixed[topic] > 0).astype(np.int32)
    offsets = count_offsets(topic[items], len(fixed))
    contested = np.flatnonzero(np.diff(offsets)).astype(np.int32)
    return _Contests(
        contested,
        np.append(offsets[contested], len(items)).astype(np.int64),
        scatter_rows(topic[items], items, offsets),
    )
