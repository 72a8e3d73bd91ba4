"""The best selection and bound so far, which an interrupt or a time limit leaves behind."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from fanwise.arrays.csr import LongArray
from fanwise.arrays.tolerance import most_within
from fanwise.distributed.inputs import Inputs
from fanwise.planning.problem import Bound, Run
from fanwise.planning.search import Search
from fanwise.planning.stopping import limits_of
from fanwise.progress import Step
from fanwise.select.problem import Served
from fanwise.select.proving.certificate import Rule, certify_by_rule, certify_by_tables
from fanwise.select.search import DEFAULT_GAP


def coarse_scale(scale: float, inputs: Inputs, bits: int) -> float:
    """Return a scale for sums per topic, in few bits where all subscribers weigh the same.

    Where weights differ, by orders of magnitude perhaps, the scale stays.
    """
    return scale if inputs.has_weights else min(scale, 2.0**bits)


Kind = Rule | Literal["prices"]


@dataclass(frozen=True)
class State:
    """A set of served topics and what a pass over the subscribers found of it.

    Attributes
    ----------
    amounts
        Per topic, in whole units of their own: what an unserved one would bring, what a served one
        holds.
    value
        The objective, in whole units of the search.
    """

    served: Served
    amounts: LongArray
    value: int
    satisfied: int


class SparkSearch(Search[State]):
    """A search whose selections are measured on Spark; its work is passes over the subscribers.

    Attributes
    ----------
    scale
        Units of value per unit of weight.
    counts_heads
        Whether the objective is a whole number, so that bounds can be rounded down.
    total
        The weight of all subscribers that need something, in units, rounded up.
    bounds
        The best bound of each kind: of everybody, the paper's, of topics taken alone, of prices.
    tables
        The certificate of the bound of prices, once it is there.
    """

    def __init__(self, run: Run, step: Step, *, scale: float, counts_heads: bool) -> None:
        super().__init__(run, step, "max", limits_of(run, gap=DEFAULT_GAP))
        self.scale, self.counts_heads = scale, counts_heads
        self.bounds: dict[Kind, float] = {}
        self.tables: dict[str, pa.Table] | None = None
        self.paper_bound: float | None = None
        self.total = 0

    def consider(self, state: State) -> None:
        """Take a selection if it is better; it took a pass."""
        self.spend(1)
        self.offer(state, state.value / self.scale)

    def prove_by(self, kind: Kind, bound: float) -> bool:
        """Take a bound if it is better than others of its kind; say whether it is."""
        bound = most_within(bound)
        if self.counts_heads and math.isfinite(bound):
            bound = float(math.floor(bound))
        if bound >= self.bounds.get(kind, math.inf):
            return False
        self.bounds[kind] = bound
        self.prove(Bound(bound))
        return True

    def close(self) -> Bound:
        """Return the best bound that has a certificate, and take it for the search's own."""
        found = [certify_by_rule(bound, kind) for kind, bound in self.bounds.items()
                 if kind != "prices"]  # fmt: skip
        if self.tables is not None:
            found.append(certify_by_tables(self.bounds["prices"], self.tables))
        self.bound = least = min(found, key=lambda bound: bound.value)
        return least
