"""Figs. 8 to 12: what the Twitter trace looks like, as ``fanwise stats`` measures it."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.figure import Figure

from fanwise.papers.case import Row
from fanwise.papers.course import Course
from fanwise.papers.paper import Comparison, Paper
from fanwise.workload.generators.twitter_degrees import SUBSCRIBERS, TOPICS
from fanwise.workload.topic.plots import PICTURES
from fanwise.workload.topic.statistics import Statistics

FIGURES = {
    "follows-ccdf": "8",
    "rates-ccdf": "9",
    "rate-by-followers": "10",
    "cardinality-ccdf": "11",
    "cardinality-by-followings": "12",
}
"""The paper's figure for each picture of a workload."""
MOST_POINTS = 60


def statistics_figures(paper: Paper, statistics: Statistics) -> dict[str, tuple[str, Figure]]:
    """Draw Figs. 8 to 12."""
    found = {}
    for name, figure in FIGURES.items():
        words, draw = PICTURES[name]
        caption = paper.caption("statistics", figure=figure, words=words)
        found[f"fig{figure}-twitter-{name}"] = (caption, draw(statistics))
    return found


def statistics_rows(statistics: Statistics) -> Iterator[Row]:
    """Every curve of Figs. 8 to 12, thinned as ``stats --json`` does."""
    at = {"trace": "Twitter"}
    for figure, name, curve in (
        ("8", "followers", statistics.followers.ccdf),
        ("8", "followings", statistics.followings.ccdf),
        ("9", "events", statistics.rates.ccdf),
        ("11", "subscription cardinality, %", statistics.subscription_cardinality.ccdf),
    ):
        thin = curve.thin(MOST_POINTS)
        for x, p in zip(thin.x.tolist(), thin.p.tolist(), strict=True):
            yield Row(figure, at, name, f"P[X > {x:g}]", p)
    for figure, name, means in (
        ("10", "mean events by followers", statistics.rate_by_followers),
        ("12", "mean subscription cardinality by followings, %",
         statistics.cardinality_by_followings),
    ):  # fmt: skip
        thin_means = means.thin(MOST_POINTS)
        for x, mean in zip(thin_means.x.tolist(), thin_means.mean.tolist(), strict=True):
            yield Row(figure, at, name, f"at {x:g}", mean)


def compare_statistics(
    course: Course, statistics: Statistics, share: float
) -> Iterator[Comparison]:
    """Put shares next to those that the paper's counts are; degrees shrink with the workload."""
    paper, at = course.paper, course.settings.counted
    rates = statistics.rates.ccdf
    told = paper.numbers["counted"]
    found = {
        "few_events": 100 * (1 - rates.at(at["few"] - 1)),
        "many_events": 100 * rates.at(at["many"]),
        "events": statistics.rates.mean or 0.0,
        "received": 100 * statistics.received.ccdf.at(at["received"]),
        "cardinality": float(statistics.subscription_cardinality.max or 0.0),
    }
    for name, ours in found.items():
        yield paper.compare(name, ours, share=share, stated=told[name], **at)
    if share >= 1:
        for name, everybody, curve in (
            ("followings", SUBSCRIBERS, statistics.followings),
            ("followers", TOPICS, statistics.followers),
            ("most_followers", TOPICS, statistics.followers),
        ):
            count = round(everybody * curve.ccdf.at(at[name]))
            yield paper.compare(name, count, share=share, stated=told[name], **at)
