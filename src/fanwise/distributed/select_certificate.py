"""The certificate of a bound proven on Spark: prices and sets of topics, brought to the driver.

A few bytes per subscriber and one per pair, without ids: far less than the interests themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import list_ranges
from fanwise.distributed.blocks import Blocks
from fanwise.distributed.inputs import Inputs
from fanwise.distributed.select_passes import Settle
from fanwise.select.proving.certificate import Stored, allowed_for, size_of, tables_of
from fanwise.select.relaxing.inequalities import NUM_SETS

SET_BYTES = 24.0
"""What sets of topics may take of a certificate, per subscriber and topic, before compression."""


def num_sets_for(inputs: Inputs) -> int:
    """Return how many sets of topics to keep of each subscriber, so that the certificate is small.

    A set takes a bit per pair before compression, which leaves a third or less.
    """
    num_pairs = int(inputs.followers.sum())
    each = inputs.num_subscribers + len(inputs.cost)
    most = NUM_SETS
    while most > 1 and most * num_pairs / 8 > SET_BYTES * each:
        most //= 2
    return most


def gather_tables(
    inputs: Inputs, blocks: Blocks, steps: tuple[Any, ...], num_sets: int
) -> dict[str, pa.Table] | None:
    """Return the tables of a certificate, or None if they would be too large.

    Parameters
    ----------
    blocks, steps
        Fitted inequalities, and the shares since then that moved the prices.
    """
    many = inputs.num_subscribers
    degree = np.zeros(many, dtype=np.int64)
    for ids, lengths, _ in inputs.blocks.listings():
        degree[ids] = lengths
    start = np.cumsum(degree) - degree
    stored = Stored(
        np.zeros(many, dtype=np.float32),
        np.zeros(int(degree.sum()), dtype=np.uint8),
        np.zeros((many, num_sets), dtype=np.uint8),
        change_price=0.0,
    )
    hints = blocks.hints(Settle(steps))
    for (ids, _, needs), block in zip(inputs.blocks.listings(), hints, strict=True):
        own = ids[needs]
        stored.prices[own] = block.prices
        stored.parts[own] = block.parts.reshape(-1, num_sets)
        stored.sets[list_ranges(start[own], degree[own])] = block.sets
    tables = tables_of(stored, has_limit=False)
    return tables if size_of(tables) <= allowed_for(many, len(inputs.cost)) else None
