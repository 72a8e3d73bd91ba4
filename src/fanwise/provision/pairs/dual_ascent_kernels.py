"""Kernels on the core: who pays for a topic's incoming copy, and who joins whom.

No kernel changes an array that it is given, but for those that it says it changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.provision.pairs.cover_kernels import EQUAL_PRICES, Workspace, cheapest_cover

if TYPE_CHECKING:
    from fanwise.provision.pairs.charges import Charges
    from fanwise.provision.pairs.core import Undecided

CLOSED = 1e300
"""The price of a topic that must not be taken."""


@kernel
def price_rows(
    undecided: Undecided, shares: FloatArray, is_taken: npt.NDArray[np.bool_], workspace: Workspace
) -> float:
    """Take the cheapest cover of each row, shares included; a lower bound on their prices.

    Changes ``is_taken`` and ``workspace``.
    """
    total = 0.0
    for row in range(len(undecided.enough)):
        first, last = undecided.indptr[row], undecided.indptr[row + 1]
        prices = undecided.price[first:last] + shares[first:last]
        _, least = cheapest_cover(
            undecided.rate[first:last], prices, undecided.enough[row], workspace
        )
        total += least
        is_taken[first:last] = workspace.is_taken[: last - first]
    return total


@kernel
def willingness(
    undecided: Undecided,
    item: int,
    shares: FloatArray,
    most: float,
    workspace: Workspace,
    others: FloatArray,
) -> float:
    """Return what a row would pay for an item's incoming copy, ``most`` at most.

    Changes ``workspace`` and ``others``.
    """
    row = undecided.row[item]
    first, last = undecided.indptr[row], undecided.indptr[row + 1]
    count = last - first - 1
    rates, prices = others[0], others[1]
    total = 0.0
    position = 0
    for i in range(first, last):
        if i != item:
            rates[position] = undecided.rate[i]
            prices[position] = undecided.price[i] + shares[i]
            total += undecided.rate[i]
            position += 1
    if total < undecided.enough[row]:
        return most
    without, _ = cheapest_cover(rates[:count], prices[:count], undecided.enough[row], workspace)
    lacks = undecided.enough[row] - undecided.rate[item]
    beside, _ = cheapest_cover(rates[:count], prices[:count], lacks, workspace)
    worth: float = without - beside - undecided.price[item]
    return min(max(worth, 0.0), most)


@kernel
def find_level(falling: FloatArray, num_sharers: int, price: float) -> float:
    """Return the level at which to cap payments so that the largest ones add up to a price.

    ``falling`` is what each is willing to pay. The first ``num_sharers`` count; together they must
    be willing to pay the price. Changes nothing.
    """
    left = price
    for i in range(num_sharers):
        # Those from i on pay the same if they all pay at least what is left for each.
        level = left / (num_sharers - i)
        rising = num_sharers - 1 - i
        if falling[rising] >= level:
            return level
        left -= falling[rising]
    return left


@kernel
def raise_shares(
    undecided: Undecided, first: int, last: int, shares: FloatArray, workspace: Workspace
) -> None:
    """Split the incoming price of each topic over its followers anew, one topic after the other.

    Of the contested topics, those from ``first`` up to ``last``. Given the other topics' shares, no
    split makes the bound larger: nobody pays more than it is willing to while another one could,
    and what nobody is willing to pay is spread evenly. Changes ``shares`` and ``workspace``.
    """
    others = np.empty((2, len(workspace.order)))
    begin = undecided.contest_indptr[first]
    willing = np.empty(undecided.contest_indptr[last] - begin)
    for contest in range(first, last):
        start, end = undecided.contest_indptr[contest], undecided.contest_indptr[contest + 1]
        if end - start < 2:
            continue
        topic = undecided.contested[contest]
        fixed = undecided.fixed[topic]
        for i in range(start, end):
            willing[i - begin] = willingness(
                undecided, undecided.contest_items[i], shares, fixed, workspace, others
            )
        num_sharers = int(min(float(end - start), undecided.held[topic]))
        falling = -np.sort(-willing[start - begin : end - begin])
        total = falling[:num_sharers].sum()
        level = find_level(falling, num_sharers, fixed) if total > fixed else fixed
        rest = max(fixed - total, 0.0) / num_sharers
        for i in range(start, end):
            shares[undecided.contest_items[i]] = min(willing[i - begin], level) + rest


@kernel
def joining_price(topic: int, num_pairs: LongArray, charges: Charges) -> float:
    """Return what one more pair of a topic costs: its traffic, and a copy if a new one is needed.

    Changes nothing.
    """
    price: float = charges.outgoing[topic]
    if num_pairs[topic] % charges.held[topic] == 0.0:
        price += charges.incoming[topic]
    return price


@kernel
def leave(
    undecided: Undecided,
    row: int,
    charges: Charges,
    num_pairs: LongArray,
    is_taken: npt.NDArray[np.bool_],
    prices: FloatArray,
) -> float:
    """Take a row's pairs away; what that saves, and the price of joining each topic again.

    Changes ``num_pairs`` and ``prices``.
    """
    first, last = undecided.indptr[row], undecided.indptr[row + 1]
    for i in range(first, last):
        if is_taken[i]:
            num_pairs[undecided.topic[i]] -= 1
    saved = 0.0
    for i in range(first, last):
        prices[i - first] = joining_price(undecided.topic[i], num_pairs, charges)
        if is_taken[i]:
            saved += prices[i - first]
    return saved


@kernel
def join(
    undecided: Undecided, row: int, num_pairs: LongArray, is_taken: npt.NDArray[np.bool_]
) -> None:
    """Count a row's pairs again. Changes ``num_pairs``."""
    for i in range(undecided.indptr[row], undecided.indptr[row + 1]):
        if is_taken[i]:
            num_pairs[undecided.topic[i]] += 1


