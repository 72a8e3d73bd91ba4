"""The pictures show what the overlay is."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection

import fanwise as fw
from fanwise.connect.arrays import NO_EDGES, as_edges
from fanwise.connect.layout import lay_out_nodes
from fanwise.connect.plots import MAX_BARS, MAX_DRAWN_NODES
from fanwise.connect.problem import edges_of
from fanwise.connect.structure import overlay_of
from fanwise.workload.generators.follow import follow
from fanwise.workload.plot_style import encode

TITLES = ["The overlay", "Support against links", "Links of the nodes", "Pieces of the topics"]


@pytest.fixture(scope="module")
def workload():
    return follow(60, mean_followings=5, seed=3)


@pytest.fixture(scope="module")
def plan(workload):
    return fw.Connection(workload, max_degree=3).solve("gpm")


def test_the_overlay_is_drawn_link_by_link(workload, plan):
    figures = plan.figures(workload)
    assert list(figures) == TITLES
    axes = figures["The overlay"].axes[0]
    drawn = [item for item in axes.collections if isinstance(item, LineCollection)]
    useless, useful = (len(item.get_segments()) for item in drawn)
    assert useless == plan.metrics["useless_edges"] > 0
    assert useless + useful == plan.metrics["edges"]
    for figure in figures.values():
        assert encode(figure, "svg").startswith(b"<?xml")


def test_numbers_of_the_pictures_are_those_of_the_plan(workload, plan):
    figures = plan.figures(workload)
    support = figures["Support against links"].axes[0].lines[0]
    assert support.get_xdata()[-1] == plan.metrics["edges"]
    assert support.get_ydata()[-1] == pytest.approx(100 * plan.metrics["support"])
    bars = figures["Links of the nodes"].axes[0].patches
    assert sum(bar.get_height() for bar in bars) == workload.num_subscribers
    assert sum(k * bar.get_height() for k, bar in enumerate(bars)) == 2 * plan.metrics["edges"]
    legend = figures["Pieces of the topics"].axes[0].get_legend()
    overlay = overlay_of(workload, plan)
    pieces = overlay.network.components(overlay.edges).num_components
    several = workload.num_followers > 1
    assert [text.get_text() for text in legend.get_texts()] == [
        f"in pieces ({np.count_nonzero(several & (pieces > 1))})",
        f"connected ({np.count_nonzero(several & (pieces == 1))})",
    ]


def test_large_overlays_are_not_drawn_and_long_tails_are_curves():
    nodes = MAX_DRAWN_NODES + 1
    workload = fw.TopicWorkload.from_arrays([1.0], np.arange(nodes), np.zeros(nodes, dtype=int))
    plan = fw.Connection(workload).solve("gm")
    figures = plan.figures(workload)
    assert list(figures) == TITLES[1:]
    axes = figures["Links of the nodes"].axes[0]
    degrees = overlay_of(workload, plan).network.degrees(edges_of(plan.tables["edges"]))
    assert degrees.max() > MAX_BARS
    assert not axes.patches
    x, y = axes.lines[0].get_xdata(), axes.lines[0].get_ydata()
    assert [int(y[list(x).index(k)]) for k in (0, 1, 2)] == [
        int((degrees >= k).sum()) for k in (0, 1, 2)
    ]


@pytest.mark.parametrize("pairs", [[], [(0, 0)], [(0, 0), (1, 1)]])
def test_empty_overlays_have_pictures(pairs):
    workload = fw.TopicWorkload.from_arrays(
        [1.0, 1.0],
        np.array([v for v, _ in pairs], dtype=int),
        np.array([t for _, t in pairs], dtype=int),
    )
    plan = fw.Connection(workload, max_degree=2).solve("gpm")
    for figure in plan.figures(workload).values():
        assert encode(figure, "png").startswith(b"\x89PNG")


def test_places_are_apart_and_repeatable():
    edges = as_edges([(0, 1), (1, 2), (2, 0), (2, 3), (5, 6)])
    positions = lay_out_nodes(9, edges)
    assert np.array_equal(positions, lay_out_nodes(9, edges))
    assert positions.min() >= 0
    assert positions.max() <= 1
    distances = np.hypot(*(positions[:, None] - positions).transpose(2, 0, 1))
    assert distances[~np.eye(9, dtype=bool)].min() > 0.01
    linked = [distances[u, v] for u, v in edges]
    assert np.mean(linked) < distances[[0, 1, 3, 0], [5, 6, 5, 6]].mean()
    alone = [4, 7, 8]
    assert positions[alone, 1].max() < positions[[0, 1, 2, 3, 5, 6], 1].min()
    assert lay_out_nodes(0, NO_EDGES).shape == (0, 2)
    assert len(np.unique(lay_out_nodes(90, NO_EDGES), axis=0)) == 90
