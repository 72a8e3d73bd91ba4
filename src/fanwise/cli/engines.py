"""Options and glue for planning on another engine than this process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import console
from fanwise.cli.solving import parse_tau
from fanwise.errors import ParameterError
from fanwise.planning.families import find_family
from fanwise.planning.family import load
from fanwise.progress import SILENT, Progress

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan

LOCAL = "local"
ALGORITHMS = ("greedy", "best")
"""What other engines answer to; the plan says greedy, for that is how it is made."""

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


def check_engine(
    family: str, engine: str, algorithm: str, master: str | None, conf: list[str] | None
) -> None:
    """Refuse an unknown engine, and options that it has no use for."""
    engines = find_family(family).engines
    if engine == LOCAL:
        for name, value in (("master", master), ("conf", conf)):
            if value:
                raise ParameterError(name, "left out without --engine spark", value)
    elif engine not in engines:
        raise ParameterError("engine", f"one of {', '.join((LOCAL, *engines))}", engine)
    elif algorithm not in ALGORITHMS:
        raise ParameterError("algorithm", f"greedy with --engine {engine}", algorithm)


class Elsewhere:
    """A problem that another engine solves from the workload's folder."""

    def __init__(
        self,
        family: str,
        engine: str,
        workload: Path,
        tau: str | None,
        master: str | None,
        conf: list[str] | None,
        **parameters: Any,
    ) -> None:
        from fanwise.pipeline.session import import_pyspark, parse_settings

        import_pyspark()  # says how to get it
        self._target = find_family(family).engines[engine]
        self._engine = engine
        self._workload = workload
        self._parameters = {
            **parameters,
            "tau": "column" if tau is None else parse_tau(tau),
            "master": master,
            "conf": parse_settings(conf),
        }

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
        """Make a plan by greedy, also where ``best`` is asked for, and say so.

        No choice is random, so ``seed`` changes nothing.
        """
        if settings:
            raise ParameterError(
                "set", f"left out with --engine {self._engine}", next(iter(settings))
            )
        plan: Plan = load(self._target)(
            self._workload, time_limit=time_limit, gap=gap, progress=progress, **self._parameters
        )
        if not proof:
            plan = replace(plan, proof=None)
        if algorithm not in (None, plan.algorithm):
            console.warn(
                f"made by {plan.algorithm}: {algorithm} needs the interests on one machine "
                "(--engine local)."
            )
        return plan
