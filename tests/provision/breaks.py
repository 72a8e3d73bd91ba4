"""Ways to break a provisioning, one for each constraint; verify must catch every one.

Where a break is to be found by a later check, what earlier ones look at is kept in order.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa


def column(plan, table, name):
    return plan.tables[table].column(name).to_numpy(zero_copy_only=False).copy()


def set_column(table, name, values):
    def broken(plan):
        found = plan.tables[table]
        values_now = values(plan) if callable(values) else values
        index = found.column_names.index(name)
        tables = {**plan.tables, table: found.set_column(index, name, pa.array(values_now))}
        return replace(plan, tables=tables)

    return broken


def change_first(table, name, change):
    """Change one cell: the first row's."""

    def values(plan):
        cells = column(plan, table, name)
        cells[0] = change(cells[0])
        return cells

    return set_column(table, name, values)


def set_parameter(**entries):
    return lambda plan: replace(plan, parameters={**plan.parameters, **entries})


def set_metric(name, value):
    return lambda plan: replace(plan, metrics={**plan.metrics, name: value})


def place(plan, rows, machines=None):
    """Put (vm, topic, subscriber) rows in place of the allocation, with the right traffic."""
    workload = plan.source
    vms = plan.tables["vms"] if machines is None else machines
    needs = workload.rates * workload.message_bytes
    out_bytes, in_bytes = np.zeros(len(vms)), np.zeros(len(vms))
    for vm, topic, _ in rows:
        out_bytes[vm] += needs[topic]
    for vm, topic in {(vm, topic) for vm, topic, _ in rows}:
        in_bytes[vm] += needs[topic]
    for name, values in (("in_bytes", in_bytes), ("out_bytes", out_bytes)):
        vms = vms.set_column(vms.column_names.index(name), name, pa.array(values))
    names = ("vm", "topic", "subscriber")
    cells = {name: np.array([row[i] for row in rows], np.int32) for i, name in enumerate(names)}
    return replace(plan, tables={"vms": vms, "allocation": pa.table(cells)})


def rows_of(plan):
    names = ("vm", "topic", "subscriber")
    columns = (plan.tables["allocation"].column(name).to_pylist() for name in names)
    return list(zip(*columns, strict=True))


def drop_a_subscriber(plan):
    rows = rows_of(plan)
    return place(plan, [row for row in rows if row[2] != rows[0][2]])


def repeat_a_pair(plan):
    rows = rows_of(plan)
    return place(plan, [*rows, rows[0]])


def invent_a_pair(plan):
    rows = rows_of(plan)
    indptr, indices = plan.source.interests
    for vm, topic, _ in rows:
        for other in range(plan.source.num_subscribers):
            if topic not in indices[indptr[other] : indptr[other + 1]]:
                return place(plan, [*rows, (vm, topic, other)])
    raise AssertionError("everybody follows every placed topic")


def satisfy_by_the_same_pair_twice(plan):
    """One pair of a subscriber on two machines, in place of its other pairs."""
    rows = rows_of(plan)
    subscribers = [subscriber for _, _, subscriber in rows]
    subscriber = next(v for v in subscribers if subscribers.count(v) > 1)
    largest = max((row for row in rows if row[2] == subscriber),
                  key=lambda row: plan.source.rates[row[1]])  # fmt: skip
    kept = [row for row in rows if row[2] != subscriber]
    vms = add_machine(plan)
    return place(plan, [*kept, largest, (len(vms) - 1, *largest[1:])], vms)


def add_machine(plan):
    vms = plan.tables["vms"]
    last = vms.slice(0, 1).set_column(0, "vm", pa.array([len(vms)], pa.int32()))
    return pa.concat_tables([vms, last]).combine_chunks()


def add_an_idle_machine(plan):
    return place(plan, rows_of(plan), add_machine(plan))


def shrink_the_machines(plan):
    """Make every machine too small, by a catalogue that agrees with the table."""
    used = column(plan, "vms", "in_bytes") + column(plan, "vms", "out_bytes")
    capacity = float(used.max()) * (1 - 1e-8)  # just over the tolerance
    mbps = capacity * 8 / 1e6 / plan.source.period_seconds
    rent = float(column(plan, "vms", "usd_per_hour")[0])
    entry = {plan.parameters["instance"]: {"usd_per_hour": rent, "mbps": mbps}}
    plan = set_parameter(catalog=entry)(plan)
    plan = set_column("vms", "mbps", np.full(len(used), mbps))(plan)
    return set_column("vms", "capacity_bytes", np.full(len(used), capacity))(plan)


