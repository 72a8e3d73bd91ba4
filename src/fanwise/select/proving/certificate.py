"""Certificates of select: prices of subscribers and the sets of topics behind their inequalities.

What a certificate proves is computed here from the very numbers that it stores, in double
precision, so that whoever evaluates its tables gets the same (docs/certificates.md has the
mathematics; :mod:`fanwise.select.verify_proof` evaluates without any of this code). Tables that
would be larger than allowed keep fewer sets of each subscriber.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel
from fanwise.arrays.tolerance import most_within
from fanwise.planning.problem import Bound
from fanwise.planning.proof import Proof
from fanwise.select.problem import Selection
from fanwise.select.relaxing.gain_cuts import find_gains, mix_row
from fanwise.select.relaxing.inequalities import ENOUGH, Parts, Sets
from fanwise.select.relaxing.knapsack import FixedTopics, Prices, fractional_knapsack
from fanwise.select.relaxing.relaxation import Hints
from fanwise.select.rounding import claimed

Rule = Literal["everybody", "paper", "alone"]
"""The bound of Setty et al.; the knapsack over topics that each give what they would alone."""

BYTES_EACH, FREE_BYTES = 16, 16 * 1024
"""How large tables may be: this much a subscriber and topic, and never too large below the rest."""
LEAST_PRICE = 1e-10
"""Prices below this share of the weight are left out: they say nothing, and take long to add."""


class Stored(NamedTuple):
    """The numbers of a certificate: prices, sets of topics and their parts, price of a change.

    ``together``: topics whose followers pay together, as in
    :mod:`fanwise.select.relaxing.together`; None for none.
    """

    prices: Prices
    sets: Sets
    parts: Parts
    change_price: float
    together: LongArray | None = None


def certify(problem: Selection, hints: Hints | None, prefix: str = "") -> Bound:
    """Return what hints prove, with tables to check it; None: everybody is satisfied at most.

    Where changes have a price, it is a bound on the objective less that price. Names of tables
    begin with ``prefix``.
    """
    total = claimed(problem, float(problem.case.weight.sum()))
    rule = {prefix + name: table for name, table in rule_tables("everybody").items()}
    nothing = certify_by_tables(total, rule)
    if hints is None:
        return nothing
    most = hints.inequalities.parts.shape[1]
    allowed = allowed_bytes(problem)
    while True:
        stored = store(problem, hints, most)
        tables = tables_of(stored, has_limit=problem.max_changes is not None)
        if size_of(tables) <= allowed or most == 0:
            break
        most //= 2
    bound = claimed(problem, value_of(problem, stored))
    if bound >= total and hints.change_price == 0:
        return nothing
    named = {prefix + name: table for name, table in tables.items()}
    return certify_by_tables(bound, named)


def certify_by_rule(bound: float, rule: Rule) -> Bound:
    """Return a bound that follows from the workload alone, with a certificate that names it."""
    return certify_by_tables(bound, rule_tables(rule))


def certify_by_tables(bound: float, tables: dict[str, pa.Table]) -> Bound:
    """Return a bound with the tables of prices, or the rule, that prove it."""
    return Bound(bound, Proof(kind="duals", tables=tables, proves=bound))


def rule_tables(rule: Rule) -> dict[str, pa.Table]:
    """Return the table of a certificate that names a rule."""
    return {"rule": pa.table({"rule": pa.array([rule])})}


def smaller(first: Bound, second: Bound) -> Bound:
    """Return the smaller of two bounds; the first if they are equal."""
    return second if second.value < first.value else first


def rest_on_solver(checked: Bound, bound: float) -> Bound:
    """Return a solver's bound, with a certificate that proves a weaker one."""
    if checked.proof is None:
        return Bound(bound)
    return Bound(bound, replace(checked.proof, kind="solver"))


def allowed_bytes(problem: Selection) -> int:
    """Return how large the tables of a certificate may be."""
    return allowed_for(problem.workload.num_subscribers, problem.workload.num_topics)


def allowed_for(num_subscribers: int, num_topics: int) -> int:
    """Return how large the tables may be for so many subscribers and topics."""
    return max(FREE_BYTES, BYTES_EACH * (num_subscribers + num_topics))


def size_of(tables: dict[str, pa.Table]) -> int:
    """Bytes of tables as they are written."""
    total = 0
    for table in tables.values():
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        total += sink.tell()
    return total


def store(problem: Selection, hints: Hints, most: int) -> Stored:
    """Keep the sets with the largest parts of every subscriber that has a price, largest first."""
    indptr = problem.workload.interests.indptr
    is_worth_it = (hints.prices > LEAST_PRICE * problem.weight) & (problem.case.weight > 0)
    prices = np.where(is_worth_it, hints.prices, np.float32(0.0))
    sets = np.zeros(len(hints.inequalities.sets), dtype=np.uint8)
    parts = np.zeros((len(prices), most), dtype=np.uint8)
    if most:
        keep_largest(indptr, hints.inequalities.sets, hints.inequalities.parts, prices, sets, parts)
        parts = parts[:, : max(1, int(np.count_nonzero(parts.any(axis=0))))]
    parts = np.ascontiguousarray(parts)
    return Stored(prices, sets, parts, hints.change_price, hints.together)


