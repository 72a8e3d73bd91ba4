"""What a streamed plan costs, and the plan put together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fanwise.planning.assembling import Made, assemble, stated_parameters
from fanwise.planning.problem import Bound, Measurement, Run, Stopped
from fanwise.provision.allocation import list_machines
from fanwise.provision.bounds import Proven
from fanwise.provision.machines.packing import Packing, loads
from fanwise.provision.measuring import add_up_costs, keeps_limits
from fanwise.provision.problem import Provisioning
from fanwise.provision.streamed.plan import StreamedPlan, TablesOnDisk
from fanwise.provision.streamed.scratch import Scratch


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
    metrics = {**metrics, **(known or {}), **problem.judge(objective, bound)}
    made = Made(
        family=problem.family,
        algorithm=algorithm,
        parameters=stated_parameters(problem, run),
        workload=fingerprint,
        tables=TablesOnDisk(vms, allocation),
        identity=identity,
        measured=Measurement(objective, is_feasible, metrics),
        proved=Bound(bound, proven.proof),
        stopped=stopped,
        emptiness=problem.emptiness(),
        trivial_bound=problem.trivial_bound(),
    )
    return assemble(made, run, StreamedPlan, scratch=scratch)
