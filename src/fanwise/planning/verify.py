"""An independent check of a plan: trusts nothing but the workload and the tables.

What verification means is decided here, for every family alike: the form of the plan, then what its
family recomputes from the workload (limits, objective, metrics), then the bound by its certificate,
the gap and the fingerprint. A limit that is broken fails, whether the plan admits it or not. A
metric must be recomputed, or be named in the table of families as one that is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from fanwise.errors import ParameterError, VerificationError
from fanwise.planning.families import find_family
from fanwise.planning.family import Family, load
from fanwise.planning.plan import Plan, certified_gap
from fanwise.planning.proof import KIND_TESTS, KINDS
from fanwise.workload.json_numbers import find_odd_number
from fanwise.workload.topic import RELATIVE_TOLERANCE
from fanwise.workload.validation import LARGEST

if TYPE_CHECKING:
    from fanwise.workload.topic import TopicWorkload

STOPPED = ("gap", "limit", "work", "exhausted", "interrupted")
ROUNDING = 1e-12
"""Relative or absolute: sums of the same numbers in another order differ by less."""
NOT_OF_THE_KIND = (
    ArithmeticError, AttributeError, LookupError, TypeError, ValueError, pa.ArrowException,
)  # fmt: skip
"""What plain code raises on values of another kind than it expects."""


class Check(NamedTuple):
    """One thing checked: what, and what was wrong with it (None: it holds).

    ``metric`` names the metric that was recomputed, if it was one.
    """

    name: str
    problem: str | None = None
    metric: str | None = None

    @property
    def holds(self) -> bool:
        return self.problem is None


@dataclass
class Verification:
    """What was checked of a plan.

    Attributes
    ----------
    checks
        In the order they were made; only the last can have failed.
    is_bound_checked
        Whether the bound was shown to follow from the workload.
    remarks
        What a reader should know, in whole sentences: what rests on a solver's word, and which
        metrics were not recomputed.
    """

    checks: list[Check] = field(default_factory=list)
    is_bound_checked: bool = False
    remarks: list[str] = field(default_factory=list)

    @property
    def first(self) -> str | None:
        """What is wrong, or None if everything holds."""
        broken = (f"{check.name}: {check.problem}" for check in self.checks if not check.holds)
        return next(broken, None)

    @property
    def holds(self) -> bool:
        return self.first is None


def is_close(left: float, right: float, *, absolute: float = ROUNDING) -> bool:
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


def expect_metric(plan: Plan, name: str, found: Any, *, absolute: float = ROUNDING) -> Check:
    """Make a check that a metric the plan states is what was found from the workload.

    Numbers agree within the contract's tolerance, everything else exactly; inside lists and
    mappings likewise.
    """
    if name not in plan.metrics:
        return Check(f"metrics.{name}", f"is missing; found {found!r}", name)
    stated = plan.metrics[name]
    is_same = _is_same(stated, found, absolute)
    return Check(f"metrics.{name}", None if is_same else f"says {stated!r}, found {found!r}", name)


def _is_same(stated: Any, found: Any, absolute: float) -> bool:
    if isinstance(found, Mapping):
        return (
            isinstance(stated, Mapping)
            and set(stated) == set(found)
            and all(_is_same(stated[key], found[key], absolute) for key in found)
        )
    if isinstance(found, list | tuple):
        return (
            isinstance(stated, list | tuple)
            and len(stated) == len(found)
            and all(map(_is_same, stated, found, [absolute] * len(found)))
        )
    if found is None or isinstance(found, bool | str):
        return type(stated) is type(found) and stated == found
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        return False
    return is_close(stated, float(found), absolute=absolute)


def examine(
    workload: TopicWorkload | Any, plan: Plan, heard: Callable[[Check], None] = lambda check: None
) -> Verification:
    """Check a plan until something is found to be wrong, and say what was checked.

    Parameters
    ----------
    heard
        Called with each check as it is made.
    """
    result = Verification()
    try:
        with np.errstate(all="ignore"):  # what overflows is compared, and found to be wrong
            _check_all(workload, plan, result, heard)
    except VerificationError as error:
        result.checks.append(Check("proof", str(error).rstrip(".")))
        heard(result.checks[-1])
    except NOT_OF_THE_KIND as error:
        reason = " ".join(str(error).split()) or "no reason given"
        what = "something is of another kind than it must be"
        if isinstance(error, KeyError):
            what = "an entry that such a plan needs is missing"
        words = f"cannot be checked, {what} ({type(error).__name__}: {reason})"
        result.checks.append(Check("form", words))
        heard(result.checks[-1])
    result.is_bound_checked = result.is_bound_checked and result.holds
    return result


def _check_all(
    workload: Any, plan: Plan, result: Verification, heard: Callable[[Check], None]
) -> None:
    for check in _all_checks(workload, plan, result):
        result.checks.append(check)
        heard(check)
        if not check.holds:
            return  # later checks would build on what is already known to be wrong


def checks(workload: TopicWorkload | Any, plan: Plan) -> Iterator[Check]:
    """Yield every check of a plan, in an order in which the first failure explains most."""
    yield from examine(workload, plan).checks


def verify(workload: TopicWorkload | Any, plan: Plan) -> Verification:
    """Return what was checked, or raise :class:`VerificationError` with what fails first."""
    result = examine(workload, plan)
    if result.first is not None:
        raise VerificationError(f"{result.first}.")
    return result


def _all_checks(workload: Any, plan: Plan, result: Verification) -> Iterator[Check]:
    same = plan.workload == workload.hash
    yield expect("workload", same, f"made for workload {plan.workload[:12]}…, not this one "
                 f"({workload.hash[:12]}…)")  # fmt: skip
    family = find_family(plan.problem)
    yield from _check_form(family, plan)
    recomputed = set()
    for check in load(family.checks)(workload, plan):
        if check.metric is not None:
            recomputed.add(check.metric)
        yield check
    yield from _check_kinds(family, plan)
    yield from _check_metrics(family, plan, recomputed, result)
    yield expect("limits", plan.feasible, "the plan says that it breaks a limit (feasible: false)")
    yield from _check_bound(workload, family, plan, result)
    yield from _check_identity(plan)


def _check_form(family: Family, plan: Plan) -> Iterator[Check]:
    """Check what can be told without the workload: kinds of columns and of entries."""
    yield expect("tables", set(plan.tables) == set(family.columns),
                 f"must be {', '.join(family.columns)}, got {', '.join(plan.tables)}")  # fmt: skip
    unread = getattr(plan.tables, "unread", {})  # tables on disk, without their rows
    for name, columns in family.columns.items():
        table = unread[name] if name in unread else plan.tables[name]
        yield Check(f"columns of {name}", _wrong_column(table, columns))
    for entry in ("parameters", "metrics", "seconds", "limits"):
        yield Check(entry, find_odd_number(getattr(plan, entry), entry))
    yield from _check_parameters(family, plan)
    negative = [part for part, value in plan.seconds.items() if not _is_number(value) or value < 0]
    yield expect("seconds", not negative, f"must be numbers >= 0, {negative[:1]} is none")
    is_known = plan.stopped is None or plan.stopped in STOPPED
    yield expect("stopped", is_known, f"must be one of {', '.join(STOPPED)}, got {plan.stopped!r}")


def _wrong_column(table: pa.Table, columns: Mapping[str, str]) -> str | None:
    """Say what is wrong with the columns of a table, or None."""
    left = set(table.column_names)
    if len(left) != len(table.column_names):
        return "two columns have the same name"
    for name, kind in columns.items():
        pattern = name.rstrip("?*")
        found = [column for column in left if column == pattern]
        if name.endswith("*"):
            found = sorted(column for column in left if column.startswith(pattern))
        elif not found and not name.endswith("?"):
            return f"there is no column {pattern!r}"
        for column in found:
            left.remove(column)
            values = table.column(column)
            if not KIND_TESTS[kind](values.type):
                return f"column {column!r} has the type {values.type}"
            if values.null_count:
                return f"column {column!r} has an empty cell"
    return f"there is a column {min(left)!r} that plans of this kind do not have" if left else None


def _check_parameters(family: Family, plan: Plan) -> Iterator[Check]:
    try:
        algorithms = family.algorithms(plan.algorithm)
    except ParameterError as error:
        yield Check("algorithm", str(error).rstrip("."))
        return
    knobs = {key: knob.kind for entry in algorithms for key, knob in entry.settings.items()}
    for name, value in plan.parameters.items():
        where = f"parameters.{name}"
        if _is_number(value) and not -LARGEST <= value <= LARGEST:
            yield Check(where, f"must be within {LARGEST:g} of 0, got {value!r}")
        if name == "seed":
            is_right = isinstance(value, int) and not isinstance(value, bool) and value >= 0
            yield expect(where, is_right, f"must be a whole number >= 0, got {value!r}")
        elif name in ("time_limit", "gap"):
            is_right = _is_number(value) and value >= 0
            yield expect(where, is_right, f"must be a number >= 0, got {value!r}")
        elif name in knobs:
            is_right = knobs[name].allows(value)
            yield expect(where, is_right, f"must be {knobs[name].constraint}, got {value!r}")
        else:
            is_known = name in family.recorded
            yield expect(where, is_known, f"is no parameter of {family.name}")


def _check_kinds(family: Family, plan: Plan) -> Iterator[Check]:
    """Check that parameters are of the kind described, also those that nothing was built on."""
    for one in family.parameters:
        for name in one.recorded or ():
            value = plan.parameters.get(name)
            is_right = value is None or one.kind.allows(value)
            problem = f"must be {one.kind.constraint}, got {value!r}"
            yield expect(f"parameters.{name}", is_right, problem)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_metrics(
    family: Family, plan: Plan, recomputed: set[str], result: Verification
) -> Iterator[Check]:
    """Check that every metric was recomputed or is known not to be."""
    if family.proofs is None:
        return
    left = [name for name in plan.metrics if name not in recomputed]
    unknown = [name for name in left if name not in family.unchecked]
    yield expect("metrics", not unknown, f"{unknown[:1]} is no metric that such a plan can have")
    if left:
        told = "; ".join(f"{name} ({family.unchecked[name]})" for name in left)
        result.remarks.append(f"Not checked: {told}.")


def _check_bound(
    workload: Any, family: Family, plan: Plan, result: Verification
) -> Iterator[Check]:
    """Check that the bound follows from the certificate, and that it can bound the plan."""
    proof = plan.proof
    if plan.bound is None:
        yield expect("bound", proof is None, "there is a proof, but no bound that it is of")
        result.remarks.append("The plan claims no bound.")
        return
    is_max = family.sense == "max"
    is_right = (
        at_most(plan.objective, plan.bound) if is_max else at_most(plan.bound, plan.objective)
    )
    yield expect("bound", is_right, f"{plan.bound} cannot bound a plan of {plan.objective}")
    if proof is None:
        result.remarks.append("Bound not checked: the plan carries no proof of it.")
        return
    yield expect("proof", proof.kind in KINDS, f"the kind {proof.kind!r} is unknown")
    has_leaves = any(name in family.leaves for name in proof.tables)
    yield expect("proof.kind", (proof.kind == "leaves") == has_leaves or proof.kind == "solver",
                 f"is {proof.kind}, but the tables are those of another kind")  # fmt: skip
    if family.proofs is None:
        yield Check("proof", f"{family.name} plans have none that can be checked")
        return
    proven = float(load(family.proofs)(workload, plan))
    yield expect("proof", math.isfinite(proven), "proves nothing")

    def carries(claim: float) -> bool:
        return at_most(proven, claim) if is_max else at_most(claim, proven)

    yield expect("proof.proves", carries(proof.proves),
                 f"says {proof.proves}, but the certificate proves {proven}")  # fmt: skip
    if proof.kind == "solver":
        admits = load(family.proofs.partition(":")[0] + ":may_rest_on_solver")
        yield expect("proof.kind", bool(admits(workload, plan)),
                     "no bound of such a plan rests on a solver")  # fmt: skip
        result.remarks.append(
            f"Bound not checked: {plan.bound:.10g} rests on the word of {family.solver}; what the "
            f"certificate proves is {proven:.10g}."
        )
        return
    yield expect("bound by its proof", carries(plan.bound),
                 f"says {plan.bound}, but the certificate proves {proven}")  # fmt: skip
    result.is_bound_checked = True


def _check_identity(plan: Plan) -> Iterator[Check]:
    gap = certified_gap(plan.objective, plan.bound, is_feasible=plan.feasible)
    yield expect_equal("gap", plan.gap, gap)
    try:
        found = plan.compute_id()
    except ValueError as error:  # NaN or infinity among the parameters
        yield Check("id", f"cannot be computed: {error}")
        return
    yield expect("id", plan.id == found, f"is {plan.id[:12]}…, but the contents give {found[:12]}…")
