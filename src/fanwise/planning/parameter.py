"""Parameters of a family's question: one line each, from which options, axes and forms are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fanwise.formatting import number, span
from fanwise.planning import values
from fanwise.planning.values import Kind


@dataclass(frozen=True)
class Axis:
    """How a parameter is varied in what-if curves.

    Attributes
    ----------
    option
        The option that takes a list of values.
    help
        What the list is, without the family.
    kind
        What a value of the list must be, where it is not all that the parameter may be.
    states
        Whether the question is stated with the first of the values: for a parameter without a
        default, or with one that another parameter may rule out.
    is_wide
        Whether values that lie far apart are drawn on a logarithmic axis.
    """

    option: str
    help: str
    kind: Kind | None = None
    states: bool = False
    is_wide: bool = False


@dataclass(frozen=True)
class Parameter:
    """One thing that a family's question leaves to whoever asks.

    Attributes
    ----------
    name
        The problem's own name for it.
    kind
        What it must be.
    help
        One or two sentences for help texts and forms, without the family and the default.
    default
        What holds where it is not given; None where that is nothing, or is up to the workload.
    says_default
        What is up to the workload, in words.
    example
        A value to suggest; what has one is required.
    option
        The option, where its name differs.
    sets
        Parameters of the problem that it sets, where that is not the one of its name.
    recorded
        Names that it has among a plan's parameters, where they differ.
    is_recorded_always
        Whether every plan has it among its parameters, None where it was not given.
    is_own
        Whether the family's own command alone takes it, and ``compare`` and ``sweep`` do not.
    percent_of
        What a percentage of it is of, where one may be given; plans then record that beside it,
        under its name with ``_percent``.
    column
        The workload's column that is its default, and that the word ``column`` stands for.
    label, unit
        What people call it in tables and on axes, and the unit of its values there.
    per_unit
        How many of the problem's own units one ``unit`` is.
    writes
        How people read its values: as numbers, bytes, or spans of time.
    axis
        How it is varied; None for what is not.
    """

    name: str
    kind: Kind
    help: str
    default: Any = None
    says_default: str = ""
    example: str | None = None
    option: str = ""
    sets: tuple[str, ...] = ()
    recorded: tuple[str, ...] | None = None
    is_recorded_always: bool = True
    is_own: bool = False
    percent_of: str = ""
    column: str | None = None
    label: str = ""
    unit: str = ""
    per_unit: float = 1.0
    writes: Literal["number", "bytes", "span"] = "number"
    axis: Axis | None = None

    def __post_init__(self) -> None:
        plain = {"option": self.name, "sets": (self.name,), "label": self.name.replace("_", " ")}
        for attribute, value in plain.items():
            if not getattr(self, attribute):
                object.__setattr__(self, attribute, value)
        if self.recorded is None:
            percent = (f"{self.name}_percent",) if self.percent_of else ()
            object.__setattr__(self, "recorded", (*self.sets, *percent))

    @property
    def is_required(self) -> bool:
        """Whether there is no plan without it."""
        return self.example is not None

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return flag(self.option)

    @property
    def title(self) -> str:
        """What an axis is called: the parameter and its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def write(self, value: Any) -> str:
        """Return a value as people read it."""
        if self.writes == "span":
            return span(value)
        return f"{number(value)} bytes" if self.writes == "bytes" else number(value)

    def say(self, value: Any) -> str:
        """Return a value so that it is clear of what: ``tau 27``, ``10 days``, ``c3.large``."""
        is_clear = isinstance(value, str) or self.writes != "number"
        return self.write(value) if is_clear else f"{self.label} {self.write(value)}"

    def full_help(self) -> str:
        """Return the help with the default, for where nothing else tells it."""
        default = self.says_default
        if self.default is not None:
            default = f"{self.default:g}" if isinstance(self.default, float) else str(self.default)
        return f"{self.help} Default: {default}." if default else self.help


def flag(option: str) -> str:
    """Return an option as it is typed."""
    return f"--{option.replace('_', '-')}"


TAU = Parameter(
    "tau",
    values.number(0, word="column"),
    "Events per period that satisfy a subscriber, or 'column'.",
    says_default="the workload's column tau",
    column="tau",
    unit="events per period",
    axis=Axis(
        "taus",
        "thresholds to try, apart by commas: 10,27,100.",
        values.number(0),
        states=True,
        is_wide=True,
    ),
)
"""The threshold of satisfaction, which families on topics share."""
