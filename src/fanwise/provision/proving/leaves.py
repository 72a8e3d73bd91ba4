"""The leaves of a search over all plans of a tiny question, as a certificate.

A leaf is the least number of pairs of each topic; the leaves are the smallest numbers by which
everybody can be satisfied. See :mod:`fanwise.provision.verify_leaves`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, ROUNDING
from fanwise.planning.proof import Proof, ProofError
from fanwise.provision.bounds import rates_that_fit
from fanwise.provision.pairs.charges import whole_demand

if TYPE_CHECKING:
    from fanwise.provision.problem import Provisioning

MOST_PAIRS, MOST_FOLLOWED, MOST_CASES, MOST_LEAVES = 64, 12, 4_000, 400

Counts = npt.NDArray[np.int64]


def prove_by_leaves(problem: Provisioning, bound: float) -> Proof | None:
    """Return a proof that no plan costs less than ``bound``, or None where that is too much work.

    Whoever checks it is asked first: what it would not accept is not offered.
    """
    from fanwise.provision.verify_proof import proven_bound

    leaves = list_leaves(problem)
    if leaves is None:
        return None
    leaf, topic = np.nonzero(leaves)
    table = pa.table(
        {
            "leaf": leaf.astype(np.int32),
            "topic": topic.astype(np.int32),
            "pairs": leaves[leaf, topic].astype(np.int32),
        }
    )
    proof = Proof(kind="leaves", tables={"leaves": table}, proves=bound)
    asked = SimpleNamespace(parameters=problem.parameters(), proof=proof)
    try:
        found = proven_bound(problem.workload, asked)  # type: ignore[arg-type]
    except ProofError:
        return None
    return proof if found >= bound * (1 - RELATIVE_TOLERANCE / 2) else None


def list_leaves(problem: Provisioning) -> Counts | None:
    """Return the smallest numbers of pairs by topic that satisfy everybody, or None if too many."""
    workload = problem.workload
    if workload.num_pairs > MOST_PAIRS:
        return None
    enough, rates = whole_demand(problem, RELATIVE_TOLERANCE), rates_that_fit(problem)
    indptr, indices = workload.interests
    cases: Counts = np.zeros((1, workload.num_topics), dtype=np.int64)
    for subscriber in np.flatnonzero(enough > 0).tolist():
        topics = indices[indptr[subscriber] : indptr[subscriber + 1]]
        topics = topics[rates[topics] > 0]
        if len(topics) > MOST_FOLLOWED:
            return None
        chosen = np.arange(1, 2 ** len(topics))[:, None] >> np.arange(len(topics)) & 1
        has = chosen @ rates[topics]
        smallest = np.where(chosen == 1, rates[topics], np.inf).min(axis=1)
        wanted = enough[subscriber] * (1 - ROUNDING)
        chosen = chosen[(has >= wanted) & (has - smallest < wanted)]
        ways = np.zeros((len(chosen), workload.num_topics), dtype=np.int64)
        ways[:, topics] = chosen
        if not len(ways) or len(cases) * len(ways) > MOST_CASES * 8:
            return None
        cases = keep_smallest((cases[:, None, :] + ways[None, :, :]).reshape(-1, cases.shape[1]))
        if len(cases) > MOST_CASES:
            return None
    return cases if 0 < len(cases) <= MOST_LEAVES and cases.any() else None


def keep_smallest(cases: Counts) -> Counts:
    """Return the cases that no other is below."""
    cases = np.unique(cases, axis=0)
    cases = cases[np.argsort(cases.sum(axis=1), kind="stable")]
    kept = np.ones(len(cases), dtype=bool)
    for i in range(len(cases)):
        if kept[i]:
            kept[i + 1 :] &= ~(cases[i + 1 :] >= cases[i]).all(axis=1)
    return cases[kept]
