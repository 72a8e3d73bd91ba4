"""When a music service is busy: hours of the day, days of the week, kinds of topics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray

HOURS_OF_WEEK = 168


class Kind(NamedTuple):
    """One kind of topic.

    Attributes
    ----------
    share
        Of all topics.
    activity
        Events of a topic of this kind, relative to the others.
    peak, sharpness
        Busiest hour of the day (UTC), and how far above the rest it stands.
    friday, weekend
        Activity on those days, relative to Monday to Thursday.
    median_bytes
        Of its messages.
    """

    share: float
    activity: float
    peak: float
    sharpness: float
    friday: float
    weekend: float
    median_bytes: float


KINDS = {
    "artist": Kind(0.1, 0.2, peak=10, sharpness=2.5, friday=3.0, weekend=0.4, median_bytes=420),
    "playlist": Kind(0.2, 0.5, peak=20, sharpness=1.2, friday=1.2, weekend=1.4, median_bytes=260),
    "friend": Kind(0.7, 1.0, peak=18, sharpness=1.0, friday=1.1, weekend=1.3, median_bytes=110),
}


def week_profile(kind: Kind) -> FloatArray:
    """Relative activity in each hour of the week from Monday 0:00 UTC; the mean is 1."""
    hour = np.arange(24)
    day = np.exp(kind.sharpness * (np.cos(2 * np.pi * (hour - kind.peak) / 24) - 1)) + 0.05
    days = np.array([1, 1, 1, 1, kind.friday, kind.weekend, kind.weekend])
    profile = np.outer(days, day).reshape(HOURS_OF_WEEK)
    return np.asarray(profile / profile.mean())


def hour_weights(first_hour: int, num_hours: int, activity: FloatArray) -> FloatArray:
    """Share of all events in each hour (row) and of each kind (column).

    Parameters
    ----------
    first_hour
        Hour of the week of the first row.
    activity
        Expected events of each kind per hour, in any unit.
    """
    hours = (first_hour + np.arange(num_hours)) % HOURS_OF_WEEK
    weights = np.column_stack([week_profile(kind)[hours] for kind in KINDS.values()]) * activity
    return np.asarray(weights / weights.sum())