def reserve_too_much(plan):
    """Ask for more headroom than the fullest machine has."""
    used = column(plan, "vms", "in_bytes") + column(plan, "vms", "out_bytes")
    fill = float((used / column(plan, "vms", "capacity_bytes")).max())
    return set_parameter(reserve=1 - fill * (1 - 1e-8))(plan)


def limit_below(name, held_by):
    """Give the plan's type a limit just below what its fullest machine holds."""

    def broken(plan):
        held = np.bincount([vm for vm, _ in {(row[0], held_by(row)) for row in rows_of(plan)}])
        vms = plan.tables["vms"]
        entry = {
            "usd_per_hour": vms.column("usd_per_hour")[0].as_py(),
            "mbps": vms.column("mbps")[0].as_py(),
            name: int(held.max()) - 1,
        }
        return set_parameter(catalog={plan.parameters["instance"]: entry})(plan)

    return broken


def say_infeasible(plan):
    return replace(plan, feasible=False, gap=None)


def without(table, name):
    return lambda plan: replace(
        plan, tables={**plan.tables, table: plan.tables[table].drop([name])}
    )


def repeat_a_machine(plan):
    vms = plan.tables["vms"]
    twice = pa.concat_tables([vms, vms.slice(0, 1)]).combine_chunks()
    return replace(plan, tables={**plan.tables, "vms": twice})


def drop_a_machine(plan):
    return replace(plan, tables={**plan.tables, "vms": plan.tables["vms"].slice(1)})


def more(value):
    return value * (1 + 1e-6) + 1e-6


