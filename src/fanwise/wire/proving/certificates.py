"""Certificates of wirings: the tables from which anyone can work out the bound again.

Four kinds, told apart by their tables: prices on brokers with radii of trees; the same with parts
of the core by which subscribers gather; prices of pairs of users by their brokers, with rounds; and
a search, as the order of users and a bit for each node. See :mod:`fanwise.wire.verify_proof` for
what they prove.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import FloatArray
from fanwise.planning.problem import Bound, Run
from fanwise.planning.proof import Proof
from fanwise.wire.branching.leaves import NOT_WORTH_BRANCHING, find_leaves

if TYPE_CHECKING:
    from fanwise.wire.bounds import BoundParts, Duals
    from fanwise.wire.branching.branch_and_bound import BranchAndBound
    from fanwise.wire.problem import Wiring
    from fanwise.wire.proving.pairs_bound import Pairs


def prove(problem: Wiring, run: Run) -> Bound:
    """Return the better of what prices prove, and what the first nodes of a search prove.

    Where the time limit of the run is too short for all of it, it is what can be proven in time.
    """
    from fanwise.wire.bounds import bound_parts, proving_seconds
    from fanwise.wire.exact import searched_bound

    is_hurried = run.time_left() < proving_seconds(problem.arrays)
    parts = bound_parts(problem.arrays, run) if is_hurried else problem.bound_parts
    return searched_bound(problem.arrays, prove_by_prices(parts))


def prove_by_prices(parts: BoundParts) -> Bound:
    """Return what prices and trees prove."""
    return Bound(parts.together, Proof("duals", price_tables(parts.duals), parts.together))


def price_tables(duals: Duals) -> dict[str, pa.Table]:
    """Return the tables of a proof by prices."""
    if duals.pairs is not None:
        return tables_of_pairs(duals.pairs, duals.prices)
    broker, size = np.nonzero(duals.radii)
    order = np.lexsort((broker, size))
    broker, size = broker[order], size[order]
    tables = {
        "prices": table_of_prices(duals.prices),
        "trees": pa.table({
            "broker": broker.astype(np.int32),
            "brokers": size.astype(np.int32),
            "radius": duals.radii[broker, size],
        }),
    }  # fmt: skip
    if duals.parts is not None:
        channels = np.flatnonzero(duals.parts != 1)
        tables["gathering"] = pa.table(
            {"channel": channels.astype(np.int32), "part": duals.parts[channels]}
        )
    return tables


def tables_of_pairs(found: Pairs, prices: FloatArray) -> dict[str, pa.Table]:
    """Return the tables of a proof by what pairs of users cost."""
    root, broker = np.nonzero(found.ways)
    return {
        "prices": table_of_prices(prices),
        "ways": pa.table({
            "root": root.astype(np.int32),
            "broker": broker.astype(np.int32),
            "price": found.ways[root, broker],
        }),
        "pairs": pa.table({"rounds": np.array([found.rounds], dtype=np.int32)}),
    }  # fmt: skip


def table_of_prices(prices: FloatArray) -> pa.Table:
    """Return the prices that are not 0."""
    brokers = np.flatnonzero(prices)
    return pa.table({"broker": brokers.astype(np.int32), "price": prices[brokers]})


def prove_by_search(
    branching: BranchAndBound,
    value: float,
    by_prices: Bound,
    *,
    may_be_told: bool = False,
) -> Bound:
    """Return what a search proves, with its leaves as far as a certificate holds them.

    Parameters
    ----------
    value
        What the search has proven.
    by_prices
        What is proven without it.
    may_be_told
        Whether the value may be claimed where its leaves are too many; what can be checked is
        less then, and the certificate says so.
    """
    if by_prices.value >= value * (1 - NOT_WORTH_BRANCHING):
        return Bound(value, by_prices.proof)
    found, marks = find_leaves(branching.tables, value, by_prices.value)
    proof = by_prices.proof
    if proof is None or found > by_prices.value:
        proven = {
            "prices": table_of_prices(branching.tables.prices),
            "order": pa.table({"subscriber": branching.order.astype(np.int32)}),
            "tree": pa.table({"is_branched": marks}),
        }
        proof = Proof("leaves", proven, found)
    if found >= value:
        return Bound(value, proof)
    if may_be_told:
        return Bound(value, replace(proof, kind="solver"))
    return Bound(proof.proves, proof)
