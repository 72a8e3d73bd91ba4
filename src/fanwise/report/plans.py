"""Sections about plans: how good each is, whether it holds, what it looks like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fanwise.errors import PlanError
from fanwise.formatting import number, percent
from fanwise.planning.explanation import Listing, Passage
from fanwise.planning.export import named_tables
from fanwise.planning.families import find_family
from fanwise.planning.family import load
from fanwise.planning.plan import Plan, certified_gap
from fanwise.planning.verify import Verification, examine
from fanwise.report.page import Facts, Item, Picture, Section, Table, Text, Verdict
from fanwise.workload.topic import TopicWorkload

PREVIEW_ROWS = 8
LEAST_GAP = 1e-4


def plan_section(plan: Plan, workload: TopicWorkload, *, title: str | None = None) -> Section:
    """Describe one plan: certificate, pictures, explanation, parameters, metrics, first rows.

    Parameters
    ----------
    plan, workload
        The plan, and what it was made for; a plan that fails verification is shown as such.
    title
        Heading, by default the problem and the algorithm.
    """
    result = examine(workload, plan)
    verdict = verdict_on(result)
    is_checked = result.is_bound_checked
    family = find_family(plan.problem)
    items: list[Item] = [
        Text(f"Decides {family.question}."),
        Facts(
            [
                (family.objective.named(plan.parameters), _amount(plan, plan.objective)),
                (
                    f"{'proven' if is_checked else 'claimed'} {_side(plan)} bound",
                    _amount(plan, plan.bound),
                ),
                ("certified gap" if is_checked else "gap to the claim", _gap(plan)),
                ("limits", "all kept" if plan.feasible else "broken"),
                ("stopped by", plan.stopped_by),
            ],
            is_prominent=True,
        ),
        verdict,
        Text(_certificate(plan, result)),
    ]
    if verdict.holds:  # a broken plan's tables may name things that do not exist
        items += [Picture(caption, figure) for caption, figure in plan.figures(workload).items()]
        if family.details is not None:
            items += [show_passage(passage) for passage in load(family.details)(plan)]
        items += explanation(plan, workload)
    if plan.parameters:
        items.append(Facts(_pairs(plan.parameters, {}), "Parameters"))
    if plan.metrics:
        labels = {metric.name: metric.label for metric in family.metrics}
        items.append(Facts(_pairs(plan.metrics, labels), "Metrics"))
    items += _previews(plan, workload)
    items.append(
        Facts(
            [
                *((f"seconds: {part}", value) for part, value in plan.seconds.items()),
                ("plan", plan.id),
                ("workload", plan.workload),
            ],
            "Identity and time",
        )
    )
    return Section(title or f"{plan.problem}: {plan.algorithm}", items)


def overview_section(plans: Iterable[Plan], *, title: str = "Plans") -> Section:
    """Put plans side by side in one table."""
    rows = [
        [
            plan.problem,
            plan.algorithm,
            _amount(plan, plan.objective),
            _amount(plan, plan.bound),
            _gap(plan) if _has_proof(plan) else f"{_gap(plan)} (claimed)",
            "kept" if plan.feasible else "broken",
            plan.seconds.get("total", sum(plan.seconds.values())),
        ]
        for plan in plans
    ]
    columns = ["problem", "algorithm", "objective", "bound", "gap", "limits", "seconds"]
    return Section(title, [Table(columns, rows)])


def verdict_on(result: Verification) -> Verdict:
    """Say what was checked of a plan, and with what result."""
    if not result.holds:
        return Verdict(False, f"Verification failed: {result.first}.")
    checked = "every limit, the objective and the metrics"
    if result.is_bound_checked:
        checked += ", and the bound by its certificate,"
    words = f"Verified: {checked} were checked from scratch."
    return Verdict(True, " ".join([words, *result.remarks]))


def explanation(plan: Plan, workload: TopicWorkload) -> list[Item]:
    """Return what the plan's family has to say about why it is what it is."""
    heading = Text("Explanation: why the plan is what it is, and what would change it.")
    return [heading, *(show_passage(passage) for passage in plan.explain(workload).passages)]


