"""From a question to the best bound that prices prove, with its certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import Csr, FloatArray, LongArray, take_rows
from fanwise.assign.bounds import Evidence
from fanwise.assign.cells import cell_measures
from fanwise.assign.choices import count_usable, pairs_of
from fanwise.assign.problem import Assignment
from fanwise.assign.proving.lattice import Lattice, Spans, corner_places, spans_of
from fanwise.assign.proving.market import Market, Prices, claimed, rounded
from fanwise.assign.proving.price_few import search_few
from fanwise.assign.proving.price_search import ROUNDS, ROUNDS_IN_TIME, nothing_paid, search_prices
from fanwise.assign.subscriber_types import group_into_types
from fanwise.planning.problem import Bound
from fanwise.planning.proof import Proof

QUICK_PAIRS = 200
"""Up to so many pairs of a type and a broker, prices are part of every bound."""
MOST_QUICK = 3_000_000
"""Up to so many pairs of a subscriber and a broker, a quick search for prices is."""
MOST_PRICED, MOST_PRICED_IN_TIME, MOST_IN_BOXES = 2000, 20_000, 400
"""So many pairs are priced by searches at most, without a time limit and with one; and so many
without one where they are not few at each broker."""


def priced_bound(
    problem: Assignment,
    most_pairs: int,
    time_left: Callable[[], float] = lambda: np.inf,
    *,
    is_quick: bool = False,
    uses_time: bool = False,
) -> Bound | None:
    """Return the bound that prices at the leaves prove; None where it is no better than without.

    Those with the fewest brokers are priced, up to so many pairs: whoever is not pays nothing. Who
    wants the time used gets searches that may take all of it; without, they end by their work.
    """
    evidence = problem.evidence
    if evidence.lattice is None or (count_usable(problem) == 0).any():
        return None
    market, subscribers = make_market(problem, evidence, most_pairs)
    if len(market.members) == 0:
        return None
    searched = search_few(market, time_left, is_quick=is_quick)
    is_small = num_pairs_of(market) <= MOST_IN_BOXES or uses_time
    if is_small and not is_quick:
        rounds = ROUNDS_IN_TIME if uses_time else ROUNDS
        searched.append(search_prices(market, time_left, rounds)[1])
    found = [nothing_paid(market), *map(rounded, searched)]
    value, prices = max(((claimed(market, some), some) for some in found), key=lambda pair: pair[0])
    if not value > evidence.carried[-1]:
        return None
    last = len(evidence.carried) - 1
    priced = replace(
        evidence,
        carried=[*evidence.carried[:-1], value],
        grid=evidence.fine,
        apart={**evidence.apart, last: evidence.taken},
    )
    total = sum(priced.carried)
    tables = {**priced.tables(), **tables_of_prices(market, prices, subscribers)}
    return Bound(total, Proof("duals", tables, total))


def num_pairs_of(market: Market) -> int:
    """Return the pairs of a type and a broker that may serve it."""
    return sum(map(len, market.types_of_broker))


def make_market(
    problem: Assignment, evidence: Evidence, most_pairs: int
) -> tuple[Market, list[LongArray]]:
    """Return the leaves' market, and the subscribers of each of its types."""
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
    order = np.argsort(types.type_of_subscriber, kind="stable")
    ends = np.cumsum(types.weight)
    subscribers = [order[ends[t] - types.weight[t] : ends[t]] for t in chosen.tolist()]
    allowed = take_rows(Csr(own.indptr, own.brokers), chosen)
    type_of_pair = np.repeat(np.arange(len(chosen)), np.diff(allowed.indptr))
    market = Market(
        lattice,
        corner_places(Spans(spans.first[chosen], spans.last[chosen])),
        [type_of_pair[allowed.indices == broker] for broker in range(arrays.num_brokers)],
        types.weight[chosen].astype(np.float64),
        limits,
        is_open & (limits > 0),
        least_of_cells(lattice, evidence.fine, evidence.needed, arrays.density),
        arrays.alpha,
        arrays.event_dims,
    )
    return market, subscribers


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


def tables_of_prices(
    market: Market, prices: Prices, subscribers: list[LongArray]
) -> dict[str, pa.Table]:
    """Return prices as tables, those of 0 left out; members of a type share what it pays."""
    place = market.corners[:, :, 0] * market.lattice.shape[1] + market.corners[:, :, 1]
    whose, which = np.nonzero(prices.paid)
    members = [subscribers[t] for t in whose.tolist()]
    counts = np.array([len(some) for some in members], dtype=np.int64)
    dims = range(market.dims)
    found: dict[str, dict[str, tuple[Any, Any]]] = {
        "lattice": {
            "axis": (np.repeat(dims, [len(market.lattice.lines[k]) for k in dims]), np.int32),
            "line": (np.concatenate([market.lattice.lines[k] for k in dims]), np.float64),
        },
        "prices": {
            "subscriber": (np.concatenate([*members, np.empty(0)]), np.int32),
            "place": (np.repeat(place[whose, which], counts), np.int32),
            "price": (np.repeat(prices.paid[whose, which] / counts, counts), np.float64),
        },
    }
    charged, worth = np.flatnonzero(prices.load), prices.worth.reshape(-1)
    if len(charged):
        found["charges"] = {
            "broker": (charged, np.int32),
            "charge": (prices.load[charged], np.float64),
        }
    if worth.any():
        at = np.flatnonzero(worth)
        found["worths"] = {"place": (at, np.int32), "worth": (worth[at], np.float64)}
    return {
        name: pa.table({key: np.asarray(some).astype(kind) for key, (some, kind) in own.items()})
        for name, own in found.items()
    }
