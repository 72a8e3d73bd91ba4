"""What it costs at least to bring messages from user to user, access and core together.

A message of a channel must reach all its subscribers: over a tree of brokers, from that of its
publisher, and then over the access link of each. Any such tree costs at least what dual ascent
(Wong) finds: a subscriber raises the price of everything it could be reached by, until a link is
paid for in full; links that several could share are paid for by all of them together. So where the
core is expensive, subscribers are known to gather at few brokers, far from many of them. Only a
part of the core's cost is needed for that; the rest pays for a tree over as many brokers as the
channel's subscribers fill. Prices on brokers account for capacities. Over channels and publishers
bounds add up; that a subscriber is attached to one broker for all its channels is left out.

Guarantee
    A lower bound on C1 + C2 under capacities, by spanning trees, Steiner trees or the one tree.

Complexity
    O(users x brokers^3) for each channel and share at most; in practice far less.

References
----------
    R. T. Wong: A dual ascent approach for Steiner tree problems on a directed graph. Mathematical
    Programming 28, 1984.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.wire.arrays import WiringArrays
from fanwise.wire.proving.access_prices import price_brokers, priced_capacity

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


def gathering_steps(arrays: WiringArrays) -> float:
    """Return how many elementary steps it takes at most to gather all subscribers once."""
    return float(np.count_nonzero(arrays.wants)) * float(arrays.num_brokers) ** 3


def gathering_bound(
    arrays: WiringArrays,
    rates: FloatArray,
    trees: FloatArray,
    capacity: FloatArray,
    most_steps: float,
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
    most_steps
        Elementary steps that may be made: the bound is the better the more they are.
    """
    best = Gathering(0.0, np.zeros(arrays.num_brokers), np.ones(arrays.num_channels), 0.0)
    indptr, users = subscribers_of_channels(arrays)
    left = int(min(most_steps // max(1.0, gathering_steps(arrays)), 1000.0))
    if left == 0:
        return best
    prices = price_gatherings(arrays, indptr, users, rates, capacity)
    spent = np.diff(indptr) * float(arrays.access.mean())
    link = float(arrays.core.sum()) / max(1, arrays.num_brokers * (arrays.num_brokers - 1))
    for share in PRICE_SHARES:
        if left == 0 or (share < 1 and not prices.any()):
            break
        asked = share * prices
        stars = np.full((arrays.num_channels, arrays.num_brokers), -np.inf)
        gathered = np.ones(arrays.num_channels)
        # Each channel keeps the share that is best for it: bounds of channels add up.
        for core_share in CORE_SHARES[:left]:
            parts = np.minimum(core_share * spent, link) / link if link > 0 else np.ones(len(spent))
            found = star_costs(indptr, users, arrays.access, asked, arrays.core, parts)
            found += (1 - parts[:, None]) * trees.T
            is_better = found.min(axis=1) > stars.min(axis=1)
            stars[is_better] = found[is_better]
            gathered[is_better] = parts[is_better]
        left = max(0, left - len(CORE_SHARES))
        taken_off = priced_capacity(asked, capacity)
        value = float(publish_cheapest(arrays, asked, stars)) - taken_off
        if value > best.value:
            best = Gathering(value, asked, gathered, taken_off)
    return best


def price_gatherings(
    arrays: WiringArrays,
    indptr: LongArray,
    users: IntArray,
    rates: FloatArray,
    capacity: FloatArray,
) -> FloatArray:
    """Return prices of brokers as if each channel's subscribers gathered at one of them."""
    counts = np.diff(indptr)
    means = mean_access(indptr, users, arrays.access)
    return price_brokers(rates * counts, means, capacity)[1]


@kernel
def mean_access(indptr: LongArray, users: IntArray, access: FloatArray) -> FloatArray:
    """Return the mean cost of access of each channel's subscribers, by broker. Changes nothing."""
    means = np.zeros((len(indptr) - 1, access.shape[1]))
    for channel in range(len(means)):
        for entry in range(indptr[channel], indptr[channel + 1]):
            means[channel] += access[users[entry]]
        means[channel] /= max(1, indptr[channel + 1] - indptr[channel])
    return means


def subscribers_of_channels(arrays: WiringArrays) -> tuple[LongArray, IntArray]:
    """Return the users that want each channel, ascending, as compressed rows."""
    users = np.repeat(np.arange(arrays.num_users, dtype=np.int32), np.diff(arrays.indptr))
    channels, users = arrays.channels[arrays.wants], users[arrays.wants]
    counts = np.bincount(channels, minlength=arrays.num_channels)
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

    Access of the subscribers and a part of the core, but not access of the publisher. Changes
    nothing.
    """
    costs = np.zeros((len(indptr) - 1, len(prices)))
    for channel in range(len(costs)):
        count = indptr[channel + 1] - indptr[channel]
        links = np.empty((count, len(prices)))
        for entry in range(count):
            links[entry] = access[users[indptr[channel] + entry]] + prices
        ascend(links, parts[channel] * core, costs[channel])
    return costs


@kernel
def ascend(access: FloatArray, core: FloatArray, owed: FloatArray) -> None:
    """Bound what a tree from each broker costs with the links of all users.

    ``access`` has a row for each user: what is left to pay of its links. ``core[a, b]`` is what is
    left to pay from a to b. Users raise what they pay in turn, as long as they are not reached from
    the broker from which a tree costs least so far. What a user pays is ``owed`` to trees from the
    brokers that do not reach it yet. Changes all three arrays.
    """
    users, brokers = access.shape
    owed[:] = 0.0
    reaching = np.zeros((users, brokers), dtype=np.bool_)
    queue = np.empty(brokers, dtype=np.int64)
    is_raised = True
    while is_raised:
        is_raised = False
        for user in range(users):
            # The bound is for a publisher at the cheapest broker, so that raising what is owed from
            # any other one would not raise it.
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
    """Bring up to date from which brokers all is paid to reach a user; return how many.

    Changes ``reaching``, and ``queue``, which lists them.
    """
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
    """Raise what a user pays until one more link is paid; some broker must not reach it yet.

    Changes ``access``, ``core`` and ``owed``.
    """
    # What a user pays more is limited by what is left of every link into the set that reaches it:
    # remaining costs never fall below 0, which keeps the dual feasible (Wong).
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
def publish_cheapest(arrays: WiringArrays, prices: FloatArray, stars: FloatArray) -> float:
    """Return what it costs at least if each publisher is where its messages are cheapest.

    A publisher that wants the channel is one of its star; others pay their own access as well.
    Changes nothing.
    """
    total = 0.0
    costs = np.empty(len(prices))
    for user in range(len(arrays.demand)):
        costs[:] = 0.0
        for entry in range(arrays.indptr[user], arrays.indptr[user + 1]):
            rate = arrays.rates[entry]
            if rate > 0:
                star = stars[arrays.channels[entry]]
                for b in range(len(prices)):
                    costs[b] += rate * star[b]
                    if not arrays.wants[entry]:
                        costs[b] += rate * (arrays.access[user, b] + prices[b])
        total += costs.min()
    return total
