"""Ways to break a selection, one for each constraint; verify must catch every one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def with_table(plan, table):
    return replace(plan, tables={"topics": table})


def set_column(plan, name, values):
    table = plan.tables["topics"]
    return with_table(plan, table.set_column(table.column_names.index(name), name, values))


def column(plan, name):
    return plan.tables["topics"].column(name).to_numpy(zero_copy_only=False).copy()


def serve_everything(plan):
    return set_column(plan, "served", pa.array(np.ones(plan.tables["topics"].num_rows, bool)))


def flip_one(plan):
    served = column(plan, "served")
    served[np.argmax(served)] = False
    return set_column(plan, "served", pa.array(served))


def repeat_a_topic(plan):
    topics = column(plan, "topic")
    topics[0] = topics[1]
    return set_column(plan, "topic", pa.array(topics))


def wrong_cost(plan):
    costs = column(plan, "cost")
    costs[0] *= 1.001
    return set_column(plan, "cost", pa.array(costs))


def set_parameter(**entries):
    return lambda plan: replace(plan, parameters={**plan.parameters, **entries})


def set_metric(**entries):
    return lambda plan: replace(plan, metrics={**plan.metrics, **entries})


BREAKS = {
    "a topic is missing": lambda plan: with_table(plan, plan.tables["topics"].slice(1)),
    "a topic stands twice": repeat_a_topic,
    "no column served": lambda plan: with_table(plan, plan.tables["topics"].drop(["served"])),
    "served is not a flag": lambda plan: set_column(
        plan, "served", pc.cast(plan.tables["topics"].column("served"), pa.int32())
    ),
    "a wrong cost": wrong_cost,
    "over the capacity": serve_everything,
    "other topics than counted": flip_one,
    "another capacity": set_parameter(capacity=1e12),
    "another percentage": set_parameter(capacity_percent=99.0),
    "no capacity": set_parameter(capacity=None),
    "another tau": set_parameter(tau=1.0),
    "a tau that is no number": set_parameter(tau="many"),
    "tau of a column that is not there": set_parameter(tau="column"),
    "another metric": set_parameter(metric="fractional"),
    "an unknown metric": set_parameter(metric="best"),
    "a wrong use": set_metric(used=0.0),
    "a wrong paper bound": set_metric(paper_bound=0.0),
    "no paper bound": set_metric(paper_bound=None),
}
