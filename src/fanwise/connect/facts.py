"""What people want to know of an overlay."""

from __future__ import annotations

from fanwise.formatting import number, percent
from fanwise.planning.family import Facts
from fanwise.planning.plan import Plan


def describe(plan: Plan) -> Facts:
    """Return the lines that are shown of a plan: what each is, and how much."""
    metrics, parameters = plan.metrics, plan.parameters
    yield ("support", percent(metrics["support"]))
    yield (
        "joined components" + (", by rate" if parameters["topic_weight"] == "rate" else ""),
        f"{number(plan.objective)} of {number(metrics['complete_value'])}",
    )
    yield ("connected topics", f"{metrics['connected_topics']:,} of {metrics['topics']:,}")
    most = parameters["max_edges"]
    useless = metrics["useless_edges"]
    yield (
        "links",
        f"{metrics['edges']:,}"
        + ("" if most is None else f" of {most:,}")
        + (f", {useless:,} of them join nothing" if useless else ""),
    )
    limit = parameters["max_degree"]
    yield (
        "largest degree",
        f"{metrics['max_degree']:,}"
        + ("" if limit is None else f" of {'the column' if limit == 'column' else f'{limit:,}'}")
        + f", {metrics['mean_degree']:.2f} on average",
    )
    if "link_cost" in metrics:
        most_cost = parameters["max_link_cost"]
        yield (
            "link cost",
            number(metrics["link_cost"])
            + ("" if most_cost is None else f" of {number(most_cost)}"),
        )
    if parameters["budget_ratio"] is not None:
        yield (
            "complete overlay",
            f"{metrics['complete_edges']:,} links, degree {metrics['complete_degree']:,}",
        )
