"""The runs behind the figures: every algorithm on the same networks, many of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.planning.families import WIRE
from fanwise.planning.problem import Run
from fanwise.progress import Step
from fanwise.wire.bounds import lower_bound
from fanwise.wire.ground import TOLERANCE, Ground
from fanwise.wire.problem import Wiring, read_attachments
from fanwise.wire.reproducing.settings import (
    AUDIENCE_USERS,
    BEST_EFFORT,
    DEEP,
    FEW_BEST_EFFORT,
    FEWEST_INSTANCES,
    INSTANCES,
    LABELS,
    MOST_INSTANCES,
    RANDOM,
    SPARSE,
    YARDSTICK,
    Regime,
    instances_at,
    make_sparse,
    users_at,
)
from fanwise.wire.state import ACCESS, CORE, State, make_state
from fanwise.wire.steiner import steiner_cost
from fanwise.workload.content import ContentWorkload

SEED_STEP = 10_007
"""First seeds of two points are apart by a multiple of this, so that their networks differ."""
RATIOS_PLACE, AUDIENCES_PLACE = 100, 200


@dataclass(frozen=True)
class Result:
    """One wiring: C1, C2, processor seconds and brokers above their capacity."""

    access: float
    core: float
    seconds: float
    overloaded: int

    @property
    def cost(self) -> float:
        return self.access + self.core


@dataclass(frozen=True)
class Trial:
    """One network, every algorithm.

    Attributes
    ----------
    reach
        Share of all pairs of a broker and a channel that have a subscriber, under packing.
    bound
        No wiring costs less; known of the networks that ``best`` may have.
    steiner
        What C2 of the cheapest wiring would be with Steiner trees, as a share of it; as well.
    """

    results: Mapping[str, Result]
    reach: float
    bound: float | None = None
    steiner: float | None = None

    def crr(self, name: str) -> float:
        """Return the cost reduction ratio: the cost of random over an algorithm's."""
        return _ratio(self.results[RANDOM].cost, self.results[name].cost)

    @property
    def highest_crr(self) -> float | None:
        """No algorithm has more."""
        return None if not self.bound else self.results[RANDOM].cost / self.bound


@dataclass(frozen=True)
class Case:
    """One point of a figure.

    Attributes
    ----------
    x
        What the figure varies: users, the core-to-access ratio, or the audience.
    """

    figure: str
    regime: str
    x: float
    num_users: int
    num_brokers: int
    trials: Sequence[Trial]

    @property
    def names(self) -> list[str]:
        """The algorithms but random."""
        return [name for name in self.trials[0].results if name != RANDOM]

    def having(self, name: str) -> list[Trial]:
        """Return the networks that an algorithm ran on."""
        return [trial for trial in self.trials if name in trial.results]

    def results(self, name: str) -> list[Result]:
        """Return its wirings."""
        return [trial.results[name] for trial in self.having(name)]

    def crr(self, name: str) -> float:
        """Return the mean of its cost reduction ratios; see :meth:`_estimate`."""
        return self._estimate([(trial, trial.crr(name)) for trial in self.having(name)])

    @property
    def highest_crr(self) -> float | None:
        """The mean of what no algorithm surpasses; None where no bound is known."""
        given = [(trial, trial.highest_crr) for trial in self.trials]
        known = [(trial, crr) for trial, crr in given if crr is not None]
        return self._estimate(known) if known else None

    def _estimate(self, found: Sequence[tuple[Trial, float]]) -> float:
        """Return the mean over all networks of what is known of some.

        Some networks are easier than others. So that curves can be compared, the mean of some is
        scaled by the mean of the yardstick over all networks to its mean over the same ones.
        """
        some = float(np.mean([value for _, value in found]))
        if len(found) == len(self.trials):
            return some
        there = float(np.mean([trial.crr(YARDSTICK) for trial, _ in found]))
        return some * float(np.mean([trial.crr(YARDSTICK) for trial in self.trials])) / there

    def ahead(self, one: str, other: str) -> float:
        """Return how often the cost of one the cost of another is, mean of the common networks."""
        both = [trial.results for trial in self.having(one) if other in trial.results]
        return float(np.mean([_ratio(by[other].cost, by[one].cost) for by in both]))


@dataclass(frozen=True)
class Networks:
    """The networks of one point: ``make(seed)`` for seeds in a row, core costs times a factor."""

    make: Callable[[int], ContentWorkload]
    first_seed: int
    core_factor: float = 1.0

    def pose(self, number: int) -> Wiring:
        """Return the problem of one network."""
        return Wiring(self.make(self.first_seed + number), core_factor=self.core_factor)


@dataclass(frozen=True)
class Effort:
    """How many networks a mean is of, by figure; how many some algorithms have at most.

    ``best_effort`` is the share of its usual work that ``best`` does, ``seed`` that of all choices.
    """

    instances: Mapping[str, int]
    most: Mapping[str, int]
    best_effort: float
    seed: int

    def runs(self, name: str, number: int) -> bool:
        """Whether an algorithm has the network of a number."""
        return number < self.most.get(name, number + 1)


