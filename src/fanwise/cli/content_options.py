"""The options of ``fanwise ingest --content``, and whether they go together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from fanwise.errors import ParameterError

PANEL = "With --content"
_TABLE_FORMATS = "csv, json or parquet; by default what its name ends in."
_HEADERLESS = "Names of its columns, for a CSV file without a header."
_RENAMED = "Another name for a column of it, as --rename."
_BETWEEN = "Between its columns, as --delimiter."
_WAYS = "width: equal volumes; depth: equally many events."


def _option(text: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(
        help=text, metavar=metavar, show_default=False, rich_help_panel=PANEL, **more
    )


Content = Annotated[
    bool,
    typer.Option(
        "--content", help="Content-based traces, to a content workload.", rich_help_panel=PANEL
    ),
]
Attributes = Annotated[
    str | None, _option("Columns of the events that are the axes of the event space.", "A,B,…")
]
Positions = Annotated[
    str | None, _option("Where everybody is: name (or subscriber), net_0, net_1, …")
]
Brokers = Annotated[
    str | None,
    _option(
        "The brokers: broker, net_0, …, optional parent (a name; empty: attached to the "
        "publisher), share (of a leaf), capacity."
    ),
]
PositionsFormat = Annotated[str | None, _option(_TABLE_FORMATS)]
PositionsColumns = Annotated[str | None, _option(_HEADERLESS)]
BrokersFormat = Annotated[str | None, _option(_TABLE_FORMATS)]
BrokersColumns = Annotated[str | None, _option(_HEADERLESS)]
PositionsRename = Annotated[list[str] | None, _option(_RENAMED, "OLD=NEW")]
PositionsDelimiter = Annotated[str | None, _option(_BETWEEN)]
BrokersRename = Annotated[list[str] | None, _option(_RENAMED, "OLD=NEW")]
BrokersDelimiter = Annotated[str | None, _option(_BETWEEN)]
Channels = Annotated[
    int | None,
    _option(
        "Cut the event space into this many channels, and count what each publisher sends on each "
        "(wire needs it). Without: none, and publishers are no users.",
        min=1,
    ),
]
ChannelsBy = Annotated[str | None, _option(f"{_WAYS} Default: width.", "width|depth")]
Cells = Annotated[
    int | None,
    _option(
        "Cells of the event density, of which those with events are kept. Default: 256.", min=1
    ),
]
CellsBy = Annotated[str | None, _option(f"{_WAYS} Default: width.", "width|depth")]
Space = Annotated[
    str | None,
    _option(
        "Ends of each axis; events beyond are bad rows. Default: the least and the greatest value.",
        "LO:HI,LO:HI,…",
    ),
]
Publisher = Annotated[
    str | None, _option("Where events enter the network (assign needs it).", "X,Y,…")
]
Root = Annotated[str | None, _option("The same, as a name that has a row in --positions.", "NAME")]


@dataclass(frozen=True)
class Asked:
    """The options as they were given, None where one was not."""

    attributes: str | None
    positions: str | None
    brokers: str | None
    positions_format: str | None
    positions_columns: str | None
    brokers_format: str | None
    brokers_columns: str | None
    positions_rename: list[str] | None
    positions_delimiter: str | None
    brokers_rename: list[str] | None
    brokers_delimiter: str | None
    channels: int | None
    channels_by: str | None
    cells: int | None
    cells_by: str | None
    space: str | None
    publisher: str | None
    root: str | None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Asked:
        """Take these options from all that a command was given."""
        return cls(**{field.name: given[field.name] for field in fields(cls)})

    def refuse(self) -> None:
        """Raise if there are any: they say nothing about topic traces."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value:
                name = field.name.replace("_", "-")
                raise ParameterError(name, "left out, or --content given with it", value)

    def check(self, topic_only: Mapping[str, Any], subscriptions: str | None) -> None:
        """Raise if one is missing or an option of topic traces is there."""
        for name, value in topic_only.items():
            if value:
                raise ParameterError(name, "left out with --content", value)
        needed = {
            "subscriptions": (subscriptions, "a table subscriber, lo_NAME, hi_NAME, …"),
            "attributes": (self.attributes, "columns of the events, as in price,volume"),
            "positions": (
                self.positions,
                "a table name, net_0, … of every user (latencies and access costs are distances "
                "between positions; give all of them 0 if you have none)",
            ),
            "brokers": (self.brokers, "a table broker, net_0, …, parent, share, capacity"),
        }
        for name, (value, what) in needed.items():
            if value is None:
                raise ParameterError(name, f"given with --content: {what}", None)
        if self.channels is None and self.channels_by is not None:
            raise ParameterError("channels-by", "left out without --channels", self.channels_by)


def split_names(text: str | None) -> list[str] | None:
    """Return the names of a list such as ``a,b,c``."""
    return None if text is None else [name.strip() for name in text.split(",")]
