"""First-fit bin packing (FFBP), pair by pair: Alg. 3 of Setty et al., with its gaps mended.

Pairs come subscriber by subscriber in ascending id, those of one subscriber in the order in which
they were chosen. Each goes to the first machine with room, else to a new one. As printed, the
algorithm puts a pair on every machine with room and forgets the incoming copy: here it stops at the
first, and a pair needs twice its traffic on a machine that has not got its topic yet.

The result depends on the order of the subscribers. O(pairs x log machines).
"""

from __future__ import annotations

from fanwise.arrays.csr import Csr
from fanwise.planning.problem import Run
from fanwise.provision.kernels import pack_first_fit
from fanwise.provision.problem import Packing, Provisioning


def pack(problem: Provisioning, pairs: Csr, run: Run) -> Packing:
    """Put chosen pairs on machines of the problem's instance."""
    with run.progress.step("packing pairs"):
        vm_of_pair, num_vms = pack_first_fit(pairs.indices, problem.needs, problem.packing_limit)
    return Packing(vm_of_pair, (problem.machine,) * num_vms)
