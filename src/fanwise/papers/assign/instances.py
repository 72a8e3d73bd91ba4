"""The workloads of the experiments: generated, since the paper's own are not public.

The scale is the share of the paper's subscribers; brokers are fewer by the root of it, so that
loads remain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fanwise.arrays.csr import LongArray
from fanwise.assign.problem import Assignment
from fanwise.errors import InfeasibleError
from fanwise.papers.course import Course
from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.difficult import candidate_brokers, difficult
from fanwise.workload.generators.grid import grid
from fanwise.workload.generators.groups import CENTRES, REGIONS, groups
from fanwise.workload.generators.rss import rss

TIGHT, LOOSE, TIGHTER = "tight", "loose", "tight, our least factor"


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


def subscribers_at(course: Course) -> int:
    """Return the subscribers of an instance."""
    settings = course.settings
    wanted: int = round(settings.subscribers * course.scale)
    return max(int(settings.fewest_subscribers), wanted)


def brokers_at(course: Course, brokers: int) -> int:
    """Return the brokers of an instance."""
    least: int = course.settings.fewest_brokers
    return max(least, round(brokers * math.sqrt(course.scale)))


def one_level(course: Course) -> Iterator[Instance]:
    """Yield workload sets #1 (four workloads), #2 and #3 with all brokers at the publisher."""
    for name in course.settings.skews:
        yield Instance(name, Assignment(_groups(course, name, brokers=course.settings.brokers)))
    count, brokers = subscribers_at(course), brokers_at(course, course.settings.brokers)
    yield Instance("#2", Assignment(rss(count, brokers=brokers, seed=course.seed)))
    yield Instance("#3", Assignment(grid(count, brokers=brokers, seed=course.seed)))


def trees(course: Course) -> Iterator[tuple[str, Instance]]:
    """Yield the tight and the loose setting of set #1 in trees of several levels.

    On our trees the least possible factor is far below the paper's, about 6, so that 7 and 8 bind
    nobody. One workload is there a second time, with factors that stand to its own least one as the
    paper's do to 6.
    """
    settings = course.settings
    for setting, limits in settings.trees.items():
        for name in settings.skews:
            problem = Assignment(tree_workload(course, name, **limits))
            yield setting, Instance(name, problem)
            if setting == TIGHT and name == settings.loads_of:
                yield TIGHTER, Instance(name, _as_tight_as_told(course, problem))


def _as_tight_as_told(course: Course, problem: Assignment) -> Assignment:
    least, _ = problem.least
    if least is None:
        raise InfeasibleError("somebody has no broker in time")
    told = course.settings.trees[TIGHT]
    factors = (told[name] / course.settings.least_tight * least for name in ("lbf", "lbf_max"))
    lbf, lbf_max = (round(factor, 3) for factor in factors)
    return replace(problem, lbf=lbf, lbf_max=lbf_max)


def tree_workload(
    course: Course, name: str, *, share: float = 1.0, **limits: float
) -> ContentWorkload:
    """Return a workload of set #1 on a tree; limits that its brokers cannot hold are left out."""
    settings = course.settings
    asked: dict[str, Any] = {
        "brokers": settings.tree_brokers, "out_degree": settings.out_degree, **limits,
    }  # fmt: skip
    try:
        return _groups(course, name, share=share, **asked)
    except InfeasibleError:
        kept = {key: value for key, value in asked.items() if not key.startswith("lbf")}
        return _groups(course, name, share=share, **kept)


def by_placement(course: Course) -> Iterator[Instance]:
    """Yield the workload that the paper looks at more closely, with brokers elsewhere."""
    settings = course.settings
    for placement in settings.placements:
        workload = _groups(course, settings.closer_look, brokers=settings.brokers,
                           placement=placement)  # fmt: skip
        yield Instance(placement, Assignment(workload))


def _groups(course: Course, name: str, *, share: float = 1.0, **setup: Any) -> ContentWorkload:
    interest_skew, broad_interests = course.settings.skews[name]
    brokers = brokers_at(course, setup.pop("brokers"))
    return groups(
        round(subscribers_at(course) * share),
        interest_skew=interest_skew,
        broad_interests=broad_interests,
        brokers=brokers,
        seed=course.seed,
        **setup,
    )


def difficult_instance(brokers: int, alpha: int, each: int) -> Instance:
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
    return {name: np.flatnonzero(nearest == number) for number, name in enumerate(REGIONS)}
