"""Which columns topic traces need, said before anything is read to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fanwise.errors import InputError
from fanwise.pipeline.shared.columns import require

if TYPE_CHECKING:
    from fanwise.pipeline.local.topic import TopicOptions

PUBLICATIONS = ("topic", "timestamp", "bytes", "events")
SUBSCRIPTIONS = ("subscriber", "topic", "since", "until")
LOG = ("subscriber", "topic", "action", "timestamp")


def known_columns(options: TopicOptions) -> Mapping[str, Sequence[str]]:
    """Return the columns that each trace can have, which may turn up late in JSON lines."""
    ids = () if options.event_id is None else (options.event_id,)
    return {
        "publications": (*PUBLICATIONS, *ids),
        "subscriptions": LOG if options.actions is not None else SUBSCRIPTIONS,
    }


def check_publications(
    names: Sequence[str], place: str, *, has_window: bool, event_id: str | None = None
) -> bool:
    """Return whether publications are events, else ready counts; raise if they are neither."""
    known = {name.lower() for name in names}
    ids = () if event_id is None else (event_id,)
    if "timestamp" in known:
        require(names, ("topic", "timestamp", *ids), place)
        return True
    if "events" not in known:
        raise InputError(
            f"{place}: neither 'timestamp' (one row per event) nor 'events' (ready counts) is "
            f"among the columns {', '.join(map(repr, names)) or 'none'}; see --columns and "
            "--rename, or let fanwise ingest --look tell what is in it."
        )
    if has_window:
        raise InputError(
            f"{place}: has no column 'timestamp', so it cannot be cut into windows; "
            "leave out --window."
        )
    require(names, ("topic", "events", *ids), place)
    return False


def check_follows(names: Sequence[str], place: str, *, is_log: bool) -> None:
    """Raise unless subscriptions, or a log of their changes, have the columns they need."""
    if not is_log and {"action", "timestamp"} <= {name.lower() for name in names}:
        raise InputError(
            f"{place}: has the columns 'action' and 'timestamp', so it is a log of changes; read "
            "it with --subscription-log in place of --subscriptions, or rename one of them."
        )
    require(names, LOG if is_log else ("subscriber", "topic"), place)
