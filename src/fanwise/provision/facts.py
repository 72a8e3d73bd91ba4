"""A provisioning in money: where it goes, how far from the least possible, what it saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fanwise.formatting import money, percent, size, span
from fanwise.planning.explanation import Lines, Listing, Passage
from fanwise.planning.family import Facts
from fanwise.planning.plan import Plan

DECISIONS = {
    "yes": "yes: this one",
    "no": "no: the bound is higher",
    "unknown": "unknown: between the bound and this plan",
}
ANSWERS = {
    "yes": "yes, by this plan",
    "no": "no, the bound is higher",
    "unknown": "open: it lies between the bound and this plan",
}


def describe(plan: Plan) -> Facts:
    """Return the lines that are shown of a plan: what each is, and how much."""
    metrics, total = plan.metrics, plan.objective

    def cost(name: str, of_what: str) -> str:
        share = percent(metrics[name] / total) if total else percent(0.0)
        return f"{money(metrics[name])} ({share}): {of_what}"

    facts = [
        ("total cost", f"{money(total)} for {span(plan.parameters['horizon_seconds'])}"),
        ("machines", cost("cost_machines", _name_machines(plan))),
        ("incoming", cost("cost_incoming", f"{size(metrics['in_bytes'])} per period")),
        ("outgoing", cost("cost_outgoing", f"{size(metrics['out_bytes'])} per period")),
        ("utilisation", percent(metrics["utilisation"])),
        ("satisfied subscribers", f"{metrics['subscribers']:,} by {metrics['pairs']:,} pairs"),
        ("on several machines", _describe_splits(metrics)),
    ]
    if "savings" in metrics:
        naive = money(metrics["cost_naive"])
        facts.append(("saved", f"{_saved(metrics)} of the naive plan's {naive}"))
    if "decision" in metrics:
        facts.append((f"a plan for {_asked(plan)}", DECISIONS[metrics["decision"]]))
    return [
        *facts,
        ("above the bound", _describe_distance(metrics["cost_above_bound"])),
        ("the paper's bound", money(metrics["paper_bound"])),
    ]


def _describe_splits(metrics: Mapping[str, Any]) -> str:
    topics = f"{metrics['topics']:,} topics"
    if not metrics["split_topics"]:
        return f"none of {topics}"
    more = f"{size(metrics['split_bytes'])} more to take in ({money(metrics['cost_splits'])})"
    return f"{metrics['split_topics']:,} of {topics}, {more}"


def _describe_distance(above: float | None) -> str:
    return "less than a cent" if above is not None and 0 < above < 0.01 else money(above)


def _name_machines(plan: Plan) -> str:
    """Count the machines by type: ``2 x c3.xlarge + 1 x c3.large``."""
    names = Counter(plan.tables["vms"].column("instance").to_pylist())
    if not names:
        return "none"
    return " + ".join(f"{count:,} x {name}" for name, count in names.most_common())


def fleet_passages(plan: Plan) -> list[Passage]:
    """Say what the explanation does not: the machines by type, and what else was asked for."""
    asked = Lines("What was asked for", list(_answers(plan)))
    return [asked, _machines(plan)] if asked.pairs else [_machines(plan)]


def _answers(plan: Plan) -> Iterator[tuple[str, Any]]:
    """Yield what the plan saves, and whether there is one for the money, where that was asked."""
    metrics = plan.metrics
    if "savings" in metrics:
        yield "the naive plan costs", money(metrics["cost_naive"])
        yield "saved against it", _saved(metrics)
    if "decision" in metrics:
        yield f"is there a plan for {_asked(plan)}?", ANSWERS[metrics["decision"]]


def _saved(metrics: Mapping[str, Any]) -> str:
    naive = metrics["cost_naive"]
    return f"{money(metrics['savings'])} ({percent(metrics['savings'] / naive if naive else 0.0)})"


def _asked(plan: Plan) -> str:
    """Write the money that was asked for, with all of its digits."""
    limit = plan.parameters["max_cost"]
    return money(limit) if limit == round(limit, 2) else f"${limit:,}"


def _machines(plan: Plan) -> Listing:
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
    return Listing("Machines by type", columns, rows, note)
