"""From a question to the best bound that prices prove, with its certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import Csr, FloatArray, LongArray, take_rows
from fanwise.assign.bounds import Evidence
from fanwise.assign.cells import cell_measures
from fanwise.assign.choices import count_usable, pairs_of
from fanwise.assign.problem import Assignment
from fanwise.assign.proving.lattice import Lattice, Spans, corner_places, spans_of
from fanwise.assign.proving.market import Market, Prices, claimed, rounded
from fanwise.assign.proving.price_search import search_prices
from fanwise.assign.subscriber_types import group_into_types
from fanwise.planning.problem import Bound
from fanwise.planning.proof import Proof

QUICK_PAIRS = 200
"""Up to so many pairs of a type and a broker, prices are part of every bound."""
MOST_PRICED, MOST_PRICED_IN_TIME = 600, 8000
"""So many pairs are priced by searches at most, without a time limit and with one."""


def priced_bound(
    problem: Assignment, most_pairs: int, time_left: Callable[[], float] = lambda: np.inf
) -> Bound | None:
    """Return the bound that prices at the leaves prove; None where it is no better than without.

    Those with the fewest brokers are priced, up to so many pairs: whoever is not pays nothing.
    """
    evidence = problem.evidence
    if evidence.lattice is None or (count_usable(problem) == 0).any():
        return None
    market, members = make_market(problem, evidence, most_pairs)
    value, prices = search_prices(market, time_left)
    prices = rounded(prices)
    value = claimed(market, prices)
    if not value > evidence.carried[-1]:
        return None
    last = len(evidence.carried) - 1
    priced = replace(
        evidence,
        carried=[*evidence.carried[:-1], value],
        grid=evidence.fine,
        apart={**evidence.apart, last: evidence.taken},
        classes=[],
        points={key: some for key, some in evidence.points.items() if key[0] != last},
    )
    total = sum(priced.carried)
    tables = {**priced.tables(), **tables_of_prices(market, prices, members)}
    return Bound(total, Proof("duals", tables, total))


def make_market(
    problem: Assignment, evidence: Evidence, most_pairs: int
) -> tuple[Market, LongArray]:
    """Return the leaves' market, and a subscriber of each of its types."""
    arrays, lattice = problem.arrays, evidence.lattice
    assert lattice is not None
    types = group_into_types(arrays, pairs_of(problem))
    own = types.arrays
    wants = own.lo[:, 0] <= own.hi[:, 0]
    spans = spans_of(lattice, own.lo, own.hi)
    is_held = wants & (spans.first <= spans.last).all(axis=1)
    lengths = np.diff(own.indptr)
    order = np.flatnonzero(is_held)
    order = order[np.argsort(lengths[order], kind="stable")]
    chosen = np.sort(order[np.cumsum(lengths[order]) <= most_pairs])
    is_open = np.zeros(arrays.num_brokers, dtype=np.bool_)
    is_open[take_rows(Csr(own.indptr, own.brokers), np.flatnonzero(wants)).indices] = True
    limits = problem.limits(problem.lbf_max).astype(np.float64)
    _, first = np.unique(types.type_of_subscriber, return_index=True)
    market = Market(
        lattice,
        corner_places(Spans(spans.first[chosen], spans.last[chosen])),
        take_rows(Csr(own.indptr, own.brokers), chosen),
        types.weight[chosen].astype(np.float64),
        limits,
        is_open & (limits > 0),
        least_of_cells(lattice, evidence.fine, evidence.needed, arrays.density),
        arrays.alpha,
        arrays.event_dims,
        len(arrays.density.lo) > 0,
    )
    return market, first[chosen]


def least_of_cells(
    lattice: Lattice, grid: list[FloatArray], needed: LongArray, density: object
) -> FloatArray:
    """Return what travels at least in each cell of a lattice, from the cells of a finer grid."""
    mass = (needed * cell_measures(grid, density)).reshape([len(own) - 1 for own in grid])  # type: ignore[arg-type]
    for axis, own in enumerate(grid):
        lines = lattice.lines[axis]
        cell = np.searchsorted(lines, own[:-1], "right") - 1
        inside = (cell >= 0) & (cell < len(lines) - 1)
        total = np.zeros((len(lines) - 1, *np.delete(mass.shape, axis)))
        np.add.at(total, cell[inside], np.moveaxis(mass, axis, 0)[inside])
        mass = np.moveaxis(total, 0, axis)
    least = np.zeros(lattice.shape)
    if len(grid) == 1:
        least[1::2, 0] = mass
    else:
        least[1::2, 1::2] = mass
    return least


def tables_of_prices(market: Market, prices: Prices, members: LongArray) -> dict[str, pa.Table]:
    """Return prices as tables; those of 0 left out, but for one of whoever pays nothing."""
    types, brokers = market.type_of_pair, market.allowed.indices
    corner = market.corners[types]
    place = corner[:, :, 0] * market.lattice.shape[1] + corner[:, :, 1]
    price = prices.pair.copy()
    is_twice = place[:, 0] == place[:, 1]
    price[is_twice, 0] += price[is_twice, 1]
    price[is_twice, 1] = 0.0
    keep = price > 0
    pays = np.zeros(len(members), dtype=np.bool_)
    pays[types[keep.any(axis=1)]] = True
    # A check learns from the rows which types there are: one row for each must stay.
    keep[market.allowed.indptr[:-1][~pays], 0] = True
    pair, which = np.nonzero(keep)
    order = np.lexsort((which, types[pair], brokers[pair]))
    pair, which = pair[order], which[order]
    dims = range(market.dims)
    tables = {
        "lattice": pa.table(
            {
                "axis": np.concatenate(
                    [np.full(len(market.lattice.lines[k]), k, np.int32) for k in dims]
                ),
                "line": np.concatenate([market.lattice.lines[k] for k in dims]),
            }
        ),
        "prices": pa.table(
            {
                "subscriber": members[types[pair]].astype(np.int32),
                "broker": brokers[pair].astype(np.int32),
                "place": place[pair, which].astype(np.int32),
                "price": price[pair, which],
            }
        ),
    }
    charged, worth = np.flatnonzero(prices.load > 0), prices.worth.reshape(-1)
    if len(charged):
        tables["charges"] = pa.table(
            {"broker": charged.astype(np.int32), "charge": prices.load[charged]}
        )
    if (worth > 0).any():
        at = np.flatnonzero(worth > 0)
        tables["worths"] = pa.table({"place": at.astype(np.int32), "worth": worth[at]})
    return tables
