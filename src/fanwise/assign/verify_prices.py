"""The bound that prices prove: what subscribers pay at places, against what filters can gain.

Plain NumPy; the argument is in ``docs/certificates.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.assign.verify_cells import measure_cells
from fanwise.assign.verify_limits import Floats, Ints, Question
from fanwise.planning.proof import Proof, ProofError

MOST_STEPS = 2_000_000_000
"""What a certificate may ask for at most: boxes of the lattice, over all brokers."""
MOST_PRICE = 1e200


class Lattice(NamedTuple):
    """Lines of each axis, what lies at each place, and what travels there at least.

    A place is a number for each axis: 2k is line k, 2k + 1 the span after it.
    """

    lines: list[Floats]
    measure: Floats
    least: Floats


def bound_by_prices(
    question: Question, proof: Proof, grid: list[Floats], measures: Floats, needed: Ints
) -> float:
    """Return what the leaves carry at least, by prices; 0 where the certificate has none.

    ``measures`` and ``needed`` are of the cells of the grid: what lies there, and how many leaves
    it takes.
    """
    if "prices" not in proof.tables:
        return 0.0
    if question.lo.shape[1] > 2:
        raise ProofError("proof/prices.parquet proves nothing beyond the plane")
    lattice = _read_lattice(question, proof, grid, measures * needed)
    table = proof.table(
        "prices", {"subscriber": "id", "broker": "id", "place": "id", "price": "number"}
    )
    who, where, place = (
        table.column(name).to_numpy() for name in ("subscriber", "broker", "place")
    )
    price = table.column("price").to_numpy().astype(np.float64)
    _check(question, lattice, who, where, place, price)
    charge = _read_charges(question, proof)
    kinds, kind_of_row = np.unique(who, return_inverse=True)
    members = _count_alike(question, kinds)
    pays = np.zeros((len(kinds), question.num_brokers))
    np.add.at(pays, (kind_of_row, where), price)
    worth = _read_worths(lattice, proof)
    total = float((worth * lattice.least).sum() - charge.sum())
    for kind, subscriber in enumerate(kinds):
        may = question.allowed(int(subscriber))
        may = may[question.limits[may] > 0]
        if len(may) == 0:
            raise ProofError(f"proof/prices.parquet: nobody may serve subscriber {subscriber}")
        total += float((pays[kind, may] + charge[may] * members[kind] / question.limits[may]).min())
    base = (worth - 1.0) * lattice.measure
    for broker in _serving(question):
        net, mine = base.copy(), where == broker
        np.add.at(net.reshape(-1), place[mine], price[mine])
        total -= _boxes_of(question) * _largest_box(net)
    return total / _sum_over_union(question)


def _serving(question: Question) -> list[int]:
    """Return the brokers that may serve anybody who wants something; no other needs a filter."""
    wants = np.zeros(question.num_subscribers, dtype=bool)
    wants[question.wanting] = True
    found = np.unique(question.brokers[wants[question.row_of_pair]])
    return [int(b) for b in found if question.limits[b] > 0]


def _read_lattice(question: Question, proof: Proof, grid: list[Floats], travels: Floats) -> Lattice:
    """Return the lattice, given what travels at least in each cell of the grid."""
    table = proof.table("lattice", {"axis": "id", "line": "number"})
    axis, line = table.column("axis").to_numpy(), table.column("line").to_numpy()
    dims = question.lo.shape[1]
    if not ((axis >= 0) & (axis < dims)).all() or not np.isfinite(line).all():
        raise ProofError("proof/lattice.parquet must have lines of the axes of events")
    lines = [np.unique(line[axis == k].astype(np.float64)) for k in range(dims)]
    counts = [2 * len(own) - 1 for own in lines]
    if (
        min(counts) < 1
        or np.prod([float(n) for n in counts]) * counts[0] * len(_serving(question)) > MOST_STEPS
    ):
        raise ProofError("proof/lattice.parquet must have lines of each axis, and not so many")
    if question.cells is not None:
        for k, own in enumerate(lines):
            sides = np.concatenate([question.cells.lo[:, k], question.cells.hi[:, k]])
            if not np.isin(sides[(sides > own[0]) & (sides < own[-1])], own).all():
                raise ProofError("proof/lattice.parquet must have all sides of cells of events")
    travels = travels.reshape([len(own) - 1 for own in grid])
    inner = np.zeros([len(own) - 1 for own in lines])
    ranks = [
        np.searchsorted(own, cuts[:-1], "right") - 1 for own, cuts in zip(lines, grid, strict=True)
    ]
    ends = [
        np.searchsorted(own, cuts[1:], "left") - 1 for own, cuts in zip(lines, grid, strict=True)
    ]
    # Only cells of the grid that lie in one of the lattice.
    fits = [
        np.flatnonzero((a == b) & (a >= 0) & (a < len(own) - 1))
        for a, b, own in zip(ranks, ends, lines, strict=True)
    ]
    np.add.at(
        inner, np.ix_(*(a[f] for a, f in zip(ranks, fits, strict=True))), travels[np.ix_(*fits)]
    )
    spans = tuple(slice(1, None, 2) for _ in lines)
    measure, least = np.zeros(counts), np.zeros(counts)
    measure[spans] = measure_cells(lines, question.cells).reshape(inner.shape)
    least[spans] = inner
    shape = (counts[0], -1)
    return Lattice(lines, measure.reshape(shape), least.reshape(shape))


def _read_worths(lattice: Lattice, proof: Proof) -> Floats:
    """Return what each place is worth for each unit of what travels there."""
    worth = np.zeros(lattice.measure.size)
    if "worths" in proof.tables:
        table = proof.table("worths", {"place": "id", "worth": "number"})
        place, value = table.column("place").to_numpy(), table.column("worth").to_numpy()
        if not ((place >= 0) & (place < len(worth))).all():
            raise ProofError("proof/worths.parquet has unknown places")
        if len(np.unique(place)) != len(place):
            raise ProofError("proof/worths.parquet has a place twice")
        if not ((value >= 0) & (value <= MOST_PRICE)).all():
            raise ProofError(f"proof/worths.parquet must have numbers from 0 to {MOST_PRICE:g}")
        worth[place] = value
    return worth.reshape(lattice.measure.shape)


def _check(
    question: Question, lattice: Lattice, who: Ints, where: Ints, place: Ints, price: Floats
) -> None:
    """Raise unless rows have people, brokers, prices, and places within what is wanted."""
    if not np.isin(who, question.wanting).all():
        raise ProofError("proof/prices.parquet has somebody who is unknown or wants nothing")
    if not ((where >= 0) & (where < question.num_brokers)).all():
        raise ProofError("proof/prices.parquet has unknown brokers")
    if not ((price >= 0) & (price <= MOST_PRICE)).all():
        raise ProofError(f"proof/prices.parquet must have prices from 0 to {MOST_PRICE:g}")
    if not ((place >= 0) & (place < lattice.measure.size)).all():
        raise ProofError("proof/prices.parquet has unknown places")
    at = np.unravel_index(place, lattice.measure.shape)
    for k, own in enumerate(lattice.lines):
        low, high = own[at[k] // 2], own[(at[k] + 1) // 2]
        if not ((question.lo[who, k] <= low) & (high <= question.hi[who, k])).all():
            raise ProofError("proof/prices.parquet has places outside of what is wanted")


def _read_charges(question: Question, proof: Proof) -> Floats:
    """Return what each broker charges for being full."""
    charge = np.zeros(question.num_brokers)
    if "charges" in proof.tables:
        table = proof.table("charges", {"broker": "id", "charge": "number"})
        broker, value = table.column("broker").to_numpy(), table.column("charge").to_numpy()
        if not ((broker >= 0) & (broker < len(charge))).all():
            raise ProofError("proof/charges.parquet has unknown brokers")
        if len(np.unique(broker)) != len(broker):
            raise ProofError("proof/charges.parquet has a broker twice")
        if not ((value >= 0) & (value <= MOST_PRICE)).all():
            raise ProofError(f"proof/charges.parquet must have charges from 0 to {MOST_PRICE:g}")
        charge[broker] = value
    return charge


def _count_alike(question: Question, kinds: Ints) -> Ints:
    """Return how many want the same rectangle and may use the same brokers as each of some."""
    bits = np.zeros((question.num_subscribers, question.num_brokers), dtype=bool)
    bits[question.row_of_pair, question.brokers] = True
    sides = np.hstack([question.lo, question.hi]) + 0.0  # -0.0 is 0.0
    key = np.hstack([np.packbits(bits, axis=1), np.ascontiguousarray(sides).view(np.uint8)])
    rows = np.ascontiguousarray(key).view(f"V{key.shape[1]}").reshape(-1)
    _, kind, count = np.unique(rows, return_inverse=True, return_counts=True)
    if len(np.unique(kind[kinds])) != len(kinds):
        raise ProofError("proof/prices.parquet has two subscribers who are alike")
    return count[kind[kinds]]


def _largest_box(net: Floats) -> float:
    """Return the most that a box of a matrix sums up to, or 0."""
    best = 0.0
    for first in range(len(net)):
        ends = np.cumsum(np.cumsum(net[first:], axis=0), axis=1)
        before = np.hstack([np.zeros((len(ends), 1)), ends[:, :-1]])
        best = max(best, float((ends - np.minimum.accumulate(before, axis=1)).max()))
    return best


def _boxes_of(question: Question) -> int:
    """Return how many boxes that do not overlap a filter can be cut into, or has from four on."""
    if question.lo.shape[1] == 1 or question.alpha > 3:
        return question.alpha
    return (1, 3, 5)[question.alpha - 1]


def _sum_over_union(question: Question) -> float:
    """Return how many times the union of a filter what is bounded can be."""
    if question.lo.shape[1] == 1 or question.alpha <= 3:
        return 1.0
    if question.cells is None:
        return 4 / 3 * (question.alpha // 2) + question.alpha % 2
    return float(question.alpha)
