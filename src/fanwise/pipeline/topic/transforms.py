"""Pure steps from checked topic traces to the tables of a workload: DataFrame in, DataFrame out.

With windows, rows carry ``window``; see :mod:`fanwise.pipeline.shared.windows`.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fanwise.pipeline.shared import schema as S
from fanwise.pipeline.shared.time_spans import far_apart
from fanwise.pipeline.shared.windows import (
    WINDOW,
    Transform,
    add_times,
    add_up,
    window_columns,
    window_start,
)

FIRST_WINDOW = "first_window"
LAST_WINDOW = "last_window"


def count_events(window: int | None) -> Transform:
    """Add up checked publications per topic (and window).

    Rows that are not fine are counted too, per verdict under the topic null: one pass over the
    trace both counts and finds out how many rows are bad. Streams whose windows are to be written
    as they are completed go through :func:`~fanwise.pipeline.shared.windows.wait_for_late_events`.
    """

    def transform(checked: DataFrame) -> DataFrame:
        has_events = S.EVENTS in checked.columns
        is_fine = S.is_fine()
        size = F.col(S.BYTES)
        keys = [F.col(S.VERDICT).alias("verdict"), F.when(is_fine, F.col(S.TOPIC)).alias("topic")]
        sums = {"rows": F.count("*"), "events": F.count("*")}
        if has_events:
            events = F.col(S.EVENTS)
            sums["events"] = F.sum(events)
            sums["size_sum"] = F.sum(size * events)
            sums["size_known"] = F.sum(F.when(size.isNotNull(), events))
        else:
            sums["size_sum"] = F.sum(size)
            sums["size_known"] = F.count(size)
        if S.INSTANT in checked.columns:
            sums["first"] = F.min(S.INSTANT)
            sums["last"] = F.max(S.INSTANT)
            sums |= far_apart(checked)
        named = [total.alias(name) for name, total in sums.items()]
        if window is None:
            return add_up(checked, keys, None, *named)
        counts = add_up(checked.transform(add_times), keys, window, *named)
        in_window = F.when(F.col("verdict") == S.FINE, F.col(WINDOW))
        return counts.withColumn(WINDOW, in_window)

    return transform


def publish_rates(message_bytes: float) -> Transform:
    """Turn counts into ``name``, ``rate``, ``bytes`` (and ``window``) of topics with events.

    The size is the mean of the sizes that are known, ``message_bytes`` where none is.
    """

    def transform(counts: DataFrame) -> DataFrame:
        mean = F.when(F.col("size_known") > 0, F.col("size_sum") / F.col("size_known"))
        return counts.where((F.col("verdict") == S.FINE) & (F.col("events") > 0)).select(
            *window_columns(counts),
            F.col("topic").alias("name"),
            F.col("events").cast("double").alias("rate"),
            F.coalesce(mean, F.lit(float(message_bytes))).alias("bytes"),
        )

    return transform


def distinct_pairs(window: int | None) -> Transform:
    """Reduce checked subscriptions to distinct pairs, with the number of rows of each.

    With windows and churn, to distinct spans of windows of a pair. Rows that are not fine are
    counted per subscriber and verdict, under the topic null.
    """

    def transform(checked: DataFrame) -> DataFrame:
        is_fine = S.is_fine()
        keys = [
            F.col(S.VERDICT).alias("verdict"),
            F.col(S.SUBSCRIBER).alias("subscriber"),
            F.when(is_fine, F.col(S.TOPIC)).alias("topic"),
        ]
        if window is not None and S.SINCE in checked.columns:
            since = window_start(F.col(S.SINCE), window)
            keys.append(F.when(is_fine, since).alias(FIRST_WINDOW))
        if window is not None and S.UNTIL in checked.columns:
            last = window_start(F.col(S.UNTIL) - F.lit(1), window)
            keys.append(F.when(is_fine, last).alias(LAST_WINDOW))
        # By subscriber alone: all that follows goes by subscriber and needs no further shuffle.
        return (
            checked.repartition(F.col(S.SUBSCRIBER)).groupBy(*keys).agg(F.count("*").alias("rows"))
        )

    return transform


def fine_pairs(pairs: DataFrame) -> DataFrame:
    """Keep the pairs themselves, without what was counted beside them."""
    return pairs.where(F.col("verdict") == S.FINE).drop("verdict", "rows")


def followed_topics(pairs: DataFrame) -> DataFrame:
    """Return each topic once per span of windows that somebody follows it in."""
    return pairs.select("topic", *span_columns(pairs)).distinct()


def keep_followed(followed: DataFrame) -> Transform:
    """Keep the topics (of a window) that somebody follows (in that window)."""

    def transform(published: DataFrame) -> DataFrame:
        same_topic = F.col("name") == F.col("topic")
        return published.join(followed, same_topic & _in_span(followed), "left_semi")

    return transform


def links_to(topics: DataFrame) -> Transform:
    """Replace the topics of pairs by their ids, and drop the pairs whose topic was dropped.

    ``topics`` has ``name``, ``id`` (and ``window``); the result ``subscriber``, ``topic`` (and
    ``window``), each combination once.
    """

    def transform(pairs: DataFrame) -> DataFrame:
        known = topics.select(*window_columns(topics), "name", "id")
        joined = pairs.join(known, (F.col("topic") == F.col("name")) & _in_span(pairs))
        links = joined.select(*window_columns(topics), "subscriber", F.col("id").alias("topic"))
        # Only spans can overlap; without them pairs are distinct already.
        return links.distinct() if span_columns(pairs) else links

    return transform


def count_degrees(links: DataFrame) -> DataFrame:
    """Return ``subscriber`` (and ``window``) with the number of its topics."""
    return links.groupBy(*window_columns(links), "subscriber").agg(F.count("*").alias("degree"))


def add_empty(seen: DataFrame) -> Transform:
    """Add the subscribers of ``seen`` that have no topic, with degree 0."""

    def transform(degrees: DataFrame) -> DataFrame:
        keys = [*window_columns(degrees), "subscriber"]
        return seen.join(degrees, keys, "left").fillna(0, ["degree"])

    return transform


def seen_subscribers(pairs: DataFrame) -> DataFrame:
    """Return each subscriber of pairs (and window) once."""
    return pairs.select(*window_columns(pairs), "subscriber").distinct()


def spread_over_windows(starts: Column) -> Transform:
    """Repeat each row of pairs for every window of its span, as the column ``window``."""

    def transform(pairs: DataFrame) -> DataFrame:
        return pairs.withColumn(WINDOW, F.explode(starts)).where(_in_span(pairs))

    return transform


def interests(subscribers: DataFrame) -> Transform:
    """Replace the subscribers of links by their ids: the table of interests."""

    def transform(links: DataFrame) -> DataFrame:
        keys = [*window_columns(links), "subscriber"]
        known = subscribers.select(*keys, "id")
        return links.join(known, keys).select(
            *window_columns(links), F.col("id").alias("subscriber"), "topic"
        )

    return transform


def _in_span(pairs: DataFrame) -> Column:
    """Whether ``window`` lies in the span of windows that pairs carry, null meaning no limit."""
    condition = F.lit(True)
    if FIRST_WINDOW in pairs.columns:
        first = F.col(FIRST_WINDOW)
        condition &= first.isNull() | (first <= F.col(WINDOW))
    if LAST_WINDOW in pairs.columns:
        last = F.col(LAST_WINDOW)
        condition &= last.isNull() | (last >= F.col(WINDOW))
    return condition


def span_columns(frame: DataFrame) -> list[str]:
    """Return the columns that say in which windows a pair holds; none without windows or churn."""
    return [name for name in (FIRST_WINDOW, LAST_WINDOW) if name in frame.columns]
