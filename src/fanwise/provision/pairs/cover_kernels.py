"""The cheapest topics that reach a threshold: a minimum knapsack, for one subscriber at a time.

Topics have events (what counts towards the threshold) and prices (what they cost). Partial choices
are kept as a front of (events, price), none both poorer and dearer than another, topic by topic in
the order of price per event; a choice is dropped when even fractions of the topics to come could
not make it cheaper than the best one known (Nemhauser and Ullmann 1969, with Dantzig's bound). With
whole events the front never holds more choices than the threshold has events, so the time is
O(topics x threshold) at worst; with others it can grow exponentially, and is cut off.

No kernel changes an array that it is given, but for those that it says it changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.jit import kernel

EQUAL_PRICES = 1e-13
"""Prices closer than this, relatively, count as equal."""

SHORT = 24
"""Up to this length insertion sort beats the general one."""


class Workspace(NamedTuple):
    """Working memory for covers of up to a number of topics.

    Attributes
    ----------
    is_taken
        The best cover found, by position in the arrays it was asked for.
    order, ratio, events, cost
        Topics by price per event; running sums of events and prices in that order.
    state_events, state_cost, state_parent, state_place
        Every partial choice kept so far, as a tree.
    front, next_front
        The choices not dominated, by falling events.
    """

    is_taken: npt.NDArray[np.bool_]
    order: IntArray
    ratio: FloatArray
    events: FloatArray
    cost: FloatArray
    state_events: FloatArray
    state_cost: FloatArray
    state_parent: IntArray
    state_position: IntArray
    front: IntArray
    next_front: IntArray


def make_workspace(longest: int, num_states: int) -> Workspace:
    """Return working memory for up to ``longest`` topics and ``num_states`` partial choices."""
    return Workspace(
        is_taken=np.zeros(longest, dtype=np.bool_),
        order=np.empty(longest, dtype=np.int32),
        ratio=np.empty(longest),
        events=np.empty(longest + 1),
        cost=np.empty(longest + 1),
        state_events=np.empty(num_states),
        state_cost=np.empty(num_states),
        state_parent=np.empty(num_states, dtype=np.int32),
        state_position=np.empty(num_states, dtype=np.int32),
        front=np.empty(num_states, dtype=np.int32),
        next_front=np.empty(num_states, dtype=np.int32),
    )


@kernel
def order_by_ratio(
    rates: FloatArray, prices: FloatArray, enough: float, workspace: Workspace
) -> None:
    """Sort topics by price per useful event; add up useful events and prices in that order.

    Changes ``workspace``.
    """
    count = len(rates)
    ratio, order = workspace.ratio, workspace.order
    if count > SHORT:
        for i in range(count):
            ratio[i] = prices[i] / min(rates[i], enough)
        order[:count] = np.argsort(ratio[:count], kind="mergesort").astype(np.int32)
    else:
        for i in range(count):
            value = prices[i] / min(rates[i], enough)
            position = i
            while position > 0 and ratio[position - 1] > value:
                ratio[position] = ratio[position - 1]
                order[position] = order[position - 1]
                position -= 1
            ratio[position] = value
            order[position] = i
    workspace.events[0] = 0.0
    workspace.cost[0] = 0.0
    for i in range(count):
        workspace.events[i + 1] = workspace.events[i] + min(rates[order[i]], enough)
        workspace.cost[i + 1] = workspace.cost[i] + prices[order[i]]


@kernel
def take_greedily(
    rates: FloatArray, prices: FloatArray, enough: float, workspace: Workspace
) -> float:
    """Take topics by ratio until there is enough, drop what is too much; or one alone if cheaper.

    Returns the price; the topics are marked in ``is_taken``. Changes ``workspace``.
    """
    count = len(rates)
    single = -1
    price = 0.0
    got = 0.0
    last = 0
    for i in range(count):
        workspace.is_taken[i] = False
        if rates[i] >= enough and (single < 0 or prices[i] < prices[single]):
            single = i
    while got < enough and last < count:
        topic = workspace.order[last]
        workspace.is_taken[topic] = True
        price += prices[topic]
        got += min(rates[topic], enough)
        last += 1
    for position in range(last - 1, -1, -1):
        topic = workspace.order[position]
        useful = min(rates[topic], enough)
        if got - useful >= enough:
            workspace.is_taken[topic] = False
            price -= prices[topic]
            got -= useful
    if single >= 0 and prices[single] <= price:
        workspace.is_taken[:count] = False
        workspace.is_taken[single] = True
        price = prices[single]
    return price


@kernel
def fill_from(start: int, guess: int, missing: float, count: int, workspace: Workspace) -> int:
    """Return the position, from ``guess`` on, up to which topics after ``start`` are enough.

    Changes nothing.
    """
    position = max(guess, start + 1)
    while position <= count and workspace.events[position] - workspace.events[start] < missing:
        position += 1
    return position


@kernel
def fractional_price(start: int, position: int, missing: float, workspace: Workspace) -> float:
    """Return what filling what is missing costs with the topics from ``start`` up to ``position``.

    Changes nothing.
    """
    price: float = workspace.cost[position - 1] - workspace.cost[start]
    missing -= workspace.events[position - 1] - workspace.events[start]
    whole = workspace.events[position] - workspace.events[position - 1]
    price += (workspace.cost[position] - workspace.cost[position - 1]) * (missing / whole)
    return price


@kernel
def cheapest_cover(
    rates: FloatArray, prices: FloatArray, enough: float, workspace: Workspace
) -> tuple[float, float]:
    """Return the price of the best cover found and a lower bound on all; they are equal as a rule.

    The cover is marked in ``workspace.is_taken``. All topics together must be enough; rates are
    above 0, prices at least 0. The two results differ only where the workspace is too small for the
    search.

    Changes ``workspace``.
    """
    count = len(rates)
    if enough <= 0.0:
        workspace.is_taken[:count] = False
        return 0.0, 0.0
    order_by_ratio(rates, prices, enough, workspace)
    best = take_greedily(rates, prices, enough, workspace)
    position = fill_from(0, 1, enough, count, workspace)
    if position > count:
        return best, best
    relaxed = fractional_price(0, position, enough, workspace)
    if relaxed >= best * (1.0 - EQUAL_PRICES):
        return best, min(best, relaxed)
    return search_covers(rates, prices, enough, best, relaxed, workspace)


@kernel
def search_covers(
    rates: FloatArray,
    prices: FloatArray,
    enough: float,
    best: float,
    relaxed: float,
    workspace: Workspace,
) -> tuple[float, float]:
    """Improve on a cover of price ``best`` by the fronts of partial choices.

    Changes ``workspace``.
    """
    count = len(rates)
    events, cost = workspace.state_events, workspace.state_cost
    front, next_front = workspace.front, workspace.next_front
    events[0] = 0.0
    cost[0] = 0.0
    num_states, num_front = 1, 1
    front[0] = 0
    last_state, last_position = -1, -1
    is_cut_off = False
    for position in range(count):
        rate = rates[workspace.order[position]]
        price = prices[workspace.order[position]]
        old, added, num_next = 0, 0, 0
        cheapest = np.inf
        fill = position + 2
        while old < num_front or added < num_front:
            is_added = added < num_front and (
                old >= num_front or events[front[added]] + rate >= events[front[old]]
            )
            if is_added:
                state = front[added]
                added += 1
                has, paid = events[state] + rate, cost[state] + price
            else:
                state = front[old]
                old += 1
                has, paid = events[state], cost[state]
            if paid >= cheapest or paid >= best * (1.0 - EQUAL_PRICES):
                continue
            if has >= enough:
                best, cheapest = paid, paid
                last_state, last_position = state, position
                continue
            missing = enough - has
            fill = fill_from(position + 1, fill, missing, count, workspace)
            if fill > count:
                break
            if paid + fractional_price(position + 1, fill, missing, workspace) >= best * (
                1.0 - EQUAL_PRICES
            ):
                continue
            cheapest = paid
            if is_added:
                if num_states == len(events):
                    is_cut_off = True
                    break
                events[num_states] = has
                cost[num_states] = paid
                workspace.state_parent[num_states] = state
                workspace.state_position[num_states] = position
                state = num_states
                num_states += 1
            next_front[num_next] = state
            num_next += 1
        if is_cut_off:
            break
        front, next_front = next_front, front
        num_front = num_next
        if num_front == 0:
            break
    if last_state >= 0:
        workspace.is_taken[:count] = False
        workspace.is_taken[workspace.order[last_position]] = True
        while last_state > 0:
            workspace.is_taken[workspace.order[workspace.state_position[last_state]]] = True
            last_state = workspace.state_parent[last_state]
    return best, (relaxed if is_cut_off else best * (1.0 - EQUAL_PRICES))