@kernel
def replace_choice(
    undecided: Undecided,
    row: int,
    choice: npt.NDArray[np.bool_],
    num_pairs: LongArray,
    is_taken: npt.NDArray[np.bool_],
) -> None:
    """Give a row another choice of its items. Changes ``num_pairs`` and ``is_taken``."""
    first, last = undecided.indptr[row], undecided.indptr[row + 1]
    for i in range(first, last):
        num_pairs[undecided.topic[i]] += int(choice[i - first]) - int(is_taken[i])
    is_taken[first:last] = choice


@kernel
def choose_without(
    undecided: Undecided,
    item: int,
    charges: Charges,
    num_pairs: LongArray,
    is_taken: npt.NDArray[np.bool_],
    workspace: Workspace,
    prices: FloatArray,
) -> float:
    """Let a row choose anew, without one of its items; how much dearer that is for all.

    Changes ``num_pairs``, ``is_taken``, ``workspace`` and ``prices``.
    """
    row = undecided.row[item]
    first, last = undecided.indptr[row], undecided.indptr[row + 1]
    saved = leave(undecided, row, charges, num_pairs, is_taken, prices)
    prices[item - first] = CLOSED
    price, _ = cheapest_cover(
        undecided.rate[first:last], prices[: last - first], undecided.enough[row], workspace
    )
    is_taken[first:last] = workspace.is_taken[: last - first]
    join(undecided, row, num_pairs, is_taken)
    dearer: float = price - saved
    return dearer


@kernel
def reconsider_rows(
    undecided: Undecided,
    charges: Charges,
    num_pairs: LongArray,
    is_taken: npt.NDArray[np.bool_],
    workspace: Workspace,
) -> int:
    """Let each row in turn choose anew, given what all others chose; how many rows changed.

    A row changes only to something cheaper for all, so the total falls with every change.

    Changes ``num_pairs``, ``is_taken`` and ``workspace``.
    """
    prices = np.empty(len(workspace.order))
    num_changed = 0
    for row in range(len(undecided.enough)):
        first, last = undecided.indptr[row], undecided.indptr[row + 1]
        paid = leave(undecided, row, charges, num_pairs, is_taken, prices)
        best, _ = cheapest_cover(
            undecided.rate[first:last], prices[: last - first], undecided.enough[row], workspace
        )
        if best < paid * (1.0 - 10.0 * EQUAL_PRICES):
            is_taken[first:last] = workspace.is_taken[: last - first]
            num_changed += 1
        join(undecided, row, num_pairs, is_taken)
    return num_changed


@kernel
def close_topics(
    undecided: Undecided,
    charges: Charges,
    num_pairs: LongArray,
    is_taken: npt.NDArray[np.bool_],
    workspace: Workspace,
) -> int:
    """Try to do without each topic in turn: those who take it choose others; how many were closed.

    It is kept closed where that is cheaper for all, else everything is put back.

    Changes ``num_pairs``, ``is_taken`` and ``workspace``.
    """
    prices = np.empty(len(workspace.order))
    before = is_taken.copy()
    num_closed = 0
    for contest in range(len(undecided.contested)):
        start, end = undecided.contest_indptr[contest], undecided.contest_indptr[contest + 1]
        if num_pairs[undecided.contested[contest]] == 0:
            continue
        change = 0.0
        for i in range(start, end):
            item = undecided.contest_items[i]
            if not before[item]:
                continue
            change += choose_without(
                undecided, item, charges, num_pairs, is_taken, workspace, prices
            )
        is_better = change < -10.0 * EQUAL_PRICES * undecided.fixed[undecided.contested[contest]]
        num_closed += is_better
        for i in range(start, end):
            row = undecided.row[undecided.contest_items[i]]
            first, last = undecided.indptr[row], undecided.indptr[row + 1]
            if is_better:
                before[first:last] = is_taken[first:last]
            else:
                replace_choice(undecided, row, before[first:last], num_pairs, is_taken)
    return num_closed


