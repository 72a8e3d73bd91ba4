"""The bound that prices prove: what subscribers pay at brokers, against what rectangles can gain.

Plain NumPy; the argument is in ``docs/certificates.md``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.assign.verify_limits import Floats, Ints, Question
from fanwise.planning.proof import Proof, ProofError

MOST_STEPS = 200_000_000
"""What a certificate may ask for at most: runs of columns over all spans of rows."""
MOST_PRICE = 1e200


def bound_by_prices(question: Question, proof: Proof) -> float:
    """Return what the leaves carry at least, by prices; 0 where the certificate has none."""
    if "prices" not in proof.tables:
        return 0.0
    if question.lo.shape[1] > 2:
        raise ProofError("proof/prices.parquet proves nothing beyond the plane")
    table = proof.table("prices", {"subscriber": "id", "broker": "id", "price": "number"})
    who, where = (table.column(name).to_numpy() for name in ("subscriber", "broker"))
    price = table.column("price").to_numpy().astype(np.float64)
    _check(question, who, where, price)
    charge = _read_charges(question, proof)
    kinds, kind_of_row = np.unique(who, return_inverse=True)
    members = _count_alike(question, kinds)
    pays: dict[tuple[int, int], float] = {
        (int(k), int(b)): p for k, b, p in zip(kind_of_row, where, price.tolist(), strict=True)
    }
    if len(pays) != len(price):
        raise ProofError("proof/prices.parquet has a pair twice")
    total = -float(charge.sum())
    for kind, subscriber in enumerate(kinds):
        open_brokers = [
            b for b in question.allowed(int(subscriber)).tolist() if _is_open(question, b)
        ]
        fees = [
            pays.get((kind, b), 0.0) + charge[b] * members[kind] / float(question.limits[b])
            for b in open_brokers
        ]
        if not fees:
            raise ProofError(f"proof/prices.parquet: nobody may serve subscriber {subscriber}")
        total += min(fees)
    middle = (question.lo[who] + question.hi[who]) / 2
    for broker in np.unique(where):
        mine = where == broker
        total -= question.alpha * _largest_gain(question, middle[mine], price[mine])
    return total / _sum_over_union(question)


def _is_open(question: Question, broker: int) -> bool:
    return bool(question.limits[broker] > 0)


def _check(question: Question, who: Ints, where: Ints, price: Floats) -> None:
    if not np.isin(who, question.wanting).all():
        raise ProofError("proof/prices.parquet has somebody who is unknown or wants nothing")
    if not ((where >= 0) & (where < question.num_brokers)).all():
        raise ProofError("proof/prices.parquet has unknown brokers")
    if not ((price >= 0) & (price <= MOST_PRICE)).all():
        raise ProofError(f"proof/prices.parquet must have prices from 0 to {MOST_PRICE:g}")


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
    row = np.repeat(np.arange(question.num_subscribers), np.diff(question.indptr))
    bits[row, question.brokers] = True
    sides = np.hstack([question.lo, question.hi]) + 0.0  # -0.0 is 0.0
    key = np.hstack([np.packbits(bits, axis=1), np.ascontiguousarray(sides).view(np.uint8)])
    rows = np.ascontiguousarray(key).view(f"V{key.shape[1]}").reshape(-1)
    _, kind, count = np.unique(rows, return_inverse=True, return_counts=True)
    if len(np.unique(kind[kinds])) != len(kinds):
        raise ProofError("proof/prices.parquet has two subscribers who are alike")
    return count[kind[kinds]]


def _largest_gain(question: Question, points: Floats, price: Floats) -> float:
    """Return the most that points in a rectangle pay beyond its measure, over all rectangles.

    Those spanned by points are enough. For every span of rows, the best run of columns: what they
    pay, less what lies between them.
    """
    if points.shape[1] == 1:
        points = np.hstack([points, np.zeros_like(points)])
    columns, column = np.unique(points[:, 0], return_inverse=True)
    rows, row = np.unique(points[:, 1], return_inverse=True)
    if len(rows) * len(rows) * len(columns) > MOST_STEPS:
        raise ProofError("proof/prices.parquet has too many points at a broker")
    paid = np.zeros((len(rows), len(columns)))
    np.add.at(paid, (row, column), price)
    strips = _strips(question, rows, columns)
    best = 0.0
    for first in range(len(rows)):
        pays = np.cumsum(paid[first:], axis=0)
        between = np.cumsum(strips[first : len(rows) - 1], axis=0)
        costs = np.zeros_like(pays)
        costs[1:, 1:] = np.cumsum(between, axis=1)
        if question.lo.shape[1] == 1:
            costs[:, 1:] = np.cumsum(strips[0])
        ends = np.cumsum(pays, axis=1) - costs
        starts = np.minimum.accumulate(ends - pays, axis=1)
        best = max(best, float((ends - starts).max()))
    return best


def _strips(question: Question, rows: Floats, columns: Floats) -> npt.NDArray[np.float64]:
    """Return the measure between neighbouring rows and columns; on a line, between columns."""
    on_a_line = question.lo.shape[1] == 1
    height = np.ones(1) if on_a_line else np.diff(rows)
    if question.cells is None:
        return np.multiply.outer(height, np.diff(columns))
    total = np.zeros((len(height), len(columns) - 1))
    for low, high, rate in zip(*question.cells, strict=True):
        density = rate / (high - low).prod()
        tall = height if on_a_line else np.diff(np.clip(rows, low[1], high[1]))
        total += density * np.multiply.outer(tall, np.diff(np.clip(columns, low[0], high[0])))
    return total


def _sum_over_union(question: Question) -> float:
    """Return how many times their union the least sum of alpha rectangles can measure."""
    if question.lo.shape[1] == 1:
        return 1.0
    if question.cells is None:
        return 4 / 3 * (question.alpha // 2) + question.alpha % 2
    return float(question.alpha)
