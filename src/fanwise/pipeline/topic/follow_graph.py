"""Pure steps on a follow graph: DataFrame in, DataFrame out.

Users are ids in the order of their names; ``follower`` and ``followee`` are the ends of a pair.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fanwise.pipeline.shared.windows import Transform


def count_sides(topics: DataFrame, subscribers: DataFrame) -> DataFrame:
    """Return each ``name`` with its ``sides``: 2 for somebody who is topic and subscriber."""
    names = topics.select("name").unionAll(subscribers.select("name"))
    return names.groupBy("name").agg(F.count("*").alias("sides"))


def name_ends(users: DataFrame, topics: DataFrame, subscribers: DataFrame) -> Transform:
    """Turn interests into ``follower``, ``followee``: the ids of users."""

    def transform(pairs: DataFrame) -> DataFrame:
        known = users.select("name", "user")
        followers = subscribers.join(known, "name").select(
            "subscriber", F.col("user").alias("follower")
        )
        followees = topics.join(known, "name").select("topic", F.col("user").alias("followee"))
        joined = pairs.join(followers, "subscriber").join(followees, "topic")
        return joined.select("follower", "followee")

    return transform


def links_along(along: str) -> Transform:
    """Return ``user``, ``neighbour``: where a visit goes from a user."""

    def transform(follows: DataFrame) -> DataFrame:
        followings = follows.select(
            F.col("follower").alias("user"), F.col("followee").alias("neighbour")
        )
        followers = follows.select(
            F.col("followee").alias("user"), F.col("follower").alias("neighbour")
        )
        if along == "both":
            return followings.unionAll(followers)
        return followings if along == "followings" else followers

    return transform


def keep_linked(follows: DataFrame) -> Transform:
    """Keep the users who take part in a pair."""

    def transform(users: DataFrame) -> DataFrame:
        ends = follows.select(F.col("follower").alias("user")).unionAll(
            follows.select(F.col("followee").alias("user"))
        )
        return users.join(ends.distinct(), "user", "left_semi")

    return transform


def order_starts(seed: int) -> Transform:
    """Sort users by the SHA-256 of ``seed:name``: the order in which they start."""

    def transform(users: DataFrame) -> DataFrame:
        text = F.concat(F.lit(f"{seed}:"), F.col("name"))
        return users.orderBy(F.sha2(text, 256), "user")

    return transform


def next_level(frontier: DataFrame) -> Transform:
    """Go from links to the neighbours of ``frontier``, in the order a queue would have.

    A user comes after its first parent (by ``turn`` of the frontier), then by name, which is the
    order of ids.
    """

    def transform(links: DataFrame) -> DataFrame:
        seen = links.join(frontier, "user").groupBy(F.col("neighbour").alias("user"))
        return seen.agg(F.min("turn").alias("turn")).orderBy("turn", "user")

    return transform


def keep_inside(chosen: DataFrame) -> Transform:
    """Keep the pairs both of whose ends are chosen."""

    def transform(follows: DataFrame) -> DataFrame:
        for end in ("follower", "followee"):
            follows = follows.join(chosen.withColumnRenamed("user", end), end, "left_semi")
        return follows

    return transform
