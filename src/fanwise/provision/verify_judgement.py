"""The independent check of what a provisioning says of its cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fanwise.planning.verify import Check, expect, expect_metric
from fanwise.provision.verify_parameters import is_number
from fanwise.workload.topic import RELATIVE_TOLERANCE

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan


def check_judgement(plan: Plan) -> Iterator[Check]:
    """Distance to the bound, the decision and the savings must follow from cost and bound."""
    metrics, cost, bound = plan.metrics, plan.objective, plan.bound
    stated: Any = metrics.get("cost_above_bound")
    if bound is None:
        is_right = "cost_above_bound" in metrics and stated is None
    else:  # a difference of two close numbers: what matters is its error beside them
        slack = RELATIVE_TOLERANCE * max(abs(cost), 1e-3)
        is_right = is_number(stated) and abs(stated - (cost - bound)) <= slack
    yield _metric("cost_above_bound", is_right, f"says {stated!r}: {cost} less {bound}")
    max_cost = plan.parameters["max_cost"]
    decision = None
    if max_cost is not None:
        enough = max_cost * (1 + RELATIVE_TOLERANCE)
        decision = "unknown" if bound is None or bound <= enough else "no"
        decision = "yes" if cost <= enough else decision
    if decision is not None or "decision" in metrics:
        stated = metrics.get("decision")
        is_right = isinstance(stated, str) and stated == decision
        yield _metric("decision", is_right, f"says {stated!r}, found {decision!r}")
    if "cost_naive" in metrics or "savings" in metrics:
        naive: Any = metrics.get("cost_naive")
        is_right = is_number(naive) and naive >= 0
        yield expect("metrics.cost_naive", is_right, f"is {naive!r}, not money")
        yield expect_metric(plan, "savings", naive - cost if is_right else None)
    if "packing_is_optimal" in metrics:
        stated, packs = metrics["packing_is_optimal"], plan.algorithm.endswith("+exact")
        is_right = isinstance(stated, bool) and packs
        yield expect("metrics.packing_is_optimal", is_right,
                     f"says {stated!r}, of a packing by {plan.algorithm!r}")  # fmt: skip


def _metric(name: str, is_right: bool, problem: str) -> Check:
    return Check(f"metrics.{name}", None if is_right else problem, name)
