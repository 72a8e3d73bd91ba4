"""An independent check of a plan: trusts nothing but the workload and the tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from fanwise.errors import VerificationError
from fanwise.planning.families import find_family
from fanwise.planning.family import load
from fanwise.planning.plan import Plan, certified_gap
from fanwise.workload.topic import RELATIVE_TOLERANCE

if TYPE_CHECKING:
    from fanwise.workload.topic import TopicWorkload


class Check(NamedTuple):
    """One thing checked: what, and what was wrong with it (None: it holds)."""

    name: str
    problem: str | None = None

    @property
    def holds(self) -> bool:
        return self.problem is None


def is_close(left: float, right: float, *, absolute: float = 1e-12) -> bool:
    """Whether two numbers agree within the contract's relative tolerance."""
    return math.isclose(left, right, rel_tol=RELATIVE_TOLERANCE, abs_tol=absolute)


def at_most(value: float, limit: float) -> bool:
    """Whether ``value <= limit`` within the contract's relative tolerance."""
    return value <= limit or is_close(value, limit)


def expect(name: str, is_true: bool, problem: str) -> Check:
    """Make a check that fails with ``problem`` unless ``is_true``."""
    return Check(name, None if is_true else problem)


def expect_equal(name: str, stated: object, found: float | None) -> Check:
    """Make a check that a number the plan states is the one found from the workload."""
    if stated is None or found is None:
        return expect(name, stated is None and found is None, f"says {stated}, found {found}")
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        return Check(name, f"says {stated!r}, which is not a number; found {found}")
    return expect(name, is_close(stated, found), f"says {stated}, found {found}")


def checks(workload: TopicWorkload, plan: Plan) -> Iterator[Check]:
    """Yield every check of a plan, in an order in which the first failure explains most."""
    same = plan.workload == workload.hash
    yield expect("workload", same, f"made for workload {plan.workload[:12]}…, not this one "
                 f"({workload.hash[:12]}…)")  # fmt: skip
    if not same:
        return
    family_checks = load(find_family(plan.problem).checks)
    for check in family_checks(workload, plan):
        yield check
        if not check.holds:
            return  # later checks would build on what is already known to be wrong
    yield from _certificate(plan)


def verify(workload: TopicWorkload, plan: Plan) -> None:
    """Raise :class:`VerificationError` with the first check that fails."""
    for check in checks(workload, plan):
        if not check.holds:
            raise VerificationError(f"{check.name}: {check.problem}.")


def _certificate(plan: Plan) -> Iterator[Check]:
    family = find_family(plan.problem)
    if plan.bound is not None and plan.feasible:
        is_right = (
            at_most(plan.objective, plan.bound)
            if family.sense == "max"
            else at_most(plan.bound, plan.objective)
        )
        yield expect("bound", is_right, f"{plan.bound} cannot bound a plan of {plan.objective}")
    gap = certified_gap(plan.objective, plan.bound, is_feasible=plan.feasible)
    yield expect_equal("gap", plan.gap, gap)
    try:
        found = plan.compute_id()
    except ValueError as error:  # NaN or infinity among the parameters
        yield Check("id", f"cannot be computed: {error}")
        return
    yield expect("id", plan.id == found, f"is {plan.id[:12]}…, but the contents give {found[:12]}…")
