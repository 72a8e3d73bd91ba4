"""The runs behind Figs. 2 to 7: costs, machines, traffic, bounds and running times.

A workload of a share s of the paper's size is served by machines of s times the bandwidth at s
times the rent: so there are as many machines as at full size, rent and traffic keep their
proportion, and money is s times that of full size. In the scaled regime bandwidth is divided once
more, at the same rent, until there are as many machines as the paper's words imply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fanwise.arrays.csr import Csr
from fanwise.papers.case import Case
from fanwise.papers.course import Course, timed
from fanwise.planning.problem import Run
from fanwise.progress import Step
from fanwise.provision.bounds import paper_bound
from fanwise.provision.catalogue import BUILT_IN, Catalogue, Instance
from fanwise.provision.description import DESCRIPTION
from fanwise.provision.machines.packing import Packing
from fanwise.provision.plots import LADDER
from fanwise.provision.problem import Provisioning
from fanwise.provision.stages import run_stages
from fanwise.workload.generators.spotify import PAIRS as SPOTIFY_PAIRS
from fanwise.workload.generators.spotify import spotify
from fanwise.workload.generators.twitter import SMALLEST_SCALE, twitter
from fanwise.workload.generators.twitter_degrees import PAIRS as TWITTER_PAIRS
from fanwise.workload.topic import TopicWorkload

NAIVE, FIRST_RUNG, LAST_RUNG, OURS = "rsp+ffbp", "gsp+ffbp", "gsp+cbp", "best+best"
LITERAL, SCALED = "literal", "scaled"
REGIMES = (LITERAL, SCALED)
MAX_TRIES = 6
CLOSE_ENOUGH = 0.02
"""How far from the paper's number of machines the scaled regime may be, relatively."""


@dataclass(frozen=True)
class Trace:
    """What generates a stand-in for one of the paper's traces, its pairs, the smallest share."""

    generate: Callable[..., TopicWorkload]
    pairs: int
    smallest: float = 0.0


TRACES = {
    "Spotify": Trace(spotify, SPOTIFY_PAIRS),
    "Twitter": Trace(twitter, TWITTER_PAIRS, SMALLEST_SCALE),
}


@dataclass(frozen=True)
class Sample:
    """A generated stand-in for one of the paper's traces.

    Attributes
    ----------
    trace
        Its name.
    share
        Of the pairs of the paper's trace.
    divisor
        What bandwidth is divided by in the scaled regime.
    """

    trace: str
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


def make_sample(course: Course, name: str) -> Sample:
    """Generate a workload, and fit the scaled regime's machines to it.

    Of the Twitter trace, which does not fit memory, it is a twentieth of the scale.
    """
    trace = TRACES[name]
    wanted = max(course.scale * course.settings.traces[name]["share"], trace.smallest)
    workload = trace.generate(scale=wanted, seed=course.seed, progress=course.progress)
    sample = Sample(name, workload, workload.num_pairs / trace.pairs)
    with course.progress.step(f"{name}: fitting machines"):
        return fit_machines(sample, course.settings.traces[name]["anchor"], course.seed)


def fit_machines(sample: Sample, anchor: Mapping[str, Any], seed: int = 0) -> Sample:
    """Divide bandwidth until there are as many machines as in the paper.

    Within 2%, and never so far that a topic fits no c3.large.
    """
    tau, wanted = anchor["tau"], anchor["machines"]
    literal = sample.problem(LITERAL, "c3.large", tau)
    largest = 2 * float(literal.needs.max(initial=0.0))
    most = literal.capacity_bytes / largest * (1 - 1e-6) if largest > 0 else 1.0
    choose, pack = stages(anchor["algorithm"])
    pairs = choose(literal, Run(seed=seed))
    at_least = float(literal.needs[pairs.indices].sum())
    machine = sample.problem(LITERAL, anchor["instance"], tau).capacity_bytes
    divisor = min(most, wanted * machine / at_least) if at_least else 1.0
    for _ in range(MAX_TRIES):
        fitted = replace(sample, divisor=divisor)
        problem = fitted.problem(SCALED, anchor["instance"], tau)
        num_vms = len(pack(problem, pairs, Run(seed=seed)).machines)
        if abs(num_vms / wanted - 1) <= CLOSE_ENOUGH:
            return fitted
        divisor = min(most, divisor * wanted / max(num_vms, 1))
    return fitted


def stages(algorithm: str) -> tuple[Callable[..., Any], ...]:
    """Return the functions of both stages."""
    return tuple(entry.load() for entry in DESCRIPTION.algorithms(algorithm))


