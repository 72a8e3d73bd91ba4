"""The two stages one after the other: choose pairs, pack them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fanwise.arrays.csr import Csr
from fanwise.planning.problem import Run
from fanwise.provision.feasibility import misses_out, refuse_impossible
from fanwise.provision.machines.packing import Packing, group_pairs, least_price, total_price
from fanwise.provision.problem import Provisioning


class Staged(NamedTuple):
    """Chosen pairs, where they are, and what that costs."""

    pairs: Csr
    packing: Packing
    cost: float


def run_stages(
    problem: Provisioning, algorithms: tuple[Callable[..., Any], ...], run: Run
) -> Staged:
    """Choose pairs and pack them.

    With several types the first stage is run for each type alone as well, and whatever pairs it
    chooses are packed on all of them: so the result is never dearer than with any single type. Our
    best of both stages packs what other first stages choose too, unless no packing of it can be
    cheaper: so it is never dearer than any combination of the paper's. Equal choices are packed
    once.
    """
    choose_pairs, pack = algorithms
    refuse_impossible(problem)
    seen: list[Csr] = []
    best: Staged | None = None
    for choose in (choose_pairs, *_rivals(algorithms)):
        for variant in _variants(problem):
            if best is not None and run.is_over():
                return best
            with run.timed("select"):
                pairs: Csr = choose(variant, run)
                is_hopeless = best is not None and _least_cost(problem, pairs) >= best.cost
            if is_hopeless or any(_are_equal(pairs, other) for other in seen):
                continue
            seen.append(pairs)
            with run.timed("pack"):
                packing: Packing = pack(problem, pairs, run)
            cost = total_price(problem, packing)
            if best is None or cost < best.cost:
                best = Staged(pairs, packing, cost)
    assert best is not None
    return best


def _rivals(algorithms: tuple[Callable[..., Any], ...]) -> tuple[Callable[..., Csr], ...]:
    """Return other first stages to try beside our best one."""
    from fanwise.provision.machines import best_packing
    from fanwise.provision.pairs import best_pairs, greedy_pairs, random_pairs

    is_best = algorithms == (best_pairs.choose_pairs, best_packing.pack)
    return (greedy_pairs.choose_pairs, random_pairs.choose_pairs) if is_best else ()


def _least_cost(problem: Provisioning, pairs: Csr) -> float:
    """What pairs cost at least, however they are packed."""
    groups = group_pairs(problem, pairs)
    out_bytes = float(np.dot(groups.counts, groups.needs))
    return least_price(problem, groups) + problem.costs(0.0, 0.0, out_bytes).total


def _variants(problem: Provisioning) -> Iterator[Provisioning]:
    """Yield the problem, then with each type alone that can satisfy everybody."""
    yield problem
    if len(problem.types_allowed) == 1:
        return
    for machine in problem.types_allowed:
        is_usable = problem.fits(machine)
        if is_usable.all() or not misses_out(problem, is_usable).any():
            yield replace(problem, instance=machine.instance)


def _are_equal(pairs: Csr, other: Csr) -> bool:
    return np.array_equal(pairs.indptr, other.indptr) and np.array_equal(
        pairs.indices, other.indices
    )
