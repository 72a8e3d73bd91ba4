"""What it costs at least to bring messages from user to user, access and core together.

A message of a channel must reach all its subscribers: over a tree of brokers, from that of its
publisher, and then over the access link of each. Any such tree costs at least what dual ascent
(Wong) finds: a subscriber raises the price of everything it could be reached by, until a link is
paid for in full; links that several could share are paid for by all of them together. So where the
core is expensive, subscribers are known to gather at few brokers, far from many of them. Only a
part of the core's cost is needed for that; the rest pays for a tree over as many brokers as the
channel's subscribers fill. Prices on brokers account for capacities. Over channels and publishers
bounds add up; that a subscriber is attached to one broker for all its channels is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.access_prices import price_brokers
from fanwise.wire.ground import Ground

MOST_STEPS = 3_000_000_000
"""Elementary steps to spend: some seconds."""
PRICE_SHARES = (1.0, 0.0)
"""Shares of the prices on brokers to try, in order."""
CORE_SHARES = (0.5, 0.25, 1.0)
"""Shares of the core to gather by, in the order of use; 1 is what all subscribers spend on access
over the price of one link, which is about what makes them gather."""


class Gathering(NamedTuple):
    """A lower bound on C1 + C2, and what proves it.

    Attributes
    ----------
    value
        The bound; 0 where the problem is too large for it.
    prices
        Of a unit of load at each broker.
    parts
        Of the core, by which each channel's subscribers gather.
    taken_off
        What prices times capacities take off the sum that the bound is.
    """

    value: float
    prices: FloatArray
    parts: FloatArray
    taken_off: float


def gathering_bound(
    ground: Ground, rates: FloatArray, trees: FloatArray, capacity: FloatArray
) -> Gathering:
    """Return a lower bound on C1 + C2.

    Parameters
    ----------
    rates
        What is published on each channel.
    trees
        What a tree from each broker (row) over as many as each channel (column) fills costs at
        least.
    capacity
        Most load of each broker.
    """
    best = Gathering(0.0, np.zeros(ground.num_brokers), np.ones(ground.num_channels), 0.0)
    indptr, users = subscribers_of_channels(ground)
    left = MOST_STEPS // max(1, len(users) * ground.num_brokers**3)
    if left == 0:
        return best
    prices = price_gatherings(ground, indptr, users, rates, capacity)
    spent = np.diff(indptr) * float(ground.access.mean())
    link = float(ground.core.sum()) / max(1, ground.num_brokers * (ground.num_brokers - 1))
    for share in PRICE_SHARES:
        if left == 0 or (share < 1 and not prices.any()):
            break
        asked = share * prices
        stars = np.full((ground.num_channels, ground.num_brokers), -np.inf)
        gathered = np.ones(ground.num_channels)
        for core_share in CORE_SHARES[:left]:
            parts = np.minimum(core_share * spent, link) / link if link > 0 else np.ones(len(spent))
            found = star_costs(indptr, users, ground.access, asked, ground.core, parts)
            found += (1 - parts[:, None]) * trees.T
            is_better = found.min(axis=1) > stars.min(axis=1)
            stars[is_better] = found[is_better]
            gathered[is_better] = parts[is_better]
        left = max(0, left - len(CORE_SHARES))
        limited = asked > 0
        taken_off = float(np.dot(asked[limited], capacity[limited]))
        value = float(publish_cheapest(ground, asked, stars)) - taken_off
        if value > best.value:
            best = Gathering(value, asked, gathered, taken_off)
    return best


def price_gatherings(
    ground: Ground,
    indptr: LongArray,
    users: IntArray,
    rates: FloatArray,
    capacity: FloatArray,
) -> FloatArray:
    """Return prices of brokers as if each channel's subscribers gathered at one of them."""
    counts = np.diff(indptr)
    means = mean_access(indptr, users, ground.access)
    return price_brokers(rates * counts, means, capacity)[1]


@kernel
def mean_access(indptr: LongArray, users: IntArray, access: FloatArray) -> FloatArray:
    """Return the mean cost of access of each channel's subscribers, by broker."""
    means = np.zeros((len(indptr) - 1, access.shape[1]))
    for channel in range(len(means)):
        for place in range(indptr[channel], indptr[channel + 1]):
            means[channel] += access[users[place]]
        means[channel] /= max(1, indptr[channel + 1] - indptr[channel])
    return means


