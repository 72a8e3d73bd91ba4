"""Typer options made from the descriptions of families, so that none is declared by hand.

A command is written as a function whose first parameter stands for all of them; its signature for
Typer is put together here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter as Argument
from inspect import Signature, signature
from typing import Annotated, Any

import typer

from fanwise.planning.family import Family
from fanwise.planning.parameter import Axis, Parameter

WORKLOAD_OF = "{}_workload"
"""The option that names the workload of a plan that another option names."""


def own_options(family: Family) -> list[Argument]:
    """Return the options of a family's own command: what it needs, what it may be told, how."""
    options = [option for one in family.parameters for option in _own_option(one)]
    after = family.algorithm_after or family.parameters[-1].name
    index = [option.name for option in options].index(family.parameter(after).option) + 1
    options[index:index] = _algorithm_options(family)
    return sorted(options, key=lambda option: option.default is not Argument.empty)


def _own_option(parameter: Parameter) -> list[Argument]:
    default = Argument.empty if parameter.is_required else parameter.default
    is_told = default not in (None, Argument.empty)
    help_text = parameter.help if is_told else parameter.full_help()
    options = [_declare(parameter, help_text, default)]
    if parameter.kind.content == "plan":
        words = (
            "The workload of the plan in force, if it is another one; topics are matched by name."
        )
        name = WORKLOAD_OF.format(parameter.option)
        options.append(make_option(name, parameter.kind.option_type, words))
    return options


def _algorithm_options(family: Family) -> list[Argument]:
    options = []
    for (stage, algorithms), default in zip(
        family.stages.items(), family.default.split("+"), strict=True
    ):
        what, known = family.stage_help.get(stage), ", ".join(algorithms)
        text = f"One of {known}." if what is None else f"{what}: {known}."
        flags = ("--algorithm", "-a") if what is None else ()
        options.append(make_option(stage, str, text, default, flags=flags))
    return options


def shared_options(families: Iterable[Family]) -> list[Argument]:
    """Return the options that state a problem of any family; those of one name are one."""
    found: dict[str, tuple[Parameter, list[str]]] = {}
    for family in families:
        for parameter in family.shared_parameters:
            found.setdefault(parameter.option, (parameter, []))[1].append(family.name)
    return [
        _declare(parameter, _help_for(names, parameter.full_help()))
        for parameter, names in found.values()
    ]


def list_options(families: Iterable[Family]) -> list[Argument]:
    """Return the options that take a list of values to try; those of one name are one."""
    found: dict[str, tuple[Axis, list[str]]] = {}
    for family in families:
        for axis in axes_of(family).values():
            found.setdefault(axis.option, (axis, []))[1].append(family.name)
    return [
        make_option(axis.option.replace("-", "_"), str, _help_for(names, axis.help))
        for axis, names in found.values()
    ]


def axes_of(family: Family) -> dict[str, Axis]:
    """Return what may be varied in a family, by parameter."""
    return {one.name: one.axis for one in family.parameters if one.axis is not None}


def _help_for(families: Sequence[str], text: str) -> str:
    """Put the names of families in front of a help text."""
    is_acronym = text[1].isupper()
    return f"{', '.join(families)}: {text[0] if is_acronym else text[0].lower()}{text[1:]}"


def _declare(parameter: Parameter, help_text: str, default: Any = None) -> Argument:
    return make_option(parameter.option, parameter.kind.option_type, help_text, default)


def make_option(
    name: str, kind: Any, help_text: str, default: Any = None, *, flags: Sequence[str] = ()
) -> Argument:
    """Return an option as a parameter of a function; an empty default makes it required."""
    shows_default = default not in (None, Argument.empty)
    option = typer.Option(*flags, help=help_text, show_default=shows_default)
    typed = kind | None if default is None else kind
    return make_argument(name, Annotated[typed, option], default)


def own_parameters(command: Callable[..., None]) -> list[Argument]:
    """Return the parameters of a command after its first, by name alone."""
    _, *own = signature(command, eval_str=True).parameters.values()
    return [one.replace(kind=Argument.KEYWORD_ONLY) for one in own]


def with_options(
    command: Callable[..., None],
    options: Sequence[Argument],
    gather: Callable[[dict[str, Any]], Any],
) -> Callable[..., None]:
    """Return a command with options in place of its first parameter.

    Parameters
    ----------
    options
        All options of the command, also those that it declares itself.
    gather
        Takes what it needs out of the values typed, by option, and makes the first argument.
    """

    @wraps(command)
    def spread(**typed: Any) -> None:
        first = gather(typed)
        command(first, **typed)

    return set_signature(spread, options)


def set_signature(command: Callable[..., None], options: Sequence[Argument]) -> Callable[..., None]:
    """Return a command that Typer takes to have these options."""
    command.__signature__ = Signature(list(options))  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in options}
    return command


def take(typed: dict[str, Any], options: Iterable[Argument]) -> Mapping[str, Any]:
    """Take the values of options out of all that was typed."""
    return {option.name: typed.pop(option.name) for option in options}


def make_argument(name: str, annotation: Any, default: Any = Argument.empty) -> Argument:
    """Return a parameter of a function for an option that is declared elsewhere."""
    return Argument(name, Argument.KEYWORD_ONLY, default=default, annotation=annotation)
