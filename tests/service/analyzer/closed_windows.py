"""Closed windows from plain Python, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from fanwise.service.records import ClosedWindow, Window

HOUR = 3600 * 10**6


def window_at(number: int) -> Window:
    """Return the hour of a number."""
    return Window(number * HOUR, (number + 1) * HOUR)


def closed_window(
    events: Mapping[str, int],
    pairs: Iterable[tuple[str, str]],
    *,
    number: int = 0,
    size: Mapping[str, float] | None = None,
) -> ClosedWindow:
    """Return an hour with these events of topics and these (subscriber, topic) pairs."""
    topics = sorted(events)
    rows = list(pairs)
    return ClosedWindow(
        window=window_at(number),
        closed_by="watermark",
        topics=pa.array(topics, pa.string()),
        events=np.array([events[topic] for topic in topics], dtype=np.int64),
        size=np.array([(size or {}).get(topic, np.nan) for topic in topics]),
        pairs=pa.table(
            {
                "subscriber": pa.array([row[0] for row in rows], pa.string()),
                "topic": pa.array([row[1] for row in rows], pa.string()),
            }
        ),
    )
