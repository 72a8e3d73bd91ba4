"""The runs behind Figs. 9 and 10 and Table I: every algorithm on the same networks, many of them.

The scale is the share of the paper's work. Half of its logarithm is saved on networks for each
point, the other half on the pairs of a user and a broker, which grow with the square of the users:
a hundredth has a tenth of the networks, with a third of the users.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, most_within
from fanwise.papers.case import Case, share
from fanwise.papers.course import Course
from fanwise.progress import Step
from fanwise.wire.description import DESCRIPTION
from fanwise.wire.problem import Wiring, read_attachments
from fanwise.wire.state import ACCESS, CORE, make_state
from fanwise.wire.steiner_trees import steiner_cost
from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.quadratic import quadratic
from fanwise.workload.generators.sparse import sparse

RANDOM = "random"
PAPERS = ("packing", "clustering", "steiner-mixing")
"""From the worst to the best, by the paper."""
YARDSTICK = PAPERS[0]
"""Runs on all networks, and what ran on some of them only is measured by it."""
DEEP = "best"
"""What runs on the fewest networks; bounds are computed there."""
IN_ORDER = "networks in the paper's order, %"
CORE_SHARE = "core's share of what packing costs, %"
LARGEST_LEAD = "cost of packing over the bound, most"
DENSE, SPARSE = "paper, distances", "sparse"
SEED_STEP = 10_007
"""First seeds of two points are apart by a multiple of this, so that their networks differ."""
RATIOS_OFFSET, AUDIENCES_OFFSET = 100, 200
TIE = RELATIVE_TOLERANCE

Result = Mapping[str, float]
"""One wiring: access, core and their sum, processor seconds and brokers above their capacity."""


@dataclass(frozen=True)
class Trial:
    """One network, every algorithm.

    Attributes
    ----------
    reach
        Share of all pairs of a broker and a channel that have a subscriber, under packing.
    bound
        No wiring costs less; known of the networks that ``best`` has.
    steiner
        What C2 of the cheapest wiring would be with Steiner trees, as a share of it; as well.
    """

    results: Mapping[str, Result]
    reach: float
    bound: float | None = None
    steiner: float | None = None

    def cost(self, name: str) -> float:
        """Return C1 + C2 of an algorithm's wiring."""
        return self.results[name]["access"] + self.results[name]["core"]

    def crr(self, name: str) -> float:
        """Return the cost reduction ratio: the cost of random over an algorithm's."""
        return share(self.cost(RANDOM), self.cost(name))

    @property
    def is_ranked_as_told(self) -> bool:
        """Whether costs fall in the paper's order, or are equal."""
        costs = map(self.cost, PAPERS)
        return all(worse >= better * (1 - TIE) for worse, better in pairwise(costs))


def users_at(course: Course, users: int) -> int:
    """Return the users of an instance."""
    least: int = course.settings.fewest_users
    return min(users, max(least, round(users * math.sqrt(math.sqrt(course.scale)))))


