"""A provisioning in money: where it goes, how far from the least possible, what it saves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fanwise.planning.plan import Plan
from fanwise.report.page import Facts, Item, Table
from fanwise.wording import money, number, percent, size, span

ANSWERS = {
    "yes": "yes, by this plan",
    "no": "no, the bound is higher",
    "unknown": "open: it lies between the bound and this plan",
}


def money_items(plan: Plan) -> list[Item]:
    """Break the cost down, and hold it against the bound and the naive plan."""
    return [_breakdown(plan), Facts(_judgement(plan), "How good that is"), _machines(plan)]


def _breakdown(plan: Plan) -> Table:
    metrics, total = plan.metrics, plan.objective
    parts = [
        ("machines", "cost_machines", f"{number(metrics['vms'])} of them"),
        ("incoming traffic", "cost_incoming", f"{size(metrics['in_bytes'])} per period"),
        ("outgoing traffic", "cost_outgoing", f"{size(metrics['out_bytes'])} per period"),
    ]
    rows: list[tuple[str, str, str, str]] = [
        (name, money(metrics[key]), percent(metrics[key] / total if total else 0.0), what)
        for name, key, what in parts
    ]
    rows.append(("all", money(total), percent(1.0 if total else 0.0), ""))
    note = ""
    if "cost_splits" in metrics:
        note = (
            f"On several machines: {number(metrics['split_topics'])} of "
            f"{number(metrics['topics'])} topics. Their further copies are "
            f"{_cents(metrics['cost_splits'])} of the incoming traffic."
        )
    period = span(plan.parameters["horizon_seconds"])
    return Table(["for", "cost", "share", "amount"], rows, f"What {period} cost", note)


def _judgement(plan: Plan) -> Iterator[tuple[str, Any]]:
    metrics = plan.metrics
    if plan.bound is not None:
        yield "no plan costs less than", money(plan.bound)
        yield "this one costs more by at most", _cents(max(0.0, plan.objective - plan.bound))
    if metrics.get("paper_bound") is not None:
        yield "the paper's bound", money(metrics["paper_bound"])
    if "savings" in metrics:
        naive = metrics["cost_naive"]
        share = percent(metrics["savings"] / naive if naive else 0.0)
        yield "the naive plan costs", money(naive)
        yield "saved against it", f"{money(metrics['savings'])} ({share})"
    if "decision" in metrics:
        asked = money(plan.parameters["max_cost"])
        yield f"is there a plan for {asked}?", ANSWERS[metrics["decision"]]


def _cents(usd: float) -> str:
    """Write dollars; parts of a cent are not worth their digits."""
    return "less than $0.01" if 0 < usd < 0.01 else money(usd)


def _machines(plan: Plan) -> Table:
    vms = plan.tables["vms"]
    names = np.array(vms.column("instance").to_pylist(), dtype=object)
    rent, used, capacity = (
        np.asarray(values, dtype=np.float64)
        for values in (
            vms.column("usd_per_hour").to_numpy(),
            vms.column("in_bytes").to_numpy() + vms.column("out_bytes").to_numpy(),
            vms.column("capacity_bytes").to_numpy(),
        )
    )
    rows = []
    for name in sorted(set(names)):
        of_type = names == name
        fill = used[of_type] / capacity[of_type]
        rows.append((
            name, int(of_type.sum()), f"{money(float(rent[of_type].sum()))} an hour",
            percent(float(used[of_type].sum() / capacity[of_type].sum())),
            percent(float(fill.min())), percent(float(fill.max())),
        ))  # fmt: skip
    columns = ["type", "machines", "rent", "bandwidth used", "emptiest", "fullest"]
    reserve = plan.parameters.get("reserve", 0.0)
    note = f"{percent(reserve)} of every machine is kept free." if reserve else ""
    return Table(columns, rows, "Machines by type", note)