def show_passage(passage: Passage) -> Item:
    """Turn a family's words into what a page shows."""
    if isinstance(passage, Listing):
        return Table(passage.columns, passage.rows, passage.title, passage.note)
    return Facts(passage.pairs, passage.title)


def _side(plan: Plan) -> str:
    return "upper" if find_family(plan.problem).sense == "max" else "lower"


def _has_proof(plan: Plan) -> bool:
    """Whether a plan says how its bound can be checked, or has none to check."""
    return plan.bound is None or (plan.proof is not None and plan.proof.kind != "solver")


def _certificate(plan: Plan, result: Verification) -> str:
    """Say how good the plan is, as far as that was checked, and what the limit cut short."""
    return " ".join([_how_good(plan, result), *_said_beside(plan)])


def _said_beside(plan: Plan) -> list[str]:
    """Return the warnings that do not stand in place of how good the plan is."""
    return [text for code, text in plan.warnings.items() if code == "cut-short"]


def _how_good(plan: Plan, result: Verification) -> str:
    """Say how good the plan is, as far as that was checked."""
    if not plan.feasible:
        return "The plan breaks a limit: it is the best effort, and no gap is certified."
    if not result.holds:
        return "The plan does not hold what it says, so nothing is known of how good it is."
    unclear = [text for code, text in plan.warnings.items() if code != "cut-short"]
    if unclear:
        return " ".join(unclear)
    if plan.bound is None or plan.gap is None:
        return "No bound is known, so how much better a plan could be is open."
    proven, gap = plan.bound, plan.gap
    if not result.is_bound_checked:
        if plan.proof is None:
            return "The bound is a claim that nobody can check: the plan was made without a proof."
        proven = plan.proof.proves
        gap = certified_gap(plan.objective, proven, is_feasible=True) or 0.0
    if gap == 0:
        return "The plan is optimal: it meets the bound."
    extreme = "more" if find_family(plan.problem).sense == "max" else "less"
    return (
        f"No plan can reach {extreme} than {_amount(plan, proven)}: "
        f"this one is within {_percent(gap)} of the best possible."
    )


def _amount(plan: Plan, value: float | None) -> str:
    return find_family(plan.problem).objective.write(value)


def _gap(plan: Plan) -> str:
    """Write the gap; far below a hundredth of a percent, digits tell nobody anything."""
    if "empty-question" in plan.warnings:
        return "nothing to decide"
    if "no-useful-bound" in plan.warnings:
        return "no useful bound"
    return _percent(plan.gap)


def _percent(gap: float | None) -> str:
    if gap is not None and 0 < gap < LEAST_GAP:
        return f"less than {percent(LEAST_GAP)}"
    return percent(gap)


def _pairs(values: Mapping[str, Any], labels: Mapping[str, str]) -> list[tuple[str, Any]]:
    return [(labels.get(name, name.replace("_", " ")), value) for name, value in values.items()]


def _previews(plan: Plan, workload: TopicWorkload) -> list[Table]:
    heads = {name: table.slice(0, PREVIEW_ROWS) for name, table in plan.tables.items()}
    try:
        named = named_tables(replace(plan, tables=heads), workload)
    except PlanError:  # unknown ids, or another workload's plan: the verdict says so
        named = heads
    previews = []
    for name, head in named.items():
        num_rows = plan.tables[name].num_rows
        note = f"The first {head.num_rows} of {number(num_rows)} rows."
        columns = [head.column(index).to_pylist() for index in range(head.num_columns)]
        previews.append(
            Table(
                head.column_names,
                list(zip(*columns, strict=True)),
                f"Table {name}",
                note if num_rows > head.num_rows else "",
            )
        )
    return previews
