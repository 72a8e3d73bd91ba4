"""What Spark's workers do with a block of subscribers in each pass of select.

Passes are small objects that travel to the workers; vectors reach them as broadcast variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import LongArray
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.distributed.blocks import Block, Hints
from fanwise.select.relaxing.inequalities import ENOUGH, NUM_SETS, Rows
from fanwise.select.relaxing.knapsack import prices_within

Broadcast = Any
"""A variable that workers read by ``.value``."""


@dataclass(frozen=True)
class Measure:
    """The pass that adds up what topics bring or hold; totals: value, satisfied, all weight.

    Attributes
    ----------
    scale
        Units of the totals per unit of weight.
    grain
        Units of the sums per unit of the totals: a power of two; a small one lets few bytes travel.
    """

    rates: Broadcast
    served: Broadcast
    scale: float
    is_binary: bool
    grain: float = 1.0

    def __call__(self, block: Block, amounts: LongArray) -> tuple[int, ...]:
        from fanwise.distributed.select_kernels import add_benefits, add_gains

        add = add_benefits if self.is_binary else add_gains
        unit = np.round(block.weight * self.scale)
        rows = Rows(block.indptr, block.indices, self.rates.value, block.demand)
        value, satisfied = add(
            rows, unit, self.grain, self.served.value, RELATIVE_TOLERANCE, amounts
        )
        total = int(np.ceil(block.weight * self.scale).astype(np.int64).sum())
        return value, satisfied, total


@dataclass(frozen=True)
class Fit:
    """Fits an inequality to each subscriber; prices move on as :class:`Pay` left them.

    Attributes
    ----------
    served
        The selection to begin with; None to mix into the inequalities that are there.
    steps
        Shares of topics since the last fit, one vector per iteration.
    shares
        Where the new inequalities are to be tight.
    num_sets
        How many sets of topics are kept of each subscriber.
    """

    rates: Broadcast
    served: Broadcast | None
    steps: tuple[Broadcast, ...]
    shares: Broadcast
    is_binary: bool
    num_sets: int = NUM_SETS

    def __call__(self, block: Block) -> Block:
        from fanwise.select.relaxing.covers import choose_covers, fill_covers

        # A hair less than tau_v keeps the inequalities valid for what counts as satisfied.
        demand = block.demand * ENOUGH
        many = len(demand)
        if self.served is None:
            block = block._replace(
                prices=moved_prices(block, self.steps),
                coefficients=block.coefficients.copy(),
                constants=block.constants.copy(),
                sets=block.sets.copy(),
                parts=block.parts.copy(),
            )
            self._mix(block, demand)
            return block
        sets = np.zeros(len(block.indices), dtype=np.uint8)
        parts = np.zeros((many, self.num_sets), dtype=np.uint8)
        parts[:, 0] = 1
        coefficients = np.empty(len(block.indices), dtype=np.float32)
        rows = Rows(block.indptr, block.indices, self.rates.value, demand)
        if self.is_binary:
            choose_covers(rows, self.served.value, 0, many, sets, parts)
        fill_covers(rows, 0, many, sets, parts, coefficients)
        block = block._replace(
            coefficients=coefficients,
            constants=np.zeros(many, dtype=np.float32),
            prices=prices_within(block.weight, block.weight),
            sets=sets,
            parts=parts.ravel(),
        )
        if not self.is_binary:
            self._mix(block, demand)
        return block

    def _mix(self, block: Block, demand: npt.NDArray[np.float64]) -> None:
        from fanwise.select.relaxing.covers import mix_broken
        from fanwise.select.relaxing.gain_cuts import mix_gains

        widest = int(np.diff(block.indptr).max(initial=0))
        shares = self.shares.value.astype(np.float64)
        rows = Rows(block.indptr, block.indices, self.rates.value, demand)
        where = (rows, shares, 0, len(demand))
        parts = block.parts.reshape(len(demand), self.num_sets)
        if self.is_binary:
            mix_broken(*where, widest, block.sets, parts, block.coefficients)
        else:
            mix_gains(*where, widest, block.sets, parts, block.coefficients, block.constants)


@dataclass(frozen=True)
class Settle:
    """Leaves prices as some steps since the last fit leave them: the end of a proof."""

    steps: tuple[Broadcast, ...]

    def __call__(self, block: Block) -> Block:
        return block._replace(prices=moved_prices(block, self.steps))


@dataclass(frozen=True)
class Pay:
    """The pass that moves prices and adds up the profits of topics.

    Prices are not kept between passes: each repeats the steps since the last fit, which costs less
    than storing them. Totals: paid after, and in the first pass after a fit also before; that one
    returns two more vectors of sums, the profits at the prices before, and at the highest ones.
    """

    steps: tuple[Broadcast, ...]
    scale: float

    def __call__(self, block: Block, amounts: LongArray) -> tuple[int, ...]:
        num_topics = len(amounts) // (3 if len(self.steps) == 1 else 1)
        after = self._add(block, moved_prices(block, self.steps), amounts[:num_topics])
        if len(self.steps) > 1:
            return (after,)
        before = self._add(block, block.prices.copy(), amounts[num_topics : 2 * num_topics])
        self._add(block, prices_within(block.weight, block.weight), amounts[2 * num_topics :])
        return after, before

    def _add(self, block: Block, prices: Hints, amounts: LongArray) -> int:
        from fanwise.distributed.select_kernels import add_profits

        paid: int = add_profits(
            block.indptr,
            block.indices,
            block.coefficients,
            block.constants,
            prices,
            self.scale,
            amounts,
        )
        return paid


@dataclass(frozen=True)
class CountPrices:
    """Counts subscribers by the least that satisfying one costs: max(tau_v, smallest rate).

    Prices come by ranges, of which there are few thousands, each with the sum and the number of
    its prices; or, of one range, price by price.
    """

    rates: Broadcast
    price_range: int | None = None

    def __call__(self, block: Block) -> pa.RecordBatch:
        from fanwise.select.topic_kernels import smallest_rates

        least = smallest_rates(block.indptr, block.indices, self.rates.value)
        price = np.maximum(block.demand, least)
        ranges = ranges_of(price)
        if self.price_range is not None:
            price, count = np.unique(price[ranges == self.price_range], return_counts=True)
            return pa.RecordBatch.from_pydict({"price": price, "count": count.astype(np.int64)})
        found, place, count = np.unique(ranges, return_inverse=True, return_counts=True)
        total = np.bincount(place, weights=price, minlength=len(found))
        return pa.RecordBatch.from_pydict(
            {"range": found, "count": count.astype(np.int64), "total": total.astype(np.float64)}
        )


def ranges_of(prices: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return numbers of ranges of prices, 256 for each doubling; they ascend with prices >= 0."""
    return np.ascontiguousarray(prices, dtype=np.float64).view(np.int64) >> 44


def moved_prices(block: Block, steps: tuple[Broadcast, ...]) -> Hints:
    """Return the prices after some steps of the primal-dual method, given the shares at each."""
    from fanwise.select.relaxing.relaxation_kernels import move_prices, sum_coefficients

    ceiling, many = prices_within(block.weight, block.weight), len(block.demand)
    row_sums = np.empty(many, dtype=np.float32)
    sum_coefficients(block.indptr, block.coefficients, 0, many, row_sums)
    step = (ceiling / np.maximum(row_sums, np.float32(1e-3))).astype(np.float32)
    prices = block.prices.copy()  # what Arrow hands out is read-only: another compilation
    for shares in steps:
        moved = np.empty_like(prices)
        move_prices(
            block.indptr,
            block.indices,
            block.coefficients,
            block.constants,
            shares.value,
            prices,
            step,
            ceiling,
            0,
            many,
            moved,
        )
        prices = moved
    return prices
