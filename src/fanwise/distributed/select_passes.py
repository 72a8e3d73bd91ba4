"""What Spark's workers do with a block of subscribers in each pass of select.

Passes are small objects that travel to the workers; vectors reach them as broadcast variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import LongArray
from fanwise.distributed.blocks import Block
from fanwise.workload.topic import RELATIVE_TOLERANCE


@dataclass(frozen=True)
class Look:
    """The pass that adds up what topics bring or hold."""

    rates: Any
    served: Any
    scale: float
    is_binary: bool

    def __call__(self, block: Block, amounts: LongArray) -> tuple[int, ...]:
        from fanwise.distributed.select_kernels import add_benefits, add_gains

        add = add_benefits if self.is_binary else add_gains
        return add(
            block.indptr,
            block.indices,
            self.rates.value,
            block.demand,
            np.round(block.weight * self.scale),
            self.served.value,
            RELATIVE_TOLERANCE,
            amounts,
        )


@dataclass(frozen=True)
class Price:
    """The pass that prices subscribers and adds up the profits of topics."""

    rates: Any
    served_and_shares: Any
    scale: float
    steepness: float
    is_plain: bool

    def __call__(self, block: Block, amounts: LongArray) -> tuple[int, ...]:
        from fanwise.distributed.select_kernels import add_profits
        from fanwise.select.covers import fill_cover_coefficients, fill_plain_coefficients

        served, shares = self.served_and_shares.value
        coefficients = np.empty(len(block.indices), dtype=np.float32)
        fill = fill_plain_coefficients if self.is_plain else fill_cover_coefficients
        # A hair less than tau_v keeps the inequalities valid for what counts as satisfied.
        demand = block.demand * (1 - RELATIVE_TOLERANCE)
        fill(
            block.indptr,
            block.indices,
            self.rates.value,
            demand,
            served,
            0,
            len(demand),
            coefficients,
        )
        unit = np.ceil(block.weight * self.scale)
        paid = add_profits(
            block.indptr, block.indices, coefficients, unit, shares, self.steepness, amounts
        )
        return paid, int(unit.sum())


@dataclass(frozen=True)
class CountPrices:
    """Counts subscribers by the least that satisfying one costs: max(tau_v, smallest rate)."""

    rates: Any

    def __call__(self, block: Block) -> pa.RecordBatch:
        from fanwise.select.kernels import smallest_rates

        least = smallest_rates(block.indptr, block.indices, self.rates.value)
        price, count = np.unique(np.maximum(block.demand, least), return_counts=True)
        return pa.RecordBatch.from_pydict({"price": price, "count": count.astype(np.int64)})
