"""Selection on Spark: greedy in rounds, with a bound, while interests stay partitioned.

Each round sends the served topics to the partitions, which add up what every topic would bring
(Alg. 1 of Setty et al., or the gain of the fractional metric); the driver takes the best topics per
cost, as many as fit a part of the capacity left, and goes on until nothing helps or fits. The part
shrinks with the capacity, so late choices, which matter most, are made few at a time. Then what
holds least per cost is dropped and the capacity is filled again, which mends what early rounds took
twice.

The bound is the one of :mod:`fanwise.select.relaxation`, with prices that partitions compute from a
vector of shares: averaging the best answers to the prices so far (dual averaging, Nesterov 2009)
leaves nothing to remember per subscriber. Amounts are whole numbers, so the number of partitions
does not change the plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.distributed.blocks import Blocks
from fanwise.distributed.inputs import Inputs, open_inputs
from fanwise.distributed.select_passes import CountPrices, Look, Price
from fanwise.errors import ParameterError
from fanwise.planning.identity import plan_id
from fanwise.planning.plan import Plan, certified_gap
from fanwise.planning.problem import Run
from fanwise.progress import SILENT, Progress, Step
from fanwise.select.problem import METRICS, Metric, parse_capacity
from fanwise.select.relaxation import fractional_knapsack
from fanwise.workload.files import read_workload
from fanwise.workload.topic import RELATIVE_TOLERANCE, Tau

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Served = npt.NDArray[np.bool_]

BATCH = 0.3
"""The part of the capacity left that one round may spend."""
SMALLEST_BATCH = 0.03
"""The part of the whole capacity below which a round is not limited."""
MAX_ROUNDS = 200
DROPS = (0.1,)
"""Parts of the capacity that are dropped and filled again; more of them cost more than they win."""
ITERATIONS = 10
DEFAULT_GAP = 1e-4


def solve_on_spark(
    path: str | Path,
    *,
    tau: Tau,
    capacity: float | str,
    metric: Metric = "binary",
    num_partitions: int | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    progress: Progress = SILENT,
) -> Plan:
    """Make a plan without the interests on the driver.

    The solve, its bound and all metrics are computed on Spark. Only the workload's fingerprint,
    which plans carry, is taken from the folder as every command does: it reads the workload once on
    the driver, after the solve.

    Parameters
    ----------
    path
        A workload folder.
    tau, capacity, metric
        As for :class:`fanwise.select.problem.Selection`.
    num_partitions
        Into how many blocks subscribers are spread; by default so that each has a few million
        pairs, and every core has one. It does not change the plan.
    master, conf
        As for :func:`fanwise.pipeline.session.spark_session`.
    time_limit, gap
        Seconds after which no further improvement or tighter bound is sought; the certified gap at
        which it is good enough.

    Returns
    -------
    Plan
        With ``parameters["engine"] = "spark"``.
    """
    from fanwise.pipeline.apart import Jobs, run_apart
    from fanwise.pipeline.session import active_session, spark_session, translated_errors

    if metric not in METRICS:
        raise ParameterError("metric", "'binary' or 'fractional'", metric)
    run = Run(time_limit=time_limit, gap=gap, progress=progress)
    active = active_session()

    def work(jobs: Jobs) -> _Answer:
        with spark_session(master, conf, active) as spark, translated_errors(str(path)):
            jobs.attach(spark)
            try:
                with (
                    run.timed("solve"),
                    open_inputs(spark, path, tau, num_partitions) as inputs,
                ):
                    limit, percent = parse_capacity(capacity, float(inputs.cost.sum()))
                    parameters = {
                        "tau": inputs.tau,
                        "capacity": limit,
                        "capacity_percent": percent,
                        "metric": metric,
                        "engine": "spark",
                    }
                    solver = _Solver(spark, inputs, limit, metric, run)
                    return _Answer(parameters, *solver.solve())
            finally:
                jobs.detach()

    answer = run_apart(work)
    return _make_plan(path, answer, run)


@dataclass(frozen=True)
class _Answer:
    parameters: dict[str, Any]
    table: pa.Table
    objective: float
    bound: float
    is_feasible: bool
    metrics: dict[str, Any]


def _make_plan(path: str | Path, answer: _Answer, run: Run) -> Plan:
    with run.timed("fingerprint"):
        workload = read_workload(path)
        fingerprint = workload.hash
    limits = {"time_limit": run.time_limit, "gap": run.gap}
    parameters = answer.parameters | {
        name: value for name, value in limits.items() if value is not None
    }
    tables = {"topics": answer.table}
    run.seconds["total"] = run.elapsed()
    return Plan(
        problem="select",
        algorithm="greedy",
        parameters=parameters,
        objective=answer.objective,
        bound=answer.bound,
        gap=certified_gap(answer.objective, answer.bound, is_feasible=answer.is_feasible),
        feasible=answer.is_feasible,
        workload=fingerprint,
        tables=tables,
        seconds={part: round(value, 6) for part, value in run.seconds.items()},
        metrics=answer.metrics,
        id=plan_id("select", "greedy", parameters, tables),
        source=workload,
    )


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


class _Solver:
    """One selection on Spark: the driver's vectors, and passes over the blocks."""

    def __init__(
        self, spark: SparkSession, inputs: Inputs, limit: float, metric: Metric, run: Run
    ) -> None:
        self._context = spark.sparkContext
        self._blocks: Blocks = inputs.blocks
        self._rates = inputs.rates_everywhere
        self.cost = inputs.cost
        self._inputs = inputs
        self._limit = limit
        self._room = limit * (1 + RELATIVE_TOLERANCE)
        self._is_binary = metric == "binary"
        self._run = run
        self._step = Step()
        self.scale = share_scale(self._blocks.num_subscribers * self._blocks.heaviest)
        self.rounds = 0

    def solve(self) -> tuple[pa.Table, float, float, bool, dict[str, Any]]:
        """Return table, objective, bound, whether it fits, metrics."""
        with self._run.progress.step("selecting on Spark") as self._step:
            with self._run.timed("rounds"):
                state = self.improve(self.start())
            with self._run.timed("bound"):
                paper = self.paper_bound()
                bound = self.prove(state, paper)
        used = float(self.cost[state.served].sum())
        objective = state.value / self.scale
        metrics = {
            "used": used,
            "served": int(np.count_nonzero(state.served)),
            "satisfied": state.satisfied,
            "subscribers": self._blocks.num_subscribers,
            "cost_of_everything": float(self.cost.sum()),
            "paper_bound": paper,
            "rounds": self.rounds,
        }
        table = pa.table(
            {
                "topic": np.arange(len(self.cost), dtype=np.int32),
                "served": state.served,
                "cost": self.cost,
            }
        )
        return table, objective, max(bound, objective), used <= self._room, metrics

    def start(self) -> State:
        """Serve topics round by round from nothing; fractional: or from the best single topic."""
        nothing = np.zeros(len(self.cost), dtype=bool)
        empty = self.look(nothing)
        state = self.grow(empty)
        if not self._is_binary:
            # The best single topic or greedy per cost: together a constant part of the optimum.
            alone = np.where(self.cost <= self._room, empty.amounts, 0)
            if len(alone) and alone.max() > state.value:
                nothing[np.argmax(alone)] = True
                state = self.grow(self.look(nothing))
        return state

    def improve(self, state: State) -> State:
        """Drop what holds least per cost and fill the capacity again, as long as it pays."""
        for part in DROPS:
            if self._run.is_over():
                break
            kept = drop_weakest(state, self.cost, part * self._limit)
            if np.array_equal(kept, state.served):
                continue
            other = self.grow(self.look(kept))
            if other.value > state.value:
                state = other
        return state

    def grow(self, state: State) -> State:
        """Serve batches of topics until nothing helps or fits."""
        for _ in range(MAX_ROUNDS):
            left = self._room - float(self.cost[state.served].sum())
            batch = choose_batch(state, self.cost, left, SMALLEST_BATCH * self._limit)
            if not len(batch):
                break
            served = state.served.copy()
            served[batch] = True
            state = self.look(served)
        return state

    def look(self, served: Served) -> State:
        """Pass over all subscribers with a set of served topics."""
        with self._broadcast(served) as everywhere:
            work = Look(self._rates, everywhere, self.scale, self._is_binary)
            amounts, totals = self._blocks.sums(work)
        self.rounds += 1
        state = State(served, amounts, int(totals[0]), int(totals[1]))
        self._step.note(f"round {self.rounds}  value {state.value / self.scale:,.6g}")
        return state

    def prove(self, state: State, paper: float | None) -> float:
        """Return a proven bound on the optimum, by prices that fit the selection found."""
        value = state.value / self.scale
        bound = math.inf if paper is None else paper
        target = DEFAULT_GAP if self._run.gap is None else self._run.gap
        shares = np.zeros(len(self.cost))
        for iteration in range(ITERATIONS + 1):
            # First no shares: every price is the weight, the plain knapsack bound.
            with self._broadcast((state.served, shares)) as everywhere:
                steepness = math.sqrt(max(iteration, 1))
                is_plain = not self._is_binary or iteration == 0
                work = Price(self._rates, everywhere, self.scale, steepness, is_plain)
                amounts, totals = self._blocks.sums(work)
            profit = amounts / self.scale
            unpaid = int(totals[1] - totals[0]) / self.scale
            found = unpaid + fractional_knapsack(profit, self.cost, self._room)
            bound = min(bound, totals[1] / self.scale, found * (1 + RELATIVE_TOLERANCE))
            if self._is_binary and not self._inputs.has_weights:
                bound = float(math.floor(bound * (1 + RELATIVE_TOLERANCE)))
            reached = certified_gap(value, bound, is_feasible=True) or 0.0
            self._step.note(f"value {value:,.6g}  bound {bound:,.6g}  gap {100 * reached:.3f}%")
            if reached <= target or self._run.is_over():
                break
            if iteration == 0:
                shares = state.served.astype(np.float64)
            else:
                answer = knapsack_shares(profit, self.cost, self._room)
                shares = shares + (answer - shares) / (iteration + 1)
        return float(bound)

    def paper_bound(self) -> float | None:
        """Return the bound of Setty et al. (see :func:`fanwise.select.bounds.paper_bound`).

        Distinct prices are sorted on Spark. The driver sees a sum per partition, and the rows of
        the one partition in which the capacity runs out.
        """
        from pyspark.sql import functions as F

        if self._inputs.has_costs or self._inputs.has_weights:
            return None
        prices = (
            self._blocks.map(CountPrices(self._rates), "price double, count long")
            .groupBy("price")
            .agg(F.sum("count").alias("count"))
            .sort("price")
            .withColumn("part", F.spark_partition_id())
            .persist()
        )
        try:
            spent = F.sum(F.col("price") * F.col("count"))
            parts = prices.groupBy("part").agg(spent, F.sum("count")).collect()
            count, left = 0, self._room
            for part, total, many in sorted(parts):
                if total <= left:
                    count, left = count + many, left - total
                    continue
                rows = prices.where(F.col("part") == part).select("price", "count").toArrow()
                count += affordable(
                    rows.column("price").to_numpy(), rows.column("count").to_numpy(), left
                )
                break
        finally:
            prices.unpersist()
        return float(count if self._is_binary else count + 1)

    @contextmanager
    def _broadcast(self, value: Any) -> Iterator[Any]:
        variable = self._context.broadcast(value)
        try:
            yield variable
        finally:
            variable.destroy()


