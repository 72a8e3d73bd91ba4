"""What a provisioning costs and whether it keeps every limit, from its tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.csr import FloatArray
from fanwise.arrays.tolerance import fits, is_enough
from fanwise.planning.identity import sort_rows
from fanwise.planning.problem import Measurement
from fanwise.provision.bounds import paper_bound
from fanwise.provision.description import DESCRIPTION
from fanwise.provision.kernels import deliver_events
from fanwise.provision.problem import Provisioning


class Traffic(NamedTuple):
    """What each machine moves per period and holds, and on how many machines each topic is."""

    in_bytes: FloatArray
    out_bytes: FloatArray
    topics: npt.NDArray[np.int64]
    pairs: npt.NDArray[np.int64]
    copies: npt.NDArray[np.int64]

    @property
    def used_bytes(self) -> FloatArray:
        return self.in_bytes + self.out_bytes


def measure(problem: Provisioning, tables: Mapping[str, pa.Table]) -> Measurement:
    """Measure a plan's tables; see :meth:`Problem.measure`."""
    vms, allocation = tables["vms"], tables["allocation"]
    traffic = add_up_traffic(problem, allocation, vms.num_rows)
    entries = vms.column("instance").to_pylist()
    is_within = keeps_limits(problem, entries, traffic.used_bytes, traffic.topics, traffic.pairs)
    in_bytes, out_bytes = float(traffic.in_bytes.sum()), float(traffic.out_bytes.sum())
    cost, metrics = add_up_costs(
        problem, vms, in_bytes, out_bytes, traffic.copies, allocation.num_rows
    )
    return Measurement(cost, _satisfies(problem, allocation) and is_within, metrics)


def add_up_costs(
    problem: Provisioning,
    vms: pa.Table,
    in_bytes: float,
    out_bytes: float,
    copies: npt.NDArray[np.int64],
    num_pairs: int,
) -> tuple[float, dict[str, Any]]:
    """Return what machines and traffic cost, and the metrics of a plan.

    ``copies`` are the machines that each topic is on.
    """
    capacity = float(vms.column("capacity_bytes").to_numpy().sum())
    rent = float(vms.column("usd_per_hour").to_numpy().sum())
    split_bytes = float(np.dot(np.maximum(copies - 1, 0), problem.needs))
    costs = problem.costs(rent, in_bytes, out_bytes)
    has_one_type = len(problem.types_allowed) == 1
    return costs.total, {
        "vms": vms.num_rows,
        "cost_machines": costs.machines,
        "cost_bandwidth": costs.bandwidth,
        "cost_incoming": costs.incoming,
        "cost_outgoing": costs.outgoing,
        "cost_splits": problem.costs(0.0, split_bytes, 0.0).total,
        "paper_bound": paper_bound(problem) if has_one_type else None,
        "pairs": num_pairs,
        "topics": int(np.count_nonzero(copies)),
        "split_topics": int(np.count_nonzero(copies > 1)),
        "split_bytes": split_bytes,
        "in_bytes": in_bytes,
        "out_bytes": out_bytes,
        "utilisation": (in_bytes + out_bytes) / capacity if vms.num_rows else None,
        "subscribers": int(np.count_nonzero(problem.demand > 0)),
    }


def add_up_traffic(problem: Provisioning, allocation: pa.Table, num_vms: int) -> Traffic:
    """Add up what the pairs of an allocation make machines take in and send out."""
    rows = sort_rows(allocation, DESCRIPTION.keys["allocation"])
    vm, topic = (rows.column(name).to_numpy() for name in ("vm", "topic"))
    is_new = np.ones(len(vm), dtype=bool)
    is_new[1:] = (vm[1:] != vm[:-1]) | (topic[1:] != topic[:-1])
    start = np.flatnonzero(is_new)
    vm, topic, num_pairs = vm[start], topic[start], np.diff(start, append=len(is_new))
    need = problem.needs[topic]
    return Traffic(
        in_bytes=add_up(vm, need, num_vms),
        out_bytes=add_up(vm, need * num_pairs, num_vms),
        topics=np.bincount(vm, minlength=num_vms),
        pairs=add_up(vm, num_pairs, num_vms).astype(np.int64),
        copies=np.bincount(topic, minlength=problem.workload.num_topics),
    )


def add_up(groups: npt.NDArray[Any], values: npt.NDArray[Any], num_groups: int) -> FloatArray:
    """Sum values by group."""
    # NumPy forgets the type of the weights where there are none.
    return np.bincount(groups, weights=values, minlength=num_groups).astype(np.float64)


def _satisfies(problem: Provisioning, allocation: pa.Table) -> bool:
    delivered = deliver_events(
        *problem.workload.interests,
        problem.workload.rates,
        *(allocation.column(name).to_numpy() for name in ("subscriber", "topic")),
    )
    return bool(is_enough(delivered, problem.demand).all())


def keeps_limits(
    problem: Provisioning,
    instances: Sequence[str],
    used_bytes: FloatArray,
    topics: npt.NDArray[np.int64],
    pairs: npt.NDArray[np.int64],
) -> bool:
    """Whether no machine moves or holds more than its type may."""
    known = {entry.instance: entry for entry in problem.types_allowed}
    entries = [known[name] for name in instances]
    usable = np.array([problem.usable_bytes(entry) for entry in entries])
    max_topics = np.array([entry.max_topics or math.inf for entry in entries])
    max_pairs = np.array([entry.max_connections or math.inf for entry in entries])
    return bool((fits(used_bytes, usable) & (topics <= max_topics) & (pairs <= max_pairs)).all())
