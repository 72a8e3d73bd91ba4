"""What ``fanwise sweep`` may vary, by family: options that take a list, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fanwise.cli.problems import split_list
from fanwise.cli.question import Question
from fanwise.durations import parse_duration
from fanwise.errors import FanwiseError, ParameterError


def _numbers(constraint: str) -> Callable[[str, str], list[Any]]:
    return lambda text, option: _each(text, option, float, constraint)


def _whole_numbers(text: str, option: str) -> list[Any]:
    return _each(text, option, int, "whole numbers >= 0")


def _durations(text: str, option: str) -> list[Any]:
    return [float(parse_duration(part, option)) for part in split_list(text, option)]


def _each(text: str, option: str, read: Callable[[str], Any], constraint: str) -> list[Any]:
    values = []
    for part in split_list(text, option):
        try:
            values.append(read(part))
        except ValueError:
            raise ParameterError(option, f"{constraint} apart by commas", part) from None
    return values


class Axis(NamedTuple):
    """A parameter of some problems that a list of values is tried for.

    Attributes
    ----------
    single
        The option that fixes it instead, as the question calls it.
    name
        The problem's own name.
    """

    single: str
    name: str
    families: tuple[str, ...]
    read: Callable[[str, str], list[Any]]


AXES: Mapping[str, Axis] = {
    "taus": Axis("tau", "tau", ("select", "provision"), _numbers("numbers >= 0")),
    "capacities": Axis("capacity", "capacity", ("select",), split_list),
    "instances": Axis("instance", "instance", ("provision",), split_list),
    "message-sizes": Axis(
        "message_bytes", "message_bytes", ("provision",), _numbers("numbers > 0")
    ),
    "horizons": Axis("horizon", "horizon_seconds", ("provision",), _durations),
    "max-degrees": Axis("max_degree", "max_degree", ("connect",), _whole_numbers),
    "edge-limits": Axis("max_edges", "max_edges", ("connect",), _whole_numbers),
    "budget-ratios": Axis("budget_ratio", "budget_ratio", ("connect",), _numbers("numbers >= 0")),
    "alphas": Axis("alpha", "alpha", ("assign",), _whole_numbers),
    "max-delays": Axis("max_delay", "max_delay", ("assign",), _numbers("numbers >= 0")),
    "load-limits": Axis("lbf_max", "lbf_max", ("assign",), _numbers("numbers >= 0")),
    "core-factors": Axis("core_factor", "core_factor", ("wire",), _numbers("numbers >= 0")),
    "capacity-factors": Axis(
        "capacity_factor", "capacity_factor", ("wire",), _numbers("numbers >= 0")
    ),
}


def read_axes(question: Question, lists: Mapping[str, str | None]) -> dict[str, list[Any]]:
    """Return the values to try by the problem's own names; ``lists`` is by option."""
    axes = {}
    for option, text in lists.items():
        if text is None:
            continue
        axis = AXES[option]
        if question.problem not in axis.families:
            options = " or ".join(f"--{name}" for name in options_of(question.problem))
            raise FanwiseError(
                f"--{option} is not an option of {question.problem}; give {options}."
            )
        if getattr(question, axis.single) is not None:
            single = axis.single.replace("_", "-")
            raise FanwiseError(f"--{single} and --{option} exclude each other; give one of them.")
        axes[axis.name] = axis.read(text, option)
    return axes


def options_of(problem: str) -> list[str]:
    """Return the options that take a list for a problem."""
    return [option for option, axis in AXES.items() if problem in axis.families]
