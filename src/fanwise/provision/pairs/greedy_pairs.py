"""Greedy pair selection (GSP): Alg. 1 and 2 of Setty et al., each subscriber for itself.

The paper's benefit per cost prefers every topic that does not exceed what a subscriber still lacks
(they all tie) over those that exceed it, and of these the smallest. The ties are broken by falling
rate, then id: take each topic that fits; if something is missing at the end, add the smallest of
those passed over, the smaller id first. Small topics that the last one makes redundant stay, as in
the paper: ``exact`` and ``best`` have none.

Rates, thresholds and the order are in events. Where topics have messages of different sizes, the
choice is still by events; sizes only decide whether a topic fits a machine at all, and those that
fit none are left out.

Guarantee
    Everybody has enough. The outgoing events of a subscriber are less than its threshold plus its
    largest rate; no constant factor is known for the whole problem.

Complexity
    O(pairs x log followings).

References
----------
    V. Setty, R. Vitenberg, G. Kreitz, G. Urdaneta, M. van Steen: Cost-effective resource allocation
    for deploying pub/sub on cloud. Research report 436, University of Oslo, 2014.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr
from fanwise.planning.problem import Run
from fanwise.provision.pairs.pair_kernels import choose_greedily, mark_chosen
from fanwise.provision.problem import SOLVER_TOLERANCE, Provisioning


def choose_pairs(problem: Provisioning, run: Run) -> Csr:
    """Return the topics chosen for each subscriber, in the order they were chosen."""
    with run.progress.step("choosing pairs"):
        return choose_from(problem, 0)


def choose_from(problem: Provisioning, first: int) -> Csr:
    """Return the topics chosen for the subscribers from one on."""
    indptr, topics = problem.workload.interests
    rates = np.where(problem.is_usable, problem.workload.rates, 0.0)
    demand = problem.demand[first:]
    return Csr(*choose_greedily(indptr[first:], topics, rates, demand, SOLVER_TOLERANCE))


def choose_rest(problem: Provisioning, first: int, is_chosen: npt.NDArray[np.bool_]) -> None:
    """Mark the pairs chosen for the subscribers from one on, and no others of theirs."""
    if first < problem.workload.num_subscribers:
        rest = choose_from(problem, first)
        mark_chosen(*problem.workload.interests, first, *rest, is_chosen)
