"""Provisioning on Spark: pairs, bounds and the allocation there, packing on the driver.

Packing needs no pairs, only how many each topic has. Subscribers of a split topic go to its
machines in ascending id: a pair's machine follows from its rank among the topic's subscribers. So
the plan is the one that the same algorithms make in memory, for any number of partitions.

Guarantee
    The same plan as in memory, for any number of partitions, with a proven bound.

Complexity
    A few passes over the pairs in the partitions; on the driver O(topics log topics), and the core
    that dual ascent works on.

References
----------
    V. Setty, R. Vitenberg, G. Kreitz, G. Urdaneta, M. van Steen: Cost-effective resource allocation
    for deploying pub/sub on cloud. Research report 436, University of Oslo, 2014, Alg. 2, 4 and 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fanwise.arrays.csr import Csr, IntArray, LongArray
from fanwise.distributed.inputs import Inputs, engine_conf, open_inputs
from fanwise.distributed.provision_bounds import paper_bound_on_spark, prove_bound_on_spark
from fanwise.distributed.provision_passes import (
    PACKED,
    SPLIT,
    CountChosen,
    CountMissed,
    Parts,
    allocate_chosen,
    allocate_split,
)
from fanwise.planning.assembling import stated_parameters
from fanwise.planning.problem import Run
from fanwise.progress import SILENT, Progress
from fanwise.provision.allocation import list_machines
from fanwise.provision.bounds import BoundSearch
from fanwise.provision.feasibility import bandwidth_needed, impossible
from fanwise.provision.machines.packing import (
    Fill,
    Packing,
    group_counts,
    pack_on_types,
    total_price,
)
from fanwise.provision.problem import Provisioning
from fanwise.provision.streamed.allocation import lay_out
from fanwise.provision.streamed.identity import hash_plan
from fanwise.provision.streamed.measuring import put_together
from fanwise.provision.streamed.plan import StreamedPlan
from fanwise.provision.streamed.scratch import Scratch
from fanwise.provision.streamed.solve import DEFAULT, default_settings, find_fill, variants
from fanwise.provision.streamed.source import MappedWorkload
from fanwise.workload.topic import Tau

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ALLOCATED = "vm int, topic int, subscriber int"


def solve_on_spark(
    path: str | Path,
    *,
    tau: Tau,
    algorithm: str = DEFAULT,
    scratch: str | Path | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    gap: float | None = None,
    progress: Progress = SILENT,
    proof: bool = True,
    num_partitions: int | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **parameters: Any,
) -> StreamedPlan:
    """Make a plan without the pairs on the driver, which holds vectors with an entry per topic.

    Parameters
    ----------
    path
        A workload folder.
    tau, algorithm, scratch, seed, time_limit, gap, proof, parameters
        As for :func:`fanwise.provision.streamed.solve.solve_streamed`; ``scratch`` must be a folder
        that Spark's workers and the driver share.
    num_partitions
        Into how many blocks subscribers are spread; it does not change the plan.
    master, conf
        As for :func:`fanwise.pipeline.shared.session.spark_session`.
    """
    from fanwise.pipeline.shared.jobs import run_on_spark
    from fanwise.pipeline.shared.session import translated_errors

    fill = find_fill(algorithm)
    run = Run(
        seed=seed,
        time_limit=time_limit,
        gap=gap,
        progress=progress,
        wants_proof=proof,
        settings=default_settings(algorithm),
    )
    files = Scratch(scratch)

    def work(spark: SparkSession) -> StreamedPlan:
        with (
            translated_errors(str(path)),
            run.progress.step("provisioning on Spark"),
            open_inputs(spark, path, tau, run, num_partitions) as inputs,
        ):
            problem = _state_problem(inputs, parameters)
            return _Solve(spark, problem, inputs, run, files).plan(algorithm, fill)

    try:
        return run_on_spark(work, master=master, conf=engine_conf(path, conf))
    except BaseException:
        files.close()
        raise


def _state_problem(inputs: Inputs, parameters: Mapping[str, Any]) -> Provisioning:
    """Return the problem as the driver knows it: all topics, no subscribers."""
    header, topics = inputs.header, inputs.topics
    workload = MappedWorkload(
        rates=topics.rates,
        message_bytes=topics.message_bytes,
        interests=Csr(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32)),
        topic_names=topics.names,
        subscriber_names=pa.array([], pa.string()),
        period_seconds=float(header["period_seconds"]),
        tau=np.zeros(0) if inputs.tau == "column" else None,
        counted_followers=inputs.followers,
    )
    return ProblemOnDriver(
        workload, tau=inputs.tau, num_in_need=inputs.facts.num_subscribers, **parameters
    )


@dataclass(frozen=True, eq=False)
class ProblemOnDriver(Provisioning):
    """A problem whose subscribers are elsewhere.

    Attributes
    ----------
    num_in_need
        How many of them need something.
    """

    num_in_need: int = 0

    def emptiness(self) -> str | None:
        """Say why there is nothing to decide, or None where there is something."""
        return None if self.num_in_need else "no subscriber needs anything"


class _Solve:
    """One solve, with what its steps share."""

    def __init__(
        self, spark: SparkSession, problem: Provisioning, inputs: Inputs, run: Run, scratch: Scratch
    ) -> None:
        self.spark = spark
        self.problem = problem
        self.inputs = inputs
        self.run = run
        self.scratch = scratch

    def plan(self, algorithm: str, fill: Fill) -> StreamedPlan:
        problem, run = self.problem, self.run
        chooser, packing = self._choose_and_pack(fill)
        layout = lay_out(packing)
        allocation = self.scratch.folder / "allocation.parquet"
        with run.timed("allocate"):
            self._allocate(chooser, packing, allocation)
            identity = hash_plan(
                algorithm,
                stated_parameters(problem, run),
                layout.num_rows,
                layout.columns(_subscribers(allocation)),
                list_machines(problem, packing),
            )
        with run.timed("bound"), run.progress.step("proving the bound") as step:
            num_pairs = int(self.inputs.followers.sum())
            search = BoundSearch(run, step, total_price(problem, packing))
            proven = prove_bound_on_spark(problem, self.inputs, num_pairs, search)
            has_one_type = len(problem.types_allowed) == 1
            paper_bound = paper_bound_on_spark(problem, self.inputs) if has_one_type else None
        return put_together(
            problem,
            algorithm,
            packing,
            run,
            identity=identity,
            fingerprint=self.inputs.fingerprint,
            proven=proven,
            stopped=search.stopped,
            is_enough=True,
            allocation=allocation,
            scratch=self.scratch,
            known={
                "paper_bound": paper_bound,
                "subscribers": self.inputs.facts.num_subscribers,
            },
        )

    def _choose_and_pack(self, fill: Fill) -> tuple[Provisioning, Packing]:
        """Return the variant whose pairs are packed most cheaply, and the packing."""
        best: tuple[float, Provisioning, Packing] | None = None
        for variant in variants(self.problem):
            with self.run.timed("select"):
                counts, num_short = self._count(variant)
            if num_short:
                if best is None:
                    self._refuse(variant)
                continue
            with self.run.timed("pack"):
                packing = pack_on_types(self.problem, group_counts(self.problem, counts), fill)
                cost = total_price(self.problem, packing)
            if best is None or cost < best[0]:
                best = cost, variant, packing
        if best is None:
            raise RuntimeError("everybody can be satisfied, but no pairs were chosen")
        return best[1:]

    def _count(self, variant: Provisioning) -> tuple[LongArray, int]:
        with self.inputs.blocks.broadcast(usable_rates(variant)) as rates:
            counts, totals = self.inputs.blocks.sums(CountChosen(rates))
        return counts, int(totals[0])

    def _refuse(self, problem: Provisioning) -> None:
        with self.inputs.blocks.broadcast(usable_rates(problem)) as rates:
            missed, totals = self.inputs.blocks.sums(CountMissed(rates))
        too_large = np.flatnonzero(missed)
        way_out = (
            f"an instance of {bandwidth_needed(problem, too_large)} would do, or a smaller tau"
        )
        raise impossible(problem, too_large, int(totals[0]), way_out)

    def _allocate(self, chooser: Provisioning, packing: Packing, folder: Path) -> None:
        """Write the allocation, sorted, as part files in order."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        from fanwise.pipeline.shared.store import local_uri

        blocks = self.inputs.blocks
        with (
            blocks.broadcast(usable_rates(chooser)) as rates,
            blocks.broadcast(_list_parts(packing, self.problem.workload.num_topics)) as parts,
        ):
            frame: DataFrame = blocks.frame.select(*PACKED)
            chosen = frame.mapInArrow(partial(allocate_chosen, rates=rates, parts=parts), ALLOCATED)
            in_turn = Window.partitionBy("topic").orderBy("subscriber")
            ranked = chosen.where(F.col("vm") == SPLIT).withColumn(
                "rank", F.row_number().over(in_turn).cast("long") - 1
            )
            split = ranked.mapInArrow(partial(allocate_split, parts=parts), ALLOCATED)
            whole = chosen.where(F.col("vm") != SPLIT)
            rows = whole.unionByName(split).orderBy("vm", "topic", "subscriber")
            rows.write.parquet(local_uri(str(folder)))
        for extra in folder.iterdir():
            if extra.suffix != ".parquet":
                extra.unlink()


def usable_rates(problem: Provisioning) -> Any:
    """Return the rates of topics, 0 where they fit no machine."""
    return np.where(problem.is_usable, problem.workload.rates, 0.0)


def _list_parts(packing: Packing, num_topics: int) -> Parts:
    order = np.lexsort((packing.vm, packing.topic))
    topic, vm = packing.topic[order], packing.vm[order]
    first_pair = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(packing.num_pairs[order], out=first_pair[1:])
    first_part = np.searchsorted(topic, np.arange(num_topics))
    copies = np.bincount(topic, minlength=num_topics)
    vm_of_topic = np.full(num_topics, SPLIT, dtype=np.int32)
    vm_of_topic[copies == 1] = vm[first_part[copies == 1]]
    return Parts(vm, first_pair, first_pair[first_part], vm_of_topic)


def _subscribers(folder: Path) -> Iterator[IntArray]:
    """Yield the subscribers of the allocation in the order of its rows."""
    for part in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(part) as file:
            for batch in file.iter_batches(columns=["subscriber"]):
                yield np.ascontiguousarray(batch.column(0).to_numpy(), dtype=np.int32)
