"""The offload network for the page: brokers and links as ``fanwise export --mosquitto`` wrote them.

The load of a link is what its topics would carry in the last window: events of all of them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fanwise.errors import InputError
from fanwise.service.api import page_bodies

MOST_NODES, MOST_LINKS = 2000, 20_000
"""More than that nobody can look at; the rest is counted."""


def read_network(folder: Path, events: Mapping[str, float]) -> page_bodies.NetworkBody:
    """Return the network that a folder describes.

    Parameters
    ----------
    events
        Of each topic in the last window; empty before the first.

    Raises
    ------
    InputError
        Where the folder is not there or holds something else.
    """
    try:
        described = json.loads((folder / "network.json").read_text(encoding="utf-8"))
        with open(folder / "ports.csv", encoding="utf-8", newline="") as file:
            places = {row["node"]: row for row in csv.DictReader(file)}
        entered = _count_entries(folder / "entries.csv")
    except FileNotFoundError as error:
        raise InputError(
            f"server.network: {error.filename} is missing; "
            f"fanwise export PLAN --workload DIR --mosquitto {folder} writes it."
        ) from None
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise InputError(f"server.network: {folder} cannot be read: {error}.") from None
    if not isinstance(described, dict):
        raise InputError(f"server.network: {folder / 'network.json'} describes no network.")
    links = [_read_link(row, events) for row in described.get("links", ())]
    found = [link for link in links if link is not None]
    names = sorted({*places, *(end for link in found for end in (link.source, link.target))})
    degree = dict.fromkeys(names, 0)
    for link in found:
        degree[link.source] += 1
        degree[link.target] += 1
    return page_bodies.NetworkBody(
        configured=True,
        generation=_text(described.get("generation")),
        nodes=[
            page_bodies.NodeBody(
                name=name,
                address=_address(places.get(name)),
                links=degree[name],
                entries=entered.get(name, 0),
            )
            for name in names[:MOST_NODES]
        ],
        links=found[:MOST_LINKS],
        num_nodes=len(names),
        num_links=len(found),
    )


def _read_link(row: Any, events: Mapping[str, float]) -> page_bodies.LinkBody | None:
    """Return a link from ``[u, v, topics]``, where topics are names or how many."""
    if not isinstance(row, list | tuple) or len(row) < 2:
        return None
    topics = row[2] if len(row) > 2 else []
    is_named = isinstance(topics, list | tuple)
    return page_bodies.LinkBody(
        source=str(row[0]),
        target=str(row[1]),
        topics=len(topics) if is_named else _count(topics),
        events=sum(events.get(str(topic), 0.0) for topic in topics) if is_named else None,
    )


def _count_entries(path: Path) -> dict[str, int]:
    """Return at how many topics messages enter at each node."""
    found: dict[str, int] = {}
    if path.exists():
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                found[row["node"]] = found.get(row["node"], 0) + 1
    return found


def _address(row: Mapping[str, str] | None) -> str:
    return "" if row is None else f"{row.get('host') or ''}:{row.get('port') or ''}"


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _text(value: Any) -> str:
    return "" if value is None else str(value)