def subscribers_of_channels(ground: Ground) -> tuple[LongArray, IntArray]:
    """Return the users that want each channel, ascending, as compressed rows."""
    users = np.repeat(np.arange(ground.num_users, dtype=np.int32), np.diff(ground.indptr))
    channels, users = ground.channels[ground.wants], users[ground.wants]
    counts = np.bincount(channels, minlength=ground.num_channels)
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    return indptr, users[np.argsort(channels, kind="stable")]


@kernel
def star_costs(
    indptr: LongArray,
    users: IntArray,
    access: FloatArray,
    prices: FloatArray,
    core: FloatArray,
    parts: FloatArray,
) -> FloatArray:
    """Return by channel and broker what a message from there costs at least to all subscribers.

    Access of the subscribers and a part of the core, but not access of the publisher.
    """
    costs = np.zeros((len(indptr) - 1, len(prices)))
    for channel in range(len(costs)):
        count = indptr[channel + 1] - indptr[channel]
        links = np.empty((count, len(prices)))
        for place in range(count):
            links[place] = access[users[indptr[channel] + place]] + prices
        ascend(links, parts[channel] * core, costs[channel])
    return costs


@kernel
def ascend(access: FloatArray, core: FloatArray, owed: FloatArray) -> None:
    """Bound what a tree from each broker costs with the links of all users; takes arrays apart.

    ``access`` has a row for each user: what is left to pay of its links. ``core[a, b]`` is what is
    left to pay from a to b. Users raise what they pay in turn, as long as they are not reached from
    the broker from which a tree costs least so far. What a user pays is ``owed`` to trees from the
    brokers that do not reach it yet. O(users x brokers^3) at most.
    """
    users, brokers = access.shape
    owed[:] = 0.0
    reaching = np.zeros((users, brokers), dtype=np.bool_)
    queue = np.empty(brokers, dtype=np.int64)
    is_raised = True
    while is_raised:
        is_raised = False
        for user in range(users):
            root = np.argmin(owed)
            if not reaching[user, root]:
                size = find_reaching(access[user], core, reaching[user], queue)
                if not reaching[user, root]:
                    raise_price(access[user], core, reaching[user], queue[:size], owed)
                    is_raised = True


@kernel
def find_reaching(
    access: FloatArray, core: FloatArray, reaching: npt.NDArray[np.bool_], queue: LongArray
) -> int:
    """Bring up to date from which brokers all is paid to reach a user; list them."""
    brokers = len(access)
    size = 0
    for b in range(brokers):
        if access[b] <= 0.0:
            reaching[b] = True
        if reaching[b]:
            queue[size] = b
            size += 1
    at = 0
    while at < size:
        inner = queue[at]
        at += 1
        for b in range(brokers):
            if not reaching[b] and core[b, inner] <= 0.0:
                reaching[b] = True
                queue[size] = b
                size += 1
    return size


@kernel
def raise_price(
    access: FloatArray,
    core: FloatArray,
    reaching: npt.NDArray[np.bool_],
    inside: LongArray,
    owed: FloatArray,
) -> None:
    """Raise what a user pays until one more link is paid; some broker must not reach it yet."""
    least = np.inf
    for b in range(len(access)):
        if not reaching[b]:
            least = min(least, access[b])
            for inner in inside:
                least = min(least, core[b, inner])
    for b in range(len(access)):
        if not reaching[b]:
            owed[b] += least
            access[b] -= least
            for inner in inside:
                core[b, inner] -= least


@kernel
def publish_cheapest(ground: Ground, prices: FloatArray, stars: FloatArray) -> float:
    """Return what it costs at least if each publisher is where its messages are cheapest.

    A publisher that wants the channel is one of its star; others pay their own access as well.
    """
    total = 0.0
    costs = np.empty(len(prices))
    for user in range(len(ground.demand)):
        costs[:] = 0.0
        for place in range(ground.indptr[user], ground.indptr[user + 1]):
            rate = ground.rates[place]
            if rate > 0:
                star = stars[ground.channels[place]]
                for b in range(len(prices)):
                    costs[b] += rate * star[b]
                    if not ground.wants[place]:
                        costs[b] += rate * (ground.access[user, b] + prices[b])
        total += costs.min()
    return total
