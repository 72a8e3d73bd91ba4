"""What the certificate of a selection proves, from the workload and the plan's parameters alone.

Plain NumPy in chunks, no kernel, nothing of the solver. Every content of the tables gives a valid
bound or an error: prices must lie between 0 and the weights, sets that reach what a subscriber
needs count as empty, and a tree of cases has both sides of every topic it branches on. The page
on certificates has the formulas and why they hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fanwise.planning.proof import ProofError
from fanwise.select.verify_question import Question, read_question, sum_rows_of
from fanwise.workload.topic import RELATIVE_TOLERANCE

if TYPE_CHECKING:
    import pyarrow as pa

    from fanwise.planning.plan import Plan
    from fanwise.planning.proof import Proof
    from fanwise.workload.topic import TopicWorkload

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

CHUNK = 1 << 17
ENOUGH = 1 - RELATIVE_TOLERANCE - 1e-12
"""Who has less than this share of its demand is not satisfied, however sums are rounded."""
MOST_SETS = 8
MOST_SOLVED_PAIRS = {"exact": 200_000, "best": 40_000}


def proven_bound(workload: TopicWorkload, plan: Plan) -> float:
    """Return the bound on the objective that the certificate of a plan proves.

    Raises
    ------
    ProofError
        For tables that are malformed.
    """
    question = read_question(workload, plan)
    return evaluate(question, plan.proof, "")


def may_rest_on_solver(workload: TopicWorkload, plan: Plan) -> bool:
    """Whether a plan's bound may be the word of a solver: where one is asked at all."""
    return workload.num_pairs <= MOST_SOLVED_PAIRS.get(plan.algorithm, -1)


def evaluate(question: Question, proof: Proof | None, prefix: str) -> float:
    """Return what tables prove of a question; ``prefix`` tells its tables from others."""
    if proof is None:
        raise ProofError("there is no proof")
    tables = proof.tables
    if f"{prefix}rule" in tables:
        return _paper_bound(question, proof.table(f"{prefix}rule", {"rule": "text"}))
    if f"{prefix}tree" in tables:
        return question.rounded(_bound_of_tree(question, proof, prefix))
    if f"{prefix}prices" not in tables:
        return question.rounded(float(question.weight.sum()))
    price = _change_price(question, proof, f"{prefix}changes")
    prices = _numbers(proof.table(f"{prefix}prices", {"price": "number"}), "price")
    _check_prices(question, prices)
    profit, constant = _profits(question, proof, prefix, prices)
    nobody = np.zeros(len(question.cost), dtype=bool)
    bound = _total(question, profit, constant, price, nobody, nobody)
    return question.rounded(bound)


def _paper_bound(question: Question, table: pa.Table) -> float:
    if table.column("rule").to_pylist() != ["paper"]:
        raise ProofError("proof/rule.parquet must have one row, 'paper'")
    if question.paper_bound is None:
        raise ProofError("the paper's bound does not hold with costs or weights")
    return question.paper_bound


def _numbers(table: pa.Table, column: str) -> Floats:
    values: Floats = table.column(column).to_numpy().astype(np.float64)
    if not np.isfinite(values).all():
        raise ProofError(f"column {column!r} of a table of the proof has a number that is none")
    return values


def _check_prices(question: Question, prices: Floats) -> None:
    if len(prices) != len(question.weight):
        raise ProofError("proof/prices.parquet must have a row for every subscriber")
    if (prices < 0).any() or (prices > question.weight).any():
        raise ProofError("prices must lie between 0 and the weight of the subscriber")


def _change_price(question: Question, proof: Proof, name: str) -> float:
    """Return the price of a change: given, or the multiplier of their limit, or none."""
    if question.max_changes is None:
        return question.change_price
    if name not in proof.tables:
        return 0.0
    prices = _numbers(proof.table(name, {"price": "number"}), "price")
    if len(prices) != 1 or prices[0] < 0:
        raise ProofError(f"proof/{name}.parquet must have one price >= 0")
    return float(prices[0])


