"""Routers and covering rectangles out of a workload and its plans."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.brokers.messages import Point
from fanwise.brokers.protocol.ports import DirectRouter, Router
from fanwise.brokers.routing.routers import ChannelFinder, ChannelRouter, CostRouter, TreeRouter
from fanwise.brokers.routing.trees import LinkOrder, tree_of_links
from fanwise.errors import ParameterError, PlanError
from fanwise.planning.plan import Plan, read_plan
from fanwise.wire.arrays import core_costs
from fanwise.workload.content import ContentWorkload
from fanwise.workload.content.files import read_content_workload
from fanwise.workload.content.traffic import overlapped_channels

Cover = tuple[Point, Point]
PUBLISHER = ""
"""The root of an `assign` tree: no broker, so publications pass it over."""


def read_routing(
    workload: Path | None, wire_plan: Path | None, assign_plan: Path | None, name: str
) -> tuple[Router, tuple[Cover, ...]]:
    """Return how a broker routes, and what covers its clients' subscriptions.

    Parameters
    ----------
    workload
        What the plans were made for; alone it gives costs between brokers. Without it every copy
        goes directly.
    wire_plan, assign_plan
        At most one of them.
    name
        Of the broker, as in the workload.
    """
    if wire_plan is not None and assign_plan is not None:
        raise ParameterError("assign_plan", "left out where there is a wire plan", str(assign_plan))
    plan_path = wire_plan or assign_plan
    if workload is None:
        if plan_path is not None:
            raise ParameterError("workload", f"the folder that {plan_path} was made for", None)
        return DirectRouter(), ()
    loaded = read_content_workload(workload)
    if name not in loaded.broker_names.to_pylist():
        raise ParameterError("name", f"one of the brokers of {workload}", name)
    if plan_path is None:
        return CostRouter(link_order(loaded)), ()
    plan = read_matching_plan(plan_path, loaded, "wire" if wire_plan is not None else "assign")
    if wire_plan is not None:
        return wire_router(loaded, plan), ()
    return assign_router(loaded), covers_of(loaded, plan, name)


def read_matching_plan(path: Path, workload: ContentWorkload, problem: str) -> Plan:
    """Read a plan of a problem that was made for a workload."""
    plan = read_plan(path)
    if plan.problem != problem:
        raise PlanError(
            f"{path}: a plan of {plan.problem!r}; give one that fanwise {problem} made."
        )
    if plan.workload != workload.hash:
        raise PlanError(f"{path}: made for another workload; give the workload it was made for.")
    return plan


def link_order(workload: ContentWorkload, core_factor: float = 1.0) -> LinkOrder:
    """Return the links between the brokers of a workload, as `wire` orders them."""
    return LinkOrder(workload.broker_names.to_pylist(), core_costs(workload, core_factor)[0])


def wire_router(workload: ContentWorkload, plan: Plan) -> Router:
    """Return the router of a `wire` plan: a tree for each channel, or the one tree."""
    names = workload.broker_names.to_pylist()
    if plan.parameters.get("topology") == "tree":
        links = plan.tables["links"]
        ends = zip(links["broker"].to_pylist(), links["other"].to_pylist(), strict=True)
        return TreeRouter(dict.fromkeys(names, ()) | dict(
            tree_of_links((names[one], names[other]) for one, other in ends)
        ))  # fmt: skip
    workload.need("channels")
    assert workload.channels is not None
    lo, hi = workload.channels
    factor = float(plan.parameters.get("core_factor", 1.0))
    return ChannelRouter(
        link_order(workload, factor), ChannelFinder(lo, hi), _brokers_of_channel(workload, plan)
    )


def _brokers_of_channel(workload: ContentWorkload, plan: Plan) -> list[frozenset[str]]:
    assert workload.channels is not None
    names = workload.broker_names.to_pylist()
    wanted = overlapped_channels(workload.lo, workload.hi, *workload.channels)
    table = plan.tables["attachments"]
    broker_of_user = np.empty(workload.num_subscribers, dtype=np.int64)
    broker_of_user[table["subscriber"].to_numpy()] = table["broker"].to_numpy()
    brokers: list[set[str]] = [set() for _ in range(len(workload.channels.lo))]
    users = np.repeat(np.arange(workload.num_subscribers), np.diff(wanted.indptr))
    pairs = np.unique(np.column_stack([wanted.indices, broker_of_user[users]]), axis=0)
    for channel, broker in pairs.tolist():
        brokers[channel].add(names[broker])
    return [frozenset(found) for found in brokers]


def assign_router(workload: ContentWorkload) -> Router:
    """Return the router along the broker tree of a workload, its root at the publisher."""
    workload.need("parent")
    assert workload.parent is not None
    names = workload.broker_names.to_pylist()
    links = [
        (name, PUBLISHER if parent < 0 else names[parent])
        for name, parent in zip(names, workload.parent.tolist(), strict=True)
    ]
    return TreeRouter(tree_of_links(links))


def covers_of(workload: ContentWorkload, plan: Plan, name: str) -> tuple[Cover, ...]:
    """Return the rectangles by which an `assign` plan covers the subscriptions at a leaf broker.

    Brokers inside the tree serve nobody and are told nothing for: what they pass on is what
    somebody behind them is told for. Their own rectangles, which hold all of these, may be wider.
    """
    broker = workload.broker_names.to_pylist().index(name)
    if broker not in workload.leaves:
        return ()
    table: pa.Table = plan.tables["filters"]
    mine = table.filter(pc.equal(table["broker"], broker))
    dims = range(workload.event_dims)
    lo = zip(*(mine[f"lo_{axis}"].to_pylist() for axis in dims), strict=True)
    hi = zip(*(mine[f"hi_{axis}"].to_pylist() for axis in dims), strict=True)
    return tuple(zip(lo, hi, strict=True))
