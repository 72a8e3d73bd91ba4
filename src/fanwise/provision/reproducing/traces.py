"""Figs. 8 to 12: what the Twitter trace looks like, as ``fanwise stats`` measures it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fanwise.planning.reproduction import Comparison
from fanwise.provision.reproducing.rows import Row
from fanwise.workload.generators.twitter_degrees import SUBSCRIBERS, TOPICS
from fanwise.workload.statistics import Statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = {
    "follows-ccdf": "8",
    "rates-ccdf": "9",
    "rate-by-followers": "10",
    "cardinality-ccdf": "11",
    "cardinality-by-followings": "12",
}
"""The paper's figure for each picture of a workload."""
TOLD = "The generator is made to these numbers, so agreement confirms nothing."


def draw_statistics(statistics: Statistics) -> dict[str, tuple[str, Figure]]:
    """Draw Figs. 8 to 12."""
    from fanwise.workload.plots import PICTURES

    return {
        f"fig{figure}-twitter-{name}": (
            f"Fig. {figure}: {PICTURES[name][0]}, Twitter",
            PICTURES[name][1](statistics),
        )
        for name, figure in FIGURES.items()
    }


def statistics_rows(statistics: Statistics) -> Iterator[Row]:
    """Every curve of Figs. 8 to 12, thinned as ``stats --json`` does."""
    curves = (
        ("8", "followers", statistics.followers.ccdf),
        ("8", "followings", statistics.followings.ccdf),
        ("9", "events", statistics.rates.ccdf),
        ("11", "subscription cardinality, %", statistics.subscription_cardinality.ccdf),
    )
    for figure, name, curve in curves:
        thin = curve.thin(60)
        for x, p in zip(thin.x.tolist(), thin.p.tolist(), strict=True):
            yield Row(figure, "Twitter", "", "", None, name, f"P[X > {x:g}]", p)
    for figure, name, means in (
        ("10", "mean events by followers", statistics.rate_by_followers),
        ("12", "mean subscription cardinality by followings, %",
         statistics.cardinality_by_followings),
    ):  # fmt: skip
        thin_means = means.thin(60)
        for x, mean in zip(thin_means.x.tolist(), thin_means.mean.tolist(), strict=True):
            yield Row(figure, "Twitter", "", "", None, name, f"at {x:g}", mean)


def compare_statistics(statistics: Statistics, share: float) -> Sequence[Comparison]:
    """Put shares next to those that the paper's counts are; degrees shrink with the workload."""
    rates, received = statistics.rates.ccdf, statistics.received.ccdf
    rows = [
        Comparison("9", "Twitter: topics with fewer than 10 events, %",
                   _percent(1 - rates.at(9)), "50% (4 of 8 million)", TOLD),
        Comparison("9", "Twitter: topics with more than 1,000 events, %",
                   _percent(rates.at(1000)), "0.575% (46,000)", TOLD),
        Comparison("9", "Twitter: events per topic",
                   _digits(statistics.rates.mean), "56.9 (455 million)", TOLD),
        Comparison("11", "Twitter: subscribers that receive more than 7,000, %",
                   _percent(received.at(7000)), "10% (3 of 30 million)", _size_remark(share)),
        Comparison("11", "Twitter: most that one subscriber receives, % of all events",
                   _digits(statistics.subscription_cardinality.max), "4%", _size_remark(share)),
    ]  # fmt: skip
    if share < 1:
        return rows
    return [
        *rows,
        Comparison("8", "Twitter: subscribers with more than 10,000 followings",
                   round(SUBSCRIBERS * statistics.followings.ccdf.at(1e4)), "about 550", TOLD),
        Comparison("8", "Twitter: topics with more than 10,000 followers",
                   round(TOPICS * statistics.followers.ccdf.at(1e4)), "about 4,000", TOLD),
        Comparison("8", "Twitter: topics with more than 1,000,000 followers",
                   round(TOPICS * statistics.followers.ccdf.at(1e6)), "66", TOLD),
    ]  # fmt: skip


def _size_remark(share: float) -> str:
    if share >= 1:
        return TOLD
    return "The generator is made to this at full size; a smaller workload is denser."


def _percent(share: float) -> float:
    return _digits(100 * share)


def _digits(value: float | None) -> float:
    return float(f"{value or 0.0:.3g}")
