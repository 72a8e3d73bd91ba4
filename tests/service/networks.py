"""Folders of offload networks, as ``fanwise export --mosquitto`` writes them."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from fanwise.offload.files import BRIDGES, ENTRIES, FORMAT, NETWORK_FILE, PORTS, VERSION


def write_network(
    folder: Path,
    links: Sequence[tuple[str, str, Sequence[str]]],
    entries: Sequence[tuple[str, str]] = (),
) -> Path:
    """Write a network with these links and their topics, and topics that enter at nodes."""
    folder.mkdir(exist_ok=True)
    nodes = sorted({end for u, v, _ in links for end in (u, v)})
    tables = (
        (PORTS, [(node, "127.0.0.1", 2000 + at, f"n{at}") for at, node in enumerate(nodes)]),
        (ENTRIES, [(topic, 0, node, len(nodes)) for topic, node in entries]),
        (BRIDGES, [(u, v, topic) for u, v, topics in links for topic in topics]),
    )
    for (name, columns), rows in tables:
        with open(folder / name, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    for at in range(len(nodes)):
        (folder / f"n{at}.conf").write_text("", encoding="utf-8")
    header = {"format": FORMAT, "version": VERSION, "generation": "g1", "number": 1}
    (folder / NETWORK_FILE).write_text(json.dumps({**header, "first_port": 2000}))
    return folder
