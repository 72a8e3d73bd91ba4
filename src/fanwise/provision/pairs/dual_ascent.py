"""Who pays for a topic's incoming copy: a lower bound on traffic, and prices for choosing pairs.

Let every follower of a topic carry a share of the price of its incoming copy, the shares adding up
to that price; where a machine holds fewer pairs than there are followers, any so many shares add up
to no more. Whatever pairs are chosen, the copies cost at least the shares of those who take them;
so each subscriber's cheapest cover, shares included, added up, bounds the price of every choice:
a Lagrangian bound, valid for any shares. They are improved topic by topic: followers pay what the
topic is worth to them, up to a level at which it is paid for (dual ascent by blocks). No step
lowers the bound, except where a cover is too hard to be found exactly. Where choices are short, a
few sweeps over the core come close to the best there is; where they are long, shares are raised
together afterwards (see :mod:`fanwise.provision.pairs.subgradient`).

Guarantee
    The bound holds whatever the shares are, and whenever the sweeps end.

Complexity
    At most MAX_SWEEPS sweeps, each of two covers for every item of the core.

References
----------
    D. Erlenkotter: A dual-based procedure for uncapacitated facility location. Operations Research
    26(6), 1978.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.threads import cut_rows
from fanwise.provision.pairs.core import STATES, Core
from fanwise.provision.pairs.cover_kernels import make_workspace
from fanwise.provision.pairs.dual_ascent_kernels import price_rows, raise_shares
from fanwise.provision.pairs.subgradient import climb

MAX_SWEEPS = 12
FEW_STATES = 1000
"""Partial covers kept where a good cover is as good as the cheapest: any shares are valid."""
PIECE = 1000
"""Items looked at between two looks at the clock."""
WORTH_CLIMBING = 2e-3
LEAST_RISE = 1e-6
"""Sweeps end when one raises the bound by less than this share of it."""


IsEnough = Callable[[float], bool]
"""Says of a bound whether it is to be improved no further."""


def never(bound: float) -> bool:
    """Say of every bound that a better one is worth the effort."""
    return False


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
        undecided = core.undecided
        longest = int(np.diff(undecided.indptr).max(initial=1))
        self.workspace = make_workspace(longest, STATES)
        self.small_workspace = make_workspace(longest, FEW_STATES)
        self.shares: FloatArray = np.zeros(len(undecided.pair))
        num_items = np.diff(undecided.contest_indptr)
        sharers = np.minimum(num_items, undecided.held[undecided.contested])
        self.shares[undecided.contest_items] = np.repeat(
            undecided.fixed[undecided.contested] / sharers, num_items
        )
        self.is_taken: npt.NDArray[np.bool_] = np.zeros(len(undecided.pair), dtype=np.bool_)
        self.bound = self._price()

    def sweep(self, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Split every incoming price anew, or some if the time is over; say if it was worth it."""
        before = self.bound
        for first, last in cut_rows(self.core.undecided.contest_indptr, self._num_pieces()):
            if is_over():
                break
            raise_shares(self.core.undecided, first, last, self.shares, self.small_workspace)
        self.bound = max(self.bound, self._price())
        return self.bound > before * (1 + LEAST_RISE)

    def climb(self, is_enough: IsEnough = never) -> None:
        """Raise all shares together; see :mod:`fanwise.provision.pairs.subgradient`."""
        undecided = self.core.undecided

        def price(shares: FloatArray, is_taken: npt.NDArray[np.bool_]) -> float:
            return float(
                self.core.settled + price_rows(undecided, shares, is_taken, self.small_workspace)
            )

        shares, before = climb(undecided, self.shares, price, is_enough), self.shares
        self.shares = shares
        bound = self._price()
        if bound > self.bound:
            self.bound = bound
        else:
            self.shares = before
            self._price()

    def slack(self) -> float:
        """Return by what share of the bound the covers taken now are dearer than it."""
        undecided = self.core.undecided
        num_pairs = np.bincount(undecided.topic[self.is_taken], minlength=len(undecided.fixed))
        copies = np.ceil(num_pairs / undecided.held)
        paid = float(undecided.price[self.is_taken].sum() + (copies * undecided.fixed).sum())
        total = self.core.settled + paid
        return total / self.bound - 1 if self.bound > 0 else 0.0

    def _num_pieces(self) -> int:
        return 1 + len(self.core.undecided.contest_items) // PIECE

    def _price(self) -> float:
        total = price_rows(self.core.undecided, self.shares, self.is_taken, self.workspace)
        return float(self.core.settled + total)


def share(core: Core, max_sweeps: int = MAX_SWEEPS, is_enough: IsEnough = never) -> Sharing:
    """Improve shares until it no longer pays, or the bound is enough.

    Topic by topic; and together, where the covers that are cheapest at the last prices cost
    clearly more than the bound.
    """
    sharing = Sharing(core)
    for _ in range(max_sweeps):
        if is_enough(sharing.bound) or not sharing.sweep(lambda: is_enough(sharing.bound)):
            break
    if sharing.slack() > WORTH_CLIMBING and not is_enough(sharing.bound):
        sharing.climb(is_enough)
    return sharing
