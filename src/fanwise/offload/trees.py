"""A tree for every component of every topic, as near as possible to the trees there were.

A broker restarts when the topics of a bridge at it change. So trees keep every link that they may
keep: one that the plan still has, between brokers that both still want the topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fanwise.connect.structure import Overlay, spanning_forests

Link = tuple[int, int]
"""Ids of two brokers, the smaller first."""


class Bridging(NamedTuple):
    """What was before, in ids of now: at which end each link is configured, and what it carries.

    Attributes
    ----------
    end_of
        By link, the end that has its configuration, -1 for a broker that is gone.
    links_of_topic
        By topic, the links of its trees that the plan still has between brokers that want it.
    restarting
        Brokers whose configuration must change in any case.
    new
        Brokers that there were not: they start, and restart nobody.
    """

    end_of: Mapping[Link, int]
    links_of_topic: Mapping[int, list[Link]]
    restarting: frozenset[int]
    new: frozenset[int]


def span_topics(overlay: Overlay, before: Bridging | None = None) -> dict[int, list[Link]]:
    """Return the links of each topic's trees; a topic without any is left out.

    Without a past: breadth-first from the best-linked broker, for few hops. With one, the links
    that trees had are kept. What is missing is joined first by links whose configuration is at a
    broker that restarts anyway, then by those of the breadth-first trees.
    """
    topics, nearer, farther = spanning_forests(overlay)
    shallow: dict[int, list[Link]] = {}
    for topic, u, v in zip(topics.tolist(), nearer.tolist(), farther.tolist(), strict=True):
        shallow.setdefault(topic, []).append((min(u, v), max(u, v)))
    if before is None:
        return shallow
    restarting = set(before.restarting | before.new)
    trees = {}
    for topic, links in shallow.items():
        kept = before.links_of_topic.get(topic, [])
        if len(kept) == len(links):
            trees[topic] = kept
            continue
        free = [
            link
            for link in _links_inside(overlay, topic)
            if _needs_no_restart(link, before.end_of, restarting)
        ]
        tree = _join(kept, free + links, len(links))
        for link in tree[len(kept) :]:
            if link in before.end_of:
                restarting.add(before.end_of[link])
        trees[topic] = tree
    return trees


def _needs_no_restart(link: Link, end_of: Mapping[Link, int], restarting: set[int]) -> bool:
    if link in end_of:
        return end_of[link] in restarting
    return not restarting.isdisjoint(link)


def _links_inside(overlay: Overlay, topic: int) -> list[Link]:
    """Return the plan's links between brokers that want a topic."""
    network = overlay.network
    bounds = network.topic_indptr
    wanting = set(network.nodes[bounds[topic] : bounds[topic + 1]].tolist())
    return [(u, v) for u, v in overlay.edges.tolist() if u in wanting and v in wanting]


def _join(first: list[Link], more: list[Link], num_links: int) -> list[Link]:
    """Return a forest of all the first links and as many more as there is need of."""
    root: dict[int, int] = {}

    def find(node: int) -> int:
        while root.setdefault(node, node) != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    tree: list[Link] = []
    for u, v in first + more:
        if len(tree) == num_links:
            break
        one, other = find(u), find(v)
        if one != other:
            root[one] = other
            tree.append((u, v))
    return tree
