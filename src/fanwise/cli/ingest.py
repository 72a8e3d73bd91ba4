"""``fanwise ingest``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import console, content_options, ingest_content, options
from fanwise.cli.content_options import split_names
from fanwise.cli.engines import Conf, Master
from fanwise.cli.ingest_report import show_report
from fanwise.errors import ParameterError

if TYPE_CHECKING:
    from fanwise.pipeline.content.report import ContentReport
    from fanwise.pipeline.topic.report import Report


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ingest")(ingest)


_FORMATS = "csv, json, parquet or edges; by default what file names end in."


def ingest(
    context: typer.Context,
    publications: Annotated[
        str,
        typer.Option(
            help="Events: topic, timestamp, optional bytes. Or ready counts: topic, events. "
            "With --content: publisher, timestamp, the attributes, optional bytes. "
            "A file, folder, glob or address.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", help="Folder or address to write; must not exist.", show_default=False
        ),
    ],
    subscriptions: Annotated[
        str | None,
        typer.Option(
            help="Who follows what: subscriber, topic, optional since, until. With --content: "
            "subscriber and its rectangle, lo_NAME and hi_NAME of each attribute.",
            show_default=False,
        ),
    ] = None,
    edges: Annotated[
        str | None,
        typer.Option(
            help="In place of --subscriptions: an edge list, where 'a b' says that a follows b.",
            show_default=False,
        ),
    ] = None,
    mutual: Annotated[
        bool, typer.Option("--mutual", help="Each edge or subscription holds both ways.")
    ] = False,
    publications_format: Annotated[
        str | None, typer.Option(help=_FORMATS, show_default=False)
    ] = None,
    subscriptions_format: Annotated[
        str | None, typer.Option(help=_FORMATS, show_default=False)
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Names of the columns of CSV files without a header, as in a,b,c."),
    ] = None,
    publications_columns: Annotated[
        str | None, typer.Option(help="The same for the publications alone.")
    ] = None,
    subscriptions_columns: Annotated[
        str | None, typer.Option(help="The same for the subscriptions alone.")
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Another name for a column, user=subscriber."),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(
            help="Between the columns of CSV files: a character, or 'tab'. "
            "Default: comma, tab in .tsv.",
            show_default=False,
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", help="First instant that counts: ISO 8601 or epoch seconds."),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", help="First instant that counts no more.")
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(help="Write one workload per window of this length: 1h, 1h30m, 1d."),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            help="Length of the period. Default: from --from to --to, or from the first to the "
            "last event, or a day for ready counts.",
            show_default=False,
        ),
    ] = None,
    message_bytes: Annotated[
        float, typer.Option(min=0, help="Message size of topics of which no size is known.")
    ] = 200.0,
    keep_empty: Annotated[
        bool, typer.Option("--keep-empty", help="Keep subscribers left without interests.")
    ] = False,
    max_bad_rows: Annotated[
        str,
        typer.Option(
            help="Bad rows let pass, into OUT/quarantine/: a number, or a share of all rows as "
            "in 0.1%. More of them: nothing is written."
        ),
    ] = "0",
    master: Master = None,
    conf: Conf = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    content: content_options.Content = False,
    attributes: content_options.Attributes = None,
    positions: content_options.Positions = None,
    brokers: content_options.Brokers = None,
    positions_format: content_options.PositionsFormat = None,
    positions_columns: content_options.PositionsColumns = None,
    brokers_format: content_options.BrokersFormat = None,
    brokers_columns: content_options.BrokersColumns = None,
    channels: content_options.Channels = None,
    channels_by: content_options.ChannelsBy = None,
    cells: content_options.Cells = None,
    cells_by: content_options.CellsBy = None,
    space: content_options.Space = None,
    publisher: content_options.Publisher = None,
    root: content_options.Root = None,
) -> None:
    """Turn raw traces into a workload, on Spark.

    Reads CSV, JSON lines, Parquet and edge lists, also compressed, from any
    place Spark reads. Removes duplicate subscriptions, drops topics without
    events or followers, and says how many.

    Example: [bold]fanwise ingest --publications plays.csv --subscriptions follows.csv --out
    workload/[/bold]

    With --content, events have attributes and subscribers want rectangles of
    them; two more tables say where everybody is and which brokers there are.

    Example: [bold]fanwise ingest --content --publications trades.csv --subscriptions ranges.csv
    --attributes price,volume --positions places.csv --brokers brokers.csv --channels 100
    --out market/[/bold]
    """
    asked = content_options.Asked.of(context.params)
    if content:
        topic_only = {"edges": edges, "mutual": mutual, "keep-empty": keep_empty}
        asked.check(topic_only, subscriptions)
    else:
        asked.refuse()
    if (subscriptions is None) == (edges is None):
        raise ParameterError(
            "subscriptions",
            "given, or --edges, but not both",
            subscriptions and f"{subscriptions} and {edges}",
        )
    from fanwise.pipeline.shared.session import import_pyspark, parse_settings

    import_pyspark()  # says how to get it, before anything needs it
    from fanwise.pipeline.shared.readers import Trace

    names = _renames(rename)
    separator = "\t" if delimiter in ("tab", "\\t") else delimiter

    def trace(path: str, kind: str | None, headers: str | None) -> Trace:
        return Trace(path, kind, split_names(headers), separator, names)

    events = trace(publications, publications_format, publications_columns or columns)
    if edges is not None:
        follows = trace(edges, "edges", None)
    else:
        headers = subscriptions_columns or columns
        follows = trace(subscriptions or "", subscriptions_format, headers)
    common: dict[str, Any] = {
        "start": start,
        "end": end,
        "window": window,
        "period": period,
        "max_bad_rows": max_bad_rows,
        "overwrite": overwrite,
        "master": master,
        "conf": parse_settings(conf),
    }
    report: Report | ContentReport
    if content:
        report = ingest_content.run(asked, trace, events, follows, out, message_bytes, common)
    else:
        from fanwise.pipeline import ingest as run

        with console.progress() as progress:
            report = run(
                events,
                follows,
                out,
                message_bytes=message_bytes,
                keep_empty=keep_empty,
                mutual=mutual,
                progress=progress,
                **common,
            )
    if as_json:
        console.print_json({"out": out, **report.as_dict_with_windows()})
        return
    console.out().print(show_report(report))
    console.out().print(f"written to {out}", markup=False)


def _renames(pairs: list[str] | None) -> dict[str, str]:
    result = {}
    for pair in pairs or []:
        old, equals, new = pair.partition("=")
        if not (old and equals and new):
            raise ParameterError("rename", "OLD=NEW, as in user=subscriber", pair)
        result[old] = new
    return result
