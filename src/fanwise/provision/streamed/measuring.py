"""What a streamed plan costs, and the plan put together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fanwise.planning.families import PROVISION
from fanwise.planning.plan import certified_gap, warnings_for
from fanwise.planning.problem import Run, Stopped
from fanwise.planning.proof import Proof
from fanwise.provision.allocation import list_machines
from fanwise.provision.bounds import Proven
from fanwise.provision.machines.packing import Packing, loads
from fanwise.provision.measuring import add_up_costs, keeps_limits
from fanwise.provision.problem import Provisioning
from fanwise.provision.streamed.plan import StreamedPlan, TablesOnDisk
from fanwise.provision.streamed.scratch import Scratch


def parameters_of(problem: Provisioning, run: Run) -> dict[str, Any]:
    """Return the parameters that a plan states."""
    limits = {"time_limit": run.time_limit, "gap": run.gap}
    stated = {name: value for name, value in limits.items() if value is not None}
    return {**problem.parameters(), "seed": run.seed, **stated}


def put_together(
    problem: Provisioning,
    algorithm: str,
    packing: Packing,
    run: Run,
    *,
    identity: str,
    fingerprint: str,
    proven: Proven,
    stopped: Stopped,
    is_enough: bool,
    allocation: Path,
    scratch: Scratch,
    known: Mapping[str, Any] | None = None,
) -> StreamedPlan:
    """Return the plan; ``known`` are metrics that the problem at hand cannot tell."""
    vms = list_machines(problem, packing)
    with run.timed("measure"), run.progress.step("measuring"):
        in_bytes, out_bytes = (
            float(vms.column(name).to_numpy().sum()) for name in ("in_bytes", "out_bytes")
        )
        copies = np.bincount(packing.topic, minlength=problem.workload.num_topics)
        num_pairs = int(packing.num_pairs.sum())
        objective, metrics = add_up_costs(problem, vms, in_bytes, out_bytes, copies, num_pairs)
    instances = [machine.instance for machine in packing.machines]
    is_feasible = is_enough and keeps_limits(problem, instances, *loads(problem, packing))
    bound = float(proven.value)
    gap = certified_gap(objective, bound, is_feasible=is_feasible)
    proof = Proof(kind="duals", tables=proven.tables, proves=bound)
    run.seconds["total"] = run.elapsed()
    return StreamedPlan(
        problem=PROVISION.name,
        algorithm=algorithm,
        parameters=parameters_of(problem, run),
        objective=objective,
        bound=bound,
        gap=gap,
        feasible=is_feasible,
        workload=fingerprint,
        tables=TablesOnDisk(vms, allocation),
        seconds={part: round(value, 6) for part, value in run.seconds.items()},
        metrics={**metrics, **(known or {}), **problem.judge(objective, bound)},
        id=identity,
        proof=proof if run.wants_proof else None,
        stopped=stopped,
        limits=dict(run.limits_in_force),
        warnings=warnings_for(problem, bound, gap),
        scratch=scratch,
    )
