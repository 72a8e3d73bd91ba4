from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib import rcParams
from matplotlib.figure import Figure

from fanwise.workload import plot_style
from fanwise.workload.topic import TopicWorkload, plots
from fanwise.workload.topic.statistics import Means, workload_statistics


def make(num_topics, num_subscribers, seed=5):
    random = np.random.default_rng(seed)
    wanted = random.random((num_subscribers, num_topics)) < random.random(num_topics) ** 4
    subscriber, topic = np.nonzero(wanted)
    return TopicWorkload.from_arrays(
        random.integers(1, 900, num_topics),
        subscriber,
        topic,
        num_subscribers=num_subscribers,
        period_seconds=864000,
    )


@pytest.fixture(scope="module")
def statistics():
    return workload_statistics(make(40, 500))


ODD = {
    "nothing": TopicWorkload.from_arrays([], [], []),
    "topics nobody follows": TopicWorkload.from_arrays([3.0, 4.0], [], []),
    "subscribers of nothing": TopicWorkload.from_arrays([], [], [], num_subscribers=4),
    "one pair": TopicWorkload.from_arrays([1.0], [0], [0]),
    "all alike": TopicWorkload.from_arrays([7.0] * 3, [0, 1, 2], [0, 1, 2]),
    "some without interests": TopicWorkload.from_arrays([7.0], [2], [0], num_subscribers=5),
    "tiny and huge": TopicWorkload.from_arrays([1e-30, 1e30], [0, 0, 1], [0, 1, 1]),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("picture", plots.PICTURES)
def test_odd_workloads_draw_without_warnings(name, picture):
    _, draw = plots.PICTURES[picture]
    image = plot_style.encode(draw(workload_statistics(ODD[name])), "png", dpi=40)
    assert image.startswith(b"\x89PNG")


def test_an_empty_picture_says_so():
    figure = plots.rates_ccdf(workload_statistics(ODD["nothing"]))
    assert [text.get_text() for text in figure.axes[0].texts] == ["nothing to show"]


def curve_of(line):
    """A step curve's own points; the first only says that P is 1 before them."""
    assert line.get_drawstyle() == "steps-post"
    assert (line.get_xdata()[0], line.get_ydata()[0]) == (0, 1)
    return line.get_xdata()[1:].tolist(), line.get_ydata()[1:].tolist()


@pytest.mark.parametrize(
    ("draw", "names"),
    [
        (plots.follows_ccdf, ["followers", "followings"]),
        (plots.rates_ccdf, ["rates"]),
        (plots.cardinality_ccdf, ["subscription_cardinality"]),
    ],
)
def test_ccdfs_show_the_statistics(statistics, draw, names):
    (axes,) = draw(statistics).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert len(axes.lines) == len(names)
    for line, name in zip(axes.lines, names, strict=True):
        curve = getattr(statistics, name).ccdf
        assert curve_of(line) == (curve.x.tolist(), curve.p.tolist())
        low, high = axes.get_xlim()
        assert low < curve.x[curve.x > 0].min()
        assert curve.x.max() < high
        assert axes.get_ylim()[0] < curve.p[curve.p > 0].min()
    assert axes.get_ylabel() == "P[X > x]"


@pytest.mark.parametrize(
    ("draw", "name"),
    [
        (plots.rate_by_followers, "rate_by_followers"),
        (plots.cardinality_by_followings, "cardinality_by_followings"),
    ],
)
def test_means_show_the_statistics(draw, name):
    statistics = workload_statistics(make(200, 2000))
    means = getattr(statistics, name)
    (axes,) = draw(statistics).axes
    cloud, overlay = axes.lines
    positive = (means.x > 0) & (means.mean > 0)
    assert cloud.get_xdata().tolist() == means.x[positive].tolist()
    assert cloud.get_ydata().tolist() == means.mean[positive].tolist()
    assert len(overlay.get_xdata()) <= plots.MEANS_PER_PICTURE
    assert len(overlay.get_xdata()) < len(cloud.get_xdata())
    # each dot of the overlay is the mean of those topics or subscribers that lie around it
    shown = Means(means.x[positive], means.mean[positive], means.count[positive])
    binned = shown.thin(plots.MEANS_PER_PICTURE)
    assert overlay.get_ydata().tolist() == binned.mean.tolist()
    total = np.dot(binned.mean, binned.count)
    assert total == pytest.approx(np.dot(shown.mean, shown.count))


def test_axes_name_their_units(statistics):
    labels = {name: figure.axes[0].get_xlabel() + figure.axes[0].get_ylabel()
              for name, figure in plots.figures_by_file(statistics).items()}  # fmt: skip
    assert "events per 10 days" in labels["rates-ccdf"]
    assert "events per 10 days" in labels["rate-by-followers"]
    assert "% of all events" in labels["cardinality-ccdf"]
    assert "% of all events" in labels["cardinality-by-followings"]


def test_every_picture_has_a_title_of_its_own(statistics):
    figures = plots.figures(statistics)
    assert len(figures) == len(plots.PICTURES) == 5
    assert all(isinstance(figure, Figure) for figure in figures.values())


@pytest.mark.parametrize("image_format", plot_style.FORMATS)
def test_the_same_statistics_give_the_same_file(image_format):
    files = [
        plot_style.encode(plots.rate_by_followers(workload_statistics(make(30, 200))), image_format)
        for _ in range(2)
    ]
    assert files[0] == files[1]


def test_long_curves_stay_small_files():
    random = np.random.default_rng(1)
    rates = random.lognormal(3, 2, 200_000)
    found = workload_statistics(TopicWorkload.from_arrays(rates, [], []))
    image = plot_style.encode(plots.rates_ccdf(found), "svg")
    assert len(image) < 200_000
    ElementTree.fromstring(image)


def test_style_leaves_matplotlib_alone(statistics):
    before = rcParams.copy()
    plot_style.encode(plots.follows_ccdf(statistics), "png", dpi=40)
    assert rcParams.copy() == before


def test_drawing_needs_no_display():
    script = (
        "import sys\n"
        "from fanwise.workload import plot_style\n"
        "plot_style.encode(plot_style.new_axes()[0], 'png')\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
