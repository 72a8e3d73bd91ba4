"""What a family and an algorithm are. Targets are strings that are resolved on use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from fanwise.errors import ParameterError
from fanwise.planning.settings import Setting

Sense = Literal["max", "min"]


@dataclass(frozen=True)
class Algorithm:
    """One way to make a plan.

    Attributes
    ----------
    target
        ``module:function``.
    summary
        One line for help texts.
    is_seeded
        Whether random choices shape the result.
    settings
        Knobs for ``--set key=value``.
    compared_to
        Above this many pairs it is left out of comparisons unless it is asked for by name.
    compared_for
        Seconds it gets in comparisons where no time limit is given and nobody asked for it.
    """

    target: str
    summary: str
    is_seeded: bool = False
    settings: Mapping[str, Setting] = field(default_factory=dict)
    compared_to: int | None = None
    compared_for: float | None = None

    def load(self) -> Callable[..., Any]:
        """Import and return the function."""
        function: Callable[..., Any] = load(self.target)
        return function


@dataclass(frozen=True)
class Family:
    """One kind of question: what is decided, by which algorithms, checked and drawn by what.

    Attributes
    ----------
    stages
        Algorithms by stage, in the order they run, each by name.
    default
        The algorithm used when none is named.
    keys
        Tables of a plan and the columns that identify a row.
    columns
        What columns the tables have: their kind (``id``, ``number``, ``flag``, ``text``), by name;
        a name that ends in ``*`` stands for ``lo_0``, ``lo_1`` and so on, one that ends in ``?``
        may be missing.
    parameters
        Names that a plan's parameters may have, beside seed, limits and the algorithm's knobs.
    proofs
        What evaluates the certificate of a plan, ``(workload, plan) -> bound``.
    leaves
        Tables that a certificate of the kind ``leaves`` has, and no other kind.
    solver
        On whose word a bound rests where its certificate is of the kind ``solver``.
    unchecked
        Metrics that verification does not recompute, each with the reason.
    explain, reproduce
        What says why a plan is what it is, ``(workload, plan, **about) -> Explanation``, and
        what repeats the paper's experiments, if anything.
    explains
        What ``about`` may name: one ``topic`` or one ``subscriber``.
    exports
        What writes a plan for other programs, ``(workload, plan, path, *, overwrite) -> rows``, by
        format; CSV is for all.
    reads
        Kind of workload: ``"topic"`` or ``"content"``.
    open_large
        What opens a workload and a plan with pairs on disk where memory is too small for them.
    """

    name: str
    question: str
    sense: Sense
    problem: str
    checks: str
    plots: str
    stages: Mapping[str, Mapping[str, Algorithm]]
    default: str
    keys: Mapping[str, tuple[str, ...]]
    columns: Mapping[str, Mapping[str, str]]
    parameters: tuple[str, ...]
    proofs: str | None = None
    leaves: tuple[str, ...] = ("tree", "leaves")
    solver: str = "HiGHS, a solver"
    unchecked: Mapping[str, str] = field(default_factory=dict)
    engines: Mapping[str, str] = field(default_factory=dict)
    explain: str | None = None
    explains: tuple[str, ...] = ("topic",)
    reproduce: str | None = None
    open_large: str | None = None
    exports: Mapping[str, str] = field(default_factory=dict)
    reads: Literal["topic", "content"] = "topic"

    def algorithms(self, algorithm: str) -> tuple[Algorithm, ...]:
        """Return the algorithm of each stage named by ``algorithm``."""
        names = algorithm.split("+")
        if len(names) == len(self.stages) and all(
            name in table for name, table in zip(names, self.stages.values(), strict=True)
        ):
            pairs = zip(names, self.stages.values(), strict=True)
            return tuple(table[name] for name, table in pairs)
        known = " + ".join("|".join(table) for table in self.stages.values())
        raise ParameterError("algorithm", f"one of {known}", algorithm)


def load(target: str) -> Any:
    """Resolve ``module:attribute``."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def resolve_settings(algorithms: tuple[Algorithm, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """Check ``--set`` knobs against what the algorithms know and fill in defaults."""
    known = {key: knob for algorithm in algorithms for key, knob in algorithm.settings.items()}
    for key in given:
        if key not in known:
            names = ", ".join(known) or "none for this algorithm"
            raise ParameterError("set", f"a known knob ({names})", key)
    resolved = {}
    for key, knob in known.items():
        value = given.get(key, knob.default)
        if isinstance(value, str):
            try:
                value = knob.parse(value)
            except (KeyError, ValueError):
                raise ParameterError(key, knob.constraint, value) from None
        if not knob.allows(value):
            raise ParameterError(key, knob.constraint, value)
        resolved[key] = value
    return resolved
