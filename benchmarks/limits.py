"""Whether `best` keeps a time limit on large questions, in every family.

The clock runs from the call of ``solve`` to its return: layout of the problem, start, search,
bound with its certificate, and measuring. Kernels are compiled before, and the workload is loaded
with its hash, as whoever reads one from a file has it. Each limit is given to a problem that nobody
has asked anything before.

Parts are the families, each in a process of its own. ``python -m benchmarks limits`` runs all of
them. ``python -m benchmarks.limits PART ...`` runs some and leaves the others' rows in
``results/limits.json`` as they are; ``--quick`` takes a tenth of the size, and writes nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from benchmarks.measuring import row
from benchmarks.parts import Parted
from benchmarks.provision import MESSAGE_BYTES, SCALED
from fanwise.assign.problem import Assignment
from fanwise.connect.problem import Connection
from fanwise.planning.compilation import compile_kernels
from fanwise.planning.families import find_family
from fanwise.planning.problem import Problem
from fanwise.provision.problem import Provisioning
from fanwise.select.problem import Selection
from fanwise.wire.problem import Wiring
from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.follow import follow
from fanwise.workload.generators.groups import groups
from fanwise.workload.generators.quadratic import quadratic
from fanwise.workload.generators.spotify import spotify
from fanwise.workload.topic import TopicWorkload

LIMITS = (1.0, 5.0, 20.0)
TIMES, SECONDS = 1.1, 1.0
"""A limit is kept if no more than so many times it, and so many seconds, are used."""
SEED = 1
WARM_UP = 0.002
"""Of the size: enough to go through every stage."""


class Question(NamedTuple):
    """A large question.

    Attributes
    ----------
    make
        Makes its workload at a scale.
    ask
        Poses it on the workload.
    """

    name: str
    make: Callable[[float], TopicWorkload | ContentWorkload]
    ask: Callable[..., Problem]


def _spotify(scale: float) -> TopicWorkload:
    return spotify(scale=scale, seed=SEED)


def _follow(nodes: int, scale: float) -> TopicWorkload:
    return follow(max(100, round(nodes * scale)), seed=SEED)


def _groups(scale: float) -> ContentWorkload:
    return groups(max(500, round(100_000 * scale)), seed=SEED)


def _quadratic(users: int, brokers_for: int, scale: float) -> ContentWorkload:
    size = max(300, round(users * scale))
    return quadratic(size, subscribers_per_broker=brokers_for, seed=SEED)


QUESTIONS: dict[str, tuple[Question, ...]] = {
    "select": (
        Question("12M pairs, binary", _spotify, partial(Selection, tau=27, capacity="10%")),
        Question(
            "12M pairs, fractional",
            _spotify,
            partial(Selection, tau=276, capacity="10%", metric="fractional"),
        ),
    ),
    "provision": (
        Question(
            "12M pairs",
            _spotify,
            partial(Provisioning, tau=100, catalogue=SCALED, message_bytes=MESSAGE_BYTES),
        ),
    ),
    "connect": (
        Question("10,000 nodes", partial(_follow, 10_000), partial(Connection, max_degree=4)),
        Question("30,000 nodes", partial(_follow, 30_000), partial(Connection, max_degree=10)),
    ),
    "assign": (Question("100,000 subscribers, 100 brokers", _groups, Assignment),),
    "wire": (
        Question("10,000 users, 100 brokers", partial(_quadratic, 10_000, 100), Wiring),
        Question("100,000 users, 500 brokers", partial(_quadratic, 100_000, 200), Wiring),
    ),
}


def measure_family(family: str, scale: float) -> list[dict]:
    return [found for question in QUESTIONS[family] for found in measure(family, question, scale)]


def measure(family: str, question: Question, scale: float) -> Iterator[dict]:
    warm_up(question)
    workload = question.make(scale)
    _ = workload.hash
    for limit in LIMITS:
        problem = question.ask(workload)
        start = time.perf_counter()
        plan = problem.solve(find_family(family).default, time_limit=limit)
        seconds = time.perf_counter() - start
        most = TIMES * limit + SECONDS
        gap = "no bound" if plan.gap is None else f"gap {100 * plan.gap:.2f}%"
        yield row(
            f"{family}, {question.name}, limit {limit:g} s",
            f"{seconds:.2f} s, {plan.objective:.6g}, {gap}, stopped by {plan.stopped}",
            f"<= {most:g} s",
            met=seconds <= most,
            seconds=seconds,
            limit=limit,
            objective=plan.objective,
            bound=plan.bound,
            feasible=plan.feasible,
            parts=dict(plan.seconds),
        )


def warm_up(question: Question) -> None:
    """Go through every stage before the clock starts, with a limit that ends it and with time."""
    workload = question.make(WARM_UP)
    for limit in (0.0, 3.0):
        problem = question.ask(workload)
        problem.solve(find_family(problem.family).default, time_limit=limit)


MEASURES = {family: partial(measure_family, family) for family in QUESTIONS}
PARTED = Parted("limits", MEASURES, compile_kernels)


def run() -> list[dict]:
    return PARTED.run()


if __name__ == "__main__":
    PARTED.main(sys.argv[1:])