def tables_of(stored: Stored, *, has_limit: bool) -> dict[str, pa.Table]:
    """Return the tables of a certificate; what says nothing is left out."""
    columns: dict[str, npt.NDArray[np.generic]] = {"price": stored.prices}
    if stored.parts.shape[1] > 1:
        for k in range(stored.parts.shape[1]):
            columns[f"part_{k}"] = np.ascontiguousarray(stored.parts[:, k])
    tables = {"prices": pa.table(columns)}
    if stored.sets.any():
        tables["sets"] = pa.table({"sets": stored.sets})
    if has_limit and stored.change_price > 0:
        tables["changes"] = pa.table({"price": pa.array([stored.change_price], pa.float64())})
    if stored.together is not None and len(stored.together):
        tables["together"] = pa.table({"topic": pa.array(stored.together, pa.int32())})
    return tables


def value_of(problem: Selection, stored: Stored) -> float:
    """Evaluate a certificate: the bound that its numbers prove."""
    workload = problem.workload
    profit = np.zeros(workload.num_topics)
    parts = stored.parts
    if not parts.shape[1]:
        parts = np.ones((workload.num_subscribers, 1), dtype=np.uint8)
    pay = np.zeros(workload.num_pairs if stored.together is not None else 0)
    paid = add_certified(
        *workload.interests,
        workload.rates,
        problem.demand * ENOUGH,
        stored.prices,
        stored.sets,
        parts,
        problem.metric == "binary",
        profit,
        pay,
    )
    if stored.together is not None and len(stored.together):
        _pay_together(problem, stored, pay, profit)
    fixed, price = FixedTopics(problem, problem.case), stored.change_price
    limit = most_within(problem.limit)
    profit, room, value = fixed.split(profit - price * fixed.toll, limit)
    value += float(problem.case.weight.sum()) - paid
    value += price * ((problem.max_changes or 0) - fixed.toll_before)
    return value + fractional_knapsack(profit, problem.cost, room)


def _pay_together(problem: Selection, stored: Stored, pay: FloatArray, profit: FloatArray) -> None:
    """Lower what some topics bring in to what followers pay that are satisfied together."""
    from fanwise.select.relaxing.together import most_together, pair_numbers

    chosen = np.zeros(len(profit), dtype=np.bool_)
    chosen[stored.together] = True
    price = stored.prices.astype(np.float64)
    numbers = pair_numbers(problem)
    most_together(problem, problem.case, pay, price, chosen, numbers, profit)


@kernel
def keep_largest(
    indptr: LongArray, sets: Sets, parts: Parts, prices: Prices, kept: Sets, kept_parts: Parts
) -> None:
    """Write the sets with the largest parts, largest first, of those that have a price.

    Changes ``kept`` and ``kept_parts``.
    """
    most = kept_parts.shape[1]
    for subscriber in range(len(indptr) - 1):
        if prices[subscriber] <= 0.0:
            continue
        left = parts[subscriber].copy()
        for k in range(most):
            slot = 0
            for j in range(1, len(left)):
                if left[j] > left[slot]:
                    slot = j
            if left[slot] == 0:
                break
            kept_parts[subscriber, k] = left[slot]
            left[slot] = 0
            for i in range(indptr[subscriber], indptr[subscriber + 1]):
                if sets[i] >> slot & 1:
                    kept[i] |= np.uint8(1 << k)


@kernel
def add_certified(
    indptr: LongArray,
    interests: IntArray,
    rates: FloatArray,
    demand: FloatArray,
    prices: Prices,
    sets: Sets,
    parts: Parts,
    is_binary: bool,
    profit: FloatArray,
    pay: FloatArray,
) -> float:
    """Add up what subscribers pay for each topic; return what they pay in all.

    Changes ``profit``, and ``pay`` by what is paid per pair, unless it is empty.
    """
    widest = 0
    for subscriber in range(len(indptr) - 1):
        widest = max(widest, indptr[subscriber + 1] - indptr[subscriber])
    share, last_gain, mixed = np.empty(widest), np.empty(widest), np.empty(widest)
    paid = 0.0
    for subscriber in range(len(indptr) - 1):
        start, stop = indptr[subscriber], indptr[subscriber + 1]
        price, need = np.float64(prices[subscriber]), demand[subscriber]
        if price <= 0.0 or need <= 0.0:
            continue
        row, own = interests[start:stop], sets[start:stop]
        constant = 0.0
        if is_binary:
            mix_covers(row, rates, need, own, parts[subscriber], mixed)
        else:
            find_gains(row, rates, need, share, last_gain)
            constant = mix_row(own, parts[subscriber], share, last_gain, mixed)
        paid += price * (1.0 - constant)
        for i in range(stop - start):
            profit[row[i]] += price * mixed[i]
            if len(pay):
                pay[start + i] = price * mixed[i]
    return paid


@kernel
def mix_covers(
    interests: IntArray, rates: FloatArray, need: float, sets: Sets, parts: Parts, mixed: FloatArray
) -> None:
    """Write one subscriber's mixed coefficients of knapsack-cover inequalities.

    Changes ``mixed``.
    """
    size = len(interests)
    mixed[:size] = 0.0
    total = 0.0
    for k in range(len(parts)):
        if parts[k] == 0:
            continue
        total += parts[k]
        short = need
        for i in range(size):
            if sets[i] >> k & 1:
                short -= rates[interests[i]]
        for i in range(size):
            if not sets[i] >> k & 1:
                mixed[i] += parts[k] * min(1.0, rates[interests[i]] / short)
    for i in range(size):
        mixed[i] /= total
