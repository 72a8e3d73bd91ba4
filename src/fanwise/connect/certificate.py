"""What a bound on mu follows from, as the tables of a certificate.

The mathematics is in :mod:`fanwise.connect.bounds`; :mod:`fanwise.connect.verify_proof` evaluates
the tables anew. Zeros are left out, and a bound from sizes alone needs no table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.connect.arrays import NO_EDGES
from fanwise.planning.proof import Proof

DOUBLE_UP_TO = 1000
"""Prices up to which they are kept in double precision: files of no size."""
LARGEST_PRICE = 1e38
"""Single precision holds no more."""
SMALL_PROOF = 16_384
"""Bytes that a certificate may always take."""
HEADERS = 3_000
"""Bytes that files of a certificate take beside their columns."""
LEVELS = 255
"""What shares of joins are multiples of: a byte each."""
MAX_ROWS_OF_TREE = 12_000
"""Decisions and leaves of a tree that a certificate may have: a byte or two each."""


class Prices(NamedTuple):
    """Prices on topics (shares between 0 and 1), nodes, links and cost, on top of links S.

    Where ``level`` is given, S is not taken for granted but gives trees, and shares are on their
    joins, in 255ths: see :mod:`fanwise.connect.pricing.tree_prices`.
    """

    topic: FloatArray
    node: FloatArray
    link: float
    cost: float
    start: IntArray = NO_EDGES
    level: npt.NDArray[np.uint8] | None = None


def round_prices(prices: FloatArray) -> FloatArray:
    """Return prices as a certificate keeps them: what is claimed is what these prove."""
    if len(prices) <= DOUBLE_UP_TO:
        return prices
    return np.minimum(prices, LARGEST_PRICE).astype(np.float32).astype(np.float64)


def space_for_levels(num_nodes: int, num_topics: int) -> int:
    """Return the bytes that shares of joins may take: of all a certificate may, less its rest."""
    each = 12 if num_nodes + num_topics + 2 <= DOUBLE_UP_TO else 8
    return max(16 * (num_nodes + num_topics), SMALL_PROOF) - each * num_nodes - HEADERS


def make_proof(
    bound: float,
    prices: Prices | None,
    edges: IntArray,
    tree: IntArray | None = None,
) -> Proof:
    """Return the certificate of a bound.

    Parameters
    ----------
    prices
        None where sizes alone prove the bound.
    edges
        The plan's links: S is referred to as a beginning of them where it is one.
    tree
        Decisions on pairs in preorder, -1 for a leaf, where the bound is that of a search.
    """
    tables: dict[str, pa.Table] = {}
    if prices is not None:
        num_prices = len(prices.topic) + len(prices.node) + 2
        kind = pa.float64() if num_prices <= DOUBLE_UP_TO else pa.float32()
        _add_priced(tables, "topics", "topic", "share", prices.topic, kind)
        _add_priced(tables, "nodes", "node", "price", prices.node, kind)
        num_first = len(prices.start)
        is_beginning = np.array_equal(edges[:num_first], prices.start)
        if prices.level is not None:
            tables["levels"] = pa.table({"level": pa.array(prices.level, pa.uint8())})
        if num_first and not is_beginning:
            start = prices.start
            if prices.level is None:  # their order matters to trees alone
                start = start[np.lexsort((start[:, 1], start[:, 0]))]
            tables["start"] = pa.table({"u": start[:, 0].copy(), "v": start[:, 1].copy()})
            num_first = 0
        if num_first or prices.link or prices.cost:
            tables["budgets"] = _budgets(num_first, prices.link, prices.cost, kind)
    if not tables and tree is None:  # all prices are 0: say so, rather than nothing
        tables["budgets"] = _budgets(0, 0.0, 0.0, pa.float64())
    if tree is not None:
        tables["tree"] = pa.table({"pair": pa.array(tree, pa.int8())})
    return Proof(kind="duals" if tree is None else "leaves", tables=tables, proves=float(bound))


def _budgets(num_first: int, link: float, cost: float, kind: pa.DataType) -> pa.Table:
    return pa.table(
        {
            "first_links": pa.array([num_first], pa.int32()),
            "link_price": pa.array([link], kind),
            "cost_price": pa.array([cost], kind),
        }
    )


def _add_priced(
    tables: dict[str, pa.Table],
    name: str,
    key: str,
    value: str,
    prices: FloatArray,
    kind: pa.DataType,
) -> None:
    priced = np.flatnonzero(prices).astype(np.int32)
    if len(priced):
        tables[name] = pa.table({key: priced, value: pa.array(prices[priced], kind)})
