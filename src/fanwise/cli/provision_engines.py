"""Provisioning by other engines than this process's memory: options, checks, glue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import console
from fanwise.cli.solving import parse_tau
from fanwise.errors import ParameterError
from fanwise.planning.families import PROVISION
from fanwise.planning.family import load
from fanwise.progress import SILENT, Progress
from fanwise.wording import size

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan

LOCAL, STREAM, SPARK = "local", "stream", "spark"
STAND_INS = {"select": "gsp", "pack": "cbp"}
"""What other engines do in place of best."""

Engine = Annotated[
    str | None,
    typer.Option(
        help="local: all in memory; stream: pairs on disk; spark: pairs on Spark; the last two: "
        "gsp with group, expensive-first, most-free or cbp. Default: local, or stream where "
        "memory is too small.",
        show_default=False,
    ),
]


def choose_engine(
    engine: str | None,
    workload: Path,
    algorithms: tuple[str, str],
    master: str | None,
    conf: list[str] | None,
) -> tuple[str, str]:
    """Return the engine and the algorithm it runs; says so where that is not what was asked.

    Raises
    ------
    ParameterError
        For an unknown engine, or an algorithm or option that it cannot take.
    """
    if engine != SPARK:
        for name, value in (("master", master), ("conf", conf)):
            if value:
                raise ParameterError(name, "left out without --engine spark", value)
    if engine is None:
        engine = _engine_that_fits(workload, algorithms)
    if engine == LOCAL:
        return engine, "+".join(algorithms)
    if engine not in PROVISION.engines:
        raise ParameterError("engine", f"one of {', '.join((LOCAL, *PROVISION.engines))}", engine)
    names = _stand_ins(algorithms)
    from fanwise.provision.streamed.solve import find_fill

    find_fill("+".join(names))
    if names != algorithms:
        console.warn(f"made by {'+'.join(names)}: best needs all pairs in memory (--engine local).")
    return engine, "+".join(names)


def _stand_ins(algorithms: tuple[str, str]) -> tuple[str, str]:
    select, pack = (
        stand_in if name == "best" else name
        for name, stand_in in zip(algorithms, STAND_INS.values(), strict=True)
    )
    return select, pack


def _engine_that_fits(workload: Path, algorithms: tuple[str, str]) -> str:
    """Return local where memory is large enough or nothing else runs these algorithms."""
    from fanwise.provision.streamed.needs import local_memory, memory_of_machine
    from fanwise.provision.streamed.solve import PACKS, SELECT
    from fanwise.workload.files import local_path, read_header

    needed = local_memory(read_header(local_path(workload)))
    there = memory_of_machine()
    if needed <= there:
        return LOCAL
    told = f"{workload}: planning in memory takes about {size(needed)} of {size(there)}"
    select, pack = _stand_ins(algorithms)
    if select == SELECT and pack in PACKS:
        console.warn(f"{told}, so pairs stay on disk (--engine stream).")
        return STREAM
    console.warn(f"{told}, but {'+'.join(algorithms)} runs nowhere else; gsp+cbp would stream.")
    return LOCAL


class Elsewhere:
    """A problem whose pairs stay on disk or on Spark."""

    def __init__(
        self,
        engine: str,
        workload: Path,
        out: Path,
        tau: str | None,
        master: str | None,
        conf: list[str] | None,
        **parameters: Any,
    ) -> None:
        self._engine = engine
        self._workload = workload
        self._out = out
        self._parameters = {"tau": "column" if tau is None else parse_tau(tau), **parameters}
        if engine == SPARK:
            from fanwise.pipeline.session import import_pyspark, parse_settings

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
        """Make a plan, with files in between beside the output; say first what that takes."""
        from fanwise.provision.streamed.needs import estimate_needs
        from fanwise.workload.files import local_path, read_header

        if settings:
            raise ParameterError(
                "set", f"left out with --engine {self._engine}", next(iter(settings))
            )
        scratch = self._out.absolute().parent
        while not scratch.exists():
            scratch = scratch.parent
        if self._engine == STREAM:
            needs = estimate_needs(read_header(local_path(self._workload)))
            console.warn(f"streaming takes {needs} in {scratch}.")
        plan: Plan = load(PROVISION.engines[self._engine])(
            self._workload,
            algorithm=algorithm,
            scratch=scratch,
            seed=seed,
            time_limit=time_limit,
            gap=gap,
            progress=progress,
            **self._parameters,
        )
        return plan if proof else replace(plan, proof=None)
