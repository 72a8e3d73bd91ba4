"""The problem of Setty et al.: serve topics within a capacity, satisfy as many as possible."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import FloatArray, read_only
from fanwise.arrays.tolerance import is_enough, most_within
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.planning.problem import Bound, Measurement, Outcome, Problem, Run
from fanwise.select.stability.previous import Previous, carry_over, mark_topics
from fanwise.workload.topic import Tau, TopicWorkload
from fanwise.workload.validation import LARGEST

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.select.reach import Case

Metric = Literal["binary", "fractional"]
Served = npt.NDArray[np.bool_]
"""A selection: whether each topic is served."""
METRICS = ("binary", "fractional")
WEIGHING = ("best", "greedy", "exact")
"""Algorithms that weigh changes."""


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
    pin, exclude
        Names of topics that must be served, and that must not.
    previous
        The plan in force, read with the workload it was made for. Topics are matched by name; a
        topic that is served now and was not, or the other way round, is a change.
    max_changes
        How many changes are allowed.
    change_price
        What a change must gain at least: the plan maximises the objective less this much per
        change. A number for all topics, one for each, or ``"column"`` for the workload's own.

    References
    ----------
    V. Setty, G. Kreitz, G. Urdaneta, R. Vitenberg, M. van Steen: Maximizing the number of satisfied
    subscribers in pub/sub systems under capacity constraints. IEEE INFOCOM 2014.

    Examples
    --------
    >>> import fanwise as fw
    >>> workload = fw.TopicWorkload.from_edges(
    ...     [("ann", "rock"), ("ann", "jazz"), ("bob", "jazz")], rate={"rock": 30, "jazz": 10}
    ... )
    >>> plan = fw.Selection(workload, tau=10, capacity=20).solve("greedy")
    >>> plan.objective, plan.bound  # both are satisfied by jazz, and more are not there
    (2.0, 2.0)
    >>> fw.Selection(workload, tau=40, capacity="50%").solve("greedy").objective  # ann needs both
    1.0
    """

    workload: TopicWorkload
    tau: Tau
    capacity: float | str
    metric: Metric = "binary"
    pin: Iterable[str] = ()
    exclude: Iterable[str] = ()
    previous: Plan | Previous | None = None
    max_changes: int | None = None
    change_price: float | str | npt.ArrayLike | None = None

    family: ClassVar[str] = "select"

    @classmethod
    def example(cls, workload: TopicWorkload) -> Selection:
        """Return a typical problem on a workload, for warming kernels and trying things out."""
        return cls(workload, tau=5, capacity="60%")

    def emptiness(self) -> str | None:
        """Say why there is nothing to decide, or None where there is something."""
        if self.workload.num_topics == 0:
            return "the workload has no topics"
        if not np.any(self.weight > 0):
            return "no subscriber needs anything"
        return None

    def trivial_bound(self) -> float:
        """Return the weight of everybody: no selection satisfies more."""
        return float(self.weight.sum())

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ParameterError("metric", "'binary' or 'fractional'", self.metric)
        if not isinstance(self.tau, str):
            object.__setattr__(self, "tau", float(self.tau))
        for name in ("pin", "exclude"):
            object.__setattr__(self, name, _sorted_names(name, getattr(self, name)))
        if self.previous is not None and not isinstance(self.previous, Previous):
            object.__setattr__(self, "previous", carry_over(self.previous, self.workload))
        self._check_changes()
        _ = self.demand, self._capacity  # both raise what is wrong with them
        self._check_fixed_topics()

    def _check_changes(self) -> None:
        if self.max_changes is not None and self.change_price is not None:
            raise ParameterError("change_price", "left out with max_changes", self.change_price)
        for name in ("max_changes", "change_price"):
            if getattr(self, name) is not None and self.previous is None:
                raise ParameterError(name, "left out without a previous plan", getattr(self, name))
        changes = self.max_changes
        if changes is not None and not (isinstance(changes, int) and changes >= 0):
            raise ParameterError("max_changes", "a whole number >= 0", changes)
        if self.change_price is not None:
            price = read_change_price(self.change_price, self.workload)
            object.__setattr__(self, "change_price", price)

    def _check_fixed_topics(self) -> None:
        both = set(self.pin) & set(self.exclude)
        if both:
            raise ParameterError("exclude", "topics that are not pinned", min(both))
        pinned = float(self.cost[self.is_pinned].sum())
        if not self.fits(pinned):
            raise InfeasibleError(
                f"The pinned topics cost {pinned:,.10g}, more than the capacity "
                f"{self.limit:,.10g}; pin fewer or raise the capacity."
            )

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
        return cost <= self.most

    @property
    def most(self) -> float:
        """The most that a selection may cost: the capacity, up to rounding."""
        return most_within(self.limit)

    @property
    def has_fixed_topics(self) -> bool:
        """Whether some topics must be served or must not."""
        return bool(self.pin or self.exclude)

    @cached_property
    def is_pinned(self) -> npt.NDArray[np.bool_]:
        """Whether each topic must be served."""
        return mark_topics(self.workload, self.pin, "pin")

    @cached_property
    def is_excluded(self) -> npt.NDArray[np.bool_]:
        """Whether each topic must not be served."""
        return mark_topics(self.workload, self.exclude, "exclude")

    @cached_property
    def case(self) -> Case:
        """All selections: what is fixed or too dear, and who is within reach of the capacity."""
        from fanwise.select.reach import case_of

        return case_of(self, self.is_pinned, self.is_excluded)

    @property
    def was_served(self) -> npt.NDArray[np.bool_] | None:
        """What the previous plan served, if there is one."""
        return self.previous.was_served if isinstance(self.previous, Previous) else None

    @property
    def before(self) -> npt.NDArray[np.bool_]:
        """What was served before; nothing where there is no previous plan."""
        if self.was_served is None:
            return np.zeros(self.workload.num_topics, dtype=bool)
        return self.was_served

    @property
    def weighs_changes(self) -> bool:
        """Whether changes against the previous plan are limited or cost something."""
        return self.max_changes is not None or self.change_price is not None

    def freed(self) -> Selection:
        """Return the same question with changes neither limited nor priced."""
        return replace(self, max_changes=None, change_price=None) if self.weighs_changes else self

    def posed_for(self, algorithm: str) -> Selection:
        """Return the question without what an algorithm cannot weigh: changes, for most."""
        return self if algorithm in WEIGHING else self.freed()

    def refuse_weighed_changes(self) -> None:
        """Raise if changes are limited or priced: for algorithms that cannot weigh them."""
        for name in ("max_changes", "change_price"):
            if getattr(self, name) is not None:
                raise ParameterError(
                    name, "used with algorithm best, greedy or exact", getattr(self, name)
                )

    @property
    def has_own_prices(self) -> bool:
        """Whether topics have prices of their own for being switched."""
        return isinstance(self.change_price, np.ndarray)

    @property
    def price_level(self) -> float:
        """What a change costs, in :attr:`change_units`; 0 where changes have no price."""
        if isinstance(self.change_price, float):
            return self.change_price
        return 1.0 if self.has_own_prices else 0.0

    @cached_property
    def change_units(self) -> FloatArray:
        """How many price levels switching each topic costs: 1 unless topics have own prices."""
        if isinstance(self.change_price, np.ndarray):
            return self.change_price
        return np.ones(self.workload.num_topics)

    def switching_cost(self, served: Served) -> float:
        """Return what the changes of a selection cost."""
        if not self.has_own_prices or self.was_served is None:
            return self.price_level * self.num_changes(served)
        return float(self.change_units[served != self.was_served].sum())

    def num_changes(self, served: Served) -> int:
        """Topics switched on or off against the previous plan."""
        return 0 if self.was_served is None else int(np.count_nonzero(served != self.was_served))

    def admits(self, served: Served) -> bool:
        """Whether a selection keeps every limit: capacity, fixed topics, number of changes."""
        return (
            self.fits(float(self.cost[served].sum()))
            and bool(served[self.is_pinned].all())
            and not served[self.is_excluded].any()
            and (self.max_changes is None or self.num_changes(served) <= self.max_changes)
        )

    def net_value(self, served: Served) -> float:
        """Return the objective less the price of the changes: what is maximised."""
        return self.value(served) - self.switching_cost(served)

    def resolved(self) -> dict[str, Any]:
        """Return the capacity in cost units, and what is recorded where there is something."""
        limit, percent = self._capacity
        return {
            "capacity": limit,
            "capacity_percent": percent,
            "pin": list(self.pin) or None,
            "exclude": list(self.exclude) or None,
            "previous": self.previous.plan if isinstance(self.previous, Previous) else None,
            "change_price": "column" if self.has_own_prices else self.change_price,
        }

    @classmethod
    def restored(cls, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """Return the question without a previous plan: of that one, plans record the id alone."""
        return dict.fromkeys(("previous", "max_changes", "change_price"))

    def delivered(self, served: Served) -> FloatArray:
        """Events per period that each subscriber gets from the served topics."""
        from fanwise.arrays.csr import sum_rows

        rates = np.where(served, self.workload.rates, 0.0)
        result: FloatArray = sum_rows(
            self.workload.interests.indptr, self.workload.interests.indices, rates
        )
        return result

    def satisfaction(self, served: Served) -> FloatArray:
        """f(v) or g(v): 1 for a satisfied subscriber, else 0 or the fraction it gets."""
        delivered = self.delivered(served)
        needs = self.demand > 0
        is_satisfied = needs & is_enough(delivered, self.demand)
        if self.metric == "binary":
            return is_satisfied.astype(np.float64)
        fraction = np.divide(delivered, self.demand, out=np.zeros_like(delivered), where=needs)
        return np.where(is_satisfied, 1.0, fraction)

    def num_satisfied(self, served: Served) -> int:
        """Count the subscribers that get all they need."""
        enough = is_enough(self.delivered(served), self.demand)
        return int(np.count_nonzero(enough & (self.demand > 0)))

    def value(self, served: Served) -> float:
        """Return the objective of serving these topics."""
        return float(np.dot(self.weight, self.satisfaction(served)))

    @cached_property
    def paper_bound(self) -> float | None:
        """The bound of Setty et al.; None where it does not hold."""
        from fanwise.select.bounds import paper_bounds

        bounds = paper_bounds(self, np.array([self.limit]))
        return None if bounds is None else float(bounds[0])

    def measure(self, tables: Mapping[str, pa.Table]) -> Measurement:
        served = served_topics(tables["topics"], self.workload.num_topics)
        used = float(self.cost[served].sum())
        return Measurement(
            objective=self.value(served),
            is_feasible=self.admits(served),
            metrics={
                "used": used,
                "served": int(np.count_nonzero(served)),
                "satisfied": self.num_satisfied(served),
                "subscribers": int(np.count_nonzero(self.demand > 0)),
                "cost_of_everything": float(self.cost.sum()),
                "paper_bound": self.paper_bound,
                **self._measure_changes(served),
            },
        )

    def _measure_changes(self, served: Served) -> dict[str, Any]:
        if not isinstance(self.previous, Previous):
            return {}
        was_served = self.previous.was_served
        return {
            "changes": self.num_changes(served),
            "switched_on": int(np.count_nonzero(served & ~was_served)),
            "switched_off": int(np.count_nonzero(was_served & ~served)),
            "vanished": self.previous.num_vanished,
        }

    def bound(self) -> float:
        return self.proven.value

    @cached_property
    def proven(self) -> Bound:
        """A proven bound on any selection, however many changes it makes, with its certificate."""
        from fanwise.select.bounds import tight_proof

        return tight_proof(self)

    def prove(self, outcome: Outcome, run: Run) -> Bound:
        """Return the bound of an outcome that brings none of its own."""
        return self.proven if outcome.bound is None else Bound(outcome.bound)

    def table(self, served: Served) -> pa.Table:
        """Return the plan's table for a set of served topics."""
        columns = {
            "topic": np.arange(self.workload.num_topics, dtype=np.int32),
            "served": np.asarray(served, dtype=bool),
            "cost": self.cost,
        }
        if self.was_served is not None:
            columns["was_served"] = self.was_served
        if self.has_own_prices:
            columns["change_price"] = self.change_units
        return pa.table(columns)


def served_topics(table: pa.Table, num_topics: int) -> npt.NDArray[np.bool_]:
    """Return a plan's table as one flag per topic."""
    served = np.zeros(num_topics, dtype=bool)
    topics = table.column("topic").to_numpy()
    served[topics[table.column("served").to_numpy(zero_copy_only=False)]] = True
    return served


def _sorted_names(parameter: str, names: Iterable[str]) -> tuple[str, ...]:
    listed = [names] if isinstance(names, str) else list(names)
    for name in listed:
        if not isinstance(name, str):
            raise ParameterError(parameter, "names of topics", name)
    return tuple(sorted(set(listed)))


def read_change_price(
    price: float | str | npt.ArrayLike, workload: TopicWorkload
) -> float | FloatArray:
    """Return what a change costs: a number, or an array with one for each topic.

    Raises
    ------
    ParameterError
        If it is neither, or the word ``column`` where the workload has none.
    """
    asked = "a number >= 0, one for each topic, or 'column'"
    if isinstance(price, str):
        if price != "column":
            raise ParameterError("change_price", asked, price)
        if workload.change_price is None:
            raise ParameterError(
                "change_price", "a number: topics.parquet has no column 'change_price'", price
            )
        return workload.change_price
    try:
        prices = np.array(price, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("change_price", asked, price) from None
    if prices.shape not in ((), (workload.num_topics,)):
        raise ParameterError("change_price", asked, f"an array of shape {prices.shape}")
    wrong = prices[~((prices >= 0) & (prices <= LARGEST))]
    if wrong.size:
        raise ParameterError("change_price", asked, float(wrong.flat[0]))
    if prices.shape == ():
        return float(prices)
    read_only(prices)
    return prices


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
