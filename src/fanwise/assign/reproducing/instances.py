"""The workloads of the experiments: generated, since the paper's own are not public."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fanwise.arrays.csr import LongArray
from fanwise.assign.problem import Assignment
from fanwise.assign.reproducing.settings import (
    BROKERS,
    CLOSER_LOOK,
    LEAST_TIGHT,
    LOADS_OF,
    OUT_DEGREE,
    PLACEMENTS,
    SKEWS,
    TIGHT,
    TIGHTER,
    TREE_BROKERS,
    TREES,
    brokers_at,
    subscribers_at,
)
from fanwise.errors import InfeasibleError
from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.difficult import candidate_brokers, difficult
from fanwise.workload.generators.grid import grid
from fanwise.workload.generators.groups import CENTRES, REGIONS, groups
from fanwise.workload.generators.rss import rss


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem and its name in the paper."""

    name: str
    problem: Assignment

    @property
    def title(self) -> str:
        """Name and size."""
        workload = self.problem.workload
        return f"{self.name} ({workload.num_subscribers:,} x {workload.num_brokers:,})"


def one_level(scale: float, seed: int) -> Iterator[Instance]:
    """Yield workload sets #1 (four workloads), #2 and #3 with all brokers at the publisher."""
    for name, skew in SKEWS.items():
        yield Instance(name, Assignment(_groups(scale, skew, seed, brokers=BROKERS)))
    count, brokers = subscribers_at(scale), brokers_at(scale, BROKERS)
    yield Instance("#2", Assignment(rss(count, brokers=brokers, seed=seed)))
    yield Instance("#3", Assignment(grid(count, brokers=brokers, seed=seed)))


def trees(scale: float, seed: int) -> Iterator[tuple[str, Instance]]:
    """Yield the tight and the loose setting of set #1 in trees of several levels.

    On our trees the least possible factor is far below the paper's, about 6, so that 7 and 8 bind
    nobody. One workload is there a second time, with factors that stand to its own least one as the
    paper's do to 6.
    """
    for setting, limits in TREES.items():
        for name, skew in SKEWS.items():
            problem = Assignment(tree_workload(scale, skew, seed, **limits))
            yield setting, Instance(name, problem)
            if setting == TIGHT and name == LOADS_OF:
                yield TIGHTER, Instance(name, _as_tight_as_told(problem))


def _as_tight_as_told(problem: Assignment) -> Assignment:
    least, _ = problem.least
    if least is None:
        raise InfeasibleError("somebody has no broker in time")
    factors = (TREES[TIGHT][name] / LEAST_TIGHT * least for name in ("lbf", "lbf_max"))
    lbf, lbf_max = (round(factor, 3) for factor in factors)
    return replace(problem, lbf=lbf, lbf_max=lbf_max)


def tree_workload(
    scale: float, skew: tuple[str, str], seed: int, *, share: float = 1.0, **limits: float
) -> ContentWorkload:
    """Return a workload of set #1 on a tree; limits that its brokers cannot hold are left out."""
    asked: dict[str, Any] = {"brokers": TREE_BROKERS, "out_degree": OUT_DEGREE, **limits}
    try:
        return _groups(scale, skew, seed, share=share, **asked)
    except InfeasibleError:
        kept = {name: value for name, value in asked.items() if not name.startswith("lbf")}
        return _groups(scale, skew, seed, share=share, **kept)


def closer_look(scale: float, seed: int, **setup: Any) -> Instance:
    """Return the one-level workload that the paper looks at more closely."""
    asked = {"brokers": BROKERS, **setup}
    return Instance(CLOSER_LOOK, Assignment(_groups(scale, SKEWS[CLOSER_LOOK], seed, **asked)))


def by_placement(scale: float, seed: int) -> Iterator[Instance]:
    """Yield the same workload with brokers elsewhere."""
    for placement in PLACEMENTS:
        made = closer_look(scale, seed, placement=placement)
        yield Instance(placement, made.problem)


def _groups(
    scale: float, skew: tuple[str, str], seed: int, *, share: float = 1.0, **setup: Any
) -> ContentWorkload:
    brokers = brokers_at(scale, setup.pop("brokers"))
    return groups(
        round(subscribers_at(scale) * share),
        interest_skew=skew[0],
        broad_interests=skew[1],
        brokers=brokers,
        seed=seed,
        **setup,
    )


def hard_instance(brokers: int, alpha: int, each: int) -> Instance:
    """Return the difficult workload, with so many subscribers for each interest."""
    count = each * (alpha + 1) * brokers
    return Instance(f"n = {brokers}", Assignment(difficult(count, brokers=brokers, alpha=alpha)))


def candidates_table(alpha: int, brokers: int) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Return the interests by their candidate brokers, as in Table III, all from 1."""
    found: dict[tuple[int, ...], list[int]] = {}
    for interest in range((alpha + 1) * brokers):
        own = (
            tuple(int(broker) + 1 for broker in candidate_brokers(interest, alpha, brokers))
            if interest < alpha * brokers
            else tuple(range(1, brokers + 1))
        )
        found.setdefault(own, []).append(interest + 1)
    return {own: tuple(interests) for own, interests in found.items()}


def regions_of(workload: ContentWorkload) -> dict[str, LongArray]:
    """Return the subscribers of each continent, by the nearest centre in the network."""
    gaps = ((workload.positions[:, None, :2] - CENTRES[None]) ** 2).sum(axis=2)
    nearest = gaps.argmin(axis=1)
    return {name: np.flatnonzero(nearest == place) for place, name in enumerate(REGIONS)}
