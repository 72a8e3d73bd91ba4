"""``fanwise ingest``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli import (
    console,
    content_options,
    ingest_content,
    ingest_look,
    ingest_options,
    options,
)
from fanwise.cli.content_options import split_names
from fanwise.cli.engines import Conf, Master
from fanwise.cli.ingest_options import parse_settings, separator, split_pairs
from fanwise.cli.ingest_report import show_report
from fanwise.errors import ParameterError

if TYPE_CHECKING:
    from fanwise.pipeline.content.report import ContentReport
    from fanwise.pipeline.topic.report import Report


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ingest")(ingest)


_FORMATS = "csv, json, parquet, orc, avro or edges; by default what file names end in."


def ingest(
    context: typer.Context,
    files: ingest_options.Files = None,
    publications: Annotated[
        str | None,
        typer.Option(
            help="Events: topic, timestamp, optional bytes. Or ready counts: topic, events. "
            "With --content: publisher, timestamp, the attributes, optional bytes. "
            "A file, folder, glob or address.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", help="Folder or address to write; must not exist.", show_default=False
        ),
    ] = None,
    subscriptions: Annotated[
        str | None,
        typer.Option(
            help="Who follows what: subscriber, topic, optional since, until. With --content: "
            "subscriber and its rectangle, lo_NAME and hi_NAME of each attribute.",
            show_default=False,
        ),
    ] = None,
    subscription_log: ingest_options.SubscriptionLog = None,
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
        typer.Option(
            help="Names of the columns of CSV files without a header, as in a,b,c. Of other "
            "formats those to take, where a.b is a field inside another."
        ),
    ] = None,
    publications_columns: Annotated[
        str | None, typer.Option(help="The same for the publications alone.")
    ] = None,
    subscriptions_columns: Annotated[
        str | None, typer.Option(help="The same for the subscriptions alone.")
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OLD=NEW",
            help="Another name for a column, user=subscriber; nested ones by dots, "
            "event.topic=topic. Each must be there, in one file at least.",
        ),
    ] = None,
    publications_rename: ingest_options.PublicationsRename = None,
    subscriptions_rename: ingest_options.SubscriptionsRename = None,
    delimiter: Annotated[
        str | None,
        typer.Option(
            help="Between the columns of CSV files: a character, or 'tab'. "
            "Default: comma, tab in .tsv.",
            show_default=False,
        ),
    ] = None,
    publications_delimiter: ingest_options.PublicationsDelimiter = None,
    subscriptions_delimiter: ingest_options.SubscriptionsDelimiter = None,
    encoding: ingest_options.Encoding = None,
    publications_encoding: ingest_options.PublicationsEncoding = None,
    subscriptions_encoding: ingest_options.SubscriptionsEncoding = None,
    time_unit: ingest_options.TimeUnit = "auto",
    event_id: ingest_options.EventId = None,
    action: ingest_options.Action = None,
    start: Annotated[
        str | None,
        typer.Option("--from", help="First instant that counts: ISO 8601 or an epoch time."),
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
    allow_empty: ingest_options.AllowEmpty = False,
    engine: ingest_options.Engine = "auto",
    master: Master = None,
    conf: Conf = None,
    look: ingest_options.Look = False,
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
    positions_rename: content_options.PositionsRename = None,
    positions_delimiter: content_options.PositionsDelimiter = None,
    brokers_rename: content_options.BrokersRename = None,
    brokers_delimiter: content_options.BrokersDelimiter = None,
    channels: content_options.Channels = None,
    channels_by: content_options.ChannelsBy = None,
    cells: content_options.Cells = None,
    cells_by: content_options.CellsBy = None,
    space: content_options.Space = None,
    publisher: content_options.Publisher = None,
    root: content_options.Root = None,
) -> None:
    """Turn raw traces into a workload, on Spark or, small ones, without it.

    Reads CSV, JSON, Parquet, ORC, Avro and edge lists, also compressed, from
    any place Spark reads. Removes duplicate subscriptions, drops topics without
    events or followers, and says how many. Not sure what is in your files?
    Let --look tell: it guesses and prints the command.

    Example: [bold]fanwise ingest --look plays.json follows.csv[/bold]

    Example: [bold]fanwise ingest --publications plays.csv --subscriptions follows.csv --out
    workload/[/bold]

    With --content, events have attributes and subscribers want rectangles of
    them; two more tables say where everybody is and which brokers there are.

    Example: [bold]fanwise ingest --content --publications trades.csv --subscriptions ranges.csv
    --attributes price,volume --positions places.csv --brokers brokers.csv --channels 100
    --out market/[/bold]
    """
    if look:
        ingest_look.run(files, context.params, as_json=as_json)
        return
    if files:
        raise ParameterError("files", "left out without --look", " ".join(files))
    if publications is None or out is None:
        missing = "--publications" if publications is None else "--out"
        raise typer.BadParameter(f"Missing option '{missing}'.")
    asked = content_options.Asked.of(context.params)
    follows_by = {
        "subscriptions": subscriptions,
        "edges": edges,
        "subscription-log": subscription_log,
    }
    if content:
        topic_only = {
            "edges": edges,
            "subscription-log": subscription_log,
            "action": action,
            "mutual": mutual,
            "keep-empty": keep_empty,
        }
        asked.check(topic_only, subscriptions)
        if engine == "local":
            raise ParameterError("engine", "spark or auto with --content", engine)
    else:
        asked.refuse()
    given = {name: value for name, value in follows_by.items() if value is not None}
    if len(given) != 1:
        raise ParameterError(
            "subscriptions",
            "given, or --edges, or --subscription-log, but not both",
            " and ".join(given.values()) or None,
        )
    if action and subscription_log is None:
        raise ParameterError("action", "left out without --subscription-log", " ".join(action))
    conf_settings = parse_settings(conf)
    from fanwise.pipeline.shared.trace import Trace

    shared = split_pairs("rename", rename)

    def trace(
        path: str,
        kind: str | None,
        headers: str | None,
        own: list[str] | None = None,
        between: str | None = None,
        written: str | None = None,
        name: str = "rename",
    ) -> Trace:
        return Trace(
            path,
            kind,
            split_names(headers),
            separator(between or delimiter),
            split_pairs(name, own),
            written or encoding,
            shared,
        )

    events = trace(
        publications,
        publications_format,
        publications_columns or columns,
        publications_rename,
        publications_delimiter,
        publications_encoding,
        "publications-rename",
    )
    headers = None if edges is not None else subscriptions_columns or columns
    follows = trace(
        next(iter(given.values())),
        "edges" if edges is not None else subscriptions_format,
        headers,
        subscriptions_rename,
        subscriptions_delimiter,
        subscriptions_encoding,
        "subscriptions-rename",
    )
    common: dict[str, Any] = {
        "start": start,
        "end": end,
        "window": window,
        "period": period,
        "max_bad_rows": max_bad_rows,
        "time_unit": time_unit,
        "event_id": event_id,
        "allow_empty": allow_empty,
        "overwrite": overwrite,
        "master": master,
        "conf": conf_settings,
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
                subscription_log=subscription_log is not None,
                actions=split_pairs("action", action),
                engine=engine,
                progress=progress,
                **common,
            )
    if as_json:
        console.print_json({"out": out, **report.as_dict_with_windows()})
        return
    console.out().print(show_report(report))
    console.out().print(f"written to {out}", markup=False)
