"""One small tree of exceptions; each says what to do, and which exit status it means."""

from __future__ import annotations

from typing import Any


class FanwiseError(Exception):
    """Base of every error raised on purpose; the message is one line that says what to do."""

    exit_code = 2


class ParameterError(FanwiseError, ValueError):
    """A parameter outside its range.

    Parameters
    ----------
    name
        The parameter as the caller wrote it.
    constraint
        What it must be, as in "a number >= 0".
    value
        What it was.
    """

    def __init__(self, name: str, constraint: str, value: Any) -> None:
        super().__init__(f"The {name!r} parameter must be {constraint}, got {value!r}.")
        self.name = name


class InputError(FanwiseError):
    """Something read from outside is not what it should be: a trace, a catalogue, a list."""


class WorkloadError(InputError):
    """A workload folder that breaks the format; the message names file, column and row."""


class PlanError(InputError):
    """A plan folder that cannot be read."""


class OutputExistsError(FanwiseError):
    """The output is there already and overwriting was not asked for."""


class MissingDependencyError(FanwiseError):
    """An optional part (Spark, Java) is not installed; the message says how to get it."""


class InfeasibleError(FanwiseError):
    """No plan can meet the constraints; the message says which and what would."""

    exit_code = 1


class VerificationError(FanwiseError):
    """A plan that does not hold what it says; the message is the first violated constraint."""

    exit_code = 1
