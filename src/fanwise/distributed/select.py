"""Selection on Spark: greedy in rounds, with a bound, while interests stay partitioned.

Each round sends the served topics to the partitions, which add up what every topic would bring
(Alg. 1 of Setty et al., or the gain of the fractional metric); the driver takes the best topics per
cost, as many as fit a part of the capacity left, and goes on until nothing helps or fits. The part
shrinks with the capacity, so late choices, which matter most, are made few at a time. Then what
holds least per cost is dropped and the capacity is filled again, which mends what early rounds took
twice. Last comes the bound (:mod:`fanwise.distributed.select_bounds`).

Amounts are whole numbers, so the number of partitions does not change the plan. Ctrl-C keeps the
best selection so far; the time limit ends rounds, with what is left of the capacity filled in one.

Guarantee
    Within the capacity, with a proven bound; no factor is known. The same plan for any number of
    partitions.

Complexity
    A pass over the pairs for each round, in the partitions; O(topics log topics) on the driver.

References
----------
    V. Setty, G. Kreitz, G. Urdaneta, R. Vitenberg, M. van Steen: Maximizing the number of satisfied
    subscribers in pub/sub systems under capacity constraints. IEEE INFOCOM 2014.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanwise.arrays.tolerance import fits
from fanwise.distributed.inputs import Inputs, engine_conf, open_inputs
from fanwise.distributed.select_bounds import Proof, paper_bound
from fanwise.distributed.select_rounds import Rounds
from fanwise.distributed.select_search import SparkSearch
from fanwise.errors import ParameterError
from fanwise.planning.assembling import Made, assemble, limits_asked_for
from fanwise.planning.identity import plan_id
from fanwise.planning.plan import Plan
from fanwise.planning.problem import Bound, Measurement, Run
from fanwise.progress import SILENT, Progress
from fanwise.select.problem import METRICS, Metric, parse_capacity
from fanwise.workload.topic import Tau

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALGORITHM = "greedy"


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
    proof: bool = True,
) -> Plan:
    """Make a plan without the interests on the driver.

    The solve, its bound, all metrics and the workload's fingerprint are computed on Spark; the
    driver holds vectors with an entry per topic, and a few partitions at a time for the
    fingerprint. So the plan comes without its workload: give one to :meth:`Plan.verify`.

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
        As for :func:`fanwise.pipeline.shared.session.spark_session`.
    time_limit, gap
        Seconds after which the capacity left is filled in one round, and no further improvement or
        tighter bound is sought; the certified gap at which it is good enough.
    proof
        Whether the plan carries the certificate of its bound.

    Returns
    -------
    Plan
        With ``parameters["engine"] = "spark"``. After Ctrl-C it is the best so far, and
        ``is_interrupted``; the interrupt is raised again if there is none yet.
    """
    from fanwise.pipeline.shared.jobs import run_on_spark
    from fanwise.pipeline.shared.session import translated_errors

    if metric not in METRICS:
        raise ParameterError("metric", "'binary' or 'fractional'", metric)
    run = Run(time_limit=time_limit, gap=gap, progress=progress, wants_proof=proof)
    found = _Found()

    def work(spark: SparkSession) -> None:
        with translated_errors(str(path)):
            _solve(spark, found, path, tau, capacity, metric, run, num_partitions)

    try:
        run_on_spark(work, master=master, conf=engine_conf(path, conf))
    except KeyboardInterrupt:
        if found.search is None or not found.search.has_answer:
            raise
        found.search.is_interrupted = True
    return found.plan(run)


@dataclass
class _Found:
    """What is there of a plan, also when the work on Spark is interrupted."""

    parameters: dict[str, Any] = field(default_factory=dict)
    inputs: Inputs | None = None
    search: SparkSearch | None = None

    def plan(self, run: Run) -> Plan:
        """Put the plan together; only once there is a selection."""
        inputs, search, parameters = self.inputs, self.search, self.parameters
        if inputs is None or search is None:
            raise KeyboardInterrupt
        state, cost = search.answer, inputs.cost
        served = state.served
        parameters |= limits_asked_for(run)
        used = float(cost[served].sum())
        topics = np.arange(len(cost), dtype=np.int32)
        tables = {"topics": pa.table({"topic": topics, "served": served, "cost": cost})}
        proven = search.close()
        bound = max(proven.value, search.value)
        is_feasible = bool(fits(used, parameters["capacity"]))
        metrics = {
            "used": used,
            "served": int(np.count_nonzero(served)),
            "satisfied": state.satisfied,
            "subscribers": inputs.facts.num_subscribers,
            "cost_of_everything": float(cost.sum()),
            "paper_bound": search.paper_bound,
            "rounds": int(search.work),
        }
        made = Made(
            family="select",
            algorithm=ALGORITHM,
            parameters=parameters,
            workload=inputs.fingerprint,
            tables=tables,
            identity=plan_id("select", ALGORITHM, parameters, tables),
            measured=Measurement(search.value, is_feasible, metrics),
            proved=Bound(bound, proven.proof),
            stopped=search.stopped,
            emptiness=None if search.total else "no subscriber needs anything",
            trivial_bound=search.total / search.scale,
        )
        return assemble(made, run, Plan)


def _solve(
    spark: SparkSession,
    found: _Found,
    path: str | Path,
    tau: Tau,
    capacity: float | str,
    metric: Metric,
    run: Run,
    num_partitions: int | None,
) -> None:
    with (
        run.timed("solve"),
        run.progress.step("greedy on Spark") as step,
        open_inputs(spark, path, tau, run, num_partitions) as inputs,
    ):
        limit, percent = parse_capacity(capacity, float(inputs.cost.sum()))
        found.parameters = {
            "tau": inputs.tau,
            "capacity": limit,
            "capacity_percent": percent,
            "metric": metric,
            "engine": "spark",
        }
        is_binary = metric == "binary"
        search = SparkSearch(
            run,
            step,
            scale=share_scale(inputs.facts.num_subscribers * inputs.facts.heaviest),
            counts_heads=is_binary and not inputs.has_weights,
        )
        found.inputs, found.search = inputs, search
        rounds = Rounds(inputs, limit, is_binary=is_binary, search=search)
        with run.timed("bound"):
            search.paper_bound = paper_bound(inputs, limit, is_binary=is_binary)
            if search.paper_bound is not None:
                search.prove_by("paper", search.paper_bound)
        with run.timed("rounds"):
            rounds.fill(rounds.begin())
            rounds.improve()
        with run.timed("bound"):
            Proof(inputs, limit, is_binary=is_binary, search=search).run()


def share_scale(total_weight: float) -> float:
    """Return the power of two that weights are counted in: as fine as their sum fits 62 bits."""
    return 2.0 ** min(44, 61 - math.ceil(math.log2(max(total_weight, 1.0))))
