"""What a plan of select was asked, read from the workload and its parameters with no trust in them.

Demands and costs are computed anew in plain NumPy, in chunks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fanwise.errors import VerificationError
from fanwise.planning.verify import ROUNDING
from fanwise.workload.topic import RELATIVE_TOLERANCE

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.topic import TopicWorkload

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

CHUNK = 1 << 16
"""Pairs in a block: what a processor keeps at hand."""
COUNTED = 1 << 22


@dataclass(frozen=True, eq=False)
class Question:
    """A selection problem as plain arrays.

    Attributes
    ----------
    demand, weight, received
        Per subscriber: what it needs, how much it counts (0 for those that need nothing), and what
        all its topics carry.
    is_whole
        Whether what is bounded is a whole number whatever is served.
    change_price
        Per topic, what switching it costs; one number for all where they have none of their own.
    has_paper_bound
        Whether the bound of Setty et al. holds: neither costs nor weights are given.
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    rates: Floats
    cost: Floats
    demand: Floats
    weight: Floats
    capacity: float
    is_binary: bool
    is_whole: bool
    is_pinned: Flags
    is_excluded: Flags
    was_served: Flags
    max_changes: int | None
    change_price: Floats
    received: Floats
    has_paper_bound: bool

    @property
    def num_pairs(self) -> int:
        return len(self.indices)

    def rounded(self, bound: float) -> float:
        """Round a bound down where what is bounded counts heads."""
        if self.is_whole and math.isfinite(bound):
            return float(math.floor(bound * (1 + RELATIVE_TOLERANCE)))
        return bound

    def paper_bound(self) -> float | None:
        """Return the bound of Setty et al.: the cheapest subscribers first."""
        if not self.has_paper_bound:
            return None
        needing = np.flatnonzero(self.demand > 0)
        least = np.empty(len(needing))
        for first, last, topics, _, starts in blocks(self.indptr, self.indices, needing):
            least[first:last] = np.minimum.reduceat(self.rates[topics], starts)
        ascending = np.sort(np.maximum(self.demand[needing], least))
        reach = self.capacity * (1 + RELATIVE_TOLERANCE) / (1 - RELATIVE_TOLERANCE - ROUNDING)
        affordable = np.cumsum(ascending) <= reach
        return float(np.count_nonzero(affordable) + (0 if self.is_binary else 1))


def read_question(workload: TopicWorkload, plan: Plan, *, is_net: bool = False) -> Question:
    """Return what a plan was asked.

    Parameters
    ----------
    is_net
        Whether the question is about the objective less the price of changes. Otherwise that
        price is no part of it: bounds hold for the objective itself.

    Raises
    ------
    VerificationError
        For parameters that cannot be right; the message is one line.
    """
    parameters = plan.parameters
    wrong = next(wrong_parameters(workload, parameters), None)
    if wrong is not None:
        raise VerificationError(wrong)
    cost = cost_of(workload)
    received = delivered_by(workload, workload.rates)
    tau: Any = workload.tau if parameters["tau"] == "column" else parameters["tau"]
    demand = np.minimum(tau, received)
    ones = np.ones(workload.num_subscribers)
    weight = np.where(demand > 0, ones if workload.weight is None else workload.weight, 0.0)
    is_binary = parameters["metric"] == "binary"
    prices = change_price_in(plan, workload.num_topics)
    return Question(
        indptr=workload.interests.indptr,
        indices=workload.interests.indices,
        rates=workload.rates,
        cost=cost,
        demand=demand,
        weight=weight,
        capacity=float(parameters["capacity"]),
        is_binary=is_binary,
        is_whole=is_binary and workload.weight is None and not is_net,
        is_pinned=named(workload, parameters.get("pin")),
        is_excluded=named(workload, parameters.get("exclude")),
        was_served=was_served_in(plan, workload.num_topics),
        max_changes=parameters.get("max_changes"),
        change_price=prices if is_net else np.zeros(1),
        received=received,
        has_paper_bound=workload.cost is None and workload.weight is None,
    )


