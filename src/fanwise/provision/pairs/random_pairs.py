"""Random pair selection (RSP): Alg. 6 of Setty et al., the naive choice that GSP is held against.

Each subscriber takes its topics in no particular order until it has enough. As printed, the loop
adds up pairs of other subscribers and forgets those it has; the text says what is meant. The order
is drawn at random, each order as likely as any other, from the run's seed.

Guarantee
    Everybody has enough, and nobody could do without the topic that came last.

Complexity
    O(pairs).

References
----------
    V. Setty, R. Vitenberg, G. Kreitz, G. Urdaneta, M. van Steen: Cost-effective resource allocation
    for deploying pub/sub on cloud. Research report 436, University of Oslo, 2014.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import Csr
from fanwise.planning.problem import Run
from fanwise.provision.pairs.pair_kernels import choose_randomly
from fanwise.provision.problem import SOLVER_TOLERANCE, Provisioning


def choose_pairs(problem: Provisioning, run: Run) -> Csr:
    """Return the topics chosen for each subscriber, in the order they were chosen."""
    workload = problem.workload
    rates = np.where(problem.is_usable, workload.rates, 0.0)
    with run.progress.step("choosing pairs"):
        indptr, topics = choose_randomly(
            *workload.interests,
            rates,
            problem.demand,
            SOLVER_TOLERANCE,
            run.random().random(workload.num_pairs),
        )
    return Csr(indptr, topics)
