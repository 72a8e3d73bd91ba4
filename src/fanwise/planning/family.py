"""What a family and an algorithm are. Targets are strings that are resolved on use.

A family is described once, in its room's ``description.py``. The options of its command and of
``compare`` and ``sweep``, tables, reports and JSON Schemas follow from that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from fanwise.errors import ParameterError
from fanwise.formatting import money, number, percent
from fanwise.planning.parameter import Parameter
from fanwise.planning.settings import Setting

Facts = Iterable[tuple[str, Any]]
"""Names with values, as people see them."""
Sense = Literal["max", "min"]
Writes = Literal["number", "percent", "money"]
WRITERS: Mapping[Writes, Callable[[Any], str]] = {
    "number": number,
    "percent": percent,
    "money": money,
}
"""How values are written for people."""


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
class Objective:
    """What a family maximises or minimises, in words.

    Attributes
    ----------
    name
        What it is called.
    writes
        How an amount of it is written.
    otherwise
        What it is called instead where a parameter has a value, by parameter and value.
    unit
        What an axis says in place of the name.
    """

    name: str
    writes: Writes = "number"
    otherwise: Mapping[tuple[str, Any], str] = field(default_factory=dict)
    unit: str = ""

    def named(self, parameters: Mapping[str, Any]) -> str:
        """Return what the objective of a question with these parameters is called."""
        for (parameter, value), name in self.otherwise.items():
            if parameters.get(parameter) == value:
                return name
        return self.name

    def title(self, parameters: Mapping[str, Any]) -> str:
        """Return the same for an axis."""
        return self.unit or self.named(parameters)

    @property
    def write(self) -> Callable[[Any], str]:
        """What writes an amount for people."""
        return WRITERS[self.writes]


@dataclass(frozen=True)
class Metric:
    """A number that every plan of a family tells beside the objective.

    Attributes
    ----------
    label
        What people call it.
    in_curves
        Whether each point of a what-if curve keeps it.
    in_tables
        Whether people see it in the table of such points.
    """

    name: str
    label: str
    writes: Writes = "number"
    in_curves: bool = True
    in_tables: bool = True

    @property
    def write(self) -> Callable[[Any], str]:
        """What writes a value for people."""
        return WRITERS[self.writes]


@dataclass(frozen=True)
class Curve:
    """All points along one parameter from a single run.

    Attributes
    ----------
    along
        The parameter.
    target
        ``(problem, values, *, progress) -> Sweep``.
    values
        What is tried where no list is given.
    algorithm
        What the curve is of.
    about
        What it is, for help texts.
    """

    along: str
    target: str
    values: tuple[Any, ...]
    algorithm: str
    about: str


@dataclass(frozen=True)
class Engine:
    """What makes plans elsewhere than in the memory of this process.

    Attributes
    ----------
    target
        ``(workload folder, **arguments) -> Plan``.
    algorithms
        What it runs, by stage.
    stands_in
        What it runs in place of ``best``, by stage.
    takes
        The parameters that it takes; None for all of them.
    """

    target: str
    algorithms: Mapping[str, tuple[str, ...]]
    stands_in: Mapping[str, str]
    takes: tuple[str, ...] | None = None

    def replaced(self, algorithms: Iterable[str]) -> tuple[str, ...]:
        """Return what it runs where these algorithms are asked for, one of each stage."""
        pairs = zip(algorithms, self.stands_in.values(), strict=True)
        return tuple(stand_in if name == "best" else name for name, stand_in in pairs)

    def runs(self, algorithms: Iterable[str]) -> bool:
        """Whether it runs these algorithms, one of each stage."""
        pairs = zip(algorithms, self.algorithms.values(), strict=True)
        return all(name in known for name, known in pairs)

    def load(self) -> Callable[..., Any]:
        """Import and return the function."""
        function: Callable[..., Any] = load(self.target)
        return function


@dataclass(frozen=True)
class Family:
    """One kind of question: what is decided, by which algorithms, checked and drawn by what.

    Attributes
    ----------
    objective
        What is best, in words.
    parameters
        What whoever asks may say, in the order of help texts.
    metrics
        What every plan tells beside the objective.
    facts
        What people want to know of a plan, ``plan -> (name, value) pairs``.
    stages
        Algorithms by stage, in the order they run, each by name.
    default
        The algorithm used when none is named.
    algorithm_after
        The parameter after which help texts list the algorithm; None for the last.
    stage_help
        What a stage decides, for families with several.
    keys
        Tables of a plan and the columns that identify a row.
    columns
        What columns the tables have: their kind (``id``, ``number``, ``flag``, ``text``), by name;
        a name that ends in ``*`` stands for ``lo_0``, ``lo_1`` and so on, one that ends in ``?``
        may be missing.
    also_recorded
        Names that a plan's parameters may have beside those of ``parameters``, seed, limits and
        the algorithm's knobs.
    proofs
        What evaluates the certificate of a plan, ``(workload, plan) -> bound``.
    leaves
        Tables that a certificate of the kind ``leaves`` has, and no other kind.
    solver
        On whose word a bound rests where its certificate is of the kind ``solver``.
    unchecked
        Metrics that verification does not recompute, each with the reason.
    explain
        What says why a plan is what it is, ``(workload, plan, **about) -> Explanation``.
    explains
        What an explanation tells: of one item that ``about`` names (a ``topic``, ``subscriber`` or
        ``machine``), and of the whole ``plan``.
    engines
        What makes plans where the workload does not fit in memory, by name.
    details
        What a report says of a plan beyond facts and explanation, ``plan -> passages``.
    exports
        What writes a plan for other programs, ``(workload, plan, path, *, overwrite) -> rows``, by
        format; CSV is for all.
    curve
        What gives a whole what-if curve in one run.
    comparison_plots
        Pictures of plans by several algorithms, ``comparison -> figures by name``.
    sweep_plots
        The picture of points along one parameter alone, ``points -> figure``, by parameter.
    reads
        Kind of workload: ``"topic"`` or ``"content"``.
    open_large
        What opens a workload and a plan with pairs on disk where memory is too small for them.
    """

    name: str
    question: str
    sense: Sense
    objective: Objective
    problem: str
    checks: str
    plots: str
    facts: str
    explain: str
    explains: Mapping[str, str]
    stages: Mapping[str, Mapping[str, Algorithm]]
    default: str
    keys: Mapping[str, tuple[str, ...]]
    columns: Mapping[str, Mapping[str, str]]
    parameters: tuple[Parameter, ...]
    metrics: tuple[Metric, ...]
    algorithm_after: str | None = None
    stage_help: Mapping[str, str] = field(default_factory=dict)
    also_recorded: tuple[str, ...] = ()
    proofs: str | None = None
    leaves: tuple[str, ...] = ("tree", "leaves")
    solver: str = "HiGHS, a solver"
    unchecked: Mapping[str, str] = field(default_factory=dict)
    engines: Mapping[str, Engine] = field(default_factory=dict)
    details: str | None = None
    open_large: str | None = None
    exports: Mapping[str, str] = field(default_factory=dict)
    curve: Curve | None = None
    comparison_plots: str | None = None
    sweep_plots: Mapping[str, str] = field(default_factory=dict)
    reads: Literal["topic", "content"] = "topic"

    def parameter(self, name: str) -> Parameter:
        """Return a parameter by the problem's name for it."""
        return next(one for one in self.parameters if one.name == name)

    @property
    def shared_parameters(self) -> tuple[Parameter, ...]:
        """Parameters that ``compare`` and ``sweep`` take."""
        return tuple(one for one in self.parameters if not one.is_own)

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the family's problem; what is not given is left to it.

        Parameters
        ----------
        given
            Values by parameter.
        """
        found: dict[str, Any] = {}
        for one in self.parameters:
            value = given.get(one.name, "column" if one.column else None)
            if value is not None:
                found |= dict.fromkeys(one.sets, value)
        return found

    @property
    def recorded(self) -> tuple[str, ...]:
        """Names that a plan's parameters may have, beside seed, limits and knobs."""
        names = (name for one in self.parameters for name in one.recorded or ())
        return (*dict.fromkeys(names), *self.also_recorded)

    @property
    def curve_metrics(self) -> tuple[str, ...]:
        """Metrics that each point of a what-if curve keeps."""
        return tuple(metric.name for metric in self.metrics if metric.in_curves)

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
            value = knob.kind.read(key, value)
        if not knob.kind.allows(value):
            raise ParameterError(key, knob.kind.constraint, value)
        resolved[key] = value
    return resolved
