"""What people want to know of a wiring."""

from __future__ import annotations

from fanwise.arrays.tolerance import is_enough
from fanwise.formatting import number, percent
from fanwise.planning.family import Facts
from fanwise.planning.plan import Plan


def describe(plan: Plan) -> Facts:
    """Return the lines that are shown of a plan: what each is, and how much."""
    metrics = plan.metrics
    yield ("cost", number(plan.objective))
    yield ("of that access", number(metrics["access"]))
    yield ("of that core", number(metrics["core"]))
    steiner = metrics["core_steiner"]
    if steiner is not None and not is_enough(steiner, metrics["core"]):
        yield ("core with Steiner trees", f"{number(steiner)} at most")
    yield ("links between brokers", f"{plan.tables['links'].num_rows:,}")
    if metrics["shortened"]:
        yield ("links that cost more than a way around", f"{metrics['shortened']:,}")
    yield ("overloaded brokers", f"{metrics['overloaded']:,}")
    if metrics["max_load"] is not None:
        yield ("fullest broker", percent(metrics["max_load"]))