def _profits(question: Question, proof: Proof, prefix: str, prices: Floats) -> tuple[Floats, float]:
    """Return what topics are paid, and what remains of the weights: sum of w - u (1 - c)."""
    parts, sets = _read_sets(question, proof, prefix)
    profit = np.zeros(len(question.cost))
    remains = 0.0
    priced = np.flatnonzero((prices > 0) & (question.demand > 0))
    remains += float(np.sum(question.weight)) - float(np.sum(prices[priced]))
    mix = _mix_covers if question.is_binary else _mix_gains
    for rows, topics, places, own in _chunks(question, priced):
        inside = None if sets is None else sets[places]
        slopes, constants = mix(
            question.rates[topics], own, question.demand[rows] * ENOUGH, inside, parts[rows]
        )
        paid = prices[rows]
        profit += np.bincount(topics, weights=slopes * paid[own], minlength=len(profit))
        if constants is not None:
            remains += float(np.dot(paid, constants))
    return profit, remains


def _read_sets(
    question: Question, proof: Proof, prefix: str
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8] | None]:
    """Return the parts of sets in each subscriber's mix, and the sets that each pair is in."""
    table = proof.tables[f"{prefix}prices"]
    names = sorted(name for name in table.column_names if name != "price")
    if names != [f"part_{k}" for k in range(len(names))] or len(names) > MOST_SETS:
        raise ProofError("proof/prices.parquet has columns that are neither price nor parts")
    parts = np.ones((len(question.weight), max(1, len(names))), dtype=np.uint8)
    for k, name in enumerate(names):
        parts[:, k] = _bytes(proof.table(f"{prefix}prices", {name: "id"}), name)
    if f"{prefix}sets" not in proof.tables:
        return parts, None
    sets = _bytes(proof.table(f"{prefix}sets", {"sets": "id"}), "sets")
    if len(sets) != question.num_pairs:
        raise ProofError("proof/sets.parquet must have a row for every pair")
    return parts, sets


def _bytes(table: pa.Table, column: str) -> npt.NDArray[np.uint8]:
    values = table.column(column).to_numpy()
    if values.dtype != np.uint8 and len(values) and (values.min() < 0 or values.max() > 255):
        raise ProofError(f"column {column!r} of a table of the proof must be within 0 to 255")
    return values.astype(np.uint8)


