"""The fractional yardstick: the value of the relaxation for everybody, and what it bounds.

SLP's relaxation, here over all subscribers as types, at the desired load (raised where that cannot
be held). Its value is the least *sum* of the measures of rectangles, taken in parts from the
*candidates*, of any assignment at that load in which one rectangle holds each subscription. It is a
yardstick and no bound on the objective: a union measures less than the sum, down to 1 / alpha of
it; rectangles that are no candidates may be smaller; loads may go up to the allowed factor; and two
rectangles may hold a subscription together.

The prices of the same relaxation do prove a bound, by
:mod:`fanwise.assign.proving.priced_bounds`, for every plan within the allowed load.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.arrays.csr import Csr, IntArray, take_rows
from fanwise.assign.bounds import levels_table
from fanwise.assign.choices import count_usable, pairs_of
from fanwise.assign.problem import Assignment
from fanwise.assign.proving.priced_bounds import Market, Priced, Prices, priced_bound
from fanwise.assign.slp_steps.coreset import Knobs, RelaxedTypes, relax_types
from fanwise.assign.slp_steps.level import level_of_leaves
from fanwise.planning.problem import Bound
from fanwise.planning.proof import Proof

EVERYBODY = "everybody"
MOST_PAIRS = 8000
"""Pairs of a type and a broker in time above which nobody waits for the relaxation."""
SMALL, BYTES_PER_SUBSCRIBER = 16384, 16
"""How large a certificate may be: so many bytes, or so many for each subscriber."""


@dataclass(frozen=True)
class Fractional:
    """The yardstick.

    Attributes
    ----------
    value
        Of the relaxation, from below; None where there is none.
    bound
        A proven bound on the bandwidth of leaves, or None.
    of
        ``"everybody"``, or why there is no value.
    """

    value: float | None
    bound: Bound | None
    of: str


def fractional(problem: Assignment, accuracy: float = 0.02) -> Fractional:
    """Solve the relaxation for everybody, where that is small enough. Time: that of the LP."""
    arrays = problem.arrays
    if not (arrays.parent < 0).all():
        return Fractional(None, None, "nobody: for trees of one level only")
    level = level_of_leaves(problem, pairs_of(problem))
    wanting = np.flatnonzero(level.lo[:, 0] <= level.hi[:, 0])
    pairs = int(np.diff(level.allowed.indptr)[wanting].sum())
    if pairs > MOST_PAIRS:
        why = f"{pairs:,} pairs of a type and a broker are more than {MOST_PAIRS:,}"
        return Fractional(None, None, f"nobody: {why}")
    if len(wanting) == 0:
        return Fractional(0.0, None, EVERYBODY)
    knobs = Knobs(accuracy=accuracy)
    found = relax_types(level, wanting, level.weight[wanting], knobs, np.random.default_rng(0))
    if found.relaxed is None:
        return Fractional(None, None, "nobody: loads cannot be held")
    brokers = np.arange(arrays.num_brokers, dtype=np.int32)
    return Fractional(found.relaxed.bound, bound_of(problem, found, brokers), EVERYBODY)


def bound_of(problem: Assignment, found: RelaxedTypes, brokers: IntArray) -> Bound | None:
    """Return the bound that a relaxation's prices prove at the allowed load, with the prices.

    ``brokers`` are those that the relaxation numbers from 0. Its types must be everybody's. None
    where prices prove nothing, or take too many bytes.
    """
    sample, relaxed = found.sample, found.relaxed
    if relaxed is None or len(relaxed.pair_price) != len(sample.allowed.indices):
        return None
    limits = problem.limits(problem.lbf_max)[brokers].astype(np.float64)
    market = Market(
        (sample.lo + sample.hi) / 2,
        sample.allowed,
        sample.load,
        limits,
        problem.alpha,
        problem.arrays.density,
    )
    members = one_of_each(problem, found, brokers)
    if members is None:
        return None
    priced = priced_bound(market, Prices(relaxed.pair_price, relaxed.load_price))
    if priced is None:
        return None
    tables = tables_of_prices(priced, sample.allowed, members, brokers)
    most_bytes = max(SMALL, BYTES_PER_SUBSCRIBER * problem.arrays.num_subscribers)
    if sum(map(size_on_disk, tables.values())) > most_bytes:
        return None
    return Bound(priced.value, Proof("duals", tables, priced.value))


def one_of_each(problem: Assignment, found: RelaxedTypes, brokers: IntArray) -> IntArray | None:
    """Return a subscriber of each type of a relaxation; None where its types are others."""
    level = level_of_leaves(problem, pairs_of(problem))
    _, first = np.unique(level.type_of_subscriber, return_index=True)
    wanting = np.flatnonzero(level.lo[:, 0] <= level.hi[:, 0])
    allowed = take_rows(level.allowed, wanting)
    sample = found.sample
    is_same = (
        np.array_equal(level.lo[wanting], sample.lo)
        and np.array_equal(level.hi[wanting], sample.hi)
        and np.array_equal(level.weight[wanting], sample.load)
        and np.array_equal(allowed.indptr, sample.allowed.indptr)
        and np.array_equal(allowed.indices, brokers[sample.allowed.indices])
    )
    is_served = bool((count_usable(problem) > 0).all())
    return first[wanting].astype(np.int32) if is_same and is_served else None


def size_on_disk(table: pa.Table) -> int:
    """Return the bytes that a table of a certificate takes."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return int(sink.getvalue().size)


def tables_of_prices(
    priced: Priced, allowed: Csr, members: IntArray, brokers: IntArray
) -> dict[str, pa.Table]:
    """Return prices as tables; those of 0 left out, but for one of whoever pays nothing else."""
    price = priced.prices.pair
    row = np.repeat(np.arange(allowed.num_rows), np.diff(allowed.indptr))
    keep = price > 0
    pays = np.bincount(row[keep], minlength=allowed.num_rows) > 0
    # A check learns from the rows which types there are: one row for each must stay.
    keep[allowed.indptr[:-1][~pays]] = True
    order = np.flatnonzero(keep)
    order = order[np.lexsort((row[order], allowed.indices[order]))]
    charge = priced.prices.load
    charged = np.flatnonzero(charge > 0)
    tables = {
        "levels": levels_table([priced.value]),
        "prices": pa.table(
            {
                "subscriber": members[row[order]],
                "broker": brokers[allowed.indices[order]].astype(np.int32),
                "price": price[order],
            }
        ),
    }
    if len(charged):
        tables["charges"] = pa.table(
            {
                "broker": brokers[charged].astype(np.int32),
                "charge": charge[charged],
            }
        )
    return tables
