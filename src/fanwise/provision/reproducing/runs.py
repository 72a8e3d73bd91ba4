"""The runs behind the paper's figures: costs, machines, traffic, bounds and running times.

A workload of a share s of the paper's size is served by machines of s times the bandwidth at s
times the rent: so there are as many machines as at full size, rent and traffic keep their
proportion, and money is s times that of full size. In the scaled regime bandwidth is divided once
more, at the same rent, until there are as many machines as the paper's words imply.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fanwise.arrays.csr import Csr
from fanwise.planning.families import PROVISION
from fanwise.planning.problem import Run
from fanwise.progress import Progress, Step
from fanwise.provision.bounds import paper_bound
from fanwise.provision.catalogue import BUILT_IN, Catalogue, Instance
from fanwise.provision.machines.packing import Packing
from fanwise.provision.problem import Provisioning
from fanwise.provision.reproducing.settings import (
    FIRST_RUNG,
    INSTANCES,
    LADDER,
    LAST_RUNG,
    LITERAL,
    NAIVE,
    OURS,
    REGIMES,
    REPEATS,
    SCALED,
    TAUS,
    Trace,
)
from fanwise.provision.stages import run_stages
from fanwise.workload.topic import TopicWorkload

MAX_TRIES = 6
CLOSE_ENOUGH = 0.02
"""How far from the paper's number of machines the scaled regime may be, relatively."""


@dataclass(frozen=True)
class Sample:
    """A generated stand-in for one of the paper's traces.

    Attributes
    ----------
    share
        Of the pairs of the paper's trace.
    divisor
        What bandwidth is divided by in the scaled regime.
    """

    trace: Trace
    workload: TopicWorkload
    share: float
    divisor: float = 1.0

    def catalogue(self, regime: str) -> Catalogue:
        """Return the paper's machines, made smaller as the workload is."""
        divisor = self.divisor if regime == SCALED else 1.0
        return tuple(
            Instance(entry.instance, entry.usd_per_hour * self.share,
                     entry.mbps * self.share / divisor)
            for entry in BUILT_IN
        )  # fmt: skip

    def problem(self, regime: str, instance: str, tau: int) -> Provisioning:
        """State one of the paper's problems."""
        catalogue = self.catalogue(regime)
        return Provisioning(self.workload, tau=tau, instance=instance, catalogue=catalogue)


@dataclass(frozen=True)
class Rung:
    """What one algorithm makes of one problem; bytes are per period."""

    cost: float
    machines: int
    in_bytes: float
    out_bytes: float

    @property
    def gigabytes(self) -> float:
        return (self.in_bytes + self.out_bytes) / 1e9


@dataclass(frozen=True)
class Case:
    """One problem: the ladder by algorithm, the paper's bound and ours.

    ``sorted_rung`` is rung (a) once more, with pairs in the order of their topics: FFBP takes them
    in no particular order, and this is the kindest.
    """

    trace: Trace
    regime: str
    instance: str
    tau: int
    rungs: dict[str, Rung]
    sorted_rung: Rung
    bound: float
    paper_bound: float

    def saving(self, algorithm: str, before: str, quantity: str = "cost") -> float:
        """Return the share that an algorithm saves of what another one takes."""
        least, most = (getattr(self.rungs[name], quantity) for name in (algorithm, before))
        return 1 - least / most if most else 0.0


@dataclass(frozen=True)
class Seconds:
    """The shortest running time of one stage of an algorithm; pairs as GSP chose them."""

    trace: Trace
    stage: str
    algorithm: str
    instance: str
    tau: int
    shortest: float


def make_sample(trace: Trace, scale: float, seed: int, progress: Progress) -> Sample:
    """Generate a workload, and fit the scaled regime's machines to it."""
    wanted = max(scale * trace.share, trace.smallest)
    workload = trace.generate(scale=wanted, seed=seed, progress=progress)
    sample = Sample(trace, workload, workload.num_pairs / trace.pairs)
    with progress.step(f"{trace.name}: fitting machines"):
        return fit_machines(sample, seed)


def fit_machines(sample: Sample, seed: int = 0) -> Sample:
    """Divide bandwidth until there are as many machines as in the paper.

    Within 2%, and never so far that a topic fits no c3.large.
    """
    anchor = sample.trace.anchor
    literal = sample.problem(LITERAL, "c3.large", anchor.tau)
    largest = 2 * float(literal.needs.max(initial=0.0))
    most = literal.capacity_bytes / largest * (1 - 1e-6) if largest > 0 else 1.0
    choose, pack = stages(anchor.algorithm)
    pairs = choose(literal, Run(seed=seed))
    at_least = float(literal.needs[pairs.indices].sum())
    machine = sample.problem(LITERAL, anchor.instance, anchor.tau).capacity_bytes
    divisor = min(most, anchor.machines * machine / at_least) if at_least else 1.0
    for _ in range(MAX_TRIES):
        fitted = Sample(sample.trace, sample.workload, sample.share, divisor)
        problem = fitted.problem(SCALED, anchor.instance, anchor.tau)
        num_vms = len(pack(problem, pairs, Run(seed=seed)).machines)
        if abs(num_vms / anchor.machines - 1) <= CLOSE_ENOUGH:
            return fitted
        divisor = min(most, divisor * anchor.machines / max(num_vms, 1))
    return fitted


