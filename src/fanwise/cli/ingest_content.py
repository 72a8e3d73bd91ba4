"""``fanwise ingest --content``: from its options to the pipeline, and what it prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from fanwise.cli import console
from fanwise.cli.content_options import Asked
from fanwise.errors import ParameterError

if TYPE_CHECKING:
    from fanwise.pipeline.content_options import ContentOptions
    from fanwise.pipeline.content_report import ContentReport
    from fanwise.pipeline.readers import Trace

Part = TypeVar("Part")


def run(
    asked: Asked,
    traces: tuple[Trace, Trace],
    out: str,
    message_bytes: float,
    common: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Ingest content traces and print the report.

    Parameters
    ----------
    asked
        The options that only content traces have.
    traces
        Publications and subscriptions.
    out
        Where to write.
    message_bytes
        Of events without a size.
    common
        What :func:`fanwise.pipeline.content_ingestion.ingest_content` takes by name.
    as_json
        Print JSON in place of a table.
    """
    from fanwise.pipeline.content_ingestion import ContentSources, ingest_content
    from fanwise.pipeline.readers import Trace

    publications, subscriptions = traces
    others = [
        Trace(path or "", kind, _split(columns), publications.delimiter, publications.rename)
        for path, kind, columns in (
            (asked.positions, asked.positions_format, asked.positions_columns),
            (asked.brokers, asked.brokers_format, asked.brokers_columns),
        )
    ]
    options = _options(asked, message_bytes)
    with console.progress() as progress:
        report = ingest_content(
            ContentSources(publications, subscriptions, *others),
            out,
            options,
            progress=progress,
            **common,
        )
    if as_json:
        windows = {"windows": [window.as_dict() for window in report.windows]}
        more = windows if report.window is not None else {}
        console.print_json({"out": out, **report.as_dict(), **more})
        return
    console.out().print(show(report))
    console.out().print(f"written to {out}", markup=False)


def _options(asked: Asked, message_bytes: float) -> ContentOptions:
    from fanwise.pipeline.content_options import CELLS, ContentOptions

    return ContentOptions(
        attributes=_split(asked.attributes) or [],
        num_channels=asked.channels,
        channels_by=asked.channels_by or "width",  # type: ignore[arg-type]  # checked there
        num_cells=asked.cells or CELLS,
        cells_by=asked.cells_by or "width",  # type: ignore[arg-type]
        space=_parts(asked.space, "space", "LO:HI for each attribute, as in 0:1,0:100", _ends),
        publisher=_parts(asked.publisher, "publisher", "numbers, as in 0.5,0.5", float),
        root=asked.root,
        message_bytes=message_bytes,
    )


def show(report: ContentReport) -> Any:
    """Return the report as a table for people."""
    rows: list[tuple[str, str, int]] = []
    for trace, found in (
        ("publications", report.publications),
        ("subscriptions", report.subscriptions),
        ("positions", report.positions),
    ):
        rows.append((trace, "rows read", found.rows))
        rows += [(trace, f"bad: {reason}", count) for reason, count in found.bad.items()]
        if found.outside:
            rows.append((trace, "outside the period", found.outside))
        if trace == "publications":
            rows.append((trace, "events", found.fine))
        else:
            rows.append((trace, "duplicates merged", report.duplicates[trace]))
    rows.append(("positions", "of nobody here", report.placed - report.subscribers))
    rows.append(("subscribers", "with a rectangle", report.with_rectangle))
    if report.publishers is not None:
        rows.append(("subscribers", "who publish", report.publishers))
    rows.append(("subscribers", "kept", report.subscribers))
    rows += [
        ("brokers", "kept", report.brokers),
        ("density", "cells with events", report.cells),
    ]
    if report.channels is not None:
        rows.append(("channels", "cut", report.channels))
    if report.window is not None:
        rows.append(("windows", "written", len(report.windows)))
    return console.table(
        f"Period {console.number(report.period_seconds)} s", ("what", "which", "how many"), rows
    )


def _split(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _parts(
    text: str | None, parameter: str, wanted: str, read: Callable[[str], Part]
) -> list[Part] | None:
    if text is None:
        return None
    try:
        return [read(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(parameter, wanted, text) from None


def _ends(text: str) -> tuple[float, float]:
    lo, colon, hi = text.partition(":")
    if not colon:
        raise ValueError(text)
    return float(lo), float(hi)
