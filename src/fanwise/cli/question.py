"""The options that state a problem of any family, declared once for commands that take all of them.

A command takes one :class:`Question`; :func:`asking` spreads its fields into options.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

from fanwise.cli import options, problems


@dataclass(frozen=True)
class Question:
    """What was asked on the command line; None for an option that was not given."""

    problem: problems.ProblemName
    workload: options.Workload
    tau: problems.Tau = None
    capacity: problems.Capacity = None
    metric: problems.Metric = None
    instance: problems.Instance = None
    catalog: problems.Catalog = None
    price_gb: problems.PriceGb = None
    message_bytes: problems.MessageBytes = None
    horizon: problems.Horizon = None
    reserve: problems.Reserve = None
    max_degree: problems.MaxDegree = None
    max_edges: problems.MaxEdges = None
    avg_degree: problems.AvgDegree = None
    budget_ratio: problems.BudgetRatio = None
    topic_weight: problems.TopicWeight = None
    link_cost: problems.LinkCost = None
    max_link_cost: problems.MaxLinkCost = None
    alpha: problems.Alpha = None
    max_delay: problems.MaxDelay = None
    lbf: problems.Lbf = None
    lbf_max: problems.LbfMax = None
    latency: problems.Latency = None
    topology: problems.Topology = None
    core_factor: problems.CoreFactor = None
    capacity_factor: problems.CapacityFactor = None

    def given(self) -> dict[str, Any]:
        """Return the options of the family that were given, beside tau; refuse all others."""
        known = {field.name for field in fields(self)} - {"problem", "workload", "tau"}
        values = {name: value for name, value in vars(self).items() if name in known}
        return problems.check_options(self.problem, values)


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's first parameter, a question, by an option for each of its fields."""
    hints = get_type_hints(Question, include_extras=True)
    shared = [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(Question)
    ]
    _, *own = signature(command, eval_str=True).parameters.values()

    @wraps(command)
    def spread(**values: Any) -> None:
        asked = {field.name: values.pop(field.name) for field in fields(Question)}
        command(Question(**asked), **values)

    parameters = [*shared, *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own)]
    spread.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {one.name: one.annotation for one in parameters}
    return spread
