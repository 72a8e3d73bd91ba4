"""Sentences from templates: the words are in a data file, the values are what was measured.

A template is a format string, as in ``"From {first:.3g} at {users:,} users."``. Beside Python's
own, there are the formats ``number``, ``percent`` and ``money``. A name that is no value is that of
a phrase, a template of its own. Words are

- a template;
- a table ``{when = "ours < 1", say = "Less."}``: said where the condition holds;
- a list of these: all that hold are said, with a space between them;
- in a list, another list: the first of it that holds is said.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Mapping, Sequence
from functools import cache
from types import CodeType
from typing import Any

from fanwise.formatting import money, number, percent

Words = str | Mapping[str, Any] | Sequence[Any]

FORMATS = {"number": number, "percent": percent, "money": money}
EXPRESSIONS = (
    ast.Expression, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Name, ast.Constant,
    ast.expr_context, ast.cmpop, ast.boolop, ast.unaryop, ast.operator,
)  # fmt: skip
"""What a condition may consist of: names, constants, comparisons and arithmetic."""


class Writer(string.Formatter):
    """Writes templates; phrases are known by name."""

    def __init__(self, phrases: Mapping[str, Words]) -> None:
        self.phrases = phrases

    def say(self, words: Words, values: Mapping[str, Any]) -> str:
        """Return what the words say of the values; nothing where no condition holds."""
        if isinstance(words, str):
            return self.vformat(words, (), values)
        if isinstance(words, Mapping):
            return self.say(words["say"], values) if holds(words["when"], values) else ""
        said = (self._first(one, values) if isinstance(one, list) else self.say(one, values)
                for one in words)  # fmt: skip
        return " ".join(piece for piece in said if piece)

    def _first(self, choices: Sequence[Words], values: Mapping[str, Any]) -> str:
        return next(filter(None, (self.say(one, values) for one in choices)), "")

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return a value, or the phrase of that name."""
        if key in kwargs:
            return kwargs[str(key)]
        return self.say(self.phrases[str(key)], kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        """Write a value in one of our formats or Python's."""
        if format_spec in FORMATS:
            return FORMATS[format_spec](value)
        return str(super().format_field(value, format_spec))


def holds(condition: str, values: Mapping[str, Any]) -> bool:
    """Whether a condition on values holds."""
    return bool(eval(_compiled(condition), {"__builtins__": {}}, dict(values)))


@cache
def _compiled(condition: str) -> CodeType:
    tree = ast.parse(condition, mode="eval")
    for node in ast.walk(tree):
        if not isinstance(node, EXPRESSIONS):
            raise ValueError(f"{condition!r}: only names, constants, comparisons and arithmetic")
    return compile(tree, condition, "eval")
