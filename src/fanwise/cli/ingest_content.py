"""``fanwise ingest --content``: from its options to the pipeline, and what it prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from fanwise.cli import console
from fanwise.cli.content_options import Asked, split_names
from fanwise.errors import ParameterError

if TYPE_CHECKING:
    from fanwise.pipeline.content.options import ContentOptions
    from fanwise.pipeline.content.report import ContentReport
    from fanwise.pipeline.shared.readers import Trace

Part = TypeVar("Part")


def run(
    asked: Asked,
    trace: Callable[..., Trace],
    publications: Trace,
    subscriptions: Trace,
    out: str,
    message_bytes: float,
    common: dict[str, Any],
) -> ContentReport:
    """Ingest content traces and return the report.

    Parameters
    ----------
    asked
        The options that only content traces have.
    trace
        Makes a trace of a path, a format, the names of columns, renames and a delimiter.
    publications, subscriptions
        The two traces that topic workloads have too.
    out
        Where to write.
    message_bytes
        Of events without a size.
    common
        What :func:`fanwise.pipeline.ingest_content` takes by name.
    """
    from fanwise.pipeline.shared.session import import_pyspark

    import_pyspark()  # says how to get it, before anything needs it
    from fanwise.pipeline import ContentSources, ingest_content

    sources = ContentSources(
        publications,
        subscriptions,
        trace(
            asked.positions or "",
            asked.positions_format,
            asked.positions_columns,
            asked.positions_rename,
            asked.positions_delimiter,
            name="positions-rename",
        ),
        trace(
            asked.brokers or "",
            asked.brokers_format,
            asked.brokers_columns,
            asked.brokers_rename,
            asked.brokers_delimiter,
            name="brokers-rename",
        ),
    )
    options = _options(asked, message_bytes)
    with console.progress() as progress:
        return ingest_content(sources, out, options, progress=progress, **common)


def _options(asked: Asked, message_bytes: float) -> ContentOptions:
    from fanwise.pipeline.content.options import CELLS, ContentOptions

    return ContentOptions(
        attributes=split_names(asked.attributes) or [],
        num_channels=asked.channels,
        channels_by=asked.channels_by or "width",  # type: ignore[arg-type]  # checked there
        num_cells=asked.cells or CELLS,
        cells_by=asked.cells_by or "width",  # type: ignore[arg-type]
        space=_parts(asked.space, "space", "LO:HI for each attribute, as in 0:1,0:100", _ends),
        publisher=_parts(asked.publisher, "publisher", "numbers, as in 0.5,0.5", float),
        root=asked.root,
        message_bytes=message_bytes,
    )


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