def stages(algorithm: str) -> tuple[Callable[..., Any], ...]:
    """Return the functions of both stages."""
    return tuple(entry.load() for entry in PROVISION.algorithms(algorithm))


def warm_up() -> None:
    """Compile every kernel that is timed."""
    workload = TopicWorkload.from_arrays([3.0, 2.0], [0, 0, 1], [0, 1, 1])
    problem = Provisioning.example(workload)
    for algorithm in LADDER:
        run_stages(problem, stages(algorithm), Run())


def measure_costs(sample: Sample, seed: int, step: Step) -> Iterator[Case]:
    """Figs. 2 and 3: the whole ladder for every regime, type and tau."""
    for tau in TAUS:
        chosen: dict[tuple[str, bytes], Csr] = {}
        for regime in REGIMES:
            for instance in INSTANCES:
                step.note(f"{sample.trace.name}, {regime}, {instance}, tau {tau}")
                problem = sample.problem(regime, instance, tau)
                rungs = {name: _climb(problem, name, seed, chosen) for name in LADDER}
                pairs = chosen[_key(problem, FIRST_RUNG)]
                by_topic = Csr(pairs.indptr[[0, -1]], np.sort(pairs.indices))
                _, first_fit = stages(FIRST_RUNG)
                yield Case(
                    sample.trace, regime, instance, tau, rungs,
                    sorted_rung=weigh(problem, first_fit(problem, by_topic, Run())),
                    bound=problem.bound(),
                    paper_bound=paper_bound(problem),
                )  # fmt: skip
                step.advance()


def _climb(
    problem: Provisioning, algorithm: str, seed: int, chosen: dict[tuple[str, bytes], Csr]
) -> Rung:
    """Run an algorithm; pairs that are the same for several types of machine are chosen once."""
    run = Run(seed=seed)
    if algorithm == OURS:
        return weigh(problem, run_stages(problem, stages(algorithm), run).packing)
    choose, pack = stages(algorithm)
    key = _key(problem, algorithm)
    if key not in chosen:
        chosen[key] = choose(problem, run)
    return weigh(problem, pack(problem, chosen[key], run))


def _key(problem: Provisioning, algorithm: str) -> tuple[str, bytes]:
    """Return what the pairs that a first stage chooses at one tau depend on."""
    return algorithm.partition("+")[0], np.packbits(problem.is_usable).tobytes()


def weigh(problem: Provisioning, packing: Packing) -> Rung:
    """Add up a packing."""
    need = problem.needs[packing.topic]
    in_bytes, out_bytes = float(need.sum()), float(np.dot(packing.num_pairs, need))
    rent = sum(machine.usd_per_hour for machine in packing.machines)
    return Rung(
        cost=problem.costs(rent, in_bytes, out_bytes).total,
        machines=len(packing.machines),
        in_bytes=in_bytes,
        out_bytes=out_bytes,
    )


def measure_seconds(sample: Sample, seed: int, step: Step) -> Iterator[Seconds]:
    """Figs. 4 to 7: RSP and GSP, then FFBP and CBP on GSP's pairs, in the scaled regime."""
    for tau in TAUS:
        problem = sample.problem(SCALED, INSTANCES[0], tau)
        for algorithm in (NAIVE, FIRST_RUNG):
            choose, _ = stages(algorithm)
            step.note(f"{sample.trace.name}, {algorithm.partition('+')[0]}, tau {tau}")
            shortest, pairs = _timed(lambda c=choose, p=problem: c(p, Run(seed=seed)))  # type: ignore[misc]
            name = algorithm.partition("+")[0]
            yield Seconds(sample.trace, "select", name, INSTANCES[0], tau, shortest)
        for instance in INSTANCES:
            at = sample.problem(SCALED, instance, tau)
            for algorithm in (FIRST_RUNG, LAST_RUNG):
                _, pack = stages(algorithm)
                shortest, _ = _timed(lambda k=pack, p=at, c=pairs: k(p, c, Run(seed=seed)))  # type: ignore[misc]
                name = algorithm.partition("+")[2]
                yield Seconds(sample.trace, "pack", name, instance, tau, shortest)
        step.advance()


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    shortest, result = float("inf"), None
    for _ in range(REPEATS):
        started = time.perf_counter()
        result = run()
        shortest = min(shortest, time.perf_counter() - started)
    return shortest, result
