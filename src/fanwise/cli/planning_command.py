"""What the planning commands share: their options, made from the family's description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanwise.cli import options, parameters
from fanwise.cli.parameters import make_argument
from fanwise.cli.stating import PlanFolders, read_parameters
from fanwise.errors import ParameterError
from fanwise.planning.families import find_family
from fanwise.planning.family import Engine, Family

ENGINE_OPTIONS = ("engine", "master", "conf")
"""Options of a command that stand behind those of its run."""


@dataclass(frozen=True)
class Request:
    """What a planning command was asked for.

    Attributes
    ----------
    given
        Values by the problem's own names; files and folders are not opened yet.
    algorithms
        The algorithm of each stage.
    """

    family: Family
    workload: Path
    out: Path
    given: Mapping[str, Any]
    algorithms: tuple[str, ...]
    seed: int
    time_limit: float | None
    gap: float | None
    no_proof: bool
    settings: list[str] | None
    overwrite: bool
    as_json: bool

    @property
    def algorithm(self) -> str:
        """The algorithms of all stages as a plan names them."""
        return "+".join(self.algorithms)

    @property
    def inputs(self) -> list[Path | None]:
        """The folders that are read."""
        plans = [value for value in self.given.values() if isinstance(value, PlanFolders)]
        return [self.workload, *(folder for folders in plans for folder in folders)]

    def refuse_beyond(self, engine: Engine, reason: str) -> None:
        """Refuse parameters that an engine does not take, unless they are as by default."""
        for one in self.family.parameters:
            value = self.given.get(one.name)
            if engine.takes is None or one.name in engine.takes or value in (None, one.default):
                continue
            shown = value.plan if isinstance(value, PlanFolders) else value
            raise ParameterError(one.name, reason, str(shown))


def planning_command(family: str, command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's first parameter, a request, by the options of a family.

    Options that the command declares itself follow those of the question.
    """
    described = find_family(family)
    question = parameters.own_options(described)
    own = parameters.own_parameters(command)
    where = [make_argument("workload", options.Workload), make_argument("out", options.Out)]
    run = [
        make_argument("seed", options.Seed, 0),
        make_argument("time_limit", options.TimeLimit, None),
        make_argument("gap", options.Gap, None),
        make_argument("no_proof", options.NoProof, False),
        make_argument("settings", options.Settings, None),
    ]
    output = [
        make_argument("overwrite", options.Overwrite, False),
        make_argument("as_json", options.Json, False),
    ]

    def gather(typed: dict[str, Any]) -> Request:
        asked = parameters.take(typed, question)
        algorithms = tuple(
            check_algorithm(described, asked[stage], stage) for stage in described.stages
        )
        shared = parameters.take(typed, [*where, *run, *output])
        return Request(
            described, given=read_parameters(described, asked), algorithms=algorithms, **shared
        )

    of_engines = [option for option in own if option.name in ENGINE_OPTIONS]
    others = [option for option in own if option.name not in ENGINE_OPTIONS]
    every = [*where, *question, *others, *run, *of_engines, *output]
    return parameters.with_options(command, every, gather)


def check_algorithm(family: Family, name: str, stage: str = "algorithm") -> str:
    """Return the name of an algorithm; refuse an unknown one before anything is loaded."""
    known = family.stages[stage]
    if name not in known:
        raise ParameterError(stage, f"one of {', '.join(known)}", name)
    return name
