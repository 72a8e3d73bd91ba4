"""Proven bounds for select on Spark.

The relaxation is the one of :mod:`fanwise.select.relaxing.relaxation`, with inequalities fitted as
in :mod:`fanwise.select.relaxing.covers` and :mod:`fanwise.select.relaxing.gain_cuts` to the
selection found, and then every few iterations to the shares of the moment. Inequalities and prices
are made in the partitions from the shares; per iteration one vector of shares goes out and one of
profits comes back. Profits are whole numbers rounded up, so the bound does not depend on the number
of partitions.

Guarantee
    No selection within the capacity reaches more, whatever the prices and shares.

Complexity
    Passes over the pairs in the partitions for each iteration; O(topics log topics) on the
    driver.

References
----------
    Our own; see :mod:`fanwise.select.relaxing.relaxation`.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import Any

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.tolerance import most_within
from fanwise.distributed.blocks import Blocks
from fanwise.distributed.inputs import Inputs
from fanwise.distributed.select_certificate import gather_tables, num_sets_for
from fanwise.distributed.select_passes import CountPrices, Fit, Pay
from fanwise.distributed.select_search import SparkSearch, coarse_scale
from fanwise.select.relaxing.inequalities import ENOUGH
from fanwise.select.relaxing.knapsack import fractional_knapsack
from fanwise.select.relaxing.relaxation_kernels import project_shares

FITS, ITERATIONS = 12, 3
"""How often inequalities are fitted, and iterations after each fit."""
PROFIT_BITS = 26
"""Of a subscriber's weight in profits; each pair rounds its profit up by a unit at most."""
WORTHWHILE = 0.1
"""It goes on while the iterations after a fit close this part of the gap to the selection."""


class Proof:
    """Prices in the partitions and shares on the driver, improved in turns (PDHG)."""

    def __init__(
        self, inputs: Inputs, limit: float, *, is_binary: bool, search: SparkSearch
    ) -> None:
        self._inputs = inputs
        self._cost = inputs.cost
        self._room = most_within(limit)
        self._is_binary = is_binary
        self._search = search
        self._scale = coarse_scale(search.scale, inputs, PROFIT_BITS)
        self._theta = 0.0
        self._reached = math.inf
        self._num_sets = num_sets_for(inputs)
        self._best: tuple[Blocks, tuple[Any, ...]] | None = None

    def run(self) -> None:
        """Lower the search's bound until it is good enough, or fits gain nothing more."""
        if self._search.is_over():
            return
        state = self._search.answer
        self._shares: FloatArray = state.served.astype(np.float64)
        with ExitStack() as cleanup:
            # Broadcast variables live until the end: Spark needs them to make lost blocks again.
            blocks, steps = self._inputs.blocks, ()
            served: Any = cleanup.enter_context(blocks.broadcast(state.served))
            for _ in range(FITS):
                before = self._reached
                shares = self._send_shares(cleanup)
                fit = Fit(
                    self._inputs.rates_everywhere,
                    served,
                    steps,
                    shares,
                    self._is_binary,
                    self._num_sets,
                )
                fitted = blocks.refit(fit)
                cleanup.callback(fitted.release)
                steps = self._iterate(fitted, shares, cleanup)
                is_kept = self._best is not None and self._best[0] is blocks
                if blocks is not self._inputs.blocks and not is_kept:
                    blocks.release()
                blocks, served = fitted, None
                aim = before - WORTHWHILE * (before - self._search.value)
                if self._search.is_over() or (math.isfinite(before) and self._reached >= aim):
                    break
            self._keep_tables()

    def _iterate(self, blocks: Blocks, shares: Any, cleanup: ExitStack) -> tuple[Any, ...]:
        """Improve prices and shares a few times; return the shares at each step."""
        steps: tuple[Any, ...] = (shares,)
        amounts, totals = blocks.sums(Pay(steps, self._scale), num_vectors=3)
        profit, before, highest = amounts.reshape(3, -1) / self._scale
        step = 1 / np.maximum(highest, 1e-3)
        self._prove(before, int(totals[1]), blocks, ())
        while True:
            self._prove(profit, int(totals[0]), blocks, steps)
            if self._search.is_over():
                break
            self._move_shares(2 * profit - before, step)
            if len(steps) == ITERATIONS:
                break
            steps += (self._send_shares(cleanup),)
            amounts, totals = blocks.sums(Pay(steps, self._scale))
            before, profit = profit, amounts / self._scale
        return steps

    def _send_shares(self, cleanup: ExitStack) -> Any:
        shares = self._shares.astype(np.float32)
        return cleanup.enter_context(self._inputs.blocks.broadcast(shares))

    def _prove(self, profit: FloatArray, paid: int, blocks: Blocks, steps: tuple[Any, ...]) -> None:
        unpaid = self._search.total / self._search.scale - paid / self._scale
        bound = unpaid + fractional_knapsack(profit, self._cost, self._room)
        self._reached = min(self._reached, bound)
        if self._search.prove_by("prices", bound):
            self._best = blocks, steps

    def _keep_tables(self) -> None:
        """Keep the certificate of the best bound, if prices proved it."""
        bounds = self._search.bounds
        if self._best is not None and bounds["prices"] <= min(bounds.values()):
            blocks, steps = self._best
            self._search.tables = gather_tables(self._inputs, blocks, steps, self._num_sets)

    def _move_shares(self, reward: FloatArray, step: FloatArray) -> None:
        wish = self._shares + step * reward
        self._shares = np.empty_like(wish)
        self._theta = project_shares(
            wish, step * self._cost, self._cost, self._room, self._theta, self._shares
        )


def paper_bound(inputs: Inputs, limit: float, *, is_binary: bool) -> float | None:
    """Return the bound of Setty et al. (see :func:`fanwise.select.bounds.paper_bounds`).

    The driver sees sums by ranges of prices, and the prices of the one range in which the capacity
    runs out.
    """
    if inputs.has_costs or inputs.has_weights:
        return None
    blocks, rates = inputs.blocks, inputs.rates_everywhere
    found = blocks.map(CountPrices(rates), "range long, count long, total double").toArrow()
    ranges, place = np.unique(found.column("range").to_numpy(), return_inverse=True)
    many = np.bincount(place, weights=found.column("count").to_numpy(), minlength=len(ranges))
    totals = np.bincount(place, weights=found.column("total").to_numpy(), minlength=len(ranges))
    count, left = 0, most_within(limit) / ENOUGH
    for price_range, total, number in zip(ranges, totals, many, strict=True):
        if total <= left:
            count, left = count + int(number), left - total
            continue
        rows = blocks.map(CountPrices(rates, int(price_range)), "price double, count long")
        table = rows.toArrow()
        count += affordable(
            table.column("price").to_numpy(), table.column("count").to_numpy(), left
        )
        break
    return float(count if is_binary else count + 1)


def affordable(prices: FloatArray, counts: LongArray, left: float) -> int:
    """Return how many of the cheapest fit; prices ascend."""
    order = np.argsort(prices, kind="stable")
    total = 0
    for price, count in zip(prices[order], counts[order], strict=True):
        many = min(int(left // price), int(count))
        total += many
        left -= many * price
        if many < count:
            break
    return total
