"""The offload network for the page: brokers and links as ``fanwise export --mosquitto`` wrote them.

The load of a link is what its topics would carry in the last window: events of all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from fanwise.offload.files import read_network
from fanwise.service.api import page_bodies

MOST_NODES, MOST_LINKS = 2000, 20_000
"""More than that nobody can look at; the rest is counted."""


def describe_network(folder: Path, events: Mapping[str, float]) -> page_bodies.NetworkBody:
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
    found = read_network(folder)
    network = found.network
    links = Counter(end for bridge in network.bridges for end in (bridge.node, bridge.other))
    entries = Counter(entry.node for entry in network.entries)
    return page_bodies.NetworkBody(
        configured=True,
        generation=found.generation,
        nodes=[
            page_bodies.NodeBody(
                name=node.name,
                address=f"{node.host}:{node.port}",
                links=links[node.name],
                entries=entries[node.name],
            )
            for node in list(network.nodes.values())[:MOST_NODES]
        ],
        links=[
            page_bodies.LinkBody(
                source=bridge.node,
                target=bridge.other,
                topics=len(bridge.topics),
                events=sum(events.get(topic, 0.0) for topic in bridge.topics),
            )
            for bridge in network.bridges[:MOST_LINKS]
        ],
        num_nodes=len(network.nodes),
        num_links=len(network.bridges),
    )
