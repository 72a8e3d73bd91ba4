"""What a streamed plan costs, and the plan put together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fanwise.planning.families import PROVISION
from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Run
from fanwise.provision.bounds import paper_bound
from fanwise.provision.machines.packing import Packing, loads
from fanwise.provision.measuring import add_up
from fanwise.provision.problem import Provisioning
from fanwise.provision.streamed.plan import Scratch, StreamedPlan, TablesOnDisk
from fanwise.workload.topic import RELATIVE_TOLERANCE


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
    bound: float,
    is_enough: bool,
    allocation: Path,
    scratch: Scratch,
    known: Mapping[str, Any] | None = None,
) -> StreamedPlan:
    """Return the plan; ``known`` are metrics that the problem at hand cannot tell."""
    vms = list_machines(problem, packing)
    with run.timed("measure"), run.progress.step("measuring"):
        objective, metrics = measure(problem, vms, packing)
    is_feasible = is_enough and keeps_limits(problem, packing)
    run.seconds["total"] = run.elapsed()
    return StreamedPlan(
        problem=PROVISION.name,
        algorithm=algorithm,
        parameters=parameters_of(problem, run),
        objective=objective,
        bound=bound,
        gap=certified_gap(objective, bound, is_feasible=is_feasible),
        feasible=is_feasible,
        workload=fingerprint,
        tables=TablesOnDisk(vms, allocation),
        seconds={part: round(value, 6) for part, value in run.seconds.items()},
        metrics={**metrics, **(known or {}), **problem.judge(objective, bound)},
        id=identity,
        scratch=scratch,
    )


def list_machines(problem: Provisioning, packing: Packing) -> pa.Table:
    """Return the plan's table of machines."""
    machines = packing.machines
    need = problem.needs[packing.topic]
    period = problem.workload.period_seconds
    return pa.table(
        {
            "vm": pa.array(range(len(machines)), pa.int32()),
            "instance": pa.array([machine.instance for machine in machines], pa.string()),
            "usd_per_hour": pa.array([machine.usd_per_hour for machine in machines], pa.float64()),
            "mbps": pa.array([machine.mbps for machine in machines], pa.float64()),
            "capacity_bytes": pa.array(
                [machine.capacity_bytes(period) for machine in machines], pa.float64()
            ),
            "in_bytes": add_up(packing.vm, need, len(machines)),
            "out_bytes": add_up(packing.vm, need * packing.num_pairs, len(machines)),
        }
    )


def measure(problem: Provisioning, vms: pa.Table, packing: Packing) -> tuple[float, dict[str, Any]]:
    """Return the cost of a plan and its metrics; see :mod:`fanwise.provision.measuring`."""
    in_bytes, out_bytes = (
        float(vms.column(name).to_numpy().sum()) for name in ("in_bytes", "out_bytes")
    )
    copies = np.bincount(packing.topic, minlength=problem.workload.num_topics)
    split_bytes = float(np.dot(np.maximum(copies - 1, 0), problem.needs))
    costs = problem.costs(float(vms.column("usd_per_hour").to_numpy().sum()), in_bytes, out_bytes)
    capacity = float(vms.column("capacity_bytes").to_numpy().sum())
    has_one_type = len(problem.types_allowed) == 1
    return costs.total, {
        "vms": vms.num_rows,
        "cost_machines": costs.machines,
        "cost_bandwidth": costs.bandwidth,
        "cost_incoming": costs.incoming,
        "cost_outgoing": costs.outgoing,
        "cost_splits": problem.costs(0.0, split_bytes, 0.0).total,
        "paper_bound": paper_bound(problem) if has_one_type else None,
        "pairs": int(packing.num_pairs.sum()),
        "topics": int(np.count_nonzero(copies)),
        "split_topics": int(np.count_nonzero(copies > 1)),
        "split_bytes": split_bytes,
        "in_bytes": in_bytes,
        "out_bytes": out_bytes,
        "utilisation": (in_bytes + out_bytes) / capacity if vms.num_rows else None,
        "subscribers": int(np.count_nonzero(problem.demand > 0)),
    }


def keeps_limits(problem: Provisioning, packing: Packing) -> bool:
    """Whether no machine moves or holds more than it may."""
    known = {kind.machine.instance: kind for kind in problem.bases}
    kinds = [known[machine.instance] for machine in packing.machines]
    used, topics, pairs = loads(problem, packing)
    usable = np.array([problem.usable_bytes(kind.machine) for kind in kinds])
    return bool(
        (used <= usable * (1 + RELATIVE_TOLERANCE)).all()
        and (topics <= np.array([kind.max_topics for kind in kinds])).all()
        and (pairs <= np.array([kind.max_pairs for kind in kinds])).all()
    )
