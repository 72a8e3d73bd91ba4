"""Options of ``fanwise ingest`` beyond those that all commands have, and how they are read."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fanwise.errors import ParameterError

INPUT = "How inputs are written"


def _option(text: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(help=text, metavar=metavar, show_default=False, **more)


Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE]…", help="With --look: what to look at.", show_default=False),
]
Look = Annotated[
    bool,
    typer.Option(
        "--look",
        help="Write nothing: show what is in FILE…, guess what is what, and print the command. "
        "Needs no Spark.",
    ),
]
SubscriptionLog = Annotated[
    str | None,
    _option(
        "In place of --subscriptions: a log of their changes, subscriber, topic, action, timestamp."
    ),
]
Action = Annotated[
    list[str] | None,
    _option(
        "A word of that log: on=subscribe, off=unsubscribe. Known: subscribe, follow, add, join, + "
        "and unsubscribe, unfollow, remove, leave, -.",
        "WORD=ACTION",
    ),
]
PublicationsRename = Annotated[
    list[str] | None, _option("The same for the publications alone.", "OLD=NEW")
]
SubscriptionsRename = Annotated[
    list[str] | None,
    _option("The same for the subscriptions (or edges, or their log) alone.", "OLD=NEW"),
]
PublicationsDelimiter = Annotated[str | None, _option("The same for the publications alone.")]
SubscriptionsDelimiter = Annotated[str | None, _option("The same for the subscriptions alone.")]
Encoding = Annotated[
    str | None,
    _option(
        "Of text files: latin-1, cp1252 … Default: UTF-8, and names that are none are bad rows."
    ),
]
PublicationsEncoding = Annotated[str | None, _option("The same for the publications alone.")]
SubscriptionsEncoding = Annotated[str | None, _option("The same for the subscriptions alone.")]
TimeUnit = Annotated[
    str,
    typer.Option(
        help="Of epoch times: s, ms, us, ns. auto tells them apart by their size, and the report "
        "says what was found."
    ),
]
EventId = Annotated[
    str | None,
    _option("Column with an id of each event: those delivered twice count once.", "COLUMN"),
]
AllowEmpty = Annotated[
    bool,
    typer.Option(
        "--allow-empty", help="Write a workload without pairs; let renames match nothing."
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        help="spark; local, in memory without Spark, with the same result; or auto: local below "
        "about a million rows on this machine, unless --master or --conf is given."
    ),
]


def split_pairs(parameter: str, pairs: list[str] | None) -> dict[str, str]:
    """Read ``OLD=NEW`` options; the last ``=`` counts where there are several."""
    result = {}
    for pair in pairs or []:
        old, equals, new = pair.rpartition("=")
        if not (old and equals and new):
            raise ParameterError(parameter, "OLD=NEW, as in user=subscriber", pair)
        result[old] = new
    return result


def separator(delimiter: str | None) -> str | None:
    """Return what an option says is between columns."""
    return "\t" if delimiter in ("tab", "\\t") else delimiter


def parse_settings(pairs: list[str] | None) -> dict[str, str]:
    """Read ``key=value`` options of Spark."""
    result = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ParameterError("conf", "KEY=VALUE, as in spark.executor.memory=8g", pair)
        result[key.strip()] = value
    return result
