"""Who pays for a topic's incoming copy: a lower bound on traffic, and prices for choosing pairs.

Let every follower of a topic carry a share of the price of its incoming copy, the shares adding up
to that price; where a machine holds fewer pairs than there are followers, any so many shares add up
to no more. Whatever pairs are chosen, the copies cost at least the shares of those who take them;
so each subscriber's cheapest cover, shares included, added up, bounds the price of every choice:
a Lagrangian bound, valid for any shares. They are improved topic by topic: followers pay what the
topic is worth to them, up to a level at which it is paid for (dual ascent by blocks). No step
lowers the bound, except where a cover is too hard to be found exactly; a few sweeps over the core
come close to the best there is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.provision.pairs.core import STATES, Core
from fanwise.provision.pairs.cover_kernels import make_room
from fanwise.provision.pairs.sharing_kernels import price_rows, raise_shares

MAX_SWEEPS = 12
FEW_STATES = 1000
"""Partial covers kept where a good cover is as good as the cheapest: any shares are valid."""
LEAST_GAIN = 1e-6
"""Sweeps end when one raises the bound by less than this share of it."""


class Sharing:
    """Shares of the incoming prices over the items of a core.

    Attributes
    ----------
    shares
        By item: what its row pays towards the topic's incoming copy.
    is_taken
        By item: whether it is in its row's cheapest cover at these prices.
    bound
        What any choice of pairs costs at least.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        rows = core.rows
        longest = int(np.diff(rows.indptr).max(initial=1))
        self.room = make_room(longest, STATES)
        self.small_room = make_room(longest, FEW_STATES)
        self.shares: FloatArray = np.zeros(len(rows.pair))
        num_items = np.diff(rows.contest_indptr)
        sharers = np.minimum(num_items, rows.held[rows.contested])
        self.shares[rows.contest_items] = np.repeat(rows.fixed[rows.contested] / sharers, num_items)
        self.is_taken: npt.NDArray[np.bool_] = np.zeros(len(rows.pair), dtype=np.bool_)
        self.bound = self._price()

    def sweep(self) -> bool:
        """Split every incoming price anew; say whether that was worth it."""
        before = self.bound
        raise_shares(self.core.rows, self.shares, self.small_room)
        self.bound = max(self.bound, self._price())
        return self.bound > before * (1 + LEAST_GAIN)

    def _price(self) -> float:
        total = price_rows(self.core.rows, self.shares, self.is_taken, self.room)
        return float(self.core.settled + total)


def share(core: Core) -> Sharing:
    """Improve shares until it no longer pays."""
    sharing = Sharing(core)
    for _ in range(MAX_SWEEPS):
        if not sharing.sweep():
            break
    return sharing
