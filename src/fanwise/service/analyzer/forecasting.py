"""What traffic to plan for: the last window, the same hour of previous days, or a quantile.

A forecast looks at windows that were counted. What it foretold is compared with what came, window
by window, so that a bad forecast shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fanwise.service.analyzer.workloads import Traffic
from fanwise.service.configuration.model import Forecast
from fanwise.service.records import Window

DAY = 86_400 * 10**6
"""Microseconds."""

History = Callable[[Sequence[Window]], Sequence[Traffic]]
"""Gives what was counted in windows, as far as they are kept; in the order of the windows."""


class Foretold(NamedTuple):
    """What is planned for.

    Attributes
    ----------
    kind
        How it was foretold: ``last`` where windows that another kind needs are not kept.
    lacks
        Why it is ``last`` though something else was asked for; empty otherwise.
    """

    traffic: Traffic
    kind: str
    lacks: str = ""


def windows_needed(forecast: Forecast, closed: Window) -> list[Window]:
    """Return the windows that a forecast for the window after ``closed`` looks at."""
    if forecast.kind == "last":
        return [closed]
    length = closed.end - closed.start
    if forecast.kind == "quantile":
        return [
            Window(closed.start - back * length, closed.end - back * length)
            for back in range(forecast.windows)
        ]
    coming = Window(closed.end, closed.end + length)
    return [
        Window(coming.start - back * DAY, coming.end - back * DAY)
        for back in range(1, forecast.days + 1)
    ]


def foretell(forecast: Forecast, closed: Window, last: Traffic, history: History) -> Foretold:
    """Return the traffic to plan for.

    Parameters
    ----------
    closed, last
        The window that just closed, and what was counted in it.
    history
        Gives earlier windows. Where none of those needed is kept, the last one is planned for.
    """
    if forecast.kind == "last":
        return Foretold(last, "last")
    kept = history(windows_needed(forecast, closed))
    if not kept:
        return Foretold(last, "last", f"{forecast.kind} needs earlier windows, and none is kept")
    combine = _mean if forecast.kind == "same-hour" else _quantile(forecast.quantile)
    return Foretold(_merge(kept, combine), forecast.kind)


def _mean(events: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(events.mean(axis=0), dtype=np.float64)


def _quantile(
    share: float,
) -> Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]:
    # The upper of two neighbours: a plan for a tenth of an event satisfies nobody.
    return lambda events: np.asarray(
        np.quantile(events, share, axis=0, method="higher"), dtype=np.float64
    )


def _merge(
    kept: Sequence[Traffic],
    combine: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
) -> Traffic:
    """Combine windows topic by topic; a topic that a window lacks had no events there."""
    names = pc.unique(pa.chunked_array([one.topics for one in kept], type=pa.string()))
    names = names.take(pc.sort_indices(names))
    events = np.zeros((len(kept), len(names)))
    sizes, known = np.zeros(len(names)), np.zeros(len(names))
    for row, one in enumerate(kept):
        index = np.asarray(pc.index_in(one.topics, value_set=names), dtype=np.int64)
        events[row, index] = one.events
        has_size = ~np.isnan(one.size)
        sizes[index[has_size]] += (one.size * one.events)[has_size]
        known[index[has_size]] += one.events[has_size]
    size = np.divide(sizes, known, out=np.full(len(names), np.nan), where=known > 0)
    return Traffic(names, combine(events), size)
