"""Users who may take some brokers only: every algorithm, bound and check keeps to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fanwise as fw
from fanwise.arrays.csr import Csr
from fanwise.errors import InfeasibleError, VerificationError
from fanwise.planning.families import FAMILIES
from fanwise.workload.generators.sparse import sparse

pytestmark = pytest.mark.kernels
ALGORITHMS = [name for name in FAMILIES["wire"].stages["algorithm"] if name != "exact"]
USERS, BROKERS = 40, 4
OWN = np.arange(USERS) % BROKERS


def with_candidates(workload, known):
    """Return a workload where each user may take the brokers of its row alone."""
    indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))]).astype(np.int64)
    return replace(workload, candidates=Csr(indptr, np.nonzero(known)[1].astype(np.int32)))


def drawn(seed, share, **options):
    """Return a workload, and who may take which broker: one each, and a share of the others."""
    workload = sparse(USERS, brokers=BROKERS, channels=12, audience=1.5, seed=seed, **options)
    known = np.random.default_rng(seed).random((USERS, BROKERS)) < share
    known[np.arange(USERS), OWN] = True
    return with_candidates(workload, known), known


def brokers_of(plan):
    return plan.tables["attachments"].sort_by("subscriber").column("broker").to_numpy()


def is_kept(plan, known):
    return bool(known[np.arange(USERS), brokers_of(plan)].all())


@pytest.mark.parametrize("topology", ["mesh", "tree"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_everybody_is_on_a_candidate(algorithm, topology):
    """With little room too: who finds none on a candidate does not go to the roomiest of all."""
    workload, known = drawn(3, 0.4, capacity_factor=1.05, publishers=0.5)
    settings = {"effort": 0.01} if algorithm == "best" else {}
    plan = fw.Wiring(workload, topology=topology).solve(algorithm, seed=2, **settings)
    assert is_kept(plan, known)
    assert plan.bound <= plan.objective * (1 + 1e-9) or not plan.feasible


def test_candidates_raise_the_bound():
    workload, _ = drawn(5, 0.0)
    problem = fw.Wiring(workload, capacity_factor=2.0)
    plan = problem.solve("packing")
    assert brokers_of(plan).tolist() == OWN.tolist()
    assert plan.bound <= plan.objective * (1 + 1e-9)
    assert plan.verify().is_bound_checked
    free = fw.Wiring(replace(workload, candidates=None), capacity_factor=2.0)
    assert plan.bound > 1.05 * free.bound()


def test_a_plan_elsewhere_is_refused():
    workload, known = drawn(7, 0.4)
    plan = fw.Wiring(workload).solve("packing")
    forged = fw.Wiring(replace(workload, candidates=None)).solve("packing")
    assert not is_kept(forged, known)
    with pytest.raises(VerificationError, match="not among its candidates"):
        replace(plan, tables={**plan.tables, "attachments": forged.tables["attachments"]}).verify()


def test_somebody_without_a_broker():
    workload, known = drawn(1, 0.4)
    known[3] = False
    with pytest.raises(InfeasibleError, match="candidates"):
        fw.Wiring(with_candidates(workload, known))


def test_who_has_no_traffic_keeps_to_candidates_too():
    workload, known = drawn(2, 0.0, publishers=0.3)
    lo, hi = workload.lo.copy(), workload.hi.copy()
    silent = np.flatnonzero(np.diff(workload.rates.indptr) == 0)[:8]
    lo[silent] = hi[silent] = 0.5
    problem = fw.Wiring(replace(workload, lo=lo, hi=hi))
    assert not problem.arrays.demand[silent].any()
    for algorithm in ("random", "packing", "steiner-mixing", "migration"):
        assert is_kept(problem.solve(algorithm, seed=1), known)
