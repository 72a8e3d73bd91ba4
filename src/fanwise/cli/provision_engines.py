"""Provisioning by other engines than this process's memory: options, checks, glue."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fanwise.cli import console
from fanwise.cli.engines import LOCAL, SPARK, EngineProblem, find_engine
from fanwise.cli.planning_command import Request
from fanwise.errors import ParameterError
from fanwise.formatting import size
from fanwise.workload.remote import address_of

STREAM = "stream"

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
    request: Request, engine: str | None, master: str | None, conf: list[str] | None
) -> tuple[str, Request]:
    """Return the engine, and the request with what it runs; says so where that is another.

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
        engine = _engine_that_fits(request)
    if engine == LOCAL:
        return engine, request
    described = find_engine(request, engine)
    names = described.replaced(request.algorithms)
    from fanwise.provision.streamed.solve import find_fill

    find_fill("+".join(names))
    if names != request.algorithms:
        console.warn(f"made by {'+'.join(names)}: best needs all pairs in memory (--engine local).")
    return engine, replace(request, algorithms=names)


def _engine_that_fits(request: Request) -> str:
    """Return local where memory is large enough or nothing else runs these algorithms."""
    from fanwise.provision.streamed.needs import local_memory, memory_of_machine
    from fanwise.workload.files import local_path
    from fanwise.workload.topic.files import read_header

    workload = request.workload
    if address_of(workload) is not None:
        return LOCAL
    needed = local_memory(read_header(local_path(workload)))
    there = memory_of_machine()
    if needed <= there:
        return LOCAL
    told = f"{workload}: planning in memory takes about {size(needed)} of {size(there)}"
    stream = request.family.engines[STREAM]
    if stream.runs(stream.replaced(request.algorithms)):
        console.warn(f"{told}, so pairs stay on disk (--engine stream).")
        return STREAM
    console.warn(
        f"{told}, but {request.algorithm} runs nowhere else; "
        f"{'+'.join(stream.stands_in.values())} would stream."
    )
    return LOCAL


class EngineProvisioning(EngineProblem):
    """A problem whose pairs stay on disk or on Spark."""

    def further_arguments(self, algorithm: str | None, seed: int) -> dict[str, Any]:
        """Return where files in between go, beside the output; say first what that takes."""
        from fanwise.provision.catalogue import resolve_catalogue
        from fanwise.provision.streamed.needs import estimate_needs
        from fanwise.workload.files import local_path
        from fanwise.workload.topic.files import read_header

        # A bad catalogue is told before the pairs are read.
        resolve_catalogue(self.request.given.get("catalogue"))
        if address_of(self.request.out) is not None:
            scratch = Path(tempfile.gettempdir())
        else:
            scratch = self.request.out.absolute().parent
        while not scratch.exists():
            scratch = scratch.parent
        if self.engine == STREAM:
            needs = estimate_needs(read_header(local_path(self.request.workload)))
            console.warn(f"streaming takes {needs} in {scratch}.")
        return {"algorithm": algorithm, "scratch": scratch, "seed": seed}
