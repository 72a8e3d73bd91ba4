"""What the certificate of a selection proves, from the workload and the plan's parameters alone.

Plain NumPy in chunks, no kernel, nothing of the solver. Every content of the tables gives a valid
bound or an error: prices must lie between 0 and the weights, a set that reaches what a subscriber
needs says nothing, and a tree of cases has both sides of every topic it branches on. The page
on certificates has the formulas and why they hold.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.planning.proof import ProofError
from fanwise.select.verify_question import COUNTED, Question, blocks, read_question
from fanwise.select.verify_reach import ENOUGH, Case, all_selections, case_of
from fanwise.select.verify_together import lower_to_together, read_together

if TYPE_CHECKING:
    import pyarrow as pa

    from fanwise.planning.plan import Plan
    from fanwise.planning.proof import Proof
    from fanwise.workload.topic import TopicWorkload

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Sets = npt.NDArray[np.uint8]
Parts = list[npt.NDArray[np.uint8]]

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
        rule = proof.table(f"{prefix}rule", {"rule": "text"}).column("rule").to_pylist()
        return _bound_by_rule(question, rule)
    if f"{prefix}tree" in tables:
        return question.rounded(_bound_of_tree(question, proof, prefix))
    case = all_selections(question)
    if f"{prefix}prices" not in tables:
        return question.rounded(float(case.weight.sum()))
    price = _change_price(question, proof, f"{prefix}changes")
    prices = _numbers(proof.table(f"{prefix}prices", {"price": "number"}), "price")
    _check_prices(question, prices)
    parts, sets = _read_sets(question, proof, prefix)
    together = read_together(question, proof, f"{prefix}together")
    return question.rounded(_bound_of_case(question, case, prices, parts, sets, price, together))


def _bound_by_rule(question: Question, rule: list[str]) -> float:
    """Return a bound that needs no prices: all weights, the paper's, or that of topics alone."""
    case = all_selections(question)
    if rule == ["everybody"]:
        return question.rounded(float(case.weight.sum()))
    if rule == ["paper"]:
        bound = question.paper_bound()
        if bound is None:
            raise ProofError("the paper's bound does not hold with costs or weights")
        return bound
    if rule == ["alone"]:
        parts = [np.ones(len(question.weight), dtype=np.uint8)]
        price = question.change_price
        return question.rounded(_bound_of_case(question, case, question.weight, parts, None, price))
    raise ProofError("proof/rule.parquet must have one row: everybody, paper or alone")


def _bound_of_case(
    question: Question,
    case: Case,
    prices: Floats,
    parts: Parts,
    sets: Sets | None,
    change_price: Floats,
    together: npt.NDArray[np.int64] | None = None,
) -> float:
    """Return what prices prove of a case; who is out of reach pays nothing."""
    if case.is_empty:
        return -math.inf
    prices = np.where(case.weight > 0, prices, 0.0)
    paid_for, constants = _payments(question, prices, parts, sets)
    profit = _by_topic(question, paid_for)
    if together is not None:
        lower_to_together(question, case, prices, paid_for, constants, together, profit)
    is_priced = (prices > 0) & (question.demand > 0)
    remains = float(np.sum(case.weight) - np.sum(prices[is_priced]) + np.sum(constants))
    return _total(question, case, profit, remains, change_price)


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


def _change_price(question: Question, proof: Proof, name: str) -> Floats:
    """Return the price of a change: given, or the multiplier of their limit, or none."""
    if question.max_changes is None:
        return question.change_price
    if name not in proof.tables:
        return np.zeros(1)
    prices = _numbers(proof.table(name, {"price": "number"}), "price")
    if len(prices) != 1 or prices[0] < 0:
        raise ProofError(f"proof/{name}.parquet must have one price >= 0")
    return prices


