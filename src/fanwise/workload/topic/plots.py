"""Pictures of a workload: how followers, followings, rates and what subscribers get spread.

One function a picture; each takes :class:`~fanwise.workload.topic.statistics.Statistics`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fanwise.formatting import span
from fanwise.workload import plot_style
from fanwise.workload.plot_style import new_axes, say_empty, styled, use_log_scale
from fanwise.workload.topic.statistics import Ccdf, Means, Statistics

MAX_POINTS = 800
"""Points of a drawn curve: more cannot be seen, and would only swell the file."""

MAX_VECTORS = 2000
"""Marks of a cloud beyond which vector files store it as an image."""

MEANS_PER_PICTURE = 24
LEAST_DECADES = 1.3


@styled
def follows_ccdf(statistics: Statistics) -> Figure:
    """Draw the CCDFs of followers per topic and of followings per subscriber."""
    return _ccdfs(
        {
            "followers of a topic": statistics.followers.ccdf,
            "followings of a subscriber": statistics.followings.ccdf,
        },
        "Number of followers or followings, x",
    )


@styled
def rates_ccdf(statistics: Statistics) -> Figure:
    """Draw the CCDF of rates."""
    label = f"Rate of a topic, x (events per {_period(statistics)})"
    return _ccdfs({"": statistics.rates.ccdf}, label)


@styled
def rate_by_followers(statistics: Statistics) -> Figure:
    """Draw the mean rate of the topics with each number of followers."""
    return _means(
        statistics.rate_by_followers,
        "Followers of a topic",
        f"Mean rate (events per {_period(statistics)})",
        "each number of followers",
    )


@styled
def cardinality_ccdf(statistics: Statistics) -> Figure:
    """Draw the CCDF of subscription cardinality."""
    label = "Subscription cardinality, x (% of all events)"
    return _ccdfs({"": statistics.subscription_cardinality.ccdf}, label)


@styled
def cardinality_by_followings(statistics: Statistics) -> Figure:
    """Draw the mean subscription cardinality for each number of followings."""
    return _means(
        statistics.cardinality_by_followings,
        "Followings of a subscriber",
        "Mean subscription cardinality\n(% of all events)",
        "each number of followings",
    )


PICTURES: dict[str, tuple[str, Callable[[Statistics], Figure]]] = {
    "follows-ccdf": ("CCDF of followers per topic and followings per subscriber", follows_ccdf),
    "rates-ccdf": ("CCDF of rates", rates_ccdf),
    "rate-by-followers": ("Mean rate by number of followers", rate_by_followers),
    "cardinality-ccdf": ("CCDF of subscription cardinality", cardinality_ccdf),
    "cardinality-by-followings": (
        "Mean subscription cardinality by number of followings",
        cardinality_by_followings,
    ),
}
"""File name (without suffix) of each picture, its title, and what draws it."""


def figures(statistics: Statistics) -> dict[str, Figure]:
    """Draw all pictures, by title."""
    return {title: draw(statistics) for title, draw in PICTURES.values()}


def figures_by_file(statistics: Statistics) -> dict[str, Figure]:
    """Draw all pictures, by file name without suffix."""
    return {name: draw(statistics) for name, (_, draw) in PICTURES.items()}


def draw_ccdf(axes: Axes, curve: Ccdf, *, label: str = "", colour: str, line: str = "-") -> None:
    """Draw P[X > x] as the step function it is: 1 before the first value, 0 from the last on."""
    thin = curve.thin(MAX_POINTS)
    axes.plot(
        np.append(0.0, thin.x),
        np.append(1.0, thin.p),
        drawstyle="steps-post",
        color=colour,
        linestyle=line,
        label=label,
    )


def _ccdfs(curves: dict[str, Ccdf], x_label: str) -> Figure:
    figure, axes = new_axes()
    drawn = {name: curve for name, curve in curves.items() if _is_visible(curve.x)}
    for (name, curve), colour, line in zip(
        drawn.items(), plot_style.COLOURS, plot_style.LINES, strict=False
    ):
        draw_ccdf(axes, curve, label=name, colour=colour, line=line)
    axes.set_xlabel(x_label)
    axes.set_ylabel("P[X > x]")
    if not drawn:
        say_empty(axes)
        return figure
    _show_logarithmic(
        axes,
        x=np.concatenate([curve.x for curve in drawn.values()]),
        y=np.concatenate([[1.0], *(curve.p for curve in drawn.values())]),
    )
    if len(drawn) > 1:
        axes.legend(loc="upper right")
    return figure


def _means(means: Means, x_label: str, y_label: str, what: str) -> Figure:
    figure, axes = new_axes()
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    shown = (means.x > 0) & (means.mean > 0)
    if not shown.any():
        say_empty(axes)
        return figure
    axes.plot(
        means.x[shown],
        means.mean[shown],
        linestyle="none",
        marker="o",
        markersize=3,
        markeredgewidth=0,
        color=plot_style.SKY,
        alpha=0.55,
        label=what,
        rasterized=np.count_nonzero(shown) > MAX_VECTORS,
    )
    positive = Means(means.x[shown], means.mean[shown], means.count[shown])
    overlay = positive.thin(MEANS_PER_PICTURE)
    if len(overlay.x) < len(positive.x):
        axes.plot(
            overlay.x,
            overlay.mean,
            marker="o",
            linewidth=1.2,
            markersize=4,
            color=plot_style.VERMILION,
            label="mean over ranges",
        )
        axes.legend(loc="best")
    _show_logarithmic(axes, x=positive.x, y=positive.mean)
    return figure


def _show_logarithmic(axes: Axes, *, x: np.ndarray, y: np.ndarray) -> None:
    """Make both axes logarithmic, each wide enough to have labels to read."""
    # Limits come first: matplotlib's own, for a linear axis, overflow where values are huge.
    for values, set_limits in ((x, axes.set_xlim), (y, axes.set_ylim)):
        exponents = np.log10(values[values > 0])
        middle = (exponents.min() + exponents.max()) / 2
        reach = max((exponents.max() - exponents.min()) / 2 + 0.12, LEAST_DECADES / 2)
        set_limits(10.0 ** (middle - reach), 10.0 ** (middle + reach))
    use_log_scale(axes)


def _is_visible(values: np.ndarray) -> bool:
    return bool((values > 0).any())


def _period(statistics: Statistics) -> str:
    text = span(statistics.period_seconds)
    return text.removeprefix("1 ")
