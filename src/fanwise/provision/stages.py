"""The two stages one after the other: choose pairs, pack them; or both at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fanwise.arrays.csr import Csr
from fanwise.planning.problem import Bound, Run, Stopped
from fanwise.provision.feasibility import misses_out, refuse_impossible
from fanwise.provision.machines.packing import Packing, group_pairs, least_price, total_price
from fanwise.provision.problem import Provisioning
from fanwise.provision.time_shares import AFTER_PAIRS, keep_time


class PackedPairs(NamedTuple):
    """Chosen pairs, where they are, and what that costs.

    Attributes
    ----------
    bound
        What every plan costs at least, if that was found on the way.
    stopped
        Why the search ended, if there was one.
    """

    pairs: Csr
    packing: Packing
    cost: float
    bound: Bound | None = None
    stopped: Stopped | None = None


def run_stages(
    problem: Provisioning, algorithms: tuple[Callable[..., Any], ...], run: Run
) -> PackedPairs:
    """Choose pairs and pack them.

    With several types the first stage is run for each type alone as well, and whatever pairs it
    chooses are packed on all of them: so the result is never dearer than with any single type.
    Equal choices are packed once. Where both stages are ``exact``, or both ``best``, they are not
    run one after the other: see :mod:`fanwise.provision.exact` and :mod:`fanwise.provision.best`.
    """
    refuse_impossible(problem)
    at_once = _both_at_once(algorithms)
    return at_once(problem, run) if at_once else _one_after_the_other(problem, algorithms, run)


def _both_at_once(
    algorithms: tuple[Callable[..., Any], ...],
) -> Callable[[Provisioning, Run], PackedPairs] | None:
    """Return what decides pairs and machines together, for the algorithms that have it."""
    from fanwise.provision import best, exact
    from fanwise.provision.machines import best_packing, exact_packing
    from fanwise.provision.pairs import best_pairs, exact_pairs

    if algorithms == (exact_pairs.choose_pairs, exact_packing.pack):
        return exact.solve
    if algorithms == (best_pairs.choose_pairs, best_packing.pack):
        return best.solve
    return None


def _one_after_the_other(
    problem: Provisioning, algorithms: tuple[Callable[..., Any], ...], run: Run
) -> PackedPairs:
    choose_pairs, pack = algorithms
    seen: list[Csr] = []
    found: list[PackedPairs] = []
    for variant in variants(problem):
        with run.timed("select"):
            pairs: Csr = choose_pairs(variant, run)
        least = min((packed.cost for packed in found), default=np.inf)
        if least_cost(problem, pairs) >= least or any(are_equal(pairs, other) for other in seen):
            continue
        seen.append(pairs)
        part = keep_time(run, AFTER_PAIRS * run.seconds["select"])
        with run.timed("pack"):
            packing: Packing = pack(problem, pairs, part)
        run.default_limits(**part.limits_in_force)
        found.append(PackedPairs(pairs, packing, total_price(problem, packing)))
    best = min(found, key=lambda packed: packed.cost)
    return best._replace(stopped=best.packing.stopped)


def least_cost(problem: Provisioning, pairs: Csr) -> float:
    """Return what pairs cost at least, however they are packed."""
    groups = group_pairs(problem, pairs)
    out_bytes = float((groups.counts * groups.needs).sum())
    return least_price(problem, groups) + problem.costs(0.0, 0.0, out_bytes).total


def variants(problem: Provisioning) -> Iterator[Provisioning]:
    """Yield the problem, then with each type alone that can satisfy everybody."""
    yield problem
    if len(problem.types_allowed) == 1:
        return
    for machine in problem.types_allowed:
        is_usable = problem.fits(machine)
        if is_usable.all() or not misses_out(problem, is_usable).any():
            yield replace(problem, instance=machine.instance)


def are_equal(pairs: Csr, other: Csr) -> bool:
    """Whether two choices are the same, in the same order."""
    return np.array_equal(pairs.indptr, other.indptr) and np.array_equal(
        pairs.indices, other.indices
    )