def _payments(
    question: Question, prices: Floats, parts: Parts, sets: Sets | None
) -> tuple[Floats, Floats]:
    """Return what is paid for each pair, and what each subscriber gets back for constants."""
    paid_for = np.zeros(question.num_pairs)
    is_priced = (prices > 0) & (question.demand > 0)
    given_back = np.zeros(len(prices))
    total = sum((part.astype(np.uint16) for part in parts[1:]), parts[0].astype(np.uint16))
    slopes_of = _cover_slopes if question.is_binary else _gain_slopes
    for k, part in enumerate(parts):
        # Who has no parts at all takes the first set.
        rows = np.flatnonzero(is_priced & ((part > 0) | ((total == 0) & (k == 0))))
        paid = prices[rows] * np.where(
            total[rows] == 0, 1.0, part[rows] / np.maximum(total[rows], 1)
        )
        for first, last, topics, pairs, starts in blocks(question.indptr, question.indices, rows):
            inside = None if sets is None else (sets[pairs] >> np.uint8(k) & np.uint8(1)).view(bool)
            block = _Block(
                question.rates[topics],
                question.demand[rows[first:last]] * ENOUGH,
                question.received[rows[first:last]],
                starts,
            )
            slopes, constants = slopes_of(block, inside)
            slopes *= block.spread(paid[first:last])
            paid_for[pairs] += slopes
            if constants is not None:
                given_back[rows[first:last]] += paid[first:last] * constants
    return paid_for, given_back


def _by_topic(question: Question, paid_for: Floats) -> Floats:
    """Add up by topic what is paid for each pair."""
    profit = np.zeros(len(question.cost))
    for start in range(0, len(paid_for), COUNTED):
        own = slice(start, start + COUNTED)
        profit += np.bincount(question.indices[own], paid_for[own], minlength=len(profit))
    return profit


def _read_sets(question: Question, proof: Proof, prefix: str) -> tuple[Parts, Sets | None]:
    """Return the parts of sets in each subscriber's mix, and the sets that each pair is in."""
    table = proof.tables[f"{prefix}prices"]
    names = sorted(name for name in table.column_names if name != "price")
    if names != [f"part_{k}" for k in range(len(names))] or len(names) > MOST_SETS:
        raise ProofError("proof/prices.parquet has columns that are neither price nor parts")
    parts = [_bytes(proof.table(f"{prefix}prices", {name: "id"}), name) for name in names]
    parts = parts or [np.ones(len(question.weight), dtype=np.uint8)]
    if f"{prefix}sets" not in proof.tables:
        return parts, None
    sets = _bytes(proof.table(f"{prefix}sets", {"sets": "id"}), "sets")
    if len(sets) != question.num_pairs:
        raise ProofError("proof/sets.parquet must have a row for every pair")
    return parts, sets


def _bytes(table: pa.Table, column: str) -> npt.NDArray[np.uint8]:
    values: npt.NDArray[np.integer[Any]] = table.column(column).to_numpy()
    if values.dtype != np.uint8 and len(values) and (values.min() < 0 or values.max() > 255):
        raise ProofError(f"column {column!r} of a table of the proof must be within 0 to 255")
    return values.astype(np.uint8)


class _Block(NamedTuple):
    """Rates of the topics of some subscribers, one after the other, and what these need and get."""

    rates: Floats
    need: Floats
    received: Floats
    starts: npt.NDArray[np.int64]

    def spread(self, values: Floats) -> Floats:
        """Return a value of each subscriber once for each of its topics."""
        return np.repeat(values, np.diff(self.starts, append=len(self.rates)))

    def sums(self, pairs: npt.NDArray[np.int64], values: Floats) -> Floats:
        """Add up, by subscriber, values of some of the pairs."""
        rows = np.searchsorted(self.starts, pairs, side="right") - 1
        added = np.bincount(rows, weights=values, minlength=len(self.starts))
        return added.astype(np.float64, copy=False)


def _cover_slopes(block: _Block, inside: Flags | None) -> tuple[Floats, Floats | None]:
    """Return min(1, rate / what the set falls short by) outside of it, 0 inside.

    A set that reaches what is needed says only that satisfaction is at most 1, a constant.
    """
    short, reaches = block.need, None
    if inside is not None:
        pairs = np.flatnonzero(inside)
        short = block.need - block.sums(pairs, block.rates[pairs])
        reaches = short <= 0
        short[reaches] = np.inf
    slopes = block.rates / block.spread(short)
    np.minimum(slopes, 1.0, out=slopes)
    if inside is not None:
        slopes[inside] = 0.0
    return slopes, None if reaches is None or not reaches.any() else reaches.astype(np.float64)


