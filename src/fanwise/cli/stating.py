"""From what was typed to a problem of any family: read, checked, and stated on a workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fanwise.cli import console, options, parameters
from fanwise.errors import FanwiseError, InputError, ParameterError
from fanwise.planning.families import FAMILIES, find_family
from fanwise.planning.family import Family, load
from fanwise.planning.parameter import Parameter, flag

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.planning.problem import Problem

ProblemName = Annotated[
    str, typer.Argument(metavar="PROBLEM", help=f"{', '.join(FAMILIES)}.", show_default=False)
]


class PlanFolders(NamedTuple):
    """A plan, and the workload it was made for where that is another one."""

    plan: Path
    workload: Path | None


@dataclass(frozen=True)
class Question:
    """What ``compare`` and ``sweep`` were asked.

    Attributes
    ----------
    given
        Values by the problem's own names, for what was given.
    lists
        Lists of values to try, unread, by option.
    """

    family: Family
    workload: Path
    given: Mapping[str, Any]
    lists: Mapping[str, str]

    def require_all(self) -> None:
        """Refuse a question without something that its family needs."""
        for one in self.family.shared_parameters:
            if one.is_required and one.name not in self.given:
                raise FanwiseError(
                    f"{one.flag} is missing: {self.family.name} needs it; "
                    f"give {one.flag} {one.example}."
                )

    def read_lists(self) -> dict[str, list[Any]]:
        """Return the values to try by the problem's own names."""
        axes = parameters.axes_of(self.family)
        known = {axis.option: name for name, axis in axes.items()}
        found = {}
        for option, text in self.lists.items():
            if option not in known:
                takes = " or ".join(map(flag, known))
                raise FanwiseError(
                    f"--{option} is not an option of {self.family.name}; give {takes}."
                )
            parameter, axis = self.family.parameter(known[option]), axes[known[option]]
            if parameter.name in self.given:
                raise FanwiseError(
                    f"{parameter.flag} and --{option} exclude each other; give one of them."
                )
            kind = axis.kind or parameter.kind
            parts = split_list(text, option)
            found[parameter.name] = [kind.read(option, part, is_listed=True) for part in parts]
        return found


def asking(command: Callable[..., None], *, has_lists: bool = False) -> Callable[..., None]:
    """Replace a command's first parameter, a question, by options for every family."""
    stating = parameters.shared_options(FAMILIES.values())
    lists = parameters.list_options(FAMILIES.values()) if has_lists else []

    def gather(typed: dict[str, Any]) -> Question:
        family, workload = find_family(typed.pop("problem")), typed.pop("workload")
        values, texts = parameters.take(typed, stating), parameters.take(typed, lists)
        return Question(
            family,
            workload,
            read_shared(family, values),
            {name.replace("_", "-"): text for name, text in texts.items() if text is not None},
        )

    where = [
        parameters.make_argument("problem", ProblemName),
        parameters.make_argument("workload", options.Workload),
    ]
    every = [*where, *stating, *lists, *parameters.own_parameters(command)]
    return parameters.with_options(command, every, gather)


def read_shared(family: Family, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given of a family's parameters, unless some of it is another family's."""
    known = {one.option: one for one in family.shared_parameters}
    for option, value in typed.items():
        if value is not None and option not in known:
            takes = ", ".join(one.flag for one in known.values())
            raise FanwiseError(
                f"{flag(option)} is not an option of {family.name}, which takes {takes}."
            )
    return read_parameters(family, typed)


def read_parameters(family: Family, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given by the problem's own names; files and folders are not opened yet."""
    given: dict[str, Any] = {}
    for one in family.parameters:
        value = typed.get(one.option)
        if one.kind.content == "plan":
            value = _read_folders(one, value, typed.get(parameters.WORKLOAD_OF.format(one.option)))
        if value is not None:
            given[one.name] = one.kind.read(one.option, value) if isinstance(value, str) else value
    return given


def _read_folders(
    parameter: Parameter, plan: Path | None, workload: Path | None
) -> PlanFolders | None:
    if plan is not None:
        return PlanFolders(plan, workload)
    if workload is not None:
        name = parameters.WORKLOAD_OF.format(parameter.option)
        raise ParameterError(name, f"left out without {parameter.flag}", workload)
    return None


def state_problem(family: Family, folder: Path, given: Mapping[str, Any]) -> Problem:
    """Load a workload and state the problem, with what files and folders hold."""
    workload = load_workload(folder, family)
    for one in family.parameters:
        if one.column and one.name not in given and getattr(workload, one.column) is None:
            raise FanwiseError(
                f"{one.flag} is missing, and the workload has no column '{one.column}'; "
                f"give {one.flag} NUMBER."
            )
    problem: Problem = load(family.problem)(workload, **problem_arguments(family, given))
    return problem


def problem_arguments(family: Family, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a family's problem, with what files and folders hold."""
    return family.arguments(
        {name: _open(family.parameter(name), value, family) for name, value in given.items()}
    )


def _open(parameter: Parameter, value: Any, family: Family) -> Any:
    if parameter.kind.content == "names":
        return _read_names(value)
    return _read_plan(value, family) if parameter.kind.content == "plan" else value


def _read_names(path: Path) -> list[str]:
    """Read a name per line; empty lines do not count."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text in UTF-8; write one topic name per line.") from None
    return [line for line in lines if line]


def _read_plan(folders: PlanFolders, family: Family) -> Plan:
    from fanwise.planning.plan import read_plan

    workload = None if folders.workload is None else load_workload(folders.workload, family)
    return read_plan(folders.plan, workload)


def load_workload(folder: Path, family: Family) -> Any:
    """Read a workload of the kind that a family is about, with a spinner on a terminal."""
    from fanwise.planning.inputs import read_for

    with console.progress() as progress, progress.step(f"reading {folder}"):
        return read_for(family, folder)


def split_list(text: str, name: str) -> list[str]:
    """Split a list at commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise FanwiseError(
            f"--{name} must be a list such as a,b,c without empty parts; got {text!r}."
        )
    return parts
