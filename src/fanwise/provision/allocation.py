"""The tables of a plan: which machines there are, and who is served where."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import Csr, IntArray, LongArray, count_offsets, scatter_rows, transpose
from fanwise.arrays.jit import kernel
from fanwise.provision.machines.packing import Packing
from fanwise.provision.measuring import add_up
from fanwise.provision.problem import Provisioning


def make_tables(problem: Provisioning, pairs: Csr, packing: Packing) -> dict[str, pa.Table]:
    """Return the plan's tables for packed pairs, sorted by key."""
    allocation = allocate(pairs, packing, problem.workload.num_topics)
    return {"vms": list_machines(problem, packing), "allocation": pa.table(allocation)}


def list_machines(problem: Provisioning, packing: Packing) -> pa.Table:
    """Return the plan's table of machines."""
    machines = packing.machines
    need = problem.needs[packing.topic]
    period = problem.workload.period_seconds
    rows = {
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
    return pa.table(rows)


def allocate(pairs: Csr, packing: Packing, num_topics: int) -> dict[str, IntArray]:
    """Return machine, topic and subscriber of every pair, sorted by them, by counting sorts alone.

    The subscribers of a topic go to its machines in ascending id. O(pairs + topics + parts).
    """
    by_topic = transpose(pairs, num_topics)
    parts = np.arange(len(packing.vm), dtype=np.int32)
    by_vm = scatter_rows(packing.vm, parts, count_offsets(packing.vm, len(packing.machines)))
    keys = packing.topic[by_vm]
    order = scatter_rows(keys, by_vm, count_offsets(keys, num_topics))
    # All pairs of a topic are placed, so parts by topic and machine follow each other without gaps.
    first = np.empty(len(parts), dtype=np.int64)
    first[order] = np.cumsum(packing.num_pairs[order]) - packing.num_pairs[order]
    keys = packing.vm[order]
    order = scatter_rows(keys, order, count_offsets(keys, len(packing.machines)))
    vm, topic, subscriber = copy_parts(
        packing.vm[order],
        packing.topic[order],
        packing.num_pairs[order],
        first[order],
        by_topic.indices,
    )
    return {"vm": vm, "topic": topic, "subscriber": subscriber}


@kernel
def copy_parts(
    vms: IntArray, topics: IntArray, counts: LongArray, first: LongArray, subscribers: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return one row per pair: of each part, ``counts`` subscribers from ``first`` on.

    Changes nothing.
    """
    vm_of_row = np.empty(len(subscribers), dtype=np.int32)
    topic_of_row = np.empty(len(subscribers), dtype=np.int32)
    subscriber_of_row = np.empty(len(subscribers), dtype=np.int32)
    row = 0
    for part in range(len(vms)):
        for i in range(first[part], first[part] + counts[part]):
            vm_of_row[row] = vms[part]
            topic_of_row[row] = topics[part]
            subscriber_of_row[row] = subscribers[i]
            row += 1
    return vm_of_row, topic_of_row, subscriber_of_row
