"""Branch and bound over topics, for small instances: the optimum with a proof anyone can check.

A node of the tree is a smaller question: some topics are served, some are not, the others are open.
Each inner node takes an open topic, served on one side and not on the other. The linear program of
a node, solved by HiGHS, gives prices of subscribers; what these prove is computed here and not
taken from the solver, so its tolerances play no part. A node whose bound is no better than the best
selection known is a leaf. Once all topics are decided a node is a single selection, whose bound is
its value.

Guarantee
    The optimum with a certificate, up to the gap asked for; or nothing, if there are more leaves
    than MAX_LEAVES, MAX_WORK or the size of the certificate allow, or time is over.

Complexity
    Exponential in the topics. A linear program for every node.

References
----------
    A. H. Land, A. G. Doig: An automatic method of solving discrete programming problems.
    Econometrica 28(3), 1960.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import FloatArray
from fanwise.planning.highs import Model, Solver, by_row
from fanwise.planning.problem import Bound
from fanwise.planning.proof import Proof
from fanwise.select.problem import Selection, Served
from fanwise.select.proving.certificate import allowed_bytes, size_of
from fanwise.select.proving.nodes import Lack, Node, NodeEvaluator
from fanwise.select.relaxing.knapsack import Prices, prices_within
from fanwise.select.rounding import claimed

MAX_PAIRS = 2_000
"""Instances that are searched through at all."""
MAX_LEAVES = 3000
MAX_WORK = 1_000_000
"""Pairs x leaves: what a search may look at in all."""
BYTES_PER_PRICE = 1.0
"""About what a price of a leaf takes in a file."""
ABSOLUTE, RELATIVE = 1e-12, 4e-9
"""A bound this close to a value counts as reached: thresholds of satisfaction are as blurred."""


class Settled(NamedTuple):
    """What a search found: the best selection, and a bound unless it gave up."""

    served: Served
    bound: Bound | None


class Leaf(NamedTuple):
    """A node that need not be looked into: its prices and its bound."""

    prices: Prices
    change_price: float
    bound: float


def branch(
    problem: Selection,
    start: Served,
    *,
    gap: float = 0.0,
    prefix: str = "",
    is_late: Callable[[], bool] = lambda: False,
) -> Settled:
    """Search for the best selection and prove it, from one that is admitted.

    Parameters
    ----------
    gap
        The certified gap that is good enough.
    prefix
        What the names of the proof's tables begin with.
    is_late
        Asked before every node whether to give up.
    """
    search = _Search(problem, start, gap, is_late)
    search.run()
    if search.has_given_up:
        return Settled(search.served, None)
    bound = search.bound()
    tables = search.tables(prefix)
    if size_of(tables) > allowed_bytes(problem):
        return Settled(search.served, None)
    return Settled(search.served, Bound(bound, Proof(kind="leaves", tables=tables, proves=bound)))


class _Search:
    def __init__(
        self, problem: Selection, start: Served, gap: float, is_late: Callable[[], bool]
    ) -> None:
        self.problem = problem
        self.served, self.value = start, problem.net_value(start)
        self._gap, self._is_late = gap, is_late
        self._evaluator = NodeEvaluator(problem)
        self._tree: list[int] = []
        self._leaves: list[Leaf] = []
        workload = problem.workload
        by_size = allowed_bytes(problem) / (8 + BYTES_PER_PRICE * workload.num_subscribers)
        by_work = MAX_WORK / max(1, workload.num_pairs)
        self._most = int(min(MAX_LEAVES, by_size, by_work))
        self.has_given_up = self._most < 1

    def run(self) -> None:
        """Examine nodes, those with the topic served first, until none is left."""
        left = [] if self.has_given_up else [self._evaluator.first()]
        while left:
            if self._is_late():
                self.has_given_up = True
                return
            node = left.pop()
            topic = self._examine(node)
            self._tree.append(topic)
            if len(self._leaves) + len(left) >= self._most:
                self.has_given_up = True
                return
            if topic >= 0:
                with_it, without = node.served.copy(), node.dropped.copy()
                with_it[topic] = without[topic] = True
                left += [Node(node.served, without), Node(with_it, node.dropped)]

    def bound(self) -> float:
        """Return what the leaves prove together."""
        largest = max(leaf.bound for leaf in self._leaves)
        is_net = self.problem.change_price is not None
        return largest if is_net else claimed(self.problem, max(0.0, largest))

    def tables(self, prefix: str) -> dict[str, pa.Table]:
        """Return the tree in preorder and the prices of its leaves."""
        prices = np.concatenate([leaf.prices for leaf in self._leaves])
        tables = {
            f"{prefix}tree": pa.table({"topic": pa.array(self._tree, pa.int32())}),
            f"{prefix}leaves": pa.table({"price": prices}),
        }
        if self.problem.max_changes is not None:
            change_prices = pa.array([leaf.change_price for leaf in self._leaves], pa.float64())
            tables[f"{prefix}changes"] = pa.table({"price": change_prices})
        return tables

    def _examine(self, node: Node) -> int:
        """Make a leaf of a node and return -1, or return the topic to branch on."""
        nothing = np.zeros(len(self.problem.demand), dtype=np.float32)
        if self._evaluator.is_empty(node):
            self._leaves.append(Leaf(nothing, self.problem.price_level, -np.inf))
            return -1
        lack = self._evaluator.lack(node)
        answer = _solve_relaxation(self._evaluator, node, lack)
        self._offer(node.served)
        chosen = node.served.copy()
        chosen[node.left[answer.shares > 0.5]] = True
        self._offer(chosen)
        bound = self._evaluator.bound(node, lack, answer.prices, answer.change_price)
        if self._is_good_enough(bound) or not len(node.left):
            self._leaves.append(Leaf(answer.prices, answer.change_price, bound))
            return -1
        # The least decided topic; where all are, the one that is worth most.
        worth = answer.worth / max(float(answer.worth.max()), 1e-300)
        doubt = np.abs(answer.shares - 0.5) - 1e-6 * worth
        return int(node.left[np.argmin(doubt)])

    def _offer(self, served: Served) -> None:
        if not self.problem.admits(served):
            return
        value = self.problem.net_value(served)
        if value > self.value:
            self.served, self.value = served.copy(), value

    def _is_good_enough(self, bound: float) -> bool:
        bound = claimed(self.problem, bound)
        slack = ABSOLUTE + RELATIVE * abs(self.value) + self._gap * max(bound, 0.0)
        return bound <= self.value + slack


class _Relaxed(NamedTuple):
    """Prices of subscribers and of a change; shares of the topics left, and what they are worth."""

    prices: Prices
    change_price: float
    shares: FloatArray
    worth: FloatArray


def _solve_relaxation(evaluator: NodeEvaluator, node: Node, lack: Lack) -> _Relaxed:
    """Solve the linear program of a node: shares x_t and satisfaction z_v <= c_v + sum b_vt x_t."""
    problem, left = evaluator.problem, node.left
    price = problem.price_level
    prices = np.zeros(len(problem.demand), dtype=np.float32)
    if not len(left):
        # Nothing is left to choose: who lacks something pays all it has.
        return _Relaxed(prices_within(lack.weight, lack.weight), price, np.zeros(0), np.zeros(0))
    wanting = np.flatnonzero((lack.weight > 0) & (lack.constant < 1))
    unit = max(evaluator.room(node), 1e-300)
    column_of = np.full(len(problem.cost), -1, dtype=np.int64)
    column_of[left] = np.arange(len(left))
    of_row = np.full(len(problem.demand), -1, dtype=np.int64)
    of_row[wanting] = np.arange(len(wanting))
    used = lack.slope > 0
    rows, columns = of_row[evaluator.rows[used]], column_of[evaluator.topics[used]]
    values = -lack.slope[used]
    inside = (rows >= 0) & (columns >= 0)
    rows, columns, values = rows[inside], columns[inside], values[inside]
    many = len(wanting)
    cost = np.minimum(problem.cost[left] / unit, 1e6)
    rows = np.concatenate([rows, np.arange(many), np.full(len(left), many)])
    columns = np.concatenate([columns, len(left) + np.arange(many), np.arange(len(left))])
    values = np.concatenate([values, np.ones(many), cost])
    upper = [*lack.constant[wanting], 1.0]
    if problem.max_changes is not None:
        rows = np.concatenate([rows, np.full(len(left), many + 1)])
        columns = np.concatenate([columns, np.arange(len(left))])
        values = np.concatenate([values, evaluator.fixed.sign[left]])
        decided = float(evaluator.fixed.sign[node.served].sum())
        upper.append(problem.max_changes - evaluator.fixed.num_before - decided)
    model = Model(
        cost=np.concatenate([-price * evaluator.fixed.toll[left], lack.weight[wanting]]),
        lower=np.zeros(len(left) + many),
        upper=np.ones(len(left) + many),
        matrix=by_row(rows, columns, values, len(upper)),
        row_lower=np.full(len(upper), -np.inf),
        row_upper=np.array(upper),
        is_maximised=True,
    )
    answer = Solver(model).solve()
    if answer.status != "optimal":
        return _Relaxed(prices, price, np.full(len(left), 0.5), np.zeros(len(left)))
    shares, duals = answer.values, answer.duals
    prices[wanting] = np.abs(duals[:many])
    change = float(abs(duals[many + 1])) if problem.max_changes is not None else price
    worth = np.zeros(len(left) + many)
    np.add.at(worth, columns, np.abs(values))
    return _Relaxed(
        prices_within(prices, lack.weight), change, shares[: len(left)], worth[: len(left)]
    )
