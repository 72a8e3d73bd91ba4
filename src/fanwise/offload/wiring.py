"""From a plan to a network: trees, at which end each bridge is configured, ports, entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from fanwise.connect.structure import Overlay, overlay_of
from fanwise.errors import InputError, PlanError
from fanwise.offload.covers import cover_links
from fanwise.offload.names import check_topics, name_files
from fanwise.offload.network import Bridge, Entry, Network, Node
from fanwise.offload.options import FIRST_PORT, Options
from fanwise.offload.trees import Bridging, Link, span_topics
from fanwise.planning.plan import Plan
from fanwise.workload.topic import TopicWorkload

LAST_PORT = 65_535


class Wired(NamedTuple):
    """A network, and whether no other choice of ends would have fewer brokers restart."""

    network: Network
    is_least: bool


def wire_network(
    workload: TopicWorkload, plan: Plan, options: Options, previous: Network | None = None
) -> Wired:
    """Return the network that a connect plan describes; its nodes are the workload's subscribers.

    Parameters
    ----------
    previous
        What is there already: names of files, ports, trees and ends of bridges stay where they
        were as far as the plan allows.

    Raises
    ------
    PlanError
        If the plan is of another family or workload.
    InputError
        If a topic's name cannot be bridged, or a node listed in the options is not known.
    """
    overlay = overlay_of(workload, plan)
    topics = workload.topic_names.to_pylist()
    names = workload.subscriber_names.to_pylist()
    check_topics(topics)
    first_port = options.first_port or (previous.first_port if previous else FIRST_PORT)
    nodes = place_nodes(names, options, first_port, previous)
    links_before = None if previous is None else _translate(previous, overlay, names, topics)
    trees = span_topics(overlay, links_before)
    carried: dict[Link, list[int]] = {}
    for topic, links in trees.items():
        for link in links:
            carried.setdefault(link, []).append(topic)
    sorted_topics = {
        link: tuple(sorted(topics[topic] for topic in found)) for link, found in carried.items()
    }
    ends, is_least = choose_ends(sorted_topics, previous, links_before, names)
    bridges = [
        Bridge(names[ends[u, v]], names[v if ends[u, v] == u else u], sorted_topics[u, v])
        for u, v in sorted(sorted_topics)
    ]
    entries_before = {} if previous is None else _entries_of(previous)
    entries = tuple(_find_entries(overlay, trees, names, topics, entries_before))
    return Wired(Network(nodes, tuple(bridges), entries, first_port), is_least)


def place_nodes(
    names: list[str], options: Options, first_port: int, previous: Network | None
) -> dict[str, Node]:
    """Return where each node listens: as told, where it was, else at the next free port.

    With another first port than before, nodes get new ports.
    """
    before = {} if previous is None else previous.nodes
    unknown = sorted(set(options.places) - set(names))
    if unknown:
        raise InputError(
            f"nodes.{unknown[0]}: is no subscriber of the workload; the nodes of the network are."
        )
    files = name_files(names, {name: node.file for name, node in before.items()})
    places = dict(options.places)
    if previous is not None and previous.first_port == first_port:
        for name in names:
            node = before.get(name)
            if name not in places and node is not None and node.host == options.host:
                places[name] = (node.host, node.port)
    taken = set(places.values())
    if len(taken) < len(places):
        raise InputError("two nodes have the same host and port; give each one of its own.")
    port = first_port
    for name in names:
        if name in places:
            continue
        while (options.host, port) in taken:
            port += 1
        if port > LAST_PORT:
            raise PlanError(
                f"{len(names)} brokers need more ports than there are from "
                f"{first_port} on; choose a smaller first port or several hosts."
            )
        places[name] = (options.host, port)
        taken.add(places[name])
    return {name: Node(name, *places[name], files[name]) for name in names}


def _translate(
    previous: Network, overlay: Overlay, names: list[str], topics: list[str]
) -> Bridging:
    """Return what was before in ids of now."""
    node_of = {name: node for node, name in enumerate(names)}
    topic_of = {name: topic for topic, name in enumerate(topics)}
    network = overlay.network
    wants = [
        set(network.topics[network.indptr[node] : network.indptr[node + 1]].tolist())
        for node in range(network.num_nodes)
    ]
    edges = {(u, v) for u, v in overlay.edges.tolist()}
    end_of: dict[Link, int] = {}
    links_of_topic: dict[int, list[Link]] = {}
    restarting = set()
    for bridge in previous.bridges:
        u, v = node_of.get(bridge.node, -1), node_of.get(bridge.other, -1)
        link = (min(u, v), max(u, v))
        is_left = link in edges
        if is_left:
            end_of[link] = u
        for name in bridge.topics:
            topic = topic_of.get(name, -1)
            if is_left and topic in wants[u] and topic in wants[v]:
                links_of_topic.setdefault(topic, []).append(link)
            else:
                restarting.add(u)
    return Bridging(
        end_of,
        links_of_topic,
        frozenset(restarting - {-1}),
        frozenset(node for name, node in node_of.items() if name not in previous.nodes),
    )


def choose_ends(
    topics_of_link: Mapping[Link, tuple[str, ...]],
    previous: Network | None,
    before: Bridging | None,
    names: list[str],
) -> tuple[dict[Link, int], bool]:
    """Return the end at which each link is configured, and whether no choice restarts fewer.

    A link stays at its end. Whose bridges change restarts in any case; a new link is configured
    at such a broker or at a new one if it has one as an end. The rest need a vertex cover of
    restarts, a small one. A first network has all its links at a small cover, too: the fewer
    brokers have bridges, the fewer restart later.
    """
    if previous is None or before is None:
        cover = cover_links(topics_of_link)
        return {link: _end_in(link, cover.nodes) for link in topics_of_link}, cover.is_least
    node_of = {name: node for node, name in enumerate(names)}
    restarting = set(before.restarting)
    ends: dict[Link, int] = {}
    for bridge in previous.bridges:
        u, v = node_of.get(bridge.node, -1), node_of.get(bridge.other, -1)
        found = topics_of_link.get((min(u, v), max(u, v)))
        if found is not None:
            ends[min(u, v), max(u, v)] = u
        if found != bridge.topics and u >= 0:
            restarting.add(u)
    added = [link for link in topics_of_link if link not in ends]
    for some in (before.new, restarting):
        ends |= {
            link: _end_in(link, some)
            for link in added
            if link not in ends and not some.isdisjoint(link)
        }
    left = [link for link in added if link not in ends]
    cover = cover_links(left)
    return ends | {link: _end_in(link, cover.nodes) for link in left}, cover.is_least


def _end_in(link: Link, some: Iterable[int]) -> int:
    """Return the end that is among some nodes, of both the larger id."""
    return max(node for node in link if node in some)


def _entries_of(previous: Network) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for entry in previous.entries:
        found.setdefault(entry.topic, []).append(entry.node)
    return found


def _find_entries(
    overlay: Overlay,
    trees: Mapping[int, list[Link]],
    names: list[str],
    topics: list[str],
    before: Mapping[str, list[str]],
) -> Iterator[Entry]:
    """Yield an entry for each component of each topic that somebody wants, topic by topic.

    Where messages entered before, else where the tree has most links: few hops.
    """
    network = overlay.network
    for topic, name in enumerate(topics):
        nodes = network.nodes[network.topic_indptr[topic] : network.topic_indptr[topic + 1]]
        preferred = set(before.get(name, ()))
        for number, piece in enumerate(_pieces(nodes.tolist(), trees.get(topic, []))):
            best = min(piece, key=lambda one: (names[one] not in preferred, -piece[one], one))
            yield Entry(name, number, names[best], len(piece))


def _pieces(nodes: list[int], links: list[Link]) -> list[dict[int, int]]:
    """Return the degrees in each tree, ordered by its smallest node."""
    neighbours: dict[int, list[int]] = {node: [] for node in nodes}
    for u, v in links:
        neighbours[u].append(v)
        neighbours[v].append(u)
    seen: set[int] = set()
    pieces = []
    for start in nodes:
        if start in seen:
            continue
        piece = {}
        near = [start]
        seen.add(start)
        while near:
            node = near.pop()
            piece[node] = len(neighbours[node])
            for other in neighbours[node]:
                if other not in seen:
                    seen.add(other)
                    near.append(other)
        pieces.append(piece)
    return pieces
