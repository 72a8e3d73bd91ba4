"""The best selection and bound so far, which an interrupt or a time limit leaves behind."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import LongArray
from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Bound, Run
from fanwise.planning.proof import Proof
from fanwise.progress import Step
from fanwise.select.proving.certificate import rule_tables
from fanwise.workload.topic import RELATIVE_TOLERANCE

Served = npt.NDArray[np.bool_]
Kind = Literal["everybody", "paper", "alone", "prices"]

DEFAULT_GAP = 1e-4


@dataclass(frozen=True)
class State:
    """A set of served topics and what a pass over the subscribers found of it.

    Attributes
    ----------
    amounts
        Per topic, in whole units: what an unserved one would bring, what a served one holds.
    value
        The objective, in whole units.
    """

    served: Served
    amounts: LongArray
    value: int
    satisfied: int


@dataclass
class Search:
    """Keeps what is best, shows it, and knows when it is good enough.

    Attributes
    ----------
    scale
        Units of value per unit of weight.
    total
        The weight of all subscribers that need something, in units, rounded up.
    counts_heads
        Whether the objective is a whole number, so that bounds can be rounded down.
    rounds
        Passes made for selections.
    bounds
        The best bound of each kind: of everybody, the paper's, of topics taken alone, of prices.
    tables
        The certificate of the bound of prices, once it is there.
    """

    run: Run
    scale: float
    counts_heads: bool
    step: Step = field(default_factory=Step)
    state: State | None = None
    bounds: dict[Kind, float] = field(default_factory=dict)
    tables: dict[str, pa.Table] | None = None
    paper_bound: float | None = None
    total: int = 0
    rounds: int = 0

    def offer(self, state: State) -> None:
        """Take a selection if it is better."""
        self.rounds += 1
        if self.state is None or state.value > self.state.value:
            self.state = state
        self._show()

    def prove(self, bound: float, kind: Kind = "prices") -> bool:
        """Take a bound if it is better than others of its kind; say whether it is."""
        bound *= 1 + RELATIVE_TOLERANCE
        if self.counts_heads and math.isfinite(bound):
            bound = float(math.floor(bound))
        if bound >= self.bounds.get(kind, math.inf):
            return False
        self.bounds[kind] = bound
        self._show()
        return True

    @property
    def bound(self) -> float:
        """The best bound, whatever its kind."""
        return min(self.bounds.values(), default=math.inf)

    def final_bound(self) -> Bound:
        """Return the best bound that has a certificate."""
        tables: dict[Kind, dict[str, pa.Table]] = {
            "everybody": rule_tables("everybody"),
            "paper": rule_tables("paper"),
            "alone": rule_tables("alone"),
        }
        if self.tables is not None:
            tables["prices"] = self.tables
        kind = min((kind for kind in self.bounds if kind in tables), key=self.bounds.__getitem__)
        bound = self.bounds[kind]
        return Bound(bound, Proof(kind="duals", tables=tables[kind], proves=bound))

    @property
    def value(self) -> float:
        return 0.0 if self.state is None else self.state.value / self.scale

    def is_over(self) -> bool:
        """Whether the gap is closed or the time is up."""
        target = DEFAULT_GAP if self.run.gap is None else self.run.gap
        return self.run.is_over() or self._gap() <= target

    def _gap(self) -> float:
        if math.isinf(self.bound):
            return 1.0
        gap = certified_gap(self.value, self.bound, is_feasible=True)
        return 0.0 if gap is None else gap

    def _show(self) -> None:
        self.step.note(
            f"round {self.rounds}  value {self.value:,.6g}  bound {self.bound:,.6g}  "
            f"gap {100 * self._gap():.3f}%"
        )