def wrong_parameters(workload: TopicWorkload, parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with parameters, in words."""
    tau, capacity = parameters.get("tau"), parameters.get("capacity")
    if isinstance(tau, str):
        if tau != "column" or workload.tau is None:
            yield f"tau: parameters.tau is {tau!r}, but the workload has no such column"
    elif not _is_amount(tau):
        yield f"tau: parameters.tau is {tau!r}, not a number >= 0"
    if not _is_amount(capacity):
        yield f"capacity: parameters.capacity is {capacity!r}, not a number >= 0"
    percent = parameters.get("capacity_percent")
    if percent is not None and not _is_amount(percent):
        yield f"capacity_percent: parameters.capacity_percent is {percent!r}, not a number >= 0"
    metric = parameters.get("metric")
    if not isinstance(metric, str) or metric not in ("binary", "fractional"):
        yield f"metric: unknown metric {metric!r}"
    for name in ("pin", "exclude"):
        listed = parameters.get(name)
        if listed is None:
            continue
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            yield f"{name}: parameters.{name} must be a list of names"
    if not isinstance(parameters.get("previous", ""), str):
        yield f"previous: parameters.previous is {parameters['previous']!r}, not the id of a plan"
    if parameters.get("engine", "spark") != "spark":
        yield f"engine: parameters.engine is {parameters['engine']!r}, not 'spark'"
    changes, price = parameters.get("max_changes"), parameters.get("change_price")
    if changes is not None and not (_is_amount(changes) and isinstance(changes, int)):
        yield f"max_changes: parameters.max_changes is {changes!r}, not a whole number >= 0"
    if price is not None and price != "column" and not _is_amount(price):
        yield f"change_price: parameters.change_price is {price!r}, not a number >= 0 or 'column'"
    if changes is not None and price is not None:
        yield "change_price: a plan has it or max_changes, not both"
    if (changes is not None or price is not None) and "previous" not in parameters:
        yield "previous: changes are weighed, but parameters.previous does not say against what"


def _is_amount(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < math.inf  # type: ignore[operator]


def named(workload: TopicWorkload, names: list[str] | None) -> Flags:
    """Return a flag per topic, set for those named."""
    flags = np.zeros(workload.num_topics, dtype=bool)
    if not names:
        return flags
    wanted = set(names)
    for topic, name in enumerate(workload.topic_names.to_pylist()):
        if name in wanted:
            flags[topic] = True
            wanted.discard(name)
    if wanted:
        raise VerificationError(f"pin or exclude: the workload has no topic {min(wanted)!r}")
    return flags


def was_served_in(plan: Plan, num_topics: int) -> Flags:
    """Return what the plan says was served before; nothing if it does not say."""
    flags = np.zeros(num_topics, dtype=bool)
    table = plan.tables["topics"]
    if "was_served" in table.column_names:
        flags[table.column("topic").to_numpy()] = table.column("was_served").to_numpy(
            zero_copy_only=False
        )
    return flags


def change_price_in(plan: Plan, num_topics: int) -> Floats:
    """Return what switching costs: one price for all, or one per topic as the plan's table says.

    Raises
    ------
    VerificationError
        If the table has no prices where the parameters say so, or has some that are none.
    """
    stated, table = plan.parameters.get("change_price"), plan.tables["topics"]
    if ("change_price" in table.column_names) != (stated == "column"):
        raise VerificationError(
            "change_price: topics.parquet must have a column 'change_price' where "
            "parameters.change_price is 'column', and only then"
        )
    if stated != "column":
        return np.array([float(stated or 0.0)])
    prices = np.zeros(num_topics)
    prices[table.column("topic").to_numpy()] = table.column("change_price").to_numpy(
        zero_copy_only=False
    )
    if not (np.isfinite(prices) & (prices >= 0)).all():
        raise VerificationError("change_price: topics.parquet has a price that is no number >= 0")
    return prices


def cost_of(workload: TopicWorkload) -> Floats:
    """Return the cost of serving each topic: its column, else rate x followers."""
    if workload.cost is not None:
        return workload.cost
    followers = np.zeros(workload.num_topics, dtype=np.int64)
    indices = workload.interests.indices
    for start in range(0, len(indices), COUNTED):
        followers += np.bincount(indices[start : start + COUNTED], minlength=workload.num_topics)
    return workload.rates * followers


def delivered_by(workload: TopicWorkload, rates: Floats) -> Floats:
    """Return the events that each subscriber gets at given rates of the topics."""
    indptr, indices = workload.interests
    delivered = np.zeros(workload.num_subscribers)
    having = np.flatnonzero(np.diff(indptr) > 0)
    for first, last, topics, _, starts in blocks(indptr, indices, having):
        delivered[having[first:last]] = np.add.reduceat(rates[topics], starts)
    return delivered


def blocks(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    chosen: npt.NDArray[np.int64],
) -> Iterator[tuple[int, int, npt.NDArray[np.int32], Any, npt.NDArray[np.int64]]]:
    """Yield blocks of chosen subscribers, each with at least one topic.

    First and last of them, their topics, which pairs these are, and where in the block each
    subscriber's topics start.
    """
    degree = indptr[chosen + 1] - indptr[chosen]
    ends = np.cumsum(degree)
    first = 0
    while first < len(chosen):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + CHUNK, side="right")))
        starts = ends[first:last] - degree[first:last] - before
        low, high = int(indptr[chosen[first]]), int(indptr[chosen[last - 1] + 1])
        pairs: Any = slice(low, high)
        if high - low != int(ends[last - 1]) - before:  # some in between are not chosen
            offsets = indptr[chosen[first:last]] - starts
            pairs = np.repeat(offsets, degree[first:last])
            pairs += np.arange(len(pairs))
        yield first, last, indices[pairs], pairs, starts
        first = last
