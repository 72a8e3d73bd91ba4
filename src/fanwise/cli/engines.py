"""Options and glue for planning on another engine than this process."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import console
from fanwise.cli.planning_command import Request
from fanwise.cli.stating import problem_arguments
from fanwise.errors import ParameterError
from fanwise.planning.family import Engine as DescribedEngine
from fanwise.progress import SILENT, Progress

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan

LOCAL, SPARK = "local", "spark"

Engine = Annotated[
    str,
    typer.Option(
        help="local, or spark for interests that do not fit one machine: always greedy, in "
        "rounds; best is greedy there."
    ),
]
Master = Annotated[
    str | None,
    typer.Option(help="Spark master; default: all cores of this machine.", show_default=False),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="A Spark setting; repeatable."),
]


def check_engine(request: Request, engine: str, master: str | None, conf: list[str] | None) -> None:
    """Refuse an unknown engine, and options that it has no use for."""
    if engine == LOCAL:
        for name, value in (("master", master), ("conf", conf)):
            if value:
                raise ParameterError(name, "left out without --engine spark", value)
        return
    described = find_engine(request, engine)
    if not described.runs(described.replaced(request.algorithms)):
        known = " + ".join(map("|".join, described.algorithms.values()))
        raise ParameterError("algorithm", f"{known} with --engine {engine}", request.algorithm)
    request.refuse_beyond(described, f"left out with --engine {engine}")


def find_engine(request: Request, engine: str) -> DescribedEngine:
    """Return the engine of a name; refuse one that the family does not have."""
    known = request.family.engines
    if engine not in known:
        raise ParameterError("engine", f"one of {', '.join((LOCAL, *known))}", engine)
    return known[engine]


class EngineProblem:
    """A problem that another engine solves from the workload's folder."""

    def __init__(
        self, request: Request, engine: str, master: str | None, conf: list[str] | None
    ) -> None:
        self.request, self.engine = request, engine
        self._parameters = problem_arguments(request.family, request.given)
        if engine == SPARK:
            from fanwise.pipeline.shared.session import import_pyspark, parse_settings

            import_pyspark()  # says how to get it
            self._parameters |= {"master": master, "conf": parse_settings(conf)}

    def solve(
        self,
        algorithm: str | None = None,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        gap: float | None = None,
        progress: Progress = SILENT,
        proof: bool = True,
        **settings: Any,
    ) -> Plan:
        """Make a plan as this engine does, and say so where that is not what was asked for."""
        if settings:
            raise ParameterError(
                "set", f"left out with --engine {self.engine}", next(iter(settings))
            )
        plan: Plan = self.request.family.engines[self.engine].load()(
            self.request.workload,
            time_limit=time_limit,
            gap=gap,
            progress=progress,
            **self._parameters,
            **self.further_arguments(algorithm, seed),
        )
        if algorithm not in (None, plan.algorithm):
            console.warn(
                f"made by {plan.algorithm}: {algorithm} needs the interests on one machine "
                "(--engine local)."
            )
        return plan if proof else replace(plan, proof=None)

    def further_arguments(self, algorithm: str | None, seed: int) -> dict[str, Any]:
        """Return what else the engine takes; here nothing is random, and greedy is all there is."""
        return {}
