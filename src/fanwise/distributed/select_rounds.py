"""Greedy in rounds: batches of topics, each chosen from one pass over the subscribers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, most_within
from fanwise.distributed.inputs import Inputs
from fanwise.distributed.select_passes import Measure
from fanwise.distributed.select_search import SparkSearch, State, coarse_scale
from fanwise.select.problem import Served
from fanwise.select.relaxing.knapsack import fractional_knapsack

Topics = npt.NDArray[np.int64]

AMOUNT_BITS = 18
"""Of a subscriber's weight in what topics bring or hold: enough to compare them by."""
BATCH = 0.4
"""The part of the capacity left that one round may spend."""
SMALLEST_BATCH = 0.04
"""The part of the whole capacity below which a round is not limited."""
MAX_ROUNDS = 200
DROPS = (0.1,)
"""Parts of the capacity that are dropped and filled again; more of them cost more than they win."""


class Rounds:
    """Makes selections and offers each to the search."""

    def __init__(
        self, inputs: Inputs, limit: float, *, is_binary: bool, search: SparkSearch
    ) -> None:
        self._inputs = inputs
        self._cost = inputs.cost
        self._limit = limit
        self._room = most_within(limit)
        self._is_binary = is_binary
        self._search = search
        self._grain = coarse_scale(search.scale, inputs, AMOUNT_BITS) / search.scale

    def begin(self) -> State:
        """Measure the empty selection, which proves a first bound: the knapsack of topics alone."""
        nothing = np.zeros(len(self._cost), dtype=bool)
        state, self._search.total = self._measure(nothing)
        # Amounts are rounded down, by less than a unit each; a hair more is what a hair less than
        # tau_v, the threshold of satisfaction, allows.
        amounts = state.amounts + self._inputs.followers
        profit = amounts / (self._grain * self._search.scale)
        alone = fractional_knapsack(profit, self._cost, self._room) * (1 + 2 * RELATIVE_TOLERANCE)
        self._search.prove_by("alone", alone)
        self._search.prove_by("everybody", self._search.total / self._search.scale)
        return state

    def fill(self, empty: State) -> None:
        """Serve topics round by round from nothing; fractional: or from the best single topic."""
        state = self._grow(empty)
        if self._is_binary:
            return
        # The best single topic or greedy per cost: together a constant part of the optimum.
        alone = np.where(self._cost <= self._room, empty.amounts, 0)
        if len(alone) and alone.max() > state.value * self._grain:
            served = empty.served.copy()
            served[np.argmax(alone)] = True
            self._grow(self._measure(served)[0])

    def improve(self) -> None:
        """Drop what holds least per cost and fill the capacity again."""
        for part in DROPS:
            if self._search.is_over():
                break
            best = self._search.answer
            kept = drop_weakest(best, self._cost, part * self._limit)
            if not np.array_equal(kept, best.served):
                self._grow(self._measure(kept)[0])

    def _grow(self, state: State) -> State:
        """Serve batches of topics until nothing helps or fits; in one batch once time is up."""
        for _ in range(MAX_ROUNDS):
            left = self._room - float(self._cost[state.served].sum())
            is_last = self._search.run.is_over()
            if is_last:
                batch = choose_rest(state, self._cost, left)
            else:
                batch = choose_batch(state, self._cost, left, SMALLEST_BATCH * self._limit)
            if not len(batch):
                break
            served = state.served.copy()
            served[batch] = True
            state, _ = self._measure(served)
            if is_last:
                break
        return state

    def _measure(self, served: Served) -> tuple[State, int]:
        """Pass over all subscribers with a set of served topics; also the weight of all."""
        with self._inputs.blocks.broadcast(served) as everywhere:
            work = Measure(
                self._inputs.rates_everywhere,
                everywhere,
                self._search.scale,
                self._is_binary,
                self._grain,
            )
            amounts, totals = self._inputs.blocks.sums(work)
        state = State(served, amounts, int(totals[0]), int(totals[1]))
        self._search.consider(state)
        return state, int(totals[2])


def choose_batch(state: State, cost: FloatArray, left: float, smallest_batch: float) -> Topics:
    """Return the topics to serve next: best per cost first, a part of the capacity left."""
    topics = _by_ratio(state, cost, left)
    budget = min(max(BATCH * left, smallest_batch), left)
    many = int(np.searchsorted(np.cumsum(cost[topics]), budget, side="right"))
    return topics[: max(many, 1)]


def choose_rest(state: State, cost: FloatArray, left: float) -> Topics:
    """Return topics to fill the capacity left: best per cost first, skipping what does not fit."""
    topics = _by_ratio(state, cost, left)
    chosen = []
    while len(topics):
        spent = np.cumsum(cost[topics])
        many = int(np.searchsorted(spent, left, side="right"))
        chosen.append(topics[:many])
        left -= float(spent[many - 1]) if many else 0.0
        topics = topics[many:]
        topics = topics[cost[topics] <= left]
    return np.concatenate(chosen) if chosen else topics


def drop_weakest(state: State, cost: FloatArray, budget: float) -> Served:
    """Return the served topics without those that hold least per cost, up to a cost."""
    topics = np.flatnonzero(state.served & (cost > 0))
    topics = topics[np.argsort(state.amounts[topics] / cost[topics], kind="stable")]
    many = int(np.searchsorted(np.cumsum(cost[topics]), budget, side="right"))
    kept = state.served.copy()
    kept[topics[:many]] = False
    return kept


def _by_ratio(state: State, cost: FloatArray, left: float) -> Topics:
    """Return the topics that help and fit, best per cost first; ties go to the smaller id."""
    topics = np.flatnonzero(~state.served & (state.amounts > 0) & (cost <= left))
    amounts, price = state.amounts[topics].astype(np.float64), cost[topics]
    ratio = np.divide(amounts, price, out=np.full(len(topics), np.inf), where=price > 0)
    return topics[np.argsort(-ratio, kind="stable")]
