"""Ways to break an overlay, one for each constraint; verify must catch every one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa


def edges_of(plan):
    return np.column_stack([plan.tables["edges"].column(name).to_numpy() for name in "uv"]).copy()


def with_edges(plan, edges):
    edges = np.asarray(edges, dtype=np.int32).reshape(-1, 2)
    table = pa.table({"u": edges[:, 0].copy(), "v": edges[:, 1].copy()})
    return replace(plan, tables={"edges": table})


def drop_a_link(plan):
    """Drop the first link, which always adds something."""
    return with_edges(plan, edges_of(plan)[1:])


def repeat_a_link(plan):
    edges = edges_of(plan)
    return with_edges(plan, np.concatenate([edges, edges[:1]]))


def turn_a_link(plan):
    edges = edges_of(plan)
    edges[0] = edges[0, ::-1]
    return with_edges(plan, edges)


def change_a_node(place, node):
    def change(plan):
        edges = edges_of(plan)
        edges[0, place] = node
        return with_edges(plan, edges)

    return change


def link_everybody(plan):
    num_nodes = plan.source.num_subscribers
    return with_edges(plan, np.column_stack(np.triu_indices(num_nodes, 1)))


def drop_column(name):
    return lambda plan: replace(plan, tables={"edges": plan.tables["edges"].drop([name])})


def set_parameter(**entries):
    return lambda plan: replace(plan, parameters={**plan.parameters, **entries})


def set_metric(**entries):
    return lambda plan: replace(plan, metrics={**plan.metrics, **entries})


BREAKS = {
    "a link is missing": drop_a_link,
    "a link stands twice": repeat_a_link,
    "a link is the wrong way round": turn_a_link,
    "a link to itself": lambda plan: with_edges(plan, [[0, 0]]),
    "an unknown node": change_a_node(1, 10**6),
    "a negative node": change_a_node(0, -1),
    "no column u": drop_column("u"),
    "no column v": drop_column("v"),
    "all links": link_everybody,
    "a smaller degree": set_parameter(max_degree=0),
    "fewer links": set_parameter(max_edges=0),
    "a ratio of nothing": set_parameter(budget_ratio=0.5),
    "a mean degree that is another number of links": set_parameter(avg_degree=0.5),
    "a degree that is no count": set_parameter(max_degree="many"),
    "a degree of a column that is not there": set_parameter(max_degree="column"),
    "a number of links that is no count": set_parameter(max_edges=2.5),
    "other weights": set_parameter(topic_weight="rate"),
    "unknown weights": set_parameter(topic_weight="two"),
    "costs of nodes that are nowhere": set_parameter(link_cost="distance"),
    "a cost budget without costs": set_parameter(max_link_cost=5.0),
    "a wrong support": set_metric(support=0.123),
    "no support": set_metric(support=None),
    "a wrong number of links": set_metric(edges=0),
    "a wrong largest degree": set_metric(max_degree=99),
}

RATIO_BREAKS = {
    "another degree": set_parameter(max_degree=10**6),
    "another ratio": set_parameter(budget_ratio=7.0),
    "both budgets": set_parameter(max_edges=10**6, max_degree=10**6),
    "no budget": set_parameter(max_degree=None),
    "no complete overlay": set_metric(complete_degree=None),
    "another complete overlay": set_metric(complete_degree=99),
}
"""The same for an overlay whose degree is limited by a budget ratio."""

COST_BREAKS = {
    "a smaller cost budget": set_parameter(max_link_cost=1e-3),
    "a cost budget that is none": set_parameter(max_link_cost=-1.0),
    "a wrong cost": set_metric(link_cost=0.0),
    "no cost": set_metric(link_cost=None),
}
"""The same for an overlay whose links cost something."""