def _chunks(
    question: Question, chosen: npt.NDArray[np.int64]
) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield chosen subscribers, their topics, the places of these pairs, and whose each one is."""
    indptr, indices = question.indptr, question.indices
    degree = indptr[chosen + 1] - indptr[chosen]
    ends = np.cumsum(degree)
    first = 0
    while first < len(chosen):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + CHUNK, side="right")))
        rows, many = chosen[first:last], degree[first:last]
        own = np.repeat(np.arange(last - first), many)
        low, high = int(indptr[rows[0]]), int(indptr[rows[-1] + 1])
        places: Any = slice(low, high)
        if high - low != len(own):  # somebody in between has no price
            starts = indptr[rows] - np.append(0, ends[first : last - 1] - before)
            places = np.arange(len(own)) + np.repeat(starts, many)
        yield rows, indices[places], places, own
        first = last


def _mix_covers(
    rates: Floats, own: Any, need: Floats, sets: Any, parts: npt.NDArray[np.uint8]
) -> tuple[Floats, None]:
    """Return coefficients min(1, rate / what the set falls short by) outside of it, mixed."""
    slopes = np.zeros(len(rates))
    shares = _shares(parts)
    for k in range(parts.shape[1]):
        pairs, numbers = _used(shares[:, k], own)
        rate, mine = rates[pairs], own[pairs]
        short, is_inside = need, None
        if sets is not None:
            is_inside = (sets[pairs] >> k & 1).astype(bool)
            got = sum_rows_of(np.where(is_inside, rate, 0.0), mine, len(need))
            reaches = got >= need
            if reaches.any():  # no such inequality: as if the set were empty
                is_inside &= ~reaches[mine]
            short = np.where(reaches, need, need - got)
        slope = np.minimum(1.0, rate / short[mine])
        if is_inside is not None:
            slope[is_inside] = 0.0
        if numbers is not None:
            slope *= numbers[mine]
        slopes[pairs] += slope
    return slopes, None


def _mix_gains(
    rates: Floats, own: Any, need: Floats, sets: Any, parts: npt.NDArray[np.uint8]
) -> tuple[Floats, Floats]:
    """Return coefficients and constants of gains beyond a set, mixed."""
    slopes, constants = np.zeros(len(rates)), np.zeros(len(need))
    shares = _shares(parts)
    for k in range(parts.shape[1]):
        pairs, numbers = _used(shares[:, k], own)
        mine = own[pairs]
        share = rates[pairs] / need[mine]
        if sets is None:
            slope = np.minimum(1.0, share)
        else:
            is_inside = (sets[pairs] >> k & 1).astype(bool)
            total = sum_rows_of(share, mine, len(need))
            inside = sum_rows_of(np.where(is_inside, share, 0.0), mine, len(need))
            base = np.minimum(1.0, inside)
            gain = np.minimum(1.0, inside[mine] + share) - base[mine]
            last = np.minimum(1.0, total)[mine] - np.minimum(1.0, total[mine] - share)
            slope = np.where(is_inside, last, gain)
            held = sum_rows_of(np.where(is_inside, last, 0.0), mine, len(need))
            constant = np.maximum(0.0, base - held)
            constants += constant if numbers is None else constant * numbers
        if numbers is not None:
            slope *= numbers[mine]
        slopes[pairs] += slope
    return slopes, constants


def _shares(parts: npt.NDArray[np.uint8]) -> Floats:
    """Return parts as shares of one; who has none takes the first set alone."""
    total = parts.sum(axis=1, dtype=np.int64)
    shares = parts / np.maximum(total, 1)[:, None]
    shares[total == 0, 0] = 1.0
    return shares


def _used(shares: Floats, own: Any) -> tuple[Any, Floats | None]:
    """Return the pairs of those who use a set, and the shares of the set; None: all take it."""
    if (shares == 1.0).all():
        return slice(None), None
    is_used = shares > 0
    return slice(None) if is_used.all() else np.flatnonzero(is_used[own]), shares


def _total(
    question: Question, profit: Floats, remains: float, price: float, served: Flags, dropped: Flags
) -> float:
    """Add up the bound of a case: what remains of weights, fixed topics, changes, a knapsack."""
    served, dropped = served | question.is_pinned, dropped | question.is_excluded
    if (served & dropped).any():
        return -math.inf
    room = question.capacity * (1 + RELATIVE_TOLERANCE) - float(question.cost[served].sum())
    if room < 0:
        return -math.inf
    if price > 0:
        profit = profit + np.where(question.was_served, price, -price)
        allowed = question.max_changes or 0
        remains += price * (allowed - int(np.count_nonzero(question.was_served)))
    free = np.flatnonzero(~served & ~dropped & (profit > 0))
    cost, gain = question.cost[free], profit[free]
    total = remains + float(np.sum(profit[served])) + float(np.sum(gain[cost <= 0]))
    cost, gain = cost[cost > 0], gain[cost > 0]
    ratio = gain / cost
    order = np.argsort(-ratio, kind="stable")
    spent = np.cumsum(cost[order])
    many = int(np.searchsorted(spent, room, side="right"))
    total += float(np.sum(gain[order[:many]]))
    if many < len(order):
        left = room - (float(spent[many - 1]) if many else 0.0)
        total += float(ratio[order[many]]) * max(0.0, left)
    return total


@dataclass
class _Case:
    """Topics that a branch of the tree serves, and does not."""

    served: Flags
    dropped: Flags


def _bound_of_tree(question: Question, proof: Proof, prefix: str) -> float:
    """Return the largest bound of the leaves of a tree; it covers every selection."""
    topics = proof.table(f"{prefix}tree", {"topic": "id"}).column("topic").to_numpy()
    num_leaves = int(np.count_nonzero(topics < 0))
    leaves = proof.table(f"{prefix}leaves", {"price": "number"})
    prices = _numbers(leaves, "price")
    if len(topics) != 2 * num_leaves - 1 or topics.max() >= len(question.cost):
        raise ProofError("proof/tree.parquet is no tree of topics")
    if len(prices) != num_leaves * len(question.weight):
        raise ProofError("proof/leaves.parquet must have a price for every leaf and subscriber")
    change_prices = _leaf_changes(question, proof, f"{prefix}changes", num_leaves)
    nothing = np.zeros(len(question.cost), dtype=bool)
    left = [_Case(nothing, nothing)]
    bound, leaf = -math.inf, 0
    for topic in topics.tolist():
        if not left:
            raise ProofError("proof/tree.parquet goes on after its last leaf")
        case = left.pop()
        if topic >= 0:
            if case.served[topic] or case.dropped[topic]:
                raise ProofError(f"proof/tree.parquet branches twice on topic {topic}")
            with_it, without = case.served.copy(), case.dropped.copy()
            with_it[topic] = without[topic] = True
            left += [_Case(case.served, without), _Case(with_it, case.dropped)]
            continue
        many = len(question.weight)
        own = prices[leaf * many : (leaf + 1) * many]
        bound = max(bound, _bound_of_case(question, case, own, change_prices[leaf]))
        leaf += 1
    if left:
        raise ProofError("proof/tree.parquet ends before its last leaf")
    return max(bound, 0.0) if question.change_price == 0 else bound


def _leaf_changes(question: Question, proof: Proof, name: str, num_leaves: int) -> Floats:
    if question.max_changes is None:
        return np.full(num_leaves, question.change_price)
    if name not in proof.tables:
        return np.zeros(num_leaves)
    prices = _numbers(proof.table(name, {"price": "number"}), "price")
    if len(prices) != num_leaves or (prices < 0).any():
        raise ProofError(f"proof/{name}.parquet must have a price >= 0 for every leaf")
    return prices


def _bound_of_case(question: Question, case: _Case, prices: Floats, change_price: float) -> float:
    """Return the bound of one leaf: what its served topics give is known, the rest is priced."""
    _check_prices(question, prices)
    served, dropped = case.served | question.is_pinned, case.dropped | question.is_excluded
    if question.max_changes is not None:
        was = question.was_served
        if np.count_nonzero(served & ~was) + np.count_nonzero(dropped & was) > question.max_changes:
            return -math.inf
    profit, remains = np.zeros(len(question.cost)), 0.0
    everybody = np.flatnonzero(question.demand > 0)
    for rows, topics, _, own in _chunks(question, everybody):
        need, rate = question.demand[rows] * ENOUGH, question.rates[topics]
        got = sum_rows_of(np.where(served[topics], rate, 0.0), own, len(rows))
        is_full = got >= need
        short = np.where(is_full, 1.0, need - got)
        weight = question.weight[rows]
        if question.is_binary:
            constant = is_full.astype(np.float64)
            slope = np.minimum(1.0, rate / short[own])
        else:
            constant = np.minimum(1.0, got / need)
            slope = np.minimum(rate, short[own]) / need[own]
        price = np.where(is_full, 0.0, prices[rows])
        remains += float(np.sum(weight - price * (1.0 - constant)))
        paid = np.where(served[topics], 0.0, slope * price[own])
        profit += np.bincount(topics, weights=paid, minlength=len(profit))
    return _total(question, profit, remains, change_price, served, dropped)
