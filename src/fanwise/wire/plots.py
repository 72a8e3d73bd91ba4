"""Pictures of a wiring: the overlay, where the cost is, loads, and traffic between brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.wire.problem import Wiring, read_attachments
from fanwise.wire.state import State, make_state
from fanwise.workload.plot_style import (
    BLUE,
    HEIGHT,
    INK,
    ORANGE,
    SKY,
    SMALL,
    VERMILION,
    new_axes,
    say_empty,
    styled,
)

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.content import ContentWorkload

MAX_MARKS, FEW_MARKS = 2000, 500
"""Users of a picture, beyond which one in so many is drawn; and that have room for larger dots."""
MAX_LINKS = 2000
"""Links of a picture, those with most traffic."""
MAX_TICKS = 5


def figures(workload: ContentWorkload, plan: Plan) -> dict[str, Figure]:
    """Return every picture of a wiring, the main one first."""
    problem = Wiring.state_from(workload, plan.parameters)
    state = make_state(problem.arrays, read_attachments(problem.arrays, plan.tables))
    drawn = {
        "Where the cost is": plot_cost(plan),
        "Loads of the brokers": plot_loads(problem, state),
    }
    if workload.network_dims:
        drawn = {"The overlay": plot_overlay(problem, plan, state.broker_of_user), **drawn}
    if plan.tables["links"].num_rows:
        drawn["Traffic between brokers"] = plot_links(plan)
    return drawn


@styled
def plot_overlay(problem: Wiring, plan: Plan, broker_of_user: IntArray) -> Figure:
    """Draw users, their brokers and links between brokers, wider with more traffic."""
    figure, axes = new_axes(height=HEIGHT + 0.6)
    workload = problem.workload
    if not workload.num_brokers:
        say_empty(axes, "no brokers")
        return figure
    brokers = _plane(workload.broker_positions)
    links = plan.tables["links"]
    low, high, traffic = (links.column(name).to_numpy() for name in links.column_names)
    most = np.argsort(-traffic, kind="stable")[:MAX_LINKS]
    if len(most):
        width = 0.3 + 2.2 * traffic[most] / max(float(traffic.max()), 1e-300)
        ends = list(np.stack([brokers[low[most]], brokers[high[most]]], axis=1))
        axes.add_collection(LineCollection(ends, colors=INK, linewidths=width, alpha=0.7, zorder=3))
        axes.plot([], [], color=INK, linewidth=1.2, label="links, wider with traffic")
    if len(broker_of_user):
        rows = np.arange(0, len(broker_of_user), -(-len(broker_of_user) // MAX_MARKS))
        users = _plane(workload.positions[rows])
        lines = list(np.stack([users, brokers[broker_of_user[rows]]], axis=1))
        strength = min(0.6, max(0.1, 300 / len(rows)))
        axes.add_collection(
            LineCollection(lines, colors=SKY, linewidths=0.4, alpha=strength, rasterized=True)
        )
        size = 2.0 if len(rows) <= FEW_MARKS else 1.2
        axes.plot(*users.T, ".", color=SKY, markersize=size, rasterized=True, label="users")
    axes.plot(*brokers.T, "s", color=VERMILION, markersize=3.6, markeredgecolor="white",
              markeredgewidth=0.4, label="brokers", zorder=4)  # fmt: skip
    if workload.network_dims > 1:
        axes.set_aspect("equal", adjustable="box")
        axes.set_ylabel("Network axis 1")
    else:
        axes.set_yticks([])
    axes.set_xlabel("Network axis 0")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handlelength=1.2,
                columnspacing=1.2, fontsize=SMALL - 0.5)  # fmt: skip
    return figure


@styled
def plot_cost(plan: Plan) -> Figure:
    """Draw what access and core cost, and the bound on their sum."""
    figure, axes = new_axes(height=HEIGHT - 1.0)
    parts = (("access", BLUE), ("core", ORANGE))
    left = 0.0
    for name, colour in parts:
        cost = float(plan.metrics[name])
        axes.barh([0], [cost], left=left, color=colour, height=0.5, label=name)
        left += cost
    if plan.bound is not None:
        axes.axvline(plan.bound, color=VERMILION, linewidth=1.0, linestyle="--", label="bound")
    axes.set_yticks([])
    axes.set_xlabel("Cost")
    _plain(axes.xaxis)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=SMALL)
    return figure


@styled
def plot_loads(problem: Wiring, state: State) -> Figure:
    """Draw the load of each broker, the largest first, with its capacity."""
    figure, axes = new_axes()
    if not len(state.load):
        say_empty(axes, "no brokers")
        return figure
    order = np.argsort(-state.load, kind="stable")
    axes.step(np.arange(len(order) + 1), _closed(state.load[order]), where="post", color=BLUE,
              label="load")  # fmt: skip
    capacity = problem.arrays.capacity[order]
    if np.isfinite(capacity).all():
        axes.step(np.arange(len(order) + 1), _closed(capacity), where="post", color=VERMILION,
                  linestyle="--", label="capacity")  # fmt: skip
        axes.legend()
    axes.set_xlabel("Brokers, most loaded first")
    axes.set_ylabel("Traffic of their users")
    _finish_steps(axes)
    return figure


@styled
def plot_links(plan: Plan) -> Figure:
    """Draw the traffic of each link between brokers, the largest first."""
    figure, axes = new_axes()
    traffic = np.sort(plan.tables["links"].column("traffic").to_numpy())[::-1]
    axes.step(np.arange(len(traffic) + 1), _closed(traffic), where="post", color=BLUE)
    axes.set_xlabel("Links, most traffic first")
    axes.set_ylabel("Traffic, both directions")
    _finish_steps(axes)
    return figure


def _finish_steps(axes: Axes) -> None:
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(MAX_TICKS, integer=True))
    _plain(axes.yaxis)


def _plain(axis: Axis) -> None:
    """Write large numbers out, with few ticks: factors of a power of ten are easily missed."""
    axis.set_major_locator(MaxNLocator(MAX_TICKS))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _closed(values: FloatArray) -> FloatArray:
    """Repeat the last value, so that its step is as wide as the others."""
    return np.append(values, values[-1])


def _plane(points: FloatArray) -> FloatArray:
    if points.shape[1] >= 2:
        return points[:, :2]
    return np.column_stack([points[:, 0], np.zeros(len(points))])
