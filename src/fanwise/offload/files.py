"""The folder of a network: a configuration for each broker, tables for programs, and its mark."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanwise.errors import InputError
from fanwise.offload.configuration import needs_restart, write_configuration
from fanwise.offload.hosting import COMPOSE_FILE, UNIT, UNIT_FILE, write_compose
from fanwise.offload.network import Bridge, Entry, Network, Node
from fanwise.offload.options import Options
from fanwise.planning.plan import Plan
from fanwise.workload.folders import atomic_folder
from fanwise.workload.outputs import Contents, FolderKind, read_object

FORMAT = "fanwise.network"
VERSION = 1
NETWORK_FILE = "network.json"
PORTS = ("ports.csv", ("node", "host", "port", "file"))
ENTRIES = ("entries.csv", ("topic", "component", "node", "nodes"))
BRIDGES = ("bridges.csv", ("node", "other", "topic"))
SECRET_MODE = 0o640
"""Configurations with passwords are not for everybody."""


def _in_network(contents: Contents) -> Callable[[str], bool] | None:
    header = read_object(contents, NETWORK_FILE)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        return None
    files = header.get("files")
    listed = [name for name in files if isinstance(name, str)] if isinstance(files, list) else []
    return {NETWORK_FILE, *listed}.__contains__


NETWORK = FolderKind("an offload network", f"no {NETWORK_FILE} that says so", _in_network)


@dataclass(frozen=True)
class Folder:
    """A network as it stands in a folder.

    Attributes
    ----------
    generation
        A digest of all files: another one means that something is different.
    number
        How many different generations the folder has had.
    texts
        The configurations, by the names of their files without the ending.
    """

    network: Network
    generation: str
    number: int
    texts: dict[str, str]


@dataclass(frozen=True)
class Change:
    """Brokers by what becomes of them when a network takes the place of another.

    ``reloaded`` are those whose configuration differs only in what Mosquitto reads again on SIGHUP.
    """

    started: tuple[str, ...]
    stopped: tuple[str, ...]
    restarted: tuple[str, ...]
    reloaded: tuple[str, ...]
    unchanged: tuple[str, ...]


def compare(before: Folder | None, after: Folder) -> Change:
    """Tell what becomes of each broker: who has another configuration must start anew."""
    old = {} if before is None else _texts_by_node(before)
    new = _texts_by_node(after)
    differing = [name for name in new if name in old and old[name] != new[name]]
    return Change(
        started=tuple(name for name in new if name not in old),
        stopped=tuple(name for name in old if name not in new),
        restarted=tuple(name for name in differing if needs_restart(old[name], new[name])),
        reloaded=tuple(name for name in differing if not needs_restart(old[name], new[name])),
        unchanged=tuple(name for name in new if old.get(name) == new[name]),
    )


def _texts_by_node(folder: Folder) -> dict[str, str]:
    return {name: folder.texts[node.file] for name, node in folder.network.nodes.items()}


def write_network(
    network: Network,
    options: Options,
    plan: Plan,
    path: str | Path,
    *,
    previous: Folder | None = None,
    overwrite: bool = False,
) -> Folder:
    """Write a network as a folder that appears whole; return what is in it.

    Raises
    ------
    OutputExistsError
        If something is there that must stay.
    """
    texts = {
        node.file: write_configuration(network, node, options) for node in network.nodes.values()
    }
    files = {f"{file}.conf": text for file, text in texts.items()}
    files |= {name: _to_csv(columns, rows) for (name, columns), rows in _tables(network)}
    files[UNIT_FILE] = UNIT
    files[COMPOSE_FILE] = write_compose(network, options, texts)
    generation = _digest(files)
    number = 1
    if previous is not None:
        number = previous.number + (previous.generation != generation)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "generation": generation,
        "number": number,
        "plan": plan.id,
        "workload": plan.workload,
        "nodes": len(network.nodes),
        "bridges": len(network.bridges),
        "topics": len({entry.topic for entry in network.entries}),
        "divided_topics": len(network.divided),
        "first_port": network.first_port,
        "files": sorted(files),
    }
    with atomic_folder(path, NETWORK, overwrite=overwrite) as folder:
        for name, text in files.items():
            if options.passwords is not None and name.endswith(".conf"):
                (folder / name).touch(mode=SECRET_MODE)
            (folder / name).write_text(text, encoding="utf-8", newline="")
        # Last: who waits for a change waits for this file.
        (folder / NETWORK_FILE).write_text(json.dumps(header, indent=2) + "\n", encoding="utf-8")
    return Folder(network, generation, number, texts)


def _tables(network: Network) -> Iterator[tuple[tuple[str, Sequence[str]], Iterable[Any]]]:
    yield PORTS, ((node.name, node.host, node.port, node.file) for node in network.nodes.values())
    yield (
        ENTRIES,
        ((one.topic, one.component, one.node, one.num_nodes) for one in network.entries),
    )
    yield (
        BRIDGES,
        ((one.node, one.other, topic) for one in network.bridges for topic in one.topics),
    )


def _to_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def _digest(files: dict[str, str]) -> str:
    digest = hashlib.sha256()
    for name in sorted(files):
        for part in (name, files[name]):
            digest.update(len(part.encode()).to_bytes(8, "big") + part.encode())
    return digest.hexdigest()


def read_generation(path: Path) -> str | None:
    """Return which generation a folder has, None where there is no network at this moment."""
    try:
        header = json.loads((path / NETWORK_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    found = header.get("generation") if isinstance(header, dict) else None
    return found if isinstance(found, str) else None


def read_network(path: Path) -> Folder:
    """Read a network from its folder.

    Raises
    ------
    InputError
        If there is none, or a file of it is damaged.
    """
    try:
        header = json.loads((path / NETWORK_FILE).read_bytes())
    except FileNotFoundError:
        raise InputError(
            f"{path}: is not an offload network (no {NETWORK_FILE}); "
            "fanwise export PLAN --workload DIR --mosquitto OUT writes one."
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path / NETWORK_FILE}: cannot be read: {error}.") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"{path / NETWORK_FILE}: its format is not {FORMAT!r}.")
    if header.get("version") != VERSION:
        raise InputError(f"{path / NETWORK_FILE}: its version must be {VERSION}.")
    nodes = {
        name: Node(name, host, _whole(path, PORTS[0], port), file)
        for name, host, port, file in _read_table(path, PORTS)
    }
    topics: dict[tuple[str, str], list[str]] = {}
    for node, other, topic in _read_table(path, BRIDGES):
        if node not in nodes or other not in nodes:
            raise InputError(f"{path / BRIDGES[0]}: has a node that {PORTS[0]} has not.")
        topics.setdefault((node, other), []).append(topic)
    bridges = tuple(Bridge(*ends, tuple(found)) for ends, found in topics.items())
    entries = tuple(
        Entry(topic, _whole(path, ENTRIES[0], part), node, _whole(path, ENTRIES[0], size))
        for topic, part, node, size in _read_table(path, ENTRIES)
    )
    texts = {node.file: _read(path / f"{node.file}.conf") for node in nodes.values()}
    return Folder(
        Network(nodes, bridges, entries, _whole(path, NETWORK_FILE, header.get("first_port"))),
        str(header.get("generation")),
        _whole(path, NETWORK_FILE, header.get("number")),
        texts,
    )


def _whole(path: Path, file: str, text: Any) -> int:
    try:
        return int(text)
    except (TypeError, ValueError):
        raise InputError(f"{path / file}: has {text!r} where a number should be.") from None


def _read(path: Path) -> str:
    try:
        # Line breaks as they are: names may have some.
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}.") from None


def _read_table(path: Path, table: tuple[str, Sequence[str]]) -> list[list[str]]:
    name, columns = table
    rows = list(csv.reader(io.StringIO(_read(path / name), newline=""), strict=True))
    if not rows or rows[0] != list(columns):
        raise InputError(f"{path / name}: its columns must be {', '.join(columns)}.")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(columns):
            raise InputError(f"{path / name}: row {number} has {len(row)} fields.")
    return rows[1:]
