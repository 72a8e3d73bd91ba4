"""Local improvement of a packing: empty machines, merge split topics, as long as it pays.

Guarantee
    The packing never costs more than the one that was given, and is on some of its machines.

Complexity
    At most MAX_ROUNDS rounds, each of O(topics x machines) tries; nothing is tried above MAX_CELLS.

References
----------
    None: emptying bins and merging items are the plainest moves of local search for bin packing.
"""

from __future__ import annotations

import numpy as np

from fanwise.provision.machines.improve_kernels import State, improve_allocated
from fanwise.provision.machines.packing import Groups, Packing, room_left
from fanwise.provision.problem import Provisioning

MAX_CELLS = 200_000
"""Groups times machines up to which a packing is improved: larger ones leave little to gain."""
MAX_ROUNDS = 20


def improve(problem: Provisioning, groups: Groups, packing: Packing) -> Packing:
    """Return a packing that costs no more, on some of the same machines."""
    num_vms = len(packing.machines)
    if len(groups.topics) * num_vms > MAX_CELLS or num_vms < 2:
        return packing
    allocated = np.zeros((len(groups.topics), num_vms), dtype=np.int64)
    allocated[np.searchsorted(groups.topics, packing.topic), packing.vm] = packing.num_pairs
    hours = problem.costs(1.0, 0.0, 0.0).total
    rents = np.array([machine.usd_per_hour * hours for machine in packing.machines])
    improve_allocated(
        State(allocated, groups.needs, *room_left(problem, packing)),
        rents,
        problem.costs(0.0, 1.0, 0.0).total,
        MAX_ROUNDS,
    )
    vms = np.flatnonzero(allocated.any(axis=0))
    group, vm = np.nonzero(allocated[:, vms])
    return Packing(
        vm.astype(np.int32),
        groups.topics[group],
        allocated[:, vms][group, vm],
        tuple(packing.machines[old] for old in vms.tolist()),
    )
