"""What a topic will be worth in the windows to come, as far as that can be guessed.

Where the same hours of the day before are kept and foretold the window that closed better than
windows of some hours ago would have done, they stand for the hours to come. Else those are taken to
be like a mean of the last two windows, and count less the further away they are.

A topic's worth in a window is what it earns beyond the price of the capacity it takes, by the
prices of the linear relaxation under that window's traffic. It need not be exact: it only sets
prices of switches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.arrays.csr import FloatArray
from fanwise.errors import InfeasibleError
from fanwise.select.problem import Selection
from fanwise.select.relaxing.tightening import plain_relaxation
from fanwise.service.analyzer.forecasting import DAY, History
from fanwise.service.analyzer.workloads import Traffic
from fanwise.service.records import Window
from fanwise.workload.topic import TopicWorkload

WINDOWS = 6
"""How many windows ahead are looked at."""
LAG = 3
"""The day before must beat what was counted so many windows ago: half as far as is looked ahead."""
KNOWN, GUESSED = 1.0, 0.7
"""What a window counts of the one before it: foretold by the day before, or taken to stay."""
ITERATIONS = 150
QUICK_PAIRS = 200_000
"""Above so many pairs one relaxation, of the mean of the windows to come, stands for all."""
NO_EVENTS = 1e-9
"""Rate of a topic that is silent; rates must be positive."""


class Ahead(NamedTuple):
    """Worth of topics in windows to come.

    Attributes
    ----------
    worth
        Per window, nearest first: what each topic earns beyond the price of its capacity.
    counts
        What a window counts of the one before it.
    rests_on
        ``day-before`` or ``last-windows``.
    """

    worth: tuple[FloatArray, ...]
    counts: float
    rests_on: str


def look_ahead(
    problem: Selection, closed: Window, now: Traffic, history: History, *, first: int = 1
) -> Ahead:
    """Return what the topics of a problem will be worth.

    Parameters
    ----------
    closed, now
        The window that just closed, and what was counted in it.
    history
        Gives earlier windows.
    first
        How many windows after the closed one the first lies that comes after the decided one.
    """
    names = problem.workload.topic_names
    length = closed.end - closed.start

    def counted(window: Window) -> FloatArray | None:
        found = history([window])
        return _events(found[0], names) if found else None

    events = _events(now, names)
    before = counted(_shifted(closed, -length))
    recent = events if before is None else (events + before) / 2
    rates = _day_before(problem, closed, events, counted, first)
    if rates:
        if problem.num_pairs > QUICK_PAIRS:
            rates = [np.mean(rates, axis=0)] * len(rates)
        return Ahead(_worths(problem, rates), KNOWN, "day-before")
    return Ahead(_worths(problem, [recent] * WINDOWS), GUESSED, "last-windows")


def _day_before(
    problem: Selection,
    closed: Window,
    events: FloatArray,
    counted: Callable[[Window], FloatArray | None],
    first: int,
) -> list[FloatArray]:
    """Return the events of the hours to come as they were a day ago; none where that is no guide.

    A window that is missing is taken to be like the one before it.
    """
    length = closed.end - closed.start
    then = counted(_shifted(closed, -DAY))
    earlier = [counted(_shifted(closed, -back * length)) for back in (LAG, LAG + 1)]
    lately = [one for one in earlier if one is not None]
    if then is None or not lately:
        return []
    followers = problem.workload.num_followers
    misses = [
        float(np.dot(np.abs(guess - events), followers))
        for guess in (then, np.mean(lately, axis=0))
    ]
    if misses[0] >= misses[1]:
        return []
    found = []
    for step in range(first, first + WINDOWS):
        coming = counted(_shifted(closed, step * length - DAY))
        then = then if coming is None else coming
        found.append(then)
    return found


def _shifted(window: Window, by: int) -> Window:
    return Window(window.start + by, window.end + by)


def _events(traffic: Traffic, names: pa.Array) -> FloatArray:
    """Return the events of named topics; a topic that is not in the traffic had none."""
    place = pc.index_in(names, value_set=traffic.topics.cast(names.type))
    known = np.asarray(pc.is_valid(place), dtype=bool)
    events = np.zeros(len(names))
    events[known] = traffic.events[np.asarray(pc.drop_null(place), dtype=np.int64)]
    return events


def _worths(problem: Selection, rates: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
    """Return what topics are worth under the traffic of each window; the same for the same."""
    found: list[FloatArray] = []
    for index, one in enumerate(rates):
        if index and one is rates[index - 1]:
            found.append(found[-1])
        else:
            found.append(worth_under(problem, one))
    return tuple(found)


def worth_under(problem: Selection, rates: npt.NDArray[np.float64]) -> FloatArray:
    """Return what each topic earns beyond the price of its capacity, under other rates.

    Complexity
        ITERATIONS iterations of the relaxation, or as many fewer as there are more pairs.
    """
    workload: TopicWorkload = replace(problem.workload, rates=np.maximum(rates, NO_EVENTS))
    try:
        coming = Selection(
            workload,
            tau=problem.tau,
            capacity=_capacity(problem),
            metric=problem.metric,
            pin=problem.pin,
            exclude=problem.exclude,
        )
    except InfeasibleError:  # what is pinned will not fit: then there is nothing to say
        return np.zeros(workload.num_topics)
    relaxation = plain_relaxation(coming)
    many = max(1, problem.num_pairs // QUICK_PAIRS)
    relaxation.iterate(max(20, ITERATIONS // many))
    return relaxation.reduced_profit()


def _capacity(problem: Selection) -> float | str:
    """Return the capacity as it was asked: a percentage is of what will come."""
    percent = problem.parameters()["capacity_percent"]
    return problem.limit if percent is None else f"{percent}%"
