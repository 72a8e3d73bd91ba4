"""Whether a topic is in pieces, and what would join them."""

from __future__ import annotations

import numpy as np

from fanwise.connect.explain.facts import Piece, TopicFacts
from fanwise.connect.structure import (
    Overlay,
    TopicComponents,
    overlay_of,
    topic_components,
    topic_hops,
)
from fanwise.planning.explanation import MOST_LISTED, find_topic
from fanwise.planning.plan import Plan
from fanwise.workload.topic import TopicWorkload


def explain_topic(workload: TopicWorkload, plan: Plan, name: str) -> TopicFacts:
    """Say what a topic's sub-overlay looks like and who is cut off.

    Raises
    ------
    InputError
        If no topic has that name; close ones are suggested.
    """
    topic = find_topic(workload, name)
    overlay = overlay_of(workload, plan)
    found = topic_components(overlay)
    pieces = _pieces(workload, overlay, found, topic)
    hops = topic_hops(overlay, np.array([topic]))
    return TopicFacts(
        topic=name,
        nodes=int(found.nodes[topic]),
        components=len(pieces),
        cut_off=int(found.cut_off[topic]),
        links=int(hops.links[0]),
        mean_hops=float(hops.mean_hops[0]),
        diameter=int(hops.diameter[0]),
        is_exact=bool(hops.is_exact[0]),
        joinable=_joinable(plan, len(overlay.edges), pieces),
        pieces=tuple(pieces[:MOST_LISTED]),
    )


def _pieces(
    workload: TopicWorkload, overlay: Overlay, found: TopicComponents, topic: int
) -> list[Piece]:
    """Return the components of a topic, the largest first, of equals that of the smallest node."""
    network, edges = overlay
    slots = slice(network.topic_indptr[topic], network.topic_indptr[topic + 1])
    nodes, labels = network.nodes[slots], found.labels[slots]
    has_spare = network.degrees(edges)[nodes] < network.degree_limit[nodes]
    pieces = []
    for label in dict.fromkeys(labels.tolist()):
        inside = labels == label
        names = [str(workload.subscriber_names[v]) for v in nodes[inside][:MOST_LISTED].tolist()]
        pieces.append(Piece(int(inside.sum()), int(has_spare[inside].sum()), tuple(names)))
    return sorted(pieces, key=lambda piece: -piece.nodes)


def _joinable(plan: Plan, num_links: int, pieces: list[Piece]) -> int:
    """Count the links that could join pieces: one less than pieces with links to spare."""
    most = plan.parameters.get("max_edges")
    possible = sum(piece.with_spare > 0 for piece in pieces) - 1
    return max(0, possible if most is None else min(possible, most - num_links))
