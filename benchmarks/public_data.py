"""Public data sets as workloads, from the folder that FANWISE_DATA names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from fanwise.workload.topic import TopicWorkload
from fanwise.workload.topic.files import read_workload

DAY = 86400.0


def public_workloads() -> Iterator[tuple[str, TopicWorkload]]:
    """Yield the data sets that are there, by name; none without FANWISE_DATA."""
    folder = os.environ.get("FANWISE_DATA")
    if folder:
        data = Path(folder) / "data"
        yield "higgs_twitter", higgs_twitter(data / "higgs_twitter")
        yield "ego_twitter", ego_twitter(data / "ego_twitter")
        yield "lastfm_hetrec2011", lastfm(data / "lastfm_hetrec2011")


def topic_sources(folders: tuple[Path, ...] = ()) -> Iterator[tuple[str, Callable]]:
    """Yield every data set that can be read as topics, and given workload folders, unread."""
    folder = os.environ.get("FANWISE_DATA")
    if folder:
        data = Path(folder) / "data"
        for name, (read, place) in READERS.items():
            if (data / place).exists():
                yield name, partial(_read_once, read, data / place)
    for place in folders:
        yield place.name, partial(_read_once, read_workload, place)


@lru_cache(maxsize=1)
def _read_once(read: Callable[[Path], TopicWorkload], place: Path) -> TopicWorkload:
    return read(place)


def higgs_twitter(folder: Path) -> TopicWorkload:
    """Who follows whom, and how often each acted in a week; silent users are no topics."""
    follower, followee = columns(folder / "follows.parquet", "follower", "followee")
    user, events = columns(folder / "user_rates.parquet", "user", "n_events")
    return follow_workload(follower, followee, user, events, period_seconds=7 * DAY)


def ego_twitter(folder: Path) -> TopicWorkload:
    """Who follows whom, with used hashtags and mentions as a proxy of activity."""
    follower, followee = columns(folder / "follows.parquet", "follower", "followee")
    user, tags, mentions = columns(folder / "users.parquet", "user", "n_hashtags", "n_mentions")
    return follow_workload(follower, followee, user, tags + mentions, period_seconds=DAY)


def lastfm(folder: Path) -> TopicWorkload:
    """Friends and artists as topics: what each friend hears, how often each artist is heard."""
    user, artist, heard = columns(folder / "user_artists.parquet", "user", "artist", "listen_count")
    one, other = columns(folder / "user_friends.parquet", "user", "friend")
    first_artist = int(max(user.max(), other.max())) + 1
    follower = np.concatenate([one, user])
    followee = np.concatenate([other, first_artist + artist])
    size = first_artist + int(artist.max()) + 1
    events = np.bincount(user, weights=heard, minlength=size)
    events += np.bincount(first_artist + artist, weights=heard, minlength=size)
    return follow_workload(follower, followee, np.arange(size), events, period_seconds=365 * DAY)


def lastfm_artists(folder: Path) -> TopicWorkload:
    """Artists alone: how often each is heard, and who hears it."""
    user, artist, heard = columns(folder / "user_artists.parquet", "user", "artist", "listen_count")
    apart = int(user.max()) + 1
    events = np.bincount(artist, weights=heard)
    return follow_workload(
        user, apart + artist, apart + np.arange(len(events)), events, period_seconds=365 * DAY
    )


def hashtags(folder: Path) -> TopicWorkload:
    """Hashtags as topics: who used one wants it, and each user is an event."""
    user, tag = columns(folder / "user_hashtags.parquet", "user", "hashtag")
    apart = int(user.max()) + 1
    events = np.bincount(tag)
    return follow_workload(
        user, apart + tag, apart + np.arange(len(events)), events, period_seconds=DAY
    )


def friends(file: Path) -> TopicWorkload:
    """Friendships, both ways; as a proxy of activity, how many friends somebody has."""
    one, other = columns(file, *pq.read_schema(file).names[:2])
    follower, followee = np.concatenate([one, other]), np.concatenate([other, one])
    many = np.bincount(followee)
    return follow_workload(follower, followee, np.arange(len(many)), many, period_seconds=DAY)


def follow_workload(follower, followee, user, events, *, period_seconds: float) -> TopicWorkload:
    """Number who follows and who is followed, leaving out topics without events."""
    rate = np.zeros(int(max(followee.max(), user.max())) + 1)
    rate[user] = events
    kept = (rate[followee] > 0) & (follower != followee)
    pairs = np.unique(np.column_stack([follower[kept], followee[kept]]), axis=0)
    subscribers, subscriber = np.unique(pairs[:, 0], return_inverse=True)
    topics, topic = np.unique(pairs[:, 1], return_inverse=True)
    return TopicWorkload.from_arrays(
        rate[topics],
        subscriber,
        topic,
        num_subscribers=len(subscribers),
        period_seconds=period_seconds,
    )


def columns(path: Path, *names: str) -> list[np.ndarray]:
    table = pq.read_table(path, columns=list(names))
    return [table.column(name).to_numpy().astype(np.int64) for name in names]


READERS: dict[str, tuple[Callable[[Path], TopicWorkload], str]] = {
    "higgs_twitter": (higgs_twitter, "higgs_twitter"),
    "ego_twitter": (ego_twitter, "ego_twitter"),
    "hashtags": (hashtags, "ego_twitter"),
    "lastfm_hetrec2011": (lastfm, "lastfm_hetrec2011"),
    "lastfm_artists": (lastfm_artists, "lastfm_hetrec2011"),
    "ego_facebook": (friends, "facebook/ego_facebook.parquet"),
    "fb100_johnshopkins55": (friends, "facebook/fb100_johnshopkins55.parquet"),
}