@kernel
def detour(
    undecided: Undecided,
    item: int,
    charges: Charges,
    num_pairs: LongArray,
    is_taken: npt.NDArray[np.bool_],
    workspace: Workspace,
    prices: FloatArray,
) -> float:
    """Return what it costs a row to do without an item, its own copy not counted.

    Changes ``prices`` and ``workspace``; ``num_pairs`` is as before when it returns.
    """
    row = undecided.row[item]
    first, last = undecided.indptr[row], undecided.indptr[row + 1]
    saved = leave(undecided, row, charges, num_pairs, is_taken, prices)
    saved += charges.outgoing[undecided.topic[item]] - prices[item - first]
    join(undecided, row, num_pairs, is_taken)
    prices[item - first] = CLOSED
    price, _ = cheapest_cover(
        undecided.rate[first:last], prices[: last - first], undecided.enough[row], workspace
    )
    extra: float = price - saved
    return extra


@kernel
def shed_copies(
    undecided: Undecided,
    charges: Charges,
    num_pairs: LongArray,
    is_taken: npt.NDArray[np.bool_],
    workspace: Workspace,
    split: IntArray,
    split_indptr: LongArray,
    split_items: IntArray,
) -> int:
    """Try to save a copy of each split topic: so many who take it choose others; how many did.

    As many as the last copy is for, those with the cheapest detours. It is kept where that is
    cheaper for all, else everything is put back. Rows that leave one by one would not: a copy is
    saved by the last of them only. Changes ``num_pairs``, ``is_taken`` and ``workspace``.
    """
    prices = np.empty(len(workspace.order))
    num_saved = 0
    for position in range(len(split)):
        topic = split[position]
        held = charges.held[topic]
        if num_pairs[topic] <= held:
            continue
        excess = int(num_pairs[topic] - held * (np.ceil(num_pairs[topic] / held) - 1.0))
        start, end = split_indptr[position], split_indptr[position + 1]
        takers = np.empty(end - start, dtype=np.int64)
        extra = np.empty(end - start)
        count = 0
        for i in range(start, end):
            item = split_items[i]
            if is_taken[item]:
                takers[count] = item
                extra[count] = detour(
                    undecided, item, charges, num_pairs, is_taken, workspace, prices
                )
                count += 1
        if count < excess:
            continue
        order = np.argsort(extra[:count], kind="mergesort")[:excess]
        if extra[order].sum() >= charges.incoming[topic]:
            continue
        length = 0
        for i in order:
            row = undecided.row[takers[i]]
            length += undecided.indptr[row + 1] - undecided.indptr[row]
        before = np.empty(length, dtype=np.bool_)
        change = 0.0
        filled = 0
        for i in order:
            item = takers[i]
            row = undecided.row[item]
            first, last = undecided.indptr[row], undecided.indptr[row + 1]
            before[filled : filled + last - first] = is_taken[first:last]
            filled += last - first
            change += choose_without(
                undecided, item, charges, num_pairs, is_taken, workspace, prices
            )
        if change < -10.0 * EQUAL_PRICES * charges.incoming[topic]:
            num_saved += 1
            continue
        filled = 0
        for i in order:
            row = undecided.row[takers[i]]
            first, last = undecided.indptr[row], undecided.indptr[row + 1]
            choice = before[filled : filled + last - first]
            replace_choice(undecided, row, choice, num_pairs, is_taken)
            filled += last - first
    return num_saved


@kernel
def turn_upwards(
    undecided: Undecided,
    contests: LongArray,
    is_taken: npt.NDArray[np.bool_],
    memory: float,
    direction: FloatArray,
) -> float:
    """Turn a direction towards where the bound rises: takers pay more, the others less.

    Returns the square of its length. Changes ``direction``.
    """
    length = 0.0
    for contest in contests:
        start, end = undecided.contest_indptr[contest], undecided.contest_indptr[contest + 1]
        num_takers = 0
        for i in range(start, end):
            if is_taken[undecided.contest_items[i]]:
                num_takers += 1
        mean = num_takers / (end - start)
        for i in range(start, end):
            item = undecided.contest_items[i]
            slope = 1.0 - mean if is_taken[item] else -mean
            direction[item] = slope + memory * direction[item]
            length += direction[item] * direction[item]
    return length


@kernel
def shift_shares(
    undecided: Undecided,
    contests: LongArray,
    direction: FloatArray,
    step: float,
    shares: FloatArray,
) -> None:
    """Move shares along a direction, to the nearest ones not below 0 that add up to the price.

    Changes ``shares``.
    """
    for contest in contests:
        start, end = undecided.contest_indptr[contest], undecided.contest_indptr[contest + 1]
        items = undecided.contest_items[start:end]
        moved = shares[items] + step * direction[items]
        excess = moved.sum() - undecided.fixed[undecided.contested[contest]]
        rising = np.sort(moved)
        count = len(rising)
        cut = excess / count
        for i in range(count):
            if rising[i] >= cut:
                break
            excess -= rising[i]
            count -= 1
            cut = excess / count
        shares[items] = np.maximum(moved - cut, 0.0)
