"""The statistics of a workload as small tables for people."""

from __future__ import annotations

from typing import Any

from fanwise.formatting import number, percent, size, span
from fanwise.workload.summaries import SUMMARY, StatisticsTable
from fanwise.workload.topic.model import TopicWorkload
from fanwise.workload.topic.statistics import Means, Statistics


def sizes(workload: TopicWorkload) -> list[tuple[str, Any]]:
    """Return what a workload holds, with names; quick, whatever its size."""
    return [
        ("topics", workload.num_topics),
        ("subscribers", workload.num_subscribers),
        ("pairs", workload.num_pairs),
        ("period", span(workload.period_seconds)),
        ("events per period", float(workload.rates.sum())),
    ]


def counts(statistics: Statistics) -> list[tuple[str, Any]]:
    """Return sizes and totals with their names."""
    period = span(statistics.period_seconds)
    return [
        ("topics", statistics.num_topics),
        ("subscribers", statistics.num_subscribers),
        ("pairs", statistics.num_pairs),
        ("period", period),
        ("events per period", statistics.events),
        ("deliveries per period", statistics.deliveries),
        ("published per period", size(statistics.bytes_published)),
        ("delivered per period", size(statistics.bytes_delivered)),
    ]


def tables(statistics: Statistics) -> list[StatisticsTable]:
    """Return every table that has rows: distributions, CCDFs, and the two means by decade."""
    made = [
        distributions(statistics),
        shares_above(statistics),
        _by_decade(
            "Mean rate by popularity",
            ["followers", "topics", "mean rate"],
            statistics.rate_by_followers,
        ),
        _by_decade(
            "Mean subscription cardinality by followings",
            ["followings", "subscribers", "mean SC (%)"],
            statistics.cardinality_by_followings,
        ),
    ]
    return [table for table in made if table.rows]


def distributions(statistics: Statistics) -> StatisticsTable:
    """Return mean and quantiles of what varies over topics, and over subscribers.

    Topics have followers and a rate; subscribers have followings, events received, and SC.
    """
    measured = {
        "followers": statistics.followers,
        "followings": statistics.followings,
        "rate": statistics.rates,
        "received": statistics.received,
        "SC (%)": statistics.subscription_cardinality,
    }
    names = {"q25": "25%", "q75": "75%", "p90": "90%", "p99": "99%"}
    rows = [
        [names.get(name, name), *(each.summary()[name] for each in measured.values())]
        for name in SUMMARY
    ]
    return StatisticsTable("Distributions", ["", *measured], rows)


def shares_above(statistics: Statistics) -> StatisticsTable:
    """Return P[X > x] at x = 0 and the powers of ten."""
    measured = (statistics.followers, statistics.followings, statistics.rates)
    largest = max((distribution.max or 0.0) for distribution in measured)
    rows: list[list[Any]] = []
    x = 0.0
    while x < largest and len(rows) < 20:
        rows.append([number(x), *(percent(each.ccdf.at(x)) for each in measured)])
        x = x * 10 or 1.0
    columns = ["x", "followers > x", "followings > x", "rates > x"]
    return StatisticsTable("Shares above x (CCDF)", columns, rows)


def _by_decade(title: str, columns: list[str], means: Means) -> StatisticsTable:
    decades = means.decades()
    rows: list[list[Any]] = []
    for start, mean, count in zip(
        decades.x.tolist(), decades.mean.tolist(), decades.count.tolist(), strict=True
    ):
        text = "0" if start == 0 else f"{number(start)} to {number(10 * start - 1)}"
        rows.append([text, count, mean])
    return StatisticsTable(title, columns, rows)
