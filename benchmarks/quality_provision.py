"""Provision for the yardstick: thresholds from what subscribers could get, few and many machines.

Machines are as large as it takes for the paper's greedy pairs to fill so many of them: almost
three, a little over three, seven and a half, two hundred; but never too small for two copies of the
largest topic. A full machine costs four times as much as what it moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.public_data import topic_sources
from benchmarks.quality import Case
from benchmarks.quality_select import PERCENTILES, most_events
from fanwise.planning.problem import Run
from fanwise.provision.catalogue import Instance
from fanwise.provision.machines.packing import group_pairs
from fanwise.provision.pairs import greedy_pairs
from fanwise.provision.problem import Provisioning

MACHINES = (2.95, 3.2, 7.5, 200.0)
"""Machines that greedy pairs fill, one copy of each topic counted."""
RENT = 4.0
"""Rent of a full machine, in times what it moves costs."""


def cases(folders: tuple[Path, ...]) -> Iterator[Case]:
    for name, load in topic_sources(folders):
        for percentile in PERCENTILES:
            for machines in MACHINES:
                setting = f"tau p{percentile}, {machines:g} machines full"
                yield Case(name, setting, partial(pose, load, percentile, machines))


def pose(load, percentile: int, machines: float) -> Provisioning:
    """Ask with tau at a percentile of what subscribers could get at all."""
    workload = load()
    tau = float(np.percentile(most_events(workload), percentile))
    large = Provisioning(workload, tau, instance="any", catalogue=[Instance("any", 1.0, 1e9)])
    groups = group_pairs(large, greedy_pairs.choose_pairs(large, Run()))
    capacity = max(float(groups.sizes.sum()) / machines, 2.001 * float(large.needs.max()))
    moved = large.costs(0.0, capacity, 0.0).total
    hours = large.costs(1.0, 0.0, 0.0).total
    kind = Instance("any", RENT * moved / hours, capacity * 8e-6 / workload.period_seconds)
    return Provisioning(workload, tau, instance="any", catalogue=[kind])
