"""Events of a stream, counted topic by topic and window by window."""

from __future__ import annotations

from pyspark.sql import DataFrame

from fanwise.pipeline.shared.options import MESSAGE_BYTES, check_message_bytes
from fanwise.pipeline.shared.times import Duration, parse_duration
from fanwise.pipeline.shared.windows import wait_for_late_events
from fanwise.pipeline.topic.checks import check_events
from fanwise.pipeline.topic.transforms import count_events, publish_rates


def windowed_counts(events: DataFrame, *, window: Duration, late: Duration) -> DataFrame:
    """Count events by topic and window.

    The rows are those of :func:`~fanwise.pipeline.topic.transforms.count_events`; ``window`` is its
    start in microseconds since the epoch.

    In append mode each window is written once, when an event has come that is ``late`` later than
    its end; what comes for it afterwards is dropped. In update mode rows come as they change.

    Parameters
    ----------
    events
        ``topic``, ``timestamp``, optional ``bytes`` and ``events``: a stream, or a batch of one.
    window
        Length of the windows, aligned to the epoch, as in ``"1m"``.
    late
        How much later than the latest event one may come and still count.
    """
    length = parse_duration(window, "window")
    waiting = wait_for_late_events(parse_duration(late, "late"))
    return check_events(events).transform(waiting).transform(count_events(length))


def windowed_rates(
    events: DataFrame,
    *,
    window: Duration,
    late: Duration,
    message_bytes: float = MESSAGE_BYTES,
) -> DataFrame:
    """Return ``window``, ``name``, ``rate`` and ``bytes`` of the topics with events in a window."""
    counts = windowed_counts(events, window=window, late=late)
    return counts.transform(publish_rates(check_message_bytes(message_bytes)))
