"""Ways to break an assignment, one for each constraint; verify must catch every one.

They are for plans of :func:`tests.assign.small_places.content_of`: broker 0 is above 1 and 2.
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


def move_subscriber(row, broker):
    def move(plan):
        columns = columns_of(plan, "assignment")
        columns["broker"][row] = broker
        return with_table(plan, "assignment", columns)

    return move


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


def set_cell(name, column, value, row=0):
    def change(plan):
        columns = columns_of(plan, name)
        columns[column][row] = value
        return with_table(plan, name, columns)

    return change


def scale_side(column, of, amount):
    """Move a side of the first rectangle of a leaf (of=1) or of the inner broker (of=0)."""

    def change(plan):
        columns = columns_of(plan, "filters")
        rows = np.isin(columns["broker"], [1, 2, 3] if of else [0])
        columns[column][np.flatnonzero(rows)[0]] += amount
        return with_table(plan, "filters", columns)

    return change


def drop_column(name, column):
    return lambda plan: replace(
        plan, tables={**plan.tables, name: plan.tables[name].drop([column])}
    )


def set_parameter(**entries):
    return lambda plan: replace(plan, parameters={**plan.parameters, **entries})


def set_metric(**entries):
    return lambda plan: replace(plan, metrics={**plan.metrics, **entries})


def types(plan):
    """Put everybody on one broker, with a filter that holds all, and say that it is feasible."""
    columns = columns_of(plan, "assignment")
    columns["broker"][:] = 3
    sides = columns_of(plan, "filters")
    everything = {
        "broker": np.array([3], dtype=np.int32),
        **{f"lo_{k}": np.array([sides[f"lo_{k}"].min()]) for k in range(2)},
        **{f"hi_{k}": np.array([sides[f"hi_{k}"].max()]) for k in range(2)},
    }
    broken = with_table(with_table(plan, "assignment", columns), "filters", everything)
    return set_parameter(lbf=1.0, lbf_max=1.0)(broken)


def set_text(plan):
    columns = columns_of(plan, "filters")
    return with_table(plan, "filters", {**columns, "lo_0": columns["lo_0"].astype(str)})


BREAKS = {
    "a subscriber without a broker": drop_row("assignment"),
    "a subscriber with two brokers": repeat_row("assignment"),
    "an unknown subscriber": set_cell("assignment", "subscriber", 10**6),
    "a negative subscriber": set_cell("assignment", "subscriber", -1),
    "an unknown broker": move_subscriber(0, 99),
    "a negative broker": move_subscriber(0, -1),
    "an inner broker": move_subscriber(0, 0),
    "everybody elsewhere": lambda plan: with_table(
        plan,
        "assignment",
        {
            **columns_of(plan, "assignment"),
            "broker": (columns_of(plan, "assignment")["broker"] % 3 + 1).astype(np.int32),
        },
    ),
    "an overloaded broker": types,
    "a filter is missing": drop_row("filters"),
    "one rectangle too many": repeat_row("filters"),
    "a filter of an unknown broker": set_cell("filters", "broker", 99),
    "a side that is not finite": set_cell("filters", "hi_0", np.inf),
    "a side that is not a number": set_cell("filters", "lo_1", np.nan),
    "sides the wrong way round": set_cell("filters", "lo_0", 1e9),
    "sides that are text": set_text,
    "a leaf's filter is too narrow": scale_side("lo_0", 1, 0.25),
    "a leaf's filter is too low": scale_side("hi_1", 1, -0.25),
    "a leaf's filter is wider than said": scale_side("hi_0", 1, 0.25),
    "an inner filter is too narrow": scale_side("hi_0", 0, -0.25),
    "an inner filter is wider than said": scale_side("lo_1", 0, -0.25),
    "no column broker": drop_column("assignment", "broker"),
    "no column of sides": drop_column("filters", "hi_1"),
    "no alpha": set_parameter(alpha=None),
    "an alpha that is no count": set_parameter(alpha=1.5),
    "a smaller delay": set_parameter(max_delay=0.0),
    "a negative delay": set_parameter(max_delay=-1.0),
    "a smaller load": set_parameter(lbf=0.1, lbf_max=0.1),
    "loads the wrong way round": set_parameter(lbf=9.0),
    "a load that is no number": set_parameter(lbf_max="much"),
    "an unknown latency": set_parameter(latency="first-hop"),
    "another latency": set_parameter(latency="last-hop"),
    "a wrong load-balance factor": set_metric(lbf=0.5),
    "no load-balance factor": set_metric(lbf=None),
    "a wrong number of late subscribers": set_metric(late=3),
    "a wrong delay": set_metric(rms_delay=9.0),
    "no delay": set_metric(rms_delay=None),
    "a wrong deviation": set_metric(load_stdev=99.0),
    "a wrong number of overloaded brokers": set_metric(overloaded=1),
    "trouble where there is none": set_metric(trouble={"says": "load is too tight"}),
    "a yardstick that is no number": set_metric(fractional="much"),
    "a yardstick of nobody": set_metric(fractional_of=None),
    "more rectangles than there can be": set_parameter(alpha=10**6),
    "a side of other numbers": lambda plan: with_table(
        plan,
        "filters",
        {
            **columns_of(plan, "filters"),
            "lo_0": columns_of(plan, "filters")["lo_0"].astype(np.float32),
        },
    ),
    "a side too many": lambda plan: with_table(
        plan,
        "filters",
        {**columns_of(plan, "filters"), "lo_2": columns_of(plan, "filters")["lo_1"]},
    ),
}
