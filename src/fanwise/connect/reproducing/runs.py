"""The runs behind the paper's table and figures: every algorithm under equal budgets."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanwise.connect.gossip import support_by_view_and_rounds
from fanwise.connect.greedy import solve_complete as connect_by_gain
from fanwise.connect.phases import solve_complete as connect_in_phases
from fanwise.connect.problem import Connection, edges_of, floor_share
from fanwise.connect.reproducing.instances import Social
from fanwise.connect.reproducing.settings import (
    BETA,
    BY_RATIO,
    BY_SIZE,
    LAWS,
    NUM_TOPICS,
    RANGES_DEGREE,
    RANGES_NODES,
    RATIO_NODES,
    ROUNDS,
    SERIES,
    SIZE_DEGREE,
    TOPICS_DEGREE,
    TOPICS_NODES,
    VIEWS,
    nodes_at,
)
from fanwise.connect.structure import Overlay, SupportCurve, support_curve
from fanwise.planning.families import CONNECT
from fanwise.planning.problem import Run
from fanwise.progress import Progress, Step
from fanwise.workload.topic import TopicWorkload


@dataclass(frozen=True)
class Result:
    """One overlay; ``bound`` is the most that any is proven to support under its budget."""

    support: float
    edges: int
    max_degree: int
    mean_degree: float
    seconds: float
    bound: float | None = None


@dataclass(frozen=True)
class Case:
    """One instance under one budget, every algorithm.

    Attributes
    ----------
    panel
        The instance or law of popularity.
    x
        What the figure varies: a budget ratio, |V|, |T| or the middle subscription size.
    max_edges, max_degree
        The budgets: of links for some algorithms, of degrees for others.
    """

    figure: str
    panel: str
    x: float
    num_nodes: int
    max_edges: int
    max_degree: int
    results: Mapping[str, Result]

    def ahead(self, one: str, other: str) -> float:
        """Return by how many points of support one is ahead of another."""
        return 100 * (self.results[one].support - self.results[other].support)


@dataclass(frozen=True)
class Complete:
    """A complete overlay: its size and its 80-20 curve."""

    panel: str
    algorithm: str
    edges: int
    max_degree: int
    curve: SupportCurve


@dataclass(frozen=True)
class Effort:
    """How hard to try: seconds for ``best``, the seed of all random choices."""

    best_seconds: float
    seed: int


def connect_completely(panel: str, workload: TopicWorkload) -> dict[str, Complete]:
    """Run GM and MinMaxODA, which take no budget."""
    problem = Connection(workload)
    found = {}
    for name, solve in (("gm", connect_by_gain), ("minmax-oda", connect_in_phases)):
        edges = edges_of(solve(problem, Run()).tables["edges"])
        found[name] = Complete(
            panel,
            name,
            len(edges),
            int(problem.network.degrees(edges).max(initial=0)),
            support_curve(Overlay(problem.network, edges)),
        )
    return found


def run_case(
    figure: str,
    panel: str,
    x: float,
    workload: TopicWorkload,
    budgets: tuple[int, int],
    names: Iterable[str],
    effort: Effort,
) -> Case:
    """Run algorithms on one workload, each under the budget it takes."""
    max_edges, max_degree = budgets
    problems = {
        "edges": Connection(workload, max_edges=max_edges),
        "degree": Connection(workload, max_degree=max_degree),
    }
    results = {name: solve(problems[SERIES[name].budget], name, effort) for name in names}
    nodes = workload.num_subscribers
    return Case(figure, panel, x, nodes, max_edges, max_degree, results)


def solve(problem: Connection, name: str, effort: Effort) -> Result:
    """Make one overlay and measure it."""
    series = SERIES[name]
    (algorithm,) = CONNECT.algorithms(series.algorithm)
    limit = effort.best_seconds if series.algorithm == "best" else None
    run = Run(seed=effort.seed, time_limit=limit, settings=series.settings)
    started = time.perf_counter()
    outcome = algorithm.load()(problem, run)
    seconds = time.perf_counter() - started
    edges = edges_of(outcome.tables["edges"])
    network, whole = problem.network, problem.network.complete_value
    degrees = network.degrees(edges)
    return Result(
        support=network.value(edges) / whole if whole else 1.0,
        edges=len(edges),
        max_degree=int(degrees.max(initial=0)),
        mean_degree=float(degrees.mean()) if len(degrees) else 0.0,
        seconds=seconds,
        bound=outcome.bound / whole if outcome.bound is not None and whole else None,
    )


def shares_of(complete: Complete, ratio: float) -> tuple[int, int]:
    """Return a budget ratio as links in all and degree, rounded down."""
    return floor_share(ratio, complete.edges), floor_share(ratio, complete.max_degree)


def run_ratios(
    figure: str,
    panel: str,
    workload: TopicWorkload,
    complete: Complete,
    ratios: Sequence[float],
    effort: Effort,
    step: Step,
) -> Iterator[Case]:
    """Figs. 4, 5 and 9: support against the budget ratio."""
    for ratio in ratios:
        step.note(f"{panel}, ratio {ratio:g}")
        budgets = shares_of(complete, ratio)
        yield run_case(figure, panel, ratio, workload, budgets, BY_RATIO, effort)
        step.advance()


def run_table(
    social: Sequence[Social], completes: Mapping[str, Mapping[str, Complete]], effort: Effort,
    step: Step,
) -> Iterator[Case]:  # fmt: skip
    """Table I: all social samples at one ratio."""
    for instance in social:
        step.note(f"Table I, {instance.name}")
        budgets = shares_of(completes[instance.name]["minmax-oda"], BETA)
        yield run_case("I", instance.name, BETA, instance.workload, budgets, SERIES, effort)
        step.advance()


def run_sizes(scale: float, sizes: Sequence[int], effort: Effort, step: Step) -> Iterator[Case]:
    """Fig. 6: support against |V|."""
    for law, generate in LAWS.items():
        for size in sizes:
            nodes = nodes_at(scale, size)
            step.note(f"Fig. 6, {law}, {nodes:,} nodes")
            workload = generate(nodes, NUM_TOPICS, seed=effort.seed)
            budgets = SIZE_DEGREE * nodes // 2, SIZE_DEGREE
            yield run_case("6", law, nodes, workload, budgets, BY_SIZE, effort)
            step.advance()


def run_topics(scale: float, counts: Sequence[int], effort: Effort, step: Step) -> Iterator[Case]:
    """Fig. 7: support against |T|."""
    nodes = nodes_at(scale, TOPICS_NODES)
    for law, generate in LAWS.items():
        for count in counts:
            step.note(f"Fig. 7, {law}, {count:,} topics")
            workload = generate(nodes, count, seed=effort.seed)
            budgets = TOPICS_DEGREE * nodes // 2, TOPICS_DEGREE
            yield run_case("7", law, count, workload, budgets, BY_SIZE, effort)
            step.advance()


def run_ranges(
    scale: float, ranges: Sequence[tuple[int, int]], effort: Effort, step: Step
) -> Iterator[Case]:
    """Fig. 8: support against the subscription size."""
    nodes = nodes_at(scale, RANGES_NODES)
    for law, generate in LAWS.items():
        for low, high in ranges:
            step.note(f"Fig. 8, {law}, {low} to {high} topics a node")
            workload = generate(nodes, NUM_TOPICS, min_size=low, max_size=high, seed=effort.seed)
            budgets = RANGES_DEGREE * nodes // 2, RANGES_DEGREE
            yield run_case("8", law, (low + high) / 2, workload, budgets, BY_SIZE, effort)
            step.advance()


def law_instances(scale: float, seed: int) -> Iterator[tuple[str, TopicWorkload]]:
    """Yield the instances of Fig. 9."""
    nodes = nodes_at(scale, RATIO_NODES)
    for law, generate in LAWS.items():
        yield law, generate(nodes, NUM_TOPICS, seed=seed)


def run_gossip(
    instance: Social, complete: Complete, effort: Effort, progress: Progress
) -> list[dict[str, Any]]:
    """Support against view size and rounds, at the ratio of Table I."""
    _, degree = shares_of(complete, BETA)
    problem = Connection(instance.workload, max_degree=degree)
    with progress.step("Gossip"):
        return support_by_view_and_rounds(problem, VIEWS, ROUNDS, seed=effort.seed)


def warm_up() -> None:
    """Compile every kernel, so that seconds are those of the work."""
    workload = TopicWorkload.from_arrays([1.0, 1.0], [0, 0, 1, 2], [0, 1, 1, 0])
    connect_completely("", workload)
    run_case("", "", 0.0, workload, (1, 1), SERIES, Effort(0.1, 0))
