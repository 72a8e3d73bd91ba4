"""A plan with few changes beside the one that is free to change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from fanwise.planning.problem import Bound, Outcome, Stopped
from fanwise.select.problem import Selection
from fanwise.select.stability.changes import Served, compare_with_free


@dataclass(frozen=True)
class Near:
    """What is compared: a question that weighs changes, and the best plan that need not.

    Attributes
    ----------
    free, free_bound
        A plan that is free to change, and a bound on every plan.
    """

    problem: Selection
    free: Served
    free_bound: Bound

    def outcome(
        self,
        served: Served,
        bound: Bound,
        *,
        net: Bound | None = None,
        stopped: Stopped | None = None,
        is_interrupted: bool = False,
    ) -> Outcome:
        """Put an outcome together.

        Parameters
        ----------
        bound
            On the objective.
        net
            On the objective less the price of changes.
        """
        problem = self.problem
        metrics: dict[str, Any] = {**compare_with_free(problem, served, self.free)}
        tables = dict(bound.proof.tables) if bound.proof is not None else {}
        tables["free"] = pa.table({"served": self.free})
        if problem.change_price is not None:
            metrics["net_value"] = problem.net_value(served)
            metrics["net_bound"] = None if net is None else net.value
            tables |= {} if net is None or net.proof is None else net.proof.tables
        proof = None if bound.proof is None else replace(bound.proof, tables=tables)
        return Outcome(
            {"topics": problem.table(served)},
            bound=max(bound.value, problem.value(served)),
            metrics=metrics,
            is_interrupted=is_interrupted,
            proof=proof,
            stopped=stopped,
        )
