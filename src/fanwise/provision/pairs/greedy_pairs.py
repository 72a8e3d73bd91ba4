"""Greedy pair selection (GSP): Alg. 1 and 2 of Setty et al., each subscriber for itself.

The paper's benefit per cost prefers every topic that does not exceed what a subscriber still lacks
(they all tie) over those that exceed it, and of these the smallest. The ties are broken by falling
rate, then id: take each topic that fits; if something is missing at the end, add the smallest of
those passed over, the smaller id first. Small topics that the last one makes redundant stay, as in
the paper: ``exact`` and ``best`` have none.

Rates, thresholds and the order are in events. Where topics have messages of different sizes, the
choice is still by events; sizes only decide whether a topic fits a machine at all, and those that
fit none are left out. No constant factor is known for the whole problem; alone, the outgoing events
of a subscriber are less than its threshold plus its largest rate. O(pairs x log followings).
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import Csr
from fanwise.planning.problem import Run
from fanwise.provision.pairs.pair_kernels import choose_greedily
from fanwise.provision.problem import SOLVER_TOLERANCE, Provisioning


def choose_pairs(problem: Provisioning, run: Run) -> Csr:
    """Return the topics chosen for each subscriber, in the order they were chosen."""
    workload = problem.workload
    rates = np.where(problem.is_usable, workload.rates, 0.0)
    with run.progress.step("choosing pairs"):
        indptr, topics = choose_greedily(
            *workload.interests, rates, problem.demand, SOLVER_TOLERANCE
        )
    return Csr(indptr, topics)
