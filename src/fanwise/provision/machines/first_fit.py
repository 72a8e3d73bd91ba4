"""First-fit bin packing (FFBP), pair by pair: Alg. 3 of Setty et al., with its gaps mended.

Pairs come subscriber by subscriber in ascending id, those of one subscriber in the order in which
they were chosen. Each goes to the first machine with room, else to a new one. As printed, the
algorithm puts a pair on every machine with room and forgets the incoming copy: here it stops at the
first, and a pair needs twice its traffic on a machine that has not got its topic yet.

This is rung (a) of the paper's ladder. The result depends on the order of the subscribers.

Guarantee
    Every machine keeps its limits. Where bandwidth is the only one, any two machines together move
    more than one of them could.

Complexity
    O(pairs x log machines).

References
----------
    V. Setty, R. Vitenberg, G. Kreitz, G. Urdaneta, M. van Steen: Cost-effective resource allocation
    for deploying pub/sub on cloud. Research report 436, University of Oslo, 2014.
"""

from __future__ import annotations

from fanwise.arrays.csr import Csr
from fanwise.planning.problem import Run
from fanwise.provision.machines.pack_kernels import pack_first_fit
from fanwise.provision.machines.packing import (
    Bin,
    Filling,
    Groups,
    Packing,
    group_pairs,
    pack_on_types,
)
from fanwise.provision.problem import Provisioning


def pack(problem: Provisioning, pairs: Csr, run: Run) -> Packing:
    """Put chosen pairs on machines."""
    with run.progress.step("packing pairs"):
        return pack_on_types(problem, group_pairs(problem, pairs), fill)


def fill(problem: Provisioning, groups: Groups, kind: Bin) -> Filling:
    """Put pairs on machines of one type."""
    parts, num_vms = pack_first_fit(groups.pairs, problem.needs, kind.capacity)
    return Filling(*parts, num_vms)
