"""The runs behind Table I and Figs. 4 to 9: every algorithm under equal budgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanwise.connect.gossip import support_by_view_and_rounds
from fanwise.connect.greedy import solve_complete as connect_by_gain
from fanwise.connect.phases import solve_complete as connect_in_phases
from fanwise.connect.problem import Connection, edges_of, floor_share
from fanwise.connect.structure import Overlay, SupportCurve, support_curve
from fanwise.papers.case import Case
from fanwise.papers.connect.instances import Social, nodes_at
from fanwise.papers.course import Course
from fanwise.planning.problem import Run
from fanwise.progress import Step
from fanwise.workload.generators.overlays import expo, unif, zipf
from fanwise.workload.topic import TopicWorkload

LAWS: Mapping[str, Callable[..., TopicWorkload]] = {"Expo": expo, "Zipf": zipf, "Unif": unif}
"""Laws of the popularity of topics."""
Budgets = tuple[int, int]
"""Links in all for some algorithms, the degree of a node for others."""


@dataclass(frozen=True)
class Complete:
    """A complete overlay: its size and its 80-20 curve."""

    edges: int
    max_degree: int
    curve: SupportCurve

    def share(self, ratio: float) -> Budgets:
        """Return a budget ratio as links in all and degree, rounded down."""
        return floor_share(ratio, self.edges), floor_share(ratio, self.max_degree)


Completes = Mapping[str, Mapping[str, Complete]]
"""By instance and algorithm."""


def connect_completely(workload: TopicWorkload) -> dict[str, Complete]:
    """Run GM and MinMaxODA, which take no budget."""
    problem = Connection(workload)
    network = problem.network
    found = {}
    for name, solve in (("gm", connect_by_gain), ("minmax-oda", connect_in_phases)):
        edges = edges_of(solve(problem, Run()).tables["edges"])
        most = int(network.degrees(edges).max(initial=0))
        found[name] = Complete(len(edges), most, support_curve(Overlay(network, edges)))
    return found


def run_case(
    course: Course, figure: str, panel: str, x: float, workload: TopicWorkload, budgets: Budgets,
    names: Iterable[str],
) -> Case:  # fmt: skip
    """Run algorithms on one workload, each under the budget it takes."""
    max_edges, max_degree = budgets
    problems = {
        "edges": Connection(workload, max_edges=max_edges),
        "degree": Connection(workload, max_degree=max_degree),
    }
    results = {"budget": [{"max_edges": max_edges, "max_degree": max_degree}]}
    for name in names:
        results[name] = [measure(course, problems[course.paper.series[name].budget], name)]
    return Case(figure, {"panel": panel, "x": x}, results, {"nodes": workload.num_subscribers})


def measure(course: Course, problem: Connection, name: str) -> dict[str, Any]:
    """Make one overlay and measure it; a bound is the most that any is proven to support."""
    series = course.paper.series[name]
    limit = course.settings.best_seconds if series.algorithm == "best" else None
    outcome, seconds = course.solve(problem, series, time_limit=limit)
    edges = edges_of(outcome.tables["edges"])
    network, whole = problem.network, problem.network.complete_value
    degrees = network.degrees(edges)
    found = {
        "support": network.value(edges) / whole if whole else 1.0,
        "edges": len(edges),
        "max_degree": int(degrees.max(initial=0)),
        "mean_degree": float(degrees.mean()) if len(degrees) else 0.0,
        "seconds": seconds,
    }
    if outcome.bound is not None and whole:
        found["bound on support"] = outcome.bound / whole
    return found


def run_ratios(
    course: Course, figure: str, panel: str, workload: TopicWorkload, complete: Complete, step: Step
) -> Iterator[Case]:
    """Figs. 4, 5 and 9: support against the budget ratio."""
    names = [name for name in course.paper.series if name != "best-edges"]
    for ratio in course.settings.ratios:
        step.note(f"{panel}, ratio {ratio:g}")
        yield run_case(course, figure, panel, ratio, workload, complete.share(ratio), names)
        step.advance()


def run_table(
    course: Course, social: Sequence[Social], completes: Completes, step: Step
) -> Iterator[Case]:
    """Table I: all social samples at one ratio."""
    beta = course.settings.beta
    for instance in social:
        step.note(f"Table I, {instance.name}")
        budgets = completes[instance.name]["minmax-oda"].share(beta)
        yield run_case(course, "I", instance.name, beta, instance.workload, budgets,
                       course.paper.series)  # fmt: skip
        step.advance()


def run_laws(course: Course, step: Step) -> Iterator[Case]:
    """Figs. 6 to 8: support against |V|, |T| and the subscription size, for each law."""
    settings = course.settings

    def run(figure: str, degree: int, points: Sequence[tuple[float, Sequence[int], Any]],
            ) -> Iterator[Case]:  # fmt: skip
        """Run points: what the figure varies, nodes and topics, other arguments of generators."""
        for law, generate in LAWS.items():
            for x, (nodes, topics), others in points:
                step.note(f"Fig. {figure}, {law}, {x:,g}")
                workload = generate(nodes, topics, seed=course.seed, **others)
                budgets = degree * nodes // 2, degree
                yield run_case(course, figure, law, x, workload, budgets, settings.by_size)
                step.advance()

    topics = settings.num_topics
    sizes = [nodes_at(course, size) for size in settings.sizes]
    yield from run("6", settings.size_degree, [(size, (size, topics), {}) for size in sizes])
    nodes = nodes_at(course, settings.topics_nodes)
    yield from run("7", settings.topics_degree,
                   [(count, (nodes, count), {}) for count in settings.topics])  # fmt: skip
    nodes = nodes_at(course, settings.ranges_nodes)
    yield from run("8", settings.ranges_degree,
                   [((low + high) / 2, (nodes, topics), {"min_size": low, "max_size": high})
                    for low, high in settings.ranges])  # fmt: skip


def run_all(
    course: Course, social: Sequence[Social], made: Mapping[str, TopicWorkload],
    completes: Completes,
) -> list[Case]:  # fmt: skip
    """Run everything but gossip."""
    settings = course.settings
    by_name = {instance.name: instance.workload for instance in social}
    total = len(social) + (len(settings.ratio_figures) + len(made)) * len(settings.ratios)
    total += len(LAWS) * (len(settings.sizes) + len(settings.topics) + len(settings.ranges))
    with course.progress.step("Overlays", total=total) as step:
        cases = list(run_table(course, social, completes, step))
        for figure, name in settings.ratio_figures.items():
            complete = completes[name]["minmax-oda"]
            cases += run_ratios(course, figure, name, by_name[name], complete, step)
        cases += run_laws(course, step)
        for law, workload in made.items():
            cases += run_ratios(course, "9", law, workload, completes[law]["minmax-oda"], step)
    return cases


def law_instances(course: Course) -> dict[str, TopicWorkload]:
    """Return the instances of Fig. 9."""
    nodes = nodes_at(course, course.settings.ratio_nodes)
    return {law: generate(nodes, course.settings.num_topics, seed=course.seed)
            for law, generate in LAWS.items()}  # fmt: skip


def run_gossip(course: Course, workload: TopicWorkload, complete: Complete) -> list[dict[str, Any]]:
    """Return support by view size and rounds, at the ratio of Table I."""
    settings = course.settings
    problem = Connection(workload, max_degree=complete.share(settings.beta)[1])
    with course.progress.step("Gossip"):
        return support_by_view_and_rounds(
            problem, settings.views, settings.rounds, seed=course.seed
        )


def warm_up(course: Course) -> None:
    """Compile every kernel, so that seconds are those of the work."""
    workload = TopicWorkload.from_arrays([1.0, 1.0], [0, 0, 1, 2], [0, 1, 1, 0])
    connect_completely(workload)
    quick = Course.of("connect", course.scale, best_seconds=0.1)
    run_case(quick, "", "", 0.0, workload, (1, 1), course.paper.series)
