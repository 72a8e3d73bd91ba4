"""Kinds of values: how one is typed and read, what it must be, and how a JSON Schema says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fanwise.durations import parse_duration
from fanwise.errors import ParameterError


@dataclass(frozen=True)
class Kind:
    """What a value must be.

    Attributes
    ----------
    constraint
        What it must be, as in "a number >= 0".
    schema
        The same as a JSON Schema.
    recorded
        What a plan records of it as a JSON Schema, where that is something else.
    parse
        Reads it from text; raises :class:`ValueError` for any other text.
    allows
        Whether a value that was read is within the limits.
    option_type
        What a command line reads its option as before ``parse``.
    content
        What stands in the file or folder that the command line names in place of the value: one
        name per line, or a plan; None where the value itself is typed.
    """

    constraint: str
    schema: Mapping[str, Any]
    parse: Callable[[str], Any] = str
    allows: Callable[[Any], bool] = lambda value: True
    option_type: type = str
    content: Literal["names", "plan"] | None = None
    recorded: Mapping[str, Any] | None = None

    @property
    def recorded_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of what a plan records of it."""
        return self.schema if self.recorded is None else self.recorded

    def read(self, name: str, text: str, *, is_listed: bool = False) -> Any:
        """Return the value that a text stands for; ``name`` is for the message.

        Parameters
        ----------
        is_listed
            Whether the text is one of several, which the message then says.
        """
        try:
            return self.parse(text)
        except ValueError:
            constraint = self.constraint
            if is_listed and "number" in constraint:
                several = constraint.removeprefix("a ").replace("number", "numbers", 1)
                constraint = f"{several} apart by commas"
            raise ParameterError(name, constraint, text) from None


def whole_number(least: int, *, word: str | None = None) -> Kind:
    """Return the kind of whole numbers from ``least`` on; ``word`` may stand for one."""
    return _number_or_word(int, is_whole, f"a whole number >= {least}", least, word)


def number(least: float, *, word: str | None = None) -> Kind:
    """Return the kind of numbers from ``least`` on; ``word`` may stand for one."""
    return _number_or_word(float, is_number, f"a number >= {least:g}", least, word)


def _number_or_word(
    parse: Callable[[str], Any],
    is_one: Callable[[Any], bool],
    constraint: str,
    least: float,
    word: str | None,
) -> Kind:
    schema = {"type": "integer" if parse is int else "number", "minimum": least}
    if word is None:
        return Kind(
            constraint,
            schema,
            parse,
            lambda value: is_one(value) and value >= least,
            int if parse is int else float,
        )
    return Kind(
        f"{constraint} or '{word}'",
        {"anyOf": [schema, {"const": word}]},
        lambda text: word if text == word else parse(text),
        lambda value: value == word or (is_one(value) and value >= least),
    )


def number_above(limit: float) -> Kind:
    """Return the kind of numbers above a limit."""
    return Kind(
        f"a number > {limit:g}",
        {"type": "number", "exclusiveMinimum": limit},
        float,
        lambda value: is_number(value) and value > limit,
        float,
    )


def number_within(low: float, high: float) -> Kind:
    """Return the kind of numbers between two others, both allowed."""
    return Kind(
        f"a number from {low:g} to {high:g}",
        {"type": "number", "minimum": low, "maximum": high},
        float,
        lambda value: is_number(value) and low <= value <= high,
        float,
    )


def one_of(*words: str) -> Kind:
    """Return the kind that has these words alone; whoever takes the value refuses others."""
    return Kind(
        f"one of {', '.join(words)}", {"enum": list(words)}, allows=lambda value: value in words
    )


def amount(of_what: str) -> Kind:
    """Return the kind of numbers >= 0 and percentages of something, as in ``"10%"``."""
    text = {"type": "string", "pattern": r"^[0-9]{1,9}(\.[0-9]{1,9})?%?$"}
    number = {"type": "number", "minimum": 0}
    return Kind(
        f"a number >= 0 or a percentage of {of_what}",
        {"anyOf": [number, text]},
        recorded=number,
    )


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, and not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a number, and not a truth value."""
    return is_whole(value) or isinstance(value, float)


def _read_flag(text: str) -> bool:
    words = {"true": True, "false": False}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


FLAG = Kind(
    "true or false", {"type": "boolean"}, _read_flag, lambda value: isinstance(value, bool), bool
)
TEXT = Kind("a text", {"type": "string", "minLength": 1})
DURATION = Kind(
    "a duration > 0, in seconds or as in 90s, 15m, 1h30m or 10d",
    {"type": "number", "exclusiveMinimum": 0, "x-unit": "seconds"},
    lambda text: float(parse_duration(text, "duration")),
)
TABLE = Kind(
    "a file with a row for each entry",
    {"type": "string", "minLength": 1},
    option_type=Path,
    recorded={"type": "array"},
)
NAMES = Kind(
    "a list of names",
    {"type": "array", "items": {"type": "string"}},
    option_type=Path,
    content="names",
)
PLAN = Kind("a plan", {"type": "string", "minLength": 1}, option_type=Path, content="plan")