def effort_at(scale: float, seed: int) -> Effort:
    """Return the effort of a scale."""
    return Effort(
        {figure: instances_at(scale, count) for figure, count in INSTANCES.items()},
        {
            name: instances_at(scale, count, FEWEST_INSTANCES[name])
            for name, count in MOST_INSTANCES.items()
        },
        BEST_EFFORT if scale >= 1 else FEW_BEST_EFFORT,
        seed,
    )


def algorithm_names() -> list[str]:
    """Return the algorithms to run, those of the table that have a label, random first."""
    table = WIRE.stages["algorithm"]
    return [name for name in LABELS if name in table]


def run_trial(problem: Wiring, effort: Effort, number: int) -> Trial:
    """Run the algorithms on the network of a number."""
    ground = problem.ground
    names = [name for name in algorithm_names() if effort.runs(name, number)]
    results, states = {}, {}
    for name in names:
        broker_of_user, seconds = attach(problem, name, effort)
        states[name] = make_state(ground, broker_of_user)
        results[name] = measure(ground, states[name], seconds)
    inside = states[YARDSTICK].inside
    reach = float(inside.mean()) if inside.size else 0.0
    if not effort.runs(DEEP, number):
        return Trial(results, reach)
    state = states[min(names, key=lambda name: results[name].cost)]
    steiner = _ratio(steiner_cost(ground, state), float(state.totals[CORE]))
    return Trial(results, reach, lower_bound(problem), steiner)


def attach(problem: Wiring, name: str, effort: Effort) -> tuple[IntArray, float]:
    """Return the brokers that an algorithm chooses, and processor seconds."""
    algorithm = WIRE.stages["algorithm"][name]
    settings = {key: setting.default for key, setting in algorithm.settings.items()}
    if "effort" in settings:
        settings["effort"] *= effort.best_effort
    run = Run(seed=effort.seed, settings=settings)
    started = time.process_time()
    outcome = algorithm.load()(problem, run)
    seconds = time.process_time() - started
    return read_attachments(problem.ground, outcome.tables), seconds


def measure(ground: Ground, state: State, seconds: float) -> Result:
    """Return what a wiring costs."""
    over = state.load > ground.capacity * (1 + TOLERANCE)
    access, core = float(state.totals[ACCESS]), float(state.totals[CORE])
    return Result(access, core, seconds, int(np.count_nonzero(over)))


def run_sizes(regime: Regime, scale: float, effort: Effort, step: Step) -> Iterator[Case]:
    """Fig. 9: cost reduction against the size of the network."""
    sizes = regime.sizes if scale >= 1 else regime.few_sizes
    for place, size in enumerate(sizes):
        users = users_at(scale, size)
        step.note(f"Fig. 9, {regime.name}, {users:,} users")
        networks = Networks(partial(regime.make, users), effort.seed + place * SEED_STEP)
        yield run_point("9", regime.name, users, networks, effort)
        step.advance()


def run_ratios(regime: Regime, scale: float, effort: Effort, step: Step) -> Iterator[Case]:
    """Fig. 10: cost reduction against the core-to-access ratio, on the same networks."""
    ratios = regime.ratios if scale >= 1 else regime.few_ratios
    users = users_at(scale, regime.ratio_users)
    for ratio in ratios:
        step.note(f"Fig. 10, {regime.name}, ratio {ratio:g}")
        first = effort.seed + RATIOS_PLACE * SEED_STEP
        networks = Networks(partial(regime.make, users), first, ratio / regime.core_ratio)
        yield run_point("10", regime.name, ratio, networks, effort)
        step.advance()


def run_audiences(
    audiences: Sequence[float], scale: float, effort: Effort, step: Step
) -> Iterator[Case]:
    """Ours: cost reduction against the subscribers of each broker and channel."""
    users = users_at(scale, AUDIENCE_USERS)
    for place, audience in enumerate(audiences):
        step.note(f"Audience {audience:g}")
        first = effort.seed + (AUDIENCES_PLACE + place) * SEED_STEP
        networks = Networks(partial(make_sparse, users, audience=audience), first)
        yield run_point("audience", SPARSE, audience, networks, effort)
        step.advance()


def run_point(figure: str, regime: str, x: float, networks: Networks, effort: Effort) -> Case:
    """Run one point of a figure on many networks."""
    trials = []
    for number in range(effort.instances[figure]):
        problem = networks.pose(number)
        trials.append(run_trial(problem, effort, number))
    ground = problem.ground
    return Case(figure, regime, x, ground.num_users, ground.num_brokers, trials)


def warm_up() -> None:
    """Compile every kernel, so that seconds are those of the work."""
    for workload in (make_sparse(60, 0), make_sparse(60, 1, 5.0)):
        run_trial(Wiring(workload), Effort({}, {}, 0.001, 0), 0)


def _ratio(one: float, other: float) -> float:
    return one / other if other else 1.0