def _gain_slopes(block: _Block, inside: Flags | None) -> tuple[Floats, Floats | None]:
    """Return gains beyond a set outside of it, gains last of all inside, and the constants."""
    need = block.spread(block.need)
    share = block.rates / need
    pairs = np.flatnonzero(inside) if inside is not None else np.empty(0, dtype=np.int64)
    if not len(pairs):
        return np.minimum(share, 1.0, out=share), None
    base = np.minimum(1.0, block.sums(pairs, share[pairs]))
    slopes = np.minimum(share, block.spread(1.0 - base))  # min(1, f(S) + share) - f(S)
    last = 1.0 - block.spread(block.received)[pairs] / need[pairs] + share[pairs]
    slopes[pairs] = last = np.maximum(last, 0.0)
    return slopes, np.maximum(0.0, base - block.sums(pairs, last))


def _total(question: Question, case: Case, profit: Floats, remains: float, price: Floats) -> float:
    """Add up the bound of a case: what remains of weights, fixed topics, changes, a knapsack."""
    served, dropped, room = case.served, case.dropped, case.room
    if (price > 0).any():
        was = question.was_served
        profit = profit + np.where(was, price, -price)
        remains -= float(np.sum(np.broadcast_to(price, was.shape)[was]))
        if question.max_changes is not None:
            remains += float(price[0]) * question.max_changes
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


def _bound_of_tree(question: Question, proof: Proof, prefix: str) -> float:
    """Return the largest bound of the leaves of a tree; it covers every selection."""
    topics = proof.table(f"{prefix}tree", {"topic": "id"}).column("topic").to_numpy()
    num_leaves = int(np.count_nonzero(topics < 0))
    leaves = proof.table(f"{prefix}leaves", {"price": "number"})
    prices = _numbers(leaves, "price")
    if len(topics) != 2 * num_leaves - 1 or topics.max() >= len(question.cost):
        raise ProofError("proof/tree.parquet is no tree of topics")
    many = len(question.weight)
    if len(prices) != num_leaves * many:
        raise ProofError("proof/leaves.parquet must have a price for every leaf and subscriber")
    change_prices = _leaf_changes(question, proof, f"{prefix}changes", num_leaves)
    nothing = np.zeros(len(question.cost), dtype=bool)
    left = [(nothing, nothing)]
    bound, leaf = -math.inf, 0
    for topic in topics.tolist():
        if not left:
            raise ProofError("proof/tree.parquet goes on after its last leaf")
        served, dropped = left.pop()
        if topic >= 0:
            if served[topic] or dropped[topic]:
                raise ProofError(f"proof/tree.parquet branches twice on topic {topic}")
            with_it, without = served.copy(), dropped.copy()
            with_it[topic] = without[topic] = True
            left += [(served, without), (with_it, dropped)]
            continue
        case, own = case_of(question, served, dropped), slice(leaf * many, (leaf + 1) * many)
        _check_prices(question, prices[own])
        inside = case.served[question.indices].view(np.uint8)  # everybody's set: what is served
        parts, price = [np.ones(many, dtype=np.uint8)], change_prices[leaf]
        bound = max(bound, _bound_of_case(question, case, prices[own], parts, inside, price))
        leaf += 1
    if left:
        raise ProofError("proof/tree.parquet ends before its last leaf")
    return bound if question.change_price.any() else max(bound, 0.0)


def _leaf_changes(question: Question, proof: Proof, name: str, num_leaves: int) -> list[Floats]:
    """Return the price of a change in each leaf."""
    if question.max_changes is None:
        return [question.change_price] * num_leaves
    if name not in proof.tables:
        return [np.zeros(1)] * num_leaves
    prices = _numbers(proof.table(name, {"price": "number"}), "price")
    if len(prices) != num_leaves or (prices < 0).any():
        raise ProofError(f"proof/{name}.parquet must have a price >= 0 for every leaf")
    return list(prices.reshape(-1, 1))
