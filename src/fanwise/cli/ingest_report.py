"""The report of an ingest as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fanwise.cli import console

if TYPE_CHECKING:
    from fanwise.pipeline.content.report import ContentReport
    from fanwise.pipeline.shared.report import IngestReport
    from fanwise.pipeline.topic.report import Report

Line = tuple[str, str, int]


def show_report(report: Report | ContentReport) -> Any:
    """Return the report of topic or of content traces as a table."""
    from fanwise.pipeline.content.report import ContentReport

    lines = _content_lines(report) if isinstance(report, ContentReport) else _topic_lines(report)
    if report.window is not None:
        lines.append(("windows", "written", len(report.windows)))
    title = f"Period {console.number(report.period_seconds)} s"
    if report.time_units:
        title += f"; times in {show_times(report)}"
    return console.table(title, ("what", "which", "how many"), lines)


def _topic_lines(report: Report) -> list[Line]:
    return [
        *_rows_read(report, "publications"),
        *_double_events(report),
        ("publications", "events", report.events),
        *_log_lines(report),
        *_rows_read(report, "subscriptions"),
        ("subscriptions", "duplicates merged", report.duplicates),
        ("subscriptions", "pairs", report.pairs_seen),
        ("topics", "dropped, without events", report.topics_followed - report.topics),
        ("topics", "dropped, without followers", report.topics_published - report.topics),
        ("topics", "kept", report.topics),
        ("subscribers", "dropped, no topic left", report.subscribers_seen - report.subscribers),
        ("subscribers", "kept", report.subscribers),
        ("pairs", "kept", report.pairs),
    ]


def _content_lines(report: ContentReport) -> list[Line]:
    lines = [
        *_rows_read(report, "publications"),
        *_double_events(report),
        ("publications", "events", report.publications.fine - (report.event_doubles or 0)),
    ]
    for trace in ("subscriptions", "positions"):
        lines += [
            *_rows_read(report, trace),
            (trace, "duplicates merged", report.duplicates[trace]),
        ]
    lines.append(("positions", "of nobody here", report.with_position - report.subscribers))
    lines.append(("subscribers", "with a rectangle", report.with_rectangle))
    if report.publishers is not None:
        lines.append(("subscribers", "who publish", report.publishers))
    lines.append(("subscribers", "kept", report.subscribers))
    lines.append(("brokers", "kept", report.brokers))
    lines.append(("density", "cells with events", report.cells))
    if report.channels is not None:
        lines.append(("channels", "cut", report.channels))
    return lines


def _rows_read(report: IngestReport, trace: str) -> list[Line]:
    found = report.rows_read[trace]
    lines = [(trace, "rows read", found.rows)]
    lines += [(trace, f"bad: {reason}", count) for reason, count in found.bad.items()]
    outliers = report.outliers if trace == "publications" else None
    far = 0 if outliers is None else outliers.events
    if found.outside > far:
        lines.append((trace, "outside the period", found.outside - far))
    if outliers is not None:
        first, last = (outliers.as_dict()[name] for name in ("first", "last"))
        lines.append((trace, f"left out, far in time: {first} to {last}", far))
    return lines


def _double_events(report: IngestReport) -> list[Line]:
    if report.event_doubles is None:
        return []
    return [("publications", "delivered again", report.event_doubles)]


def _log_lines(report: Report) -> list[Line]:
    if report.log is None:
        return []
    return [
        ("subscription log", what.replace("_", " "), count)
        for what, count in report.log.as_dict().items()
    ]


def show_times(report: IngestReport) -> str:
    """Say in which forms times came."""
    words = {
        "s": "epoch seconds",
        "ms": "epoch milliseconds",
        "us": "epoch microseconds",
        "ns": "epoch nanoseconds",
        "timestamp": "timestamps of the column's own type",
    }
    return " and ".join(words.get(name, name) for name in report.time_units)