def warm_up() -> None:
    """Compile every kernel that is timed."""
    workload = TopicWorkload.from_arrays([3.0, 2.0], [0, 0, 1], [0, 1, 1])
    problem = Provisioning.example(workload)
    for algorithm in LADDER:
        run_stages(problem, stages(algorithm), Run())


def cost_cases(course: Course, sample: Sample, step: Step) -> Iterator[Case]:
    """Figs. 2 and 3: the whole ladder for every regime, type and tau.

    ``by_topic`` is rung (a) with pairs in the order of their topics: FFBP takes them in no
    particular order, and this is the kindest. ``traffic_usd`` is what the last rung pays for
    traffic.
    """
    figure = course.settings.traces[sample.trace]["figures"][0]
    _, first_fit = stages(FIRST_RUNG)
    for tau in course.settings.taus:
        chosen: dict[tuple[str, bytes], Csr] = {}
        for regime in REGIMES:
            for letter, instance in zip("ab", course.settings.instances, strict=False):
                step.note(f"{sample.trace}, {regime}, {instance}, tau {tau}")
                problem = sample.problem(regime, instance, tau)
                found = {name: climb(problem, name, course.seed, chosen) for name in LADDER}
                naive = found[NAIVE]["usd"]
                for rung in found.values():
                    rung["saved of naive"] = 1 - rung["usd"] / naive if naive else 0.0
                found["our bound"] = {"usd": problem.bound()}
                found["paper's bound"] = {"usd": paper_bound(problem)}
                pairs = chosen[_key(problem, FIRST_RUNG)]
                by_topic = Csr(pairs.indptr[[0, -1]], np.sort(pairs.indices))
                kindest = weigh(problem, first_fit(problem, by_topic, Run()))
                moved = [found[LAST_RUNG][name] for name in ("in_bytes", "out_bytes")]
                yield Case(
                    f"{figure}{letter}",
                    {"trace": sample.trace, "regime": regime, "instance": instance, "tau": tau},
                    {name: [rung] for name, rung in found.items()},
                    {"by_topic": kindest, "traffic_usd": problem.costs(0.0, *moved).total},
                )
                step.advance()


def climb(
    problem: Provisioning, algorithm: str, seed: int, chosen: dict[tuple[str, bytes], Csr]
) -> dict[str, float]:
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


def weigh(problem: Provisioning, packing: Packing) -> dict[str, float]:
    """Add up a packing; bytes are per period."""
    need = problem.needs[packing.topic]
    in_bytes, out_bytes = float(need.sum()), float(np.dot(packing.num_pairs, need))
    rent = sum(machine.usd_per_hour for machine in packing.machines)
    return {
        "usd": problem.costs(rent, in_bytes, out_bytes).total,
        "machines": len(packing.machines),
        "in_bytes": in_bytes,
        "out_bytes": out_bytes,
    }


def seconds_cases(course: Course, sample: Sample, step: Step) -> Iterator[Case]:
    """Figs. 4 to 7: RSP and GSP, then FFBP and CBP on GSP's pairs, in the scaled regime."""
    settings = course.settings
    _, choosing, packing = settings.traces[sample.trace]["figures"]

    def measure(figure: str, stage: str, instance: str, tau: int, name: str,
                work: Callable[[], Any]) -> tuple[Case, Any]:  # fmt: skip
        seconds, result = timed(work, settings.repeats)
        at = {"trace": sample.trace, "regime": SCALED, "instance": instance, "tau": tau}
        return Case(figure, at, {name: [{"seconds": min(seconds)}]}, {"stage": stage}), result

    for tau in settings.taus:
        small, *_ = settings.instances
        problem = sample.problem(SCALED, small, tau)
        for algorithm in (NAIVE, FIRST_RUNG):
            choose, _ = stages(algorithm)
            name = algorithm.partition("+")[0]
            step.note(f"{sample.trace}, {name}, tau {tau}")
            case, pairs = measure(choosing, "select", small, tau, name,
                                  lambda c=choose, p=problem: c(p, Run(seed=course.seed)))  # type: ignore[misc]  # fmt: skip
            yield case
        for instance in settings.instances:
            problem = sample.problem(SCALED, instance, tau)
            for algorithm in (FIRST_RUNG, LAST_RUNG):
                _, pack = stages(algorithm)
                case, _ = measure(packing, "pack", instance, tau, algorithm.partition("+")[2],
                                  lambda k=pack, p=problem, c=pairs: k(p, c, Run(seed=course.seed)))  # type: ignore[misc]  # fmt: skip
                yield case
        step.advance()
