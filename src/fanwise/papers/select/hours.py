"""Hours of a workload, simulated: what a periodic run would see.

A workload keeps one rate per topic. An hour of it is drawn: each topic publishes a Poisson number
of events whose mean is its hourly rate times the time of day. Topics that stay silent are left out,
and subscribers who follow nothing else with them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fanwise.workload.generators.music_rhythm import HOURS_OF_WEEK, KINDS, week_profile
from fanwise.workload.topic import TopicWorkload

HOUR = 3600.0


def simulated_hours(
    workload: TopicWorkload, *, first_hour: int, count: int, seed: int
) -> Iterator[TopicWorkload]:
    """Yield consecutive hours.

    Parameters
    ----------
    first_hour
        Hour of the week, from Monday 0:00.
    seed
        Makes the draws repeatable.
    """
    profile = week_profile(KINDS["friend"])
    hourly = workload.rates * (HOUR / workload.period_seconds)
    subscriber_of_pair = np.repeat(
        np.arange(workload.num_subscribers, dtype=np.int32), np.diff(workload.interests.indptr)
    )
    for hour, rng in enumerate(np.random.default_rng(seed).spawn(count)):
        activity = profile[(first_hour + hour) % HOURS_OF_WEEK]
        events = rng.poisson(hourly * activity).astype(np.float64)
        yield active_part(workload, events, subscriber_of_pair)


def active_part(
    workload: TopicWorkload, events: np.ndarray, subscriber_of_pair: np.ndarray
) -> TopicWorkload:
    """Return the topics that publish anything and the subscribers that follow any of them."""
    is_active = events > 0
    topic_of_active = np.cumsum(is_active, dtype=np.int32) - 1
    kept = is_active[workload.interests.indices]
    subscriber = subscriber_of_pair[kept]
    is_left = np.zeros(workload.num_subscribers, dtype=bool)
    is_left[subscriber] = True
    subscriber_of_left = np.cumsum(is_left, dtype=np.int32) - 1
    return TopicWorkload.from_arrays(
        events[is_active],
        subscriber_of_left[subscriber].astype(np.int32),
        topic_of_active[workload.interests.indices[kept]].astype(np.int32),
        num_subscribers=int(np.count_nonzero(is_left)),
        message_bytes=workload.message_bytes[is_active],
        period_seconds=HOUR,
    )
