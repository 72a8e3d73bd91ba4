"""The problem of Setty et al.: serve topics within a capacity, satisfy as many as possible."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import FloatArray
from fanwise.errors import ParameterError
from fanwise.planning.problem import Measurement, Problem
from fanwise.workload.topic import RELATIVE_TOLERANCE, Tau, TopicWorkload

Metric = Literal["binary", "fractional"]
METRICS = ("binary", "fractional")


@dataclass(frozen=True, eq=False)
class Selection(Problem):
    """Choose topics to serve so that their cost stays within a capacity.

    A subscriber is satisfied when the served topics among its interests carry tau_v events per
    period. The objective counts satisfied subscribers (``binary``, B3M) or adds up the fraction of
    tau_v that each one gets (``fractional``, F-B3M). Subscribers that need nothing count nowhere.

    Attributes
    ----------
    tau
        Events per period a subscriber wants, or ``"column"``; never more than it could get.
    capacity
        In cost units, or a percentage of the cost of serving everything, as in ``"10%"``.
    metric
        ``"binary"`` or ``"fractional"``.

    References
    ----------
    V. Setty, G. Kreitz, G. Urdaneta, R. Vitenberg, M. van Steen: Maximizing the number of satisfied
    subscribers in pub/sub systems under capacity constraints. IEEE INFOCOM 2014.
    """

    workload: TopicWorkload
    tau: Tau
    capacity: float | str
    metric: Metric = "binary"

    family: ClassVar[str] = "select"

    @classmethod
    def example(cls, workload: TopicWorkload) -> Selection:
        """Return a typical problem on a workload, for warming kernels and trying things out."""
        return cls(workload, tau=5, capacity="60%")

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ParameterError("metric", "'binary' or 'fractional'", self.metric)
        if not isinstance(self.tau, str):
            object.__setattr__(self, "tau", float(self.tau))
        _ = self.demand, self._capacity  # both raise what is wrong with them

    @cached_property
    def demand(self) -> FloatArray:
        """tau_v: what each subscriber needs."""
        return self.workload.demand(self.tau)

    @cached_property
    def cost(self) -> FloatArray:
        """Cost of serving each topic."""
        return self.workload.serving_cost()

    @cached_property
    def weight(self) -> FloatArray:
        """How much each subscriber counts; 0 for those that need nothing."""
        ones = np.ones(self.workload.num_subscribers)
        weight = ones if self.workload.weight is None else self.workload.weight
        return np.where(self.demand > 0, weight, 0.0)

    @cached_property
    def _capacity(self) -> tuple[float, float | None]:
        return parse_capacity(self.capacity, float(self.cost.sum()))

    @property
    def limit(self) -> float:
        """The capacity in cost units."""
        return self._capacity[0]

    def fits(self, cost: float) -> bool:
        """Whether a total cost is within the capacity, up to rounding."""
        return cost <= self.limit * (1 + RELATIVE_TOLERANCE)

    def parameters(self) -> dict[str, Any]:
        limit, percent = self._capacity
        return {
            "tau": self.tau,
            "capacity": limit,
            "capacity_percent": percent,
            "metric": self.metric,
        }

    def delivered(self, served: npt.NDArray[np.bool_]) -> FloatArray:
        """Events per period that each subscriber gets from the served topics."""
        from fanwise.arrays.csr import sum_rows

        rates = np.where(served, self.workload.rates, 0.0)
        result: FloatArray = sum_rows(
            self.workload.interests.indptr, self.workload.interests.indices, rates
        )
        return result

    def satisfaction(self, served: npt.NDArray[np.bool_]) -> FloatArray:
        """f(v) or g(v): 1 for a satisfied subscriber, else 0 or the fraction it gets."""
        delivered = self.delivered(served)
        needs = self.demand > 0
        is_satisfied = needs & (delivered >= self.demand * (1 - RELATIVE_TOLERANCE))
        if self.metric == "binary":
            return is_satisfied.astype(np.float64)
        fraction = np.divide(delivered, self.demand, out=np.zeros_like(delivered), where=needs)
        return np.where(is_satisfied, 1.0, fraction)

    def value(self, served: npt.NDArray[np.bool_]) -> float:
        """Return the objective of serving these topics."""
        return float(np.dot(self.weight, self.satisfaction(served)))

    def measure(self, tables: Mapping[str, pa.Table]) -> Measurement:
        from fanwise.select.bounds import paper_bound

        served = served_topics(tables["topics"], self.workload.num_topics)
        used = float(self.cost[served].sum())
        return Measurement(
            objective=self.value(served),
            is_feasible=self.fits(used),
            metrics={
                "used": used,
                "served": int(np.count_nonzero(served)),
                "satisfied": self._num_satisfied(served),
                "subscribers": int(np.count_nonzero(self.demand > 0)),
                "cost_of_everything": float(self.cost.sum()),
                "paper_bound": paper_bound(self),
            },
        )

    def _num_satisfied(self, served: npt.NDArray[np.bool_]) -> int:
        enough = self.delivered(served) >= self.demand * (1 - RELATIVE_TOLERANCE)
        return int(np.count_nonzero(enough & (self.demand > 0)))

    def bound(self) -> float:
        return self._bound

    @cached_property
    def _bound(self) -> float:
        from fanwise.select.bounds import tight_bound

        return tight_bound(self)

    def table(self, served: npt.NDArray[np.bool_]) -> pa.Table:
        """Return the plan's table for a set of served topics."""
        return pa.table(
            {
                "topic": np.arange(self.workload.num_topics, dtype=np.int32),
                "served": np.asarray(served, dtype=bool),
                "cost": self.cost,
            }
        )


def served_topics(table: pa.Table, num_topics: int) -> npt.NDArray[np.bool_]:
    """Return a plan's table as one flag per topic."""
    served = np.zeros(num_topics, dtype=bool)
    topics = table.column("topic").to_numpy()
    served[topics[table.column("served").to_numpy(zero_copy_only=False)]] = True
    return served


def parse_capacity(capacity: float | str, everything: float) -> tuple[float, float | None]:
    """Return the capacity in cost units, and the percentage it was given as (or None)."""
    constraint = "a number >= 0 or a percentage such as '10%'"
    percent = None
    try:
        if isinstance(capacity, str) and capacity.strip().endswith("%"):
            percent = float(capacity.strip()[:-1])
            limit = percent / 100 * everything
        else:
            limit = float(capacity)
    except (TypeError, ValueError):
        raise ParameterError("capacity", constraint, capacity) from None
    if not (math.isfinite(limit) and limit >= 0):
        raise ParameterError("capacity", constraint, capacity)
    return limit, percent
