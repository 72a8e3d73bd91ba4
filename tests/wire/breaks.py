"""Ways to break a wiring, one for each constraint; verify must catch every one.

They are for plans of :func:`tests.wire.small_wirings.wiring_of`: three brokers, all of them used.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa


def with_table(plan, name, columns):
    return replace(plan, tables={**plan.tables, name: pa.table(columns)})


def columns_of(plan, name):
    table = plan.tables[name]
    return {column: table.column(column).to_numpy().copy() for column in table.column_names}


def change(name, **changes):
    """Replace columns of a table by functions of them."""

    def broken(plan):
        columns = columns_of(plan, name)
        for column, make in changes.items():
            columns[column] = make(columns[column])
        return with_table(plan, name, columns)

    return broken


def cell(value, row=0):
    def put(values):
        values = values.copy()
        values[row] = value
        return values

    return put


def drop_row(name, row=0):
    def drop(plan):
        columns = columns_of(plan, name)
        return with_table(plan, name, {key: np.delete(v, row) for key, v in columns.items()})

    return drop


def repeat_row(name, row=0):
    def repeat(plan):
        columns = columns_of(plan, name)
        return with_table(plan, name, {key: np.append(v, v[row]) for key, v in columns.items()})

    return repeat


def no_links(plan):
    return with_table(plan, "links", {key: v[:0] for key, v in columns_of(plan, "links").items()})


def repeat_turned(plan):
    """The same link again from its other end, the traffic halved."""
    columns = columns_of(plan, "links")
    columns["traffic"][0] /= 2
    low, high, half = columns["broker"], columns["other"], columns["traffic"]
    return with_table(plan, "links", {
        "broker": np.append(low, high[0]),
        "other": np.append(high, low[0]),
        "traffic": np.append(half, half[0]),
    })  # fmt: skip


def drop_column(name, column):
    return lambda plan: replace(
        plan, tables={**plan.tables, name: plan.tables[name].drop([column])}
    )


def set_parameter(**entries):
    return lambda plan: replace(plan, parameters={**plan.parameters, **entries})


def set_metric(**entries):
    return lambda plan: replace(plan, metrics={**plan.metrics, **entries})


def shift_cost(plan):
    """Say less for access and more for core: their sum stays."""
    access, core = plan.metrics["access"], plan.metrics["core"]
    return set_metric(access=access * 0.9, core=core + access * 0.1)(plan)


def hide_overload(plan):
    return set_parameter(capacity_factor=1e-15)(plan)


def admit_overload(plan):
    return replace(set_metric(overloaded=1)(plan), feasible=False, gap=None)


BREAKS = {
    "a subscriber without a broker": drop_row("attachments"),
    "a subscriber with two brokers": repeat_row("attachments"),
    "an unknown subscriber": change("attachments", subscriber=cell(10**6)),
    "a negative subscriber": change("attachments", subscriber=cell(-1)),
    "an unknown broker": change("attachments", broker=cell(99)),
    "a negative broker": change("attachments", broker=cell(-1)),
    "one subscriber elsewhere": change(
        "attachments", broker=lambda b: cell((b[0] + 1) % 3)(b).astype(np.int32)
    ),
    "everybody elsewhere": change("attachments", broker=lambda b: ((b + 1) % 3).astype(np.int32)),
    "a link is missing": drop_row("links"),
    "no links at all": no_links,
    "a link twice": repeat_row("links"),
    "a link from both ends": repeat_turned,
    "a link to itself": change("links", other=lambda other: other * 0),
    "a link of an unknown broker": change("links", other=cell(99)),
    "a link of a negative broker": change("links", broker=cell(-1)),
    "more traffic than there is": change("links", traffic=lambda t: t * (1 + 1e-6)),
    "traffic on one link for another": change("links", other=lambda other: 3 - other),
    "traffic that is not a number": change("links", traffic=cell(np.nan)),
    "traffic that is not finite": change("links", traffic=cell(np.inf)),
    "traffic that is text": change("links", traffic=lambda t: t.astype(str)),
    "no column broker": drop_column("attachments", "broker"),
    "no column traffic": drop_column("links", "traffic"),
    "no topology": set_parameter(topology=None),
    "an unknown topology": set_parameter(topology="star"),
    "other costs between brokers": set_parameter(core_factor=1.5),
    "a factor that is no number": set_parameter(core_factor="much"),
    "no capacity left": hide_overload,
    "a negative capacity": set_parameter(capacity_factor=-1.0),
    "a wrong split of the cost": shift_cost,
    "no access": set_metric(access=None),
    "no core": set_metric(core=None),
    "a wrong number of overloaded brokers": set_metric(overloaded=1),
    "an overload that is none": admit_overload,
    "no Steiner cost": set_metric(core_steiner=None),
    "a Steiner cost that is too good": set_metric(core_steiner=0.0),
    "a Steiner cost above the tree": lambda plan: set_metric(
        core_steiner=plan.metrics["core"] * 1.1
    )(plan),
}
