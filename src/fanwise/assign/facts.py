"""What people want to know of an assignment."""

from __future__ import annotations

from fanwise.formatting import number
from fanwise.planning.family import Facts
from fanwise.planning.plan import Plan


def describe(plan: Plan) -> Facts:
    """Return the lines that are shown of a plan: what each is, and how much."""
    metrics, parameters = plan.metrics, plan.parameters
    yield ("total bandwidth", number(plan.objective))
    yield ("rectangles", f"{plan.tables['filters'].num_rows:,}, at most {parameters['alpha']} each")
    factor = "without bound" if metrics["lbf"] is None else f"{metrics['lbf']:.3f}"
    yield (
        "load-balance factor",
        f"{factor} ({parameters['lbf']:g} desired, {parameters['lbf_max']:g} allowed)",
    )
    yield ("overloaded brokers", f"{metrics['overloaded']:,}")
    yield ("late subscribers", f"{metrics['late']:,}")
    yield ("root mean square delay", f"{metrics['rms_delay']:.3f}")
    if "trouble" in metrics:
        yield ("why", metrics["trouble"]["says"])