def share_scale(total_weight: float) -> float:
    """The power of two that weights are counted in: as fine as their sum fits 62 bits."""
    return 2.0 ** min(44, 61 - math.ceil(math.log2(max(total_weight, 1.0))))


def choose_batch(
    state: State, cost: FloatArray, left: float, smallest_batch: float
) -> npt.NDArray[np.int64]:
    """Return the topics to serve next: best per cost first, a part of the capacity left."""
    topics = np.flatnonzero(~state.served & (state.amounts > 0) & (cost <= left))
    if not len(topics):
        return topics
    amounts, price = state.amounts[topics].astype(np.float64), cost[topics]
    ratio = np.divide(amounts, price, out=np.full(len(topics), np.inf), where=price > 0)
    topics = topics[np.argsort(-ratio, kind="stable")]  # ties go to the smaller id
    budget = min(max(BATCH * left, smallest_batch), left)
    many = int(np.searchsorted(np.cumsum(cost[topics]), budget, side="right"))
    return topics[: max(many, 1)]


def drop_weakest(state: State, cost: FloatArray, budget: float) -> Served:
    """Return the served topics without those that hold least per cost, up to a cost."""
    topics = np.flatnonzero(state.served & (cost > 0))
    topics = topics[np.argsort(state.amounts[topics] / cost[topics], kind="stable")]
    many = int(np.searchsorted(np.cumsum(cost[topics]), budget, side="right"))
    kept = state.served.copy()
    kept[topics[:many]] = False
    return kept


def knapsack_shares(profit: FloatArray, cost: FloatArray, limit: float) -> FloatArray:
    """Return the shares of topics that reach the fractional knapsack's value."""
    shares = np.zeros(len(cost))
    shares[(cost <= 0) & (profit > 0)] = 1.0
    paid = np.flatnonzero((cost > 0) & (profit > 0))
    order = paid[np.argsort(-(profit[paid] / cost[paid]), kind="stable")]
    spent = np.cumsum(cost[order])
    whole = int(np.searchsorted(spent, limit, side="right"))
    shares[order[:whole]] = 1.0
    if whole < len(order):
        left = limit - (spent[whole - 1] if whole else 0.0)
        shares[order[whole]] = max(left, 0.0) / cost[order[whole]]
    return shares


def affordable(prices: FloatArray, counts: LongArray, left: float) -> int:
    """Return how many of the cheapest fit; prices ascend."""
    order = np.argsort(prices, kind="stable")
    total = 0
    for price, count in zip(prices[order], counts[order], strict=True):
        many = min(int(left // price), int(count))
        total += many
        left -= many * price
        if many < count:
            break
    return total
