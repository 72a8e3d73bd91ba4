from __future__ import annotations

import numpy as np
import pytest

from fanwise.workload.content import ContentWorkload
from fanwise.workload.content.plots import content_figures
from fanwise.workload.content.statistics import content_statistics, summarise


def workload(**changes) -> ContentWorkload:
    columns = {
        "lo": [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0], [np.nan, np.nan]],
        "hi": [[1.0, 4.0], [1.0, 4.0], [5.0, 4.0], [np.nan, np.nan]],
        "positions": [[3.0, 4.0], [3.0, 5.0], [0.0, 9.0], [0.0, 1.0]],
        "broker_positions": [[0.0, 4.0], [3.0, 4.0], [0.0, 8.0]],
        "publisher": [0.0, 0.0],
        "parent": [-1, 0, 0],
        "share": [None, 0.5, 0.5],
    }
    return ContentWorkload.from_arrays(**{**columns, **changes})


def test_counts_and_distributions():
    statistics = content_statistics(workload())
    counts = statistics.counts
    assert counts["want nothing"] == 1
    assert counts["different subscriptions"] == 2
    assert (counts["brokers"], counts["leaf brokers"], counts["levels"]) == (3, 2, 2)
    assert counts["volume of the bounding box"] == 20.0
    assert statistics.spread["volume"].tolist() == [4.0, 4.0, 6.0]
    last = 7 + 18**0.5  # the path over broker 1, and on to the one who wants nothing
    assert statistics.spread["shortest latency"].tolist() == pytest.approx([7, 8, 9, last])
    assert statistics.spread["candidate brokers"].tolist() == [1, 1, 1, 1]
    assert statistics.least_lbf == pytest.approx(1.5)
    told = statistics.to_dict()
    assert told["distributions"]["volume"]["mean"] == pytest.approx(14 / 3)


def test_parts_for_wire_are_counted():
    found = content_statistics(
        workload(
            parent=None,
            share=None,
            channels=([[0.0, 0.0]], [[9.0, 9.0]]),
            rates=([0, 1], [0, 0], [2.0, 3.0]),
            density=([[0.0, 0.0]], [[9.0, 9.0]], [1.0]),
        )
    )
    assert found.counts["channels"] == 1
    assert found.counts["density cells"] == 1
    assert found.counts["events published per period"] == 5.0
    assert found.least_lbf is None
    assert "shortest latency" not in found.spread


def test_nothing_to_summarise():
    assert set(summarise(np.empty(0)).values()) == {None}
    empty = workload(lo=np.empty((0, 2)), hi=np.empty((0, 2)), positions=np.empty((0, 2)))
    statistics = content_statistics(empty)
    assert statistics.to_dict()["distributions"]["volume"]["mean"] is None
    assert statistics.counts["volume of the bounding box"] == 0.0
    assert len(content_figures(statistics)) == 2


def test_pictures_show_every_rectangle_and_place():
    figures = content_figures(content_statistics(workload()))
    (axes,) = figures["subscriptions"].axes
    assert len(axes.collections[0].get_paths()) == 2
    (axes,) = figures["positions"].axes
    drawn = {line.get_label(): line.get_xdata() for line in axes.lines}
    assert len(drawn["subscribers"]) == 4
    assert drawn["brokers"].tolist() == [0.0, 3.0, 0.0]
    assert drawn["publisher"].tolist() == [0.0]


def test_pictures_of_one_dimension_and_of_none():
    lo, hi = np.zeros((3, 1)), np.ones((3, 1))
    line = ContentWorkload.from_arrays(lo, hi, np.ones((3, 1)), np.zeros((2, 1)))
    assert all(figure.axes for figure in content_figures(content_statistics(line)).values())
    nowhere = ContentWorkload.from_arrays(lo, hi, np.ones((3, 0)), np.zeros((2, 0)))
    figure = content_figures(content_statistics(nowhere))["positions"]
    assert figure.axes[0].texts[0].get_text() == "no positions"


def test_crowds_are_thinned():
    rng = np.random.default_rng(0)
    lo = rng.random((6000, 2))
    crowd = ContentWorkload.from_arrays(lo, lo + 0.1, lo, lo[:3])
    figures = content_figures(content_statistics(crowd))
    assert len(figures["subscriptions"].axes[0].collections[0].get_paths()) == 2000
    assert "4,000 wanted by fewer" in figures["subscriptions"].axes[0].get_title(loc="left")
    assert figures["positions"].axes[0].lines[0].get_label() == "one in 2 subscribers"


def test_channels_are_measured():
    """Channel 0 is wanted by the first two, 1 by nobody, 2 by the third alone."""
    found = content_statistics(
        workload(
            parent=None,
            share=None,
            capacity=[20.0, 0.0, 12.0],
            channels=([[0.0, 0.0], [5.0, 0.0], [2.0, 2.0]], [[1.0, 4.0], [9.0, 1.0], [5.0, 4.0]]),
            rates=([0, 1, 2, 3], [0, 1, 2, 2], [2.0, 4.0, 1.0, 3.0]),
        )
    )
    counts = found.counts
    assert (counts["channels"], counts["channels nobody wants"]) == (3, 1)
    assert counts["events published per period"] == 10.0
    assert counts["events nobody else wants"] == 4.0 + 1.0
    assert counts["publishers"] == 2
    assert counts["demand"] == 2 * 2.0 + 2 * 3.0  # out of the first and fourth, into their readers
    assert counts["capacity over demand"] == pytest.approx(3.2)
    assert found.spread["channels"].tolist() == [1, 1, 1, 0]
    assert found.spread["demand"].tolist() == [2.0, 2.0, 3.0, 3.0]
    assert found.channel_spread["subscribers"].tolist() == [2, 0, 1]
    assert found.channel_spread["events"].tolist() == [2.0, 0.0, 3.0]
    told = found.to_dict()["channel_distributions"]
    assert told["subscribers_per_broker"]["max"] == pytest.approx(2 / 3)
    (axes, _) = content_figures(found)["channels"].axes
    assert len(axes.patches) == 1
