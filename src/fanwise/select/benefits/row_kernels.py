"""What the exact greedy works on: compact rows of those subscribers whose shares can change.

A subscriber with one topic needs no row: its share is the same until that topic is served. All
others get small numbers, those with many topics (*heavy* ones) first, a record each, and a row of
topics in two parts: *rising* ones, whose share grows while less is missing, and those that give a
whole share already and keep doing so until the subscriber is satisfied.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel

Records = npt.NDArray[Any]
Record = Any

# One compact record each: nearly every step of the algorithm misses the cache once.
ROW = [("start", "i4"), ("rising", "i4"), ("whole", "i4"), ("stop", "i4")]
"""Rising topics in ``start:rising``, those that give a whole share in ``whole:stop``."""
SUBSCRIBER = np.dtype([("missing", "f8"), ("unit", "f8"), *ROW])
HEAVY = np.dtype([("level", "f8"), *ROW])
"""What shares are entered for, and a second row: topics whose share is exact."""
AUDIENCE = np.dtype(
    [
        *[("cost", "f8"), ("alone", "f8")],
        *[("start", "i4"), ("heavy", "i4"), ("light", "i4"), ("stop", "i4")],
    ]
)
"""A topic's cost, the units of those that need it alone, and its followers that have numbers: heavy
ones in ``start:heavy``, light ones in ``light:stop``."""


SUM = np.dtype([("benefit", "i8"), ("rate", "f8")])
"""A topic while shares are added up."""


class BenefitArrays(NamedTuple):
    """Numbered subscribers and their topics, both ways."""

    subscribers: Records
    slack: FloatArray
    heavy: Records
    topics: IntArray
    settled: IntArray
    audience: Records
    followers: IntArray


class Needs(NamedTuple):
    """What each subscriber misses, what counts as nothing, and what a whole share is."""

    missing: FloatArray
    slack: FloatArray
    unit: FloatArray


@kernel
def share_of(rate: float, per_event: float, unit: float) -> int:
    """Return a subscriber's share in whole units: rate / missing of it, at most all.

    Changes nothing.
    """
    return int(min(rate * per_event, unit))


@kernel
def number_subscribers(
    indptr: LongArray, needs: Needs, heavy_degree: int, numbers: IntArray
) -> tuple[int, int, int, int]:
    """Number those who miss something and follow two topics or more, heavy ones first.

    Changes ``numbers``.

    Parameters
    ----------
    numbers
        Filled in: the number of each subscriber, or -1.

    Returns
    -------
    num_heavy, num_numbered, num_heavy_pairs, num_pairs
        How much room records and rows take.
    """
    missing, _, unit = needs
    num_heavy, num_light, heavy_pairs, light_pairs = 0, 0, 0, 0
    for subscriber in range(len(numbers)):
        degree = indptr[subscriber + 1] - indptr[subscriber]
        numbers[subscriber] = -1
        if degree < 2 or missing[subscriber] <= 0.0 or unit[subscriber] <= 0.0:
            continue
        if degree > heavy_degree:
            numbers[subscriber] = num_heavy
            num_heavy += 1
            heavy_pairs += degree
        else:
            num_light += 1
            numbers[subscriber] = -1 - num_light
            light_pairs += degree
    for subscriber in range(len(numbers)):
        if numbers[subscriber] < -1:
            numbers[subscriber] = num_heavy - 2 - numbers[subscriber]
    return num_heavy, num_heavy + num_light, heavy_pairs, heavy_pairs + light_pairs


@kernel
def lay_out_rows(
    indptr: LongArray, numbers: IntArray, needs: Needs, level: float, arrays: BenefitArrays
) -> None:
    """Fill in the records, with rows that are still empty, one behind the other.

    Changes the records and slack of ``arrays``.
    """
    records, slack_of_number, heavies = arrays.subscribers, arrays.slack, arrays.heavy
    missing, slack, unit = needs
    position, settled = 0, 0
    for subscriber in range(len(numbers)):
        number = numbers[subscriber]
        if number < 0:
            continue
        record = records[number]
        record.missing = missing[subscriber]
        record.unit = unit[subscriber]
        record.start = record.rising = position
        slack_of_number[number] = slack[subscriber]
        degree = indptr[subscriber + 1] - indptr[subscriber]
        position += degree
        record.whole = record.stop = position
        if number < len(heavies):
            heavy = heavies[number]
            heavy.level = level * missing[subscriber]
            heavy.start = heavy.rising = settled
            settled += degree
            heavy.whole = heavy.stop = settled


@kernel
def fill_rows(
    first: int,
    last: int,
    indptr: LongArray,
    interests: IntArray,
    sums: Records,
    numbers: IntArray,
    needs: Needs,
    arrays: BenefitArrays,
    alone: FloatArray,
) -> None:
    """Fill in the rows of some subscribers; topics of rate 0 are left out.

    Changes the records and topics of ``arrays``, ``sums`` and ``alone``.

    Parameters
    ----------
    sums
        The rate of every topic; the shares of these subscribers, bounds where heavy, are added up
        beside it.
    alone
        Units of those that each topic satisfies and that follow no other are added up here.
    """
    records, heavies, row = arrays.subscribers, arrays.heavy, arrays.topics
    missing_of_subscriber, slack, unit_of_subscriber = needs
    for subscriber in range(first, last):
        missing, unit = missing_of_subscriber[subscriber], unit_of_subscriber[subscriber]
        if missing <= 0.0 or unit <= 0.0 or indptr[subscriber] == indptr[subscriber + 1]:
            continue
        per_event = unit / missing
        number = numbers[subscriber]
        if number < 0:
            topic = interests[indptr[subscriber]]
            entry = sums[topic]
            entry.benefit += share_of(entry.rate, per_event, unit)
            alone[topic] += unit if missing - entry.rate <= slack[subscriber] else 0.0
            continue
        if number < len(heavies):
            per_event = unit / heavies[number].level
        record = records[number]
        rising, whole = record.start, record.stop
        for i in range(indptr[subscriber], indptr[subscriber + 1]):
            topic = interests[i]
            entry = sums[topic]
            share = share_of(entry.rate, per_event, unit)
            entry.benefit += share
            # No branches: which topics rise cannot be guessed. Topics left out are overwritten.
            is_whole = int(share >= unit)
            row[rising + is_whole * (whole - 1 - rising)] = topic
            whole -= is_whole
            rising += int(entry.rate > 0.0) - is_whole
        record.rising, record.whole = rising, whole


@kernel
def fill_audience(
    first: int,
    last: int,
    indptr: LongArray,
    followers: IntArray,
    rates: FloatArray,
    numbers: IntArray,
    arrays: BenefitArrays,
) -> None:
    """List the numbered followers of some topics; nobody follows a topic of rate 0.

    Changes the audience and followers of ``arrays``.
    """
    audience, numbered = arrays.audience, arrays.followers
    num_heavy = len(arrays.heavy)
    for topic in range(first, last):
        heavy, light = indptr[topic], indptr[topic + 1]
        if rates[topic] > 0.0:
            for i in range(indptr[topic], indptr[topic + 1]):
                number = numbers[followers[i]]
                is_light = int(number >= num_heavy)
                numbered[heavy + is_light * (light - 1 - heavy)] = number
                light -= is_light
                heavy += int(number >= 0) - is_light
        record = audience[topic]
        record.start, record.heavy = indptr[topic], heavy
        record.light, record.stop = light, indptr[topic + 1]