CAUGHT_BY = {
    "no column mbps": (without("vms", "mbps"), "columns of vms"),
    "prices as text": (
        set_column("vms", "usd_per_hour", lambda plan: ["1"] * len(plan.tables["vms"])),
        "columns of vms",
    ),
    "a machine is missing": (drop_a_machine, "vms"),
    "a machine stands twice": (repeat_a_machine, "vms"),
    "another instance": (change_first("vms", "instance", lambda _: "z9.huge"), "instances"),
    "a wrong price": (change_first("vms", "usd_per_hour", more), "usd_per_hour"),
    "a price that is NaN": (change_first("vms", "usd_per_hour", lambda _: np.nan), "usd_per_hour"),
    "a wrong bandwidth": (change_first("vms", "mbps", more), "mbps"),
    "a wrong capacity": (change_first("vms", "capacity_bytes", more), "capacity_bytes"),
    "wrong incoming bytes": (change_first("vms", "in_bytes", more), "in_bytes"),
    "wrong outgoing bytes": (change_first("vms", "out_bytes", more), "out_bytes"),
    "an unknown machine": (change_first("allocation", "vm", lambda _: 10**6), "known vms"),
    "an unknown topic": (change_first("allocation", "topic", lambda _: 10**6), "known topics"),
    "an unknown subscriber": (
        change_first("allocation", "subscriber", lambda _: -1),
        "known subscribers",
    ),
    "a pair nobody asked for": (invent_a_pair, "interests"),
    "a pair twice on a machine": (repeat_a_pair, "pairs"),
    "over the capacity": (shrink_the_machines, "capacity is kept"),
    "a larger reserve": (reserve_too_much, "capacity is kept"),
    "a reserve of everything": (set_parameter(reserve=1.0), "reserve"),
    "no reserve named": (set_parameter(reserve=None), "reserve"),
    "more topics than a machine takes": (
        limit_below("max_topics", lambda row: row[1]),
        "capacity is kept",
    ),
    "more connections than a machine takes": (
        limit_below("max_connections", lambda row: row[1:]),
        "capacity is kept",
    ),
    "a limit of no topics": (
        set_parameter(catalog={"c3.large": {"usd_per_hour": 0.15, "mbps": 64.0, "max_topics": 0}}),
        "catalog",
    ),
    "a limit of half a connection": (
        set_parameter(
            catalog={"c3.large": {"usd_per_hour": 0.15, "mbps": 64.0, "max_connections": 0.5}}
        ),
        "catalog",
    ),
    "a catalogue that says more": (
        set_parameter(catalog={"c3.large": {"usd_per_hour": 0.15, "mbps": 64.0, "glory": 1}}),
        "catalog",
    ),
    "an empty catalogue": (set_parameter(catalog={}), "catalog"),
    "a share of a bound that is text": (
        set_metric("cost_above_bound", "x"),
        "metrics.cost_above_bound",
    ),
    "a packing that claims to be optimal": (
        set_metric("packing_is_optimal", True),
        "metrics.packing_is_optimal",
    ),
    "money that is text": (set_parameter(max_cost="much"), "max_cost"),
    "a question without an answer": (set_parameter(max_cost=1.0), "metrics.decision"),
    "an answer without a question": (set_metric("decision", "yes"), "metrics.decision"),
    "a wrong distance to the bound": (
        set_metric("cost_above_bound", 99.0),
        "metrics.cost_above_bound",
    ),
    "savings that do not add up": (
        lambda plan: set_metric("savings", 1.0)(set_metric("cost_naive", plan.objective)(plan)),
        "metrics.savings",
    ),
    "a naive plan that costs nothing known": (set_metric("cost_naive", None), "metrics.cost_naive"),
    "somebody gets nothing": (drop_a_subscriber, "everybody is satisfied"),
    "a pair on two machines counted twice": (
        satisfy_by_the_same_pair_twice,
        "everybody is satisfied",
    ),
    "an idle machine not paid for": (add_an_idle_machine, "objective"),
    "a plan that says it is infeasible": (say_infeasible, "feasible"),
    "over the capacity, and says so": (
        lambda plan: say_infeasible(shrink_the_machines(plan)),
        "limits",
    ),
    "another objective": (lambda plan: replace(plan, objective=more(plan.objective)), "objective"),
    "a larger tau": (set_parameter(tau=1e9), "everybody is satisfied"),
    "a negative tau": (set_parameter(tau=-1.0), "tau"),
    "a tau that is no number": (set_parameter(tau="many"), "tau"),
    "tau of a column that is not there": (set_parameter(tau="column"), "tau"),
    "another price for incoming": (set_parameter(price_gb_in=0.5), "objective"),
    "another price for outgoing": (set_parameter(price_gb_out=0.5), "objective"),
    "a negative price": (set_parameter(price_gb_in=-0.12), "price_gb_in"),
    "no price": (set_parameter(price_gb_out=None), "price_gb_out"),
    "another message size": (set_parameter(message_bytes=111.0), "in_bytes"),
    "a message size of 0": (set_parameter(message_bytes=0), "message_bytes"),
    "another horizon": (set_parameter(horizon_seconds=7.0), "objective"),
    "no horizon": (set_parameter(horizon_seconds=None), "horizon_seconds"),
    "a catalogue of names": (set_parameter(catalog=["c3.large"]), "catalog"),
    "a catalogue without prices": (set_parameter(catalog={"c3.large": {"mbps": 1}}), "catalog"),
    "another catalogue": (
        lambda plan: set_parameter(
            catalog={plan.parameters["instance"]: {"usd_per_hour": 9.0, "mbps": 9.0}}
        )(plan),
        "usd_per_hour",
    ),
    "an instance not in the catalogue": (set_parameter(instance="z9.huge"), "instance"),
    **{
        f"a wrong metric {name}": (set_metric(name, value), f"metrics.{name}")
        for name, value in {
            "vms": 99,
            "cost_machines": -1.0,
            "cost_bandwidth": -1.0,
            "cost_incoming": -1.0,
            "cost_outgoing": -1.0,
            "cost_splits": 7.0,
            "pairs": 0,
            "topics": 0,
            "split_topics": 99,
            "split_bytes": 1e9,
            "in_bytes": 1.0,
            "out_bytes": None,
            "utilisation": 2.0,
            "subscribers": 0,
            "paper_bound": None,
        }.items()
    },
}
"""What is broken: how, and the check that finds it."""

BREAKS = {name: breaks for name, (breaks, _) in CAUGHT_BY.items()}