def counts_at(course: Course) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many networks points have by figure, and how many some algorithms have at most."""
    settings, root = course.settings, math.sqrt(course.scale)
    figures = {figure: max(settings.fewest_instances, round(count * root))
               for figure, count in settings.instances.items()}  # fmt: skip
    most = {name: max(settings.at_least[name], round(count * root))
            for name, count in settings.most_instances.items()}  # fmt: skip
    return figures, most


def run_trial(course: Course, problem: Wiring, number: int) -> Trial:
    """Run the algorithms that have the network of a number."""
    _, most = counts_at(course)
    arrays = problem.arrays
    results, states = {}, {}
    for name, series in course.paper.series.items():
        if number >= most.get(name, number + 1):
            continue
        usual = DESCRIPTION.stages["algorithm"][name].settings.get("effort")
        knobs = {"effort": usual.default * course.settings.best_effort} if usual else {}
        outcome, seconds = course.solve(problem, series, clock=time.process_time, **knobs)
        state = make_state(arrays, read_attachments(arrays, outcome.tables))
        states[name] = state
        results[name] = {
            "access": float(state.totals[ACCESS]),
            "core": float(state.totals[CORE]),
            "seconds": seconds,
            "overloaded": float(np.count_nonzero(state.load > most_within(arrays.capacity))),
        }
    inside = states[YARDSTICK].inside
    trial = Trial(results, float(inside.mean()) if inside.size else 0.0)
    if DEEP not in results:
        return trial
    cheapest = min(results, key=trial.cost)
    steiner = share(steiner_cost(arrays, states[cheapest]), results[cheapest]["core"])
    return Trial(results, trial.reach, problem.bound(), steiner)


def summarise(figure: str, regime: str, x: float, problem: Wiring, trials: Sequence[Trial]) -> Case:
    """Return means over the networks of one point.

    Some networks are easier than others. So that curves can be compared, the mean of what is known
    of some is scaled by the mean of the yardstick over all networks to its mean over the same ones.
    """
    having = {name: [trial for trial in trials if name in trial.results]
              for name in trials[0].results}  # fmt: skip

    def estimate(quantity: Callable[[Trial], float], known: Sequence[Trial],
                 yardstick: Callable[[Trial], float]) -> float:  # fmt: skip
        some = _mean(map(quantity, known))
        if len(known) == len(trials):
            return some
        return some * _mean(map(yardstick, trials)) / (_mean(map(yardstick, known)) or 1.0)

    def crr_of(name: str) -> Callable[[Trial], float]:
        return lambda trial: trial.crr(name)

    def part_of(name: str, *parts: str) -> Callable[[Trial], float]:
        """Return what gives parts of an algorithm's cost as a share of random's cost."""
        return lambda trial: (
            sum(trial.results[name][part] for part in parts) / (trial.cost(RANDOM) or 1.0)
        )

    results: dict[str, list[Result]] = {}
    arrays = problem.arrays
    network = {"users": float(arrays.num_users), "brokers": float(arrays.num_brokers),
               "reach under packing": _mean(trial.reach for trial in trials)}  # fmt: skip
    bounded = [trial for trial in trials if trial.bound]
    if bounded:
        network["highest CRR"] = estimate(
            lambda trial: trial.cost(RANDOM) / (trial.bound or 1.0), bounded, crr_of(YARDSTICK)
        )
    network[IN_ORDER] = 100 * _mean(trial.is_ranked_as_told for trial in trials)
    network[CORE_SHARE] = 100 * _mean(
        share(trial.results[YARDSTICK]["core"], trial.cost(YARDSTICK)) for trial in trials
    )
    if bounded:
        network[LARGEST_LEAD] = max(
            share(trial.cost(YARDSTICK), trial.bound or 0.0) for trial in bounded
        )
    improved = [trial.steiner for trial in trials if trial.steiner is not None]
    if improved:
        network["core with Steiner trees over core"] = _mean(improved)
    results["network"] = [network]
    kept: dict[str, Any] = {"trials": trials, "split": {}, "counts": {}}
    whole = part_of(YARDSTICK, "access", "core")
    for name, own in having.items():
        crrs = np.array([trial.crr(name) for trial in own])
        found = {
            "instances": float(len(own)),
            "CRR": estimate(crr_of(name), own, crr_of(YARDSTICK)),
        }
        if len(own) > 1:
            found["standard error of CRR"] = float(crrs.std(ddof=1) / np.sqrt(len(crrs)))
        found |= {"least CRR": float(crrs.min()), "most CRR": float(crrs.max())}
        for quantity in ("access", "core", "seconds", "overloaded"):
            found[quantity] = _mean(trial.results[name][quantity] for trial in own)
        results[name] = [found]
        kept["split"][name] = [estimate(part_of(name, part), own, whole)
                               for part in ("access", "core")]  # fmt: skip
        kept["counts"][name] = len(own)
    kept["bounded"] = len(bounded)
    return Case(figure, {"regime": regime, "x": x}, results, kept)


def ahead(case: Case, one: str, other: str) -> float:
    """Return how often the cost of one is in that of another, mean of the networks of both."""
    both = [trial for trial in case.kept["trials"]
            if one in trial.results and other in trial.results]  # fmt: skip
    return _mean(share(trial.cost(other), trial.cost(one)) for trial in both)


def make_network(course: Course, regime: str, users: int, seed: int,
                 audience: float = 2.0) -> ContentWorkload:  # fmt: skip
    """Generate a network of a regime at its own core-to-access ratio.

    The paper's have 100 users for each broker and equal mean link costs, sparse ones few
    subscribers for each broker and channel.
    """
    setup = course.settings.regimes[regime]
    if regime == SPARSE:
        return sparse(users, audience=audience, core_ratio=setup["core_ratio"], seed=seed)
    return quadratic(users, cost_law=setup["cost_law"], seed=seed)


def run_point(course: Course, figure: str, regime: str, x: float,
              make: Callable[[int], ContentWorkload], offset: int,
              core_factor: float = 1.0) -> Case:  # fmt: skip
    """Run one point of a figure on networks of seeds in a row, core costs times a factor."""
    figures, _ = counts_at(course)
    first = course.seed + offset * SEED_STEP
    trials = []
    for number in range(figures[figure]):
        problem = Wiring(make(first + number), core_factor=core_factor)
        trials.append(run_trial(course, problem, number))
    return summarise(figure, regime, x, problem, trials)


def run_regime(course: Course, regime: str, step: Step) -> Iterator[Case]:
    """Figs. 9 and 10: cost reduction against the size, and against the core-to-access ratio.

    All ratios have the same networks.
    """
    settings = course.settings
    for offset, size in enumerate(settings.sizes[regime]):
        users = users_at(course, size)
        step.note(f"Fig. 9, {regime}, {users:,} users")
        yield run_point(course, "9", regime, users, partial(make_network, course, regime, users),
                        offset)  # fmt: skip
        step.advance()
    setup = settings.regimes[regime]
    make = partial(make_network, course, regime, users_at(course, setup["ratio_users"]))
    for ratio in settings.ratios[regime]:
        step.note(f"Fig. 10, {regime}, ratio {ratio:g}")
        yield run_point(course, "10", regime, ratio, make, RATIOS_OFFSET,
                        ratio / setup["core_ratio"])  # fmt: skip
        step.advance()


def run_audiences(course: Course, step: Step) -> Iterator[Case]:
    """Ours: cost reduction against the subscribers of each broker and channel."""
    users = users_at(course, course.settings.audience_users)
    for offset, audience in enumerate(course.settings.audiences):
        step.note(f"Audience {audience:g}")
        make = partial(make_network, course, SPARSE, users, audience=audience)
        yield run_point(course, "audience", SPARSE, audience, make, AUDIENCES_OFFSET + offset)
        step.advance()


def run_all(course: Course) -> list[Case]:
    """Run everything; Table I is of the largest of the paper's networks."""
    settings = course.settings
    points = [*settings.sizes.values(), *settings.ratios.values(), settings.audiences]
    cases: list[Case] = []
    with course.progress.step("Wirings", total=sum(map(len, points))) as step:
        for regime in settings.regimes:
            cases += run_regime(course, regime, step)
        cases += run_audiences(course, step)
    return cases


def warm_up(course: Course) -> None:
    """Compile every kernel, so that seconds are those of the work."""
    quick = Course.of("wire", course.scale, best_effort=0.001)
    for seed, audience in ((0, 2.0), (1, 5.0)):
        workload = make_network(quick, SPARSE, 60, seed, audience)
        run_trial(quick, Wiring(workload), 0)


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))
