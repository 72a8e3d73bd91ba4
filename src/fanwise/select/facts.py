"""What people want to know of a selection."""

from __future__ import annotations

from fanwise.formatting import number, percent
from fanwise.planning.family import Facts
from fanwise.planning.plan import Plan


def describe(plan: Plan) -> Facts:
    """Return the lines that are shown of a plan: what each is, and how much."""
    metrics, capacity = plan.metrics, plan.parameters["capacity"]
    of_all = metrics["satisfied"] / metrics["subscribers"] if metrics["subscribers"] else None
    used = metrics["used"] / capacity if capacity else None
    rows = [
        ("satisfied subscribers", f"{metrics['satisfied']:,} of {metrics['subscribers']:,} "
         f"({percent(of_all)})"),
        ("served topics", f"{metrics['served']:,} of {plan.tables['topics'].num_rows:,}"),
        ("capacity used", f"{number(metrics['used'])} of {number(capacity)} "
         f"({percent(used)})"),
    ]  # fmt: skip
    if plan.parameters["metric"] == "fractional":
        rows.insert(0, ("total satisfaction", number(plan.objective)))
    return [*rows, *_describe_changes(plan)]


def _describe_changes(plan: Plan) -> Facts:
    metrics = plan.metrics
    if "changes" not in metrics:
        return
    yield (
        "changes",
        f"{metrics['changes']:,}: {metrics['switched_on']:,} topics switched on, "
        f"{metrics['switched_off']:,} off",
    )
    if "given_up" in metrics:
        share = metrics["given_up"] / metrics["free_value"] if metrics["free_value"] else 0.0
        yield (
            "given up for stability",
            f"{number(metrics['given_up'])} ({percent(share)}) against a free plan "
            f"with {metrics['free_changes']:,} changes",
        )
    if metrics.get("net_bound") is not None:
        yield (
            "less the price of changes",
            f"{number(metrics['net_value'])}, at most {number(metrics['net_bound'])} possible",
        )
