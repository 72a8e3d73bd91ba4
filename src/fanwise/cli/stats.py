"""``fanwise stats``: what a workload looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fanwise.cli import console
from fanwise.cli.options import Json, Overwrite, Workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fanwise.progress import Progress
    from fanwise.workload.content import ContentWorkload
    from fanwise.workload.summaries import StatisticsTable
    from fanwise.workload.topic import TopicWorkload


class _Format(StrEnum):
    png = "png"
    svg = "svg"
    pdf = "pdf"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(stats)


def stats(
    workload: Workload,
    plots: Annotated[
        Path | None,
        typer.Option(help="Folder to write the pictures to; must not exist.", show_default=False),
    ] = None,
    image_format: Annotated[
        _Format, typer.Option("--format", help="Kind of picture.")
    ] = _Format.png,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Tables and plots of a workload.

    Counts; how followers, followings, rates and received events spread; and
    subscription cardinality (SC): the share of all events that a subscriber
    receives. Of a content workload: sizes of subscriptions, latencies, candidate
    brokers, the least load-balance factor. With --plots also pictures for a paper.

    Example: [bold]fanwise stats spotify/ --plots plots/ --format pdf[/bold]
    """
    from fanwise.workload.content import ContentWorkload
    from fanwise.workload.folders import refuse_existing
    from fanwise.workload.outputs import PICTURES
    from fanwise.workload.reading import read_workload

    if plots is not None:
        refuse_existing(plots, PICTURES, overwrite=overwrite, inputs=[workload])
    with console.progress() as progress:
        with progress.step("Reading the workload"):
            loaded = read_workload(workload)
        if isinstance(loaded, ContentWorkload):
            found = _describe_content(loaded, progress)
        else:
            found = _describe_topics(loaded, progress)
        written = []
        if plots is not None:
            from fanwise.workload.plot_style import save_figures

            with progress.step("Drawing"):
                written = save_figures(
                    found.figures(), plots, image_format=image_format.value, overwrite=overwrite
                )
    if json:
        result = found.as_json()
        if plots is not None:
            result["plots"] = written
        console.print_json(result)
        return
    out = console.out()
    out.print(console.facts(str(workload), found.counts))
    for table in found.tables:
        out.print(console.table(*table))
    if plots is not None:
        out.print(console.table(f"Written to {plots}", ["picture"], [[name] for name in written]))


class _Description(NamedTuple):
    """What there is to say and draw of a workload."""

    counts: list[tuple[str, Any]]
    tables: list[StatisticsTable]
    as_json: Callable[[], dict[str, Any]]
    figures: Callable[[], Mapping[str, Figure]]


def _describe_topics(workload: TopicWorkload, progress: Progress) -> _Description:
    from fanwise.workload.topic.statistics import workload_statistics
    from fanwise.workload.topic.tables import counts, tables

    statistics = workload_statistics(workload, progress=progress)

    def figures() -> Mapping[str, Figure]:
        from fanwise.workload.topic.plots import figures_by_file

        return figures_by_file(statistics)

    return _Description(counts(statistics), tables(statistics), statistics.to_dict, figures)


def _describe_content(workload: ContentWorkload, progress: Progress) -> _Description:
    from fanwise.workload.content.statistics import (
        content_counts,
        content_statistics,
        content_statistics_tables,
    )

    statistics = content_statistics(workload, progress=progress)

    def figures() -> Mapping[str, Figure]:
        from fanwise.workload.content.plots import content_figures

        return content_figures(statistics)

    tables = content_statistics_tables(statistics)
    return _Description(content_counts(statistics), tables, statistics.to_dict, figures)
