"""The bound that prices prove: what subscribers pay at places, against what filters can gain.

Plain NumPy; the argument is in ``docs/certificates.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.assign.verify_cells import measure_cells
from fanwise.assign.verify_limits import Floats, Ints, Question
from fanwise.planning.proof import Proof, ProofError

MOST_STEPS = 4_000_000_000
"""What a certificate may ask for at most: boxes of the lattice, over all brokers."""
MOST_PRICE = 1e200
FEW, FEW_OF_MANY = {1: 15, 2: 10, 3: 9}, 8
"""Up to so many places where somebody pays at a broker, all ways to hold them are tried: by alpha,
and for more boxes."""


class Lattice(NamedTuple):
    """Lines of each axis, what lies at each place, and what travels there at least.

    A place is a number for each axis: 2k is line k, 2k + 1 the span after it.
    """

    lines: list[Floats]
    measure: Floats
    least: Floats


class Rows(NamedTuple):
    """What subscribers pay where."""

    subscriber: Ints
    place: Ints
    price: Floats


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
    rows = _read_prices(question, lattice, proof)
    charge = _read_amounts(proof, "charges", "broker", "charge", question.num_brokers, MOST_PRICE)
    worth = _read_amounts(proof, "worths", "place", "worth", lattice.measure.size, 1.0)
    pays = np.zeros(question.num_subscribers)
    np.add.at(pays, rows.subscriber, rows.price)
    worth = worth.reshape(lattice.measure.shape)
    total = float(pays.sum() + (worth * lattice.least).sum() - charge.sum())
    cost = (1.0 - worth) * lattice.measure
    for broker in _serving(question):
        may = np.zeros(question.num_subscribers, dtype=bool)
        may[question.row_of_pair[question.brokers == broker]] = True
        # Who pays no more than the charge for a place of the broker pays nothing here.
        fee = charge[broker] / question.limits[broker]
        part = np.where(pays > fee, 1.0 - fee / np.where(pays > fee, pays, 1.0), 0.0)
        net = rows.price * (part * may)[rows.subscriber]
        left = Rows(*(column[net > 0] for column in (rows.subscriber, rows.place, net)))
        total -= _most_gained(question, cost, left)
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
    if min(map(len, lines)) < 1:
        raise ProofError("proof/lattice.parquet must have lines of each axis")
    if question.cells is not None:  # events must be even between lines
        for k, own in enumerate(lines):
            sides = np.concatenate([question.cells.lo[:, k], question.cells.hi[:, k]])
            lines[k] = np.union1d(own, sides[(sides > own[0]) & (sides < own[-1])])
    counts = [2 * len(own) - 1 for own in lines]
    if np.prod([float(n) for n in counts]) * counts[0] * len(_serving(question)) > MOST_STEPS:
        raise ProofError("proof/lattice.parquet must have not so many lines")
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


def _read_prices(question: Question, lattice: Lattice, proof: Proof) -> Rows:
    """Return the rows of prices; raise unless places are within what is wanted."""
    table = proof.table("prices", {"subscriber": "id", "place": "id", "price": "number"})
    who, place = (table.column(name).to_numpy() for name in ("subscriber", "place"))
    price = table.column("price").to_numpy().astype(np.float64)
    if not np.isin(who, question.wanting).all():
        raise ProofError("proof/prices.parquet has somebody who is unknown or wants nothing")
    if not ((price >= 0) & (price <= MOST_PRICE)).all():
        raise ProofError(f"proof/prices.parquet must have prices from 0 to {MOST_PRICE:g}")
    if not ((place >= 0) & (place < lattice.measure.size)).all():
        raise ProofError("proof/prices.parquet has unknown places")
    at = np.unravel_index(place, lattice.measure.shape)
    for k, own in enumerate(lattice.lines):
        low, high = own[at[k] // 2], own[(at[k] + 1) // 2]
        if not ((question.lo[who, k] <= low) & (high <= question.hi[who, k])).all():
            raise ProofError("proof/prices.parquet has places outside of what is wanted")
    return Rows(who, place, price)


def _read_amounts(proof: Proof, name: str, key: str, value: str, size: int, most: float) -> Floats:
    """Return an amount for each id, 0 for those that are not listed."""
    amounts = np.zeros(size)
    if name in proof.tables:
        table = proof.table(name, {key: "id", value: "number"})
        at, amount = table.column(key).to_numpy(), table.column(value).to_numpy()
        if not ((at >= 0) & (at < size)).all():
            raise ProofError(f"proof/{name}.parquet has unknown {key}s")
        if len(np.unique(at)) != len(at):
            raise ProofError(f"proof/{name}.parquet has a {key} twice")
        if not ((amount >= 0) & (amount <= most)).all():
            raise ProofError(f"proof/{name}.parquet must have numbers from 0 to {most:g}")
        amounts[at] = amount
    return amounts


def _most_gained(question: Question, cost: Floats, left: Rows) -> float:
    """Return the most that a filter gains: what is paid in it less what it costs; no less."""
    places, which = np.unique(left.place, return_inverse=True)
    if len(places) <= FEW.get(question.alpha, FEW_OF_MANY):
        return _gain_of_few(cost, places, which, left, question.alpha)
    net = -cost
    net.reshape(-1)[places] += np.bincount(which, weights=left.price, minlength=len(places))
    return _boxes_of(question) * _largest_box(net)


def _gain_of_few(cost: Floats, places: Ints, which: Ints, left: Rows, alpha: int) -> float:
    """Return the most gained of few places, by trying which are held, and by which box each.

    Who pays at several places pays if all of them are held.
    """
    ways = np.zeros((1, 0), dtype=np.int64)  # the box of each place, from 1; 0 for none
    for _ in range(len(places)):
        boxes = np.minimum(ways.max(axis=1, initial=0) + 1, alpha) + 1
        rows = np.repeat(np.arange(len(ways)), boxes)
        choice = np.arange(len(rows)) - (np.cumsum(boxes) - boxes)[rows]
        ways = np.column_stack([ways[rows], choice])
    payers, whose = np.unique(left.subscriber, return_inverse=True)
    sets = np.zeros(len(payers), dtype=np.int64)
    np.bitwise_or.at(sets, whose, 1 << which)
    sets, kind = np.unique(sets, return_inverse=True)
    paid = np.bincount(kind[whose], weights=left.price, minlength=len(sets))
    held = (ways > 0) @ (1 << np.arange(len(places)))
    gains = ((held[:, None] & sets) == sets) @ paid
    before = np.pad(cost.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    sides = []
    for own in np.unravel_index(places, cost.shape):
        for box in range(1, min(alpha, len(places)) + 1):
            mine = ways == box
            first = np.where(mine, own, own.max()).min(axis=1)
            end = np.where(mine, own + 1, 0).max(axis=1)
            sides.append((first, np.maximum(end, first)))
    count = len(sides) // 2
    # What several boxes have in common is counted once: inclusion and exclusion.
    for some in range(1, 1 << count):
        chosen = [k for k in range(count) if some >> k & 1]
        (top, bottom), (west, east) = (
            (
                np.max([sides[axis * count + k][0] for k in chosen], axis=0),
                np.min([sides[axis * count + k][1] for k in chosen], axis=0),
            )
            for axis in range(2)
        )
        bottom, east = np.maximum(bottom, top), np.maximum(east, west)
        inner = before[bottom, east] - before[top, east] - before[bottom, west] + before[top, west]
        gains = gains + (-1.0) ** len(chosen) * inner
    return float(gains.max())


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
    return 1.0 if question.lo.shape[1] == 1 or question.alpha <= 3 else float(question.alpha)
