"""The pictures show what the wiring is."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from tests.wire.small_wirings import Wires, some_wires

import fanwise as fw
from fanwise.wire import plots
from fanwise.workload.generators.sparse import sparse
from fanwise.workload.plot_style import encode

TITLES = ["The overlay", "Where the cost is", "Loads of the brokers", "Traffic between brokers"]


@pytest.fixture(scope="module")
def workload():
    return sparse(60, brokers=6, channels=30, seed=2)


@pytest.fixture(scope="module")
def plan(workload):
    return fw.Wiring(workload).solve("packing")


def test_the_overlay_is_drawn_link_by_link(workload, plan):
    figures = plan.figures(workload)
    assert list(figures) == TITLES
    axes = figures["The overlay"].axes[0]
    links, lines = (item for item in axes.collections if isinstance(item, LineCollection))
    assert len(lines.get_segments()) == workload.num_subscribers
    traffic = plan.tables["links"].column("traffic").to_numpy()
    assert len(links.get_segments()) == len(traffic)
    widths = np.array(links.get_linewidths())
    assert np.all(np.diff(widths) <= 0)
    assert widths.max() > widths.min()
    where = plan.tables["attachments"].column("broker").to_numpy()
    for user, segment in enumerate(lines.get_segments()):
        expected = [workload.positions[user], workload.broker_positions[where[user]]]
        assert np.allclose(segment, expected)
    for figure in figures.values():
        assert encode(figure, "svg").startswith(b"<?xml")


def test_numbers_of_the_pictures_are_those_of_the_plan(workload, plan):
    figures = plan.figures(workload)
    access, core = figures["Where the cost is"].axes[0].patches
    assert access.get_width() == pytest.approx(plan.metrics["access"])
    assert core.get_width() == pytest.approx(plan.metrics["core"])
    assert core.get_x() == pytest.approx(plan.metrics["access"])
    load, capacity = figures["Loads of the brokers"].axes[0].lines
    assert (load.get_ydata() <= capacity.get_ydata() * (1 + 1e-9)).all()
    share = (load.get_ydata() / capacity.get_ydata()).max()
    assert share == pytest.approx(plan.metrics["max_load"])
    (traffic,) = figures["Traffic between brokers"].axes[0].lines
    given = plan.tables["links"].column("traffic").to_numpy()
    assert traffic.get_ydata()[:-1].tolist() == sorted(given, reverse=True)


def test_many_users_are_thinned(workload, plan, monkeypatch):
    monkeypatch.setattr(plots, "MAX_MARKS", 20)
    axes = plan.figures(workload)["The overlay"].axes[0]
    _, lines = (item for item in axes.collections if isinstance(item, LineCollection))
    assert len(lines.get_segments()) == 20


def test_without_places_there_is_no_overlay_to_draw():
    workload = some_wires(0).workload()
    bare = fw.ContentWorkload.from_arrays(
        workload.lo, workload.hi, workload.positions[:, :0], workload.broker_positions[:, :0],
        channels=workload.channels, rates=([0], [0], [1.0]),
        access_costs=workload.access_costs, broker_costs=workload.broker_costs,
    )  # fmt: skip
    figures = fw.Wiring(bare).solve("packing").figures(bare)
    assert "The overlay" not in figures
    assert "Where the cost is" in figures


@pytest.mark.parametrize("brokers", [0, 1, 2])
def test_empty_wirings_have_pictures(brokers):
    workload = Wires([], [], [], [[0.0] * brokers for _ in range(brokers)]).workload()
    for figure in fw.Wiring(workload).solve("packing").figures(workload).values():
        assert encode(figure, "png").startswith(b"\x89PNG")
