"""Why an overlay is what it is: which topics are in pieces, who is cut off, how far messages go."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fanwise.arrays.csr import LongArray
from fanwise.connect.structure import (
    EXACT_UP_TO,
    NUM_SOURCES,
    Overlay,
    TopicComponents,
    TopicHops,
    overlay_of,
    support_curve,
    topic_components,
    topic_hops,
)
from fanwise.planning.explanation import Explanation, Lines, Listing, Passage, find_topic
from fanwise.planning.plan import Plan
from fanwise.wording import number, percent
from fanwise.workload.topic import TopicWorkload

MOST_LISTED = 8
MAX_TOPICS = 2000
"""Hops are measured in at most so many topics, drawn at random."""
SHARES = (0.1, 0.2, 0.5)
SAMPLED = f"Topics with many nodes are walked from {NUM_SOURCES} of them."


@dataclass(frozen=True)
class Piece:
    """A component of a topic: how many nodes, how many of them could take one more link."""

    nodes: int
    with_spare: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class TopicCase:
    """One topic.

    Attributes
    ----------
    pieces
        Its components, the largest first; no more than are listed.
    cut_off
        Nodes outside the largest component.
    joinable
        Links between its components that the budgets leave room for.
    """

    topic: str
    nodes: int
    components: int
    cut_off: int
    links: int
    mean_hops: float
    diameter: int
    is_exact: bool
    joinable: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class PlanCase:
    """The whole overlay.

    Attributes
    ----------
    cut_off
        (topic, node) pairs outside the largest component of their topic.
    full
        Nodes that have all the links they may have; None without a limit.
    first_links
        Support after the first shares of the links.
    links_for_80
        Links that reach a support of 80%, None if all of them do not.
    hop_topics
        Topics in which hops were measured.
    """

    topics: int
    connected: int
    pairs: int
    cut_off: int
    alone: int
    full: int | None
    links: int
    first_links: dict[str, float]
    links_for_80: int | None
    mean_hops: float
    diameter: int
    hop_topics: int
    is_exact: bool
    worst_topics: list[dict[str, Any]]
    worst_nodes: list[dict[str, Any]]


def explain(workload: TopicWorkload, plan: Plan, topic: str | None = None) -> Explanation:
    """Explain an overlay, or one topic of it, for programs and for people."""
    if topic is None:
        whole = explain_plan(workload, plan)
        return Explanation(asdict(whole), plan_passages(whole))
    case = explain_topic(workload, plan, topic)
    return Explanation(asdict(case), topic_passages(case))


def explain_topic(workload: TopicWorkload, plan: Plan, name: str) -> TopicCase:
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
    return TopicCase(
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


def explain_plan(workload: TopicWorkload, plan: Plan) -> PlanCase:
    """Say which topics and nodes are cut off, how far messages go and what the first links buy."""
    overlay = overlay_of(workload, plan)
    network, edges = overlay
    found = topic_components(overlay)
    degrees = network.degrees(edges)
    curve = support_curve(overlay)
    is_limited = plan.parameters.get("max_degree") is not None
    hops = topic_hops(overlay, some_topics(found))
    linked = hops.pairs > 0
    return PlanCase(
        topics=int(np.count_nonzero(found.nodes)),
        connected=int(np.count_nonzero(found.components == 1)),
        pairs=network.num_slots,
        cut_off=int(found.cut_off.sum()),
        alone=int(np.count_nonzero(degrees == 0)),
        full=int(np.count_nonzero(degrees >= network.degree_limit)) if is_limited else None,
        links=len(edges),
        first_links={percent(share): curve.after(share) for share in SHARES},
        links_for_80=curve.edges_for(0.8),
        mean_hops=float(hops.mean_hops[linked].mean()) if linked.any() else 0.0,
        diameter=int(hops.diameter.max(initial=0)),
        hop_topics=len(hops.topic),
        is_exact=bool(hops.is_exact.all() and len(hops.topic) == (found.nodes > 1).sum()),
        worst_topics=_worst_topics(workload, overlay, found),
        worst_nodes=_worst_nodes(workload, overlay, found),
    )


def some_topics(found: TopicComponents, seed: int = 0) -> LongArray:
    """Return the topics that at least two nodes want, or a sample of them; in order."""
    topics = np.flatnonzero(found.nodes > 1)
    if len(topics) > MAX_TOPICS:
        topics = np.sort(np.random.default_rng(seed).choice(topics, MAX_TOPICS, replace=False))
    return topics


def _pieces(
    workload: TopicWorkload, overlay: Overlay, found: TopicComponents, topic: int
) -> list[Piece]:
    network, edges = overlay
    slots = np.flatnonzero(network.topics == topic)
    nodes = np.searchsorted(network.indptr, slots, side="right") - 1
    has_spare = network.degrees(edges)[nodes] < network.degree_limit[nodes]
    pieces = []
    for label in np.unique(found.labels[slots]).tolist():
        inside = found.labels[slots] == label
        names = [str(workload.subscriber_names[v]) for v in nodes[inside][:MOST_LISTED].tolist()]
        pieces.append(Piece(int(inside.sum()), int(has_spare[inside].sum()), tuple(names)))
    return sorted(pieces, key=lambda piece: -piece.nodes)


def _joinable(plan: Plan, num_links: int, pieces: list[Piece]) -> int:
    most = plan.parameters.get("max_edges")
    room = sum(piece.with_spare > 0 for piece in pieces) - 1
    return max(0, room if most is None else min(room, most - num_links))


def _worst_topics(
    workload: TopicWorkload, overlay: Overlay, found: TopicComponents
) -> list[dict[str, Any]]:
    worst = np.argsort(-found.cut_off, kind="stable")[:MOST_LISTED]
    worst = worst[found.cut_off[worst] > 0]
    hops: TopicHops = topic_hops(overlay, worst)
    return [
        {
            "topic": str(workload.topic_names[topic]),
            "nodes": int(found.nodes[topic]),
            "components": int(found.components[topic]),
            "cut_off": int(found.cut_off[topic]),
            "links": int(hops.links[k]),
            "mean_hops": float(hops.mean_hops[k]),
            "diameter": int(hops.diameter[k]),
        }
        for k, topic in enumerate(worst.tolist())
    ]


def _worst_nodes(
    workload: TopicWorkload, overlay: Overlay, found: TopicComponents
) -> list[dict[str, Any]]:
    network, edges = overlay
    is_cut_off = found.labels != found.main[network.topics]
    node_of_slot = np.repeat(np.arange(network.num_nodes), np.diff(network.indptr))
    count = np.bincount(node_of_slot[is_cut_off], minlength=network.num_nodes)
    degrees = network.degrees(edges)
    worst = np.argsort(-count, kind="stable")[:MOST_LISTED]
    return [
        {
            "subscriber": str(workload.subscriber_names[node]),
            "topics": int(network.indptr[node + 1] - network.indptr[node]),
            "cut_off": int(count[node]),
            "degree": int(degrees[node]),
        }
        for node in worst.tolist()
        if count[node]
    ]


def topic_passages(case: TopicCase) -> list[Passage]:
    """Write one topic's case for people."""
    state = "connected" if case.components <= 1 else f"in {number(case.components)} pieces"
    pairs: list[tuple[str, Any]] = [
        ("nodes that want it", case.nodes),
        ("cut off from the largest piece", case.cut_off),
        ("links between them", case.links),
        ("hops on average", f"{case.mean_hops:.3g}"),
        ("hops at most", number(case.diameter) if case.is_exact else f"{case.diameter:,} or more"),
    ]
    if case.components > 1:
        pairs.append(("links that would join pieces and fit the budgets", case.joinable))
    found: list[Passage] = [Lines(f"{case.topic}: {state}", pairs)]
    if case.components > 1:
        rows = [
            (
                piece.nodes,
                piece.with_spare,
                ", ".join(piece.names) + (", …" if piece.nodes > len(piece.names) else ""),
            )
            for piece in case.pieces
        ]
        note = f"The largest {len(rows)} of {number(case.components)} pieces."
        columns = ("nodes", "with a link to spare", "who")
        found.append(Listing("Pieces", columns, rows, note if case.components > len(rows) else ""))
    return found


def plan_passages(case: PlanCase) -> list[Passage]:
    """Write the explanation of an overlay for people."""
    share = case.cut_off / case.pairs if case.pairs else 0.0
    reach = [
        ("connected topics", f"{number(case.connected)} of {number(case.topics)}"),
        ("interests cut off from most of their topic",
         f"{number(case.cut_off)} of {number(case.pairs)} ({percent(share)})"),
        ("nodes without links", number(case.alone)),
    ]  # fmt: skip
    if case.full is not None:
        reach.append(("nodes with all the links they may have", number(case.full)))
    most = number(case.diameter) if case.is_exact else f"{case.diameter:,} or more"
    reach += [("hops inside a topic, mean of topics", f"{case.mean_hops:.3g}"),
              ("hops at most", most)]  # fmt: skip
    bought = [
        (f"support of the first {share} of the links", percent(support))
        for share, support in case.first_links.items()
    ]
    if case.links_for_80 is not None:
        part = percent(case.links_for_80 / case.links if case.links else 0.0)
        bought.append(("links for a support of 80%", f"{number(case.links_for_80)} ({part})"))
    found: list[Passage] = [
        Lines("Who is reached", reach),
        Lines("What the first links buy", bought),
    ]
    if case.worst_topics:
        found.append(
            Listing(
                "Topics from which most nodes are cut off",
                ("topic", "nodes", "pieces", "cut off", "links", "mean hops", "most hops"),
                [tuple(row.values()) for row in case.worst_topics],
                SAMPLED if any(row["nodes"] > EXACT_UP_TO for row in case.worst_topics) else "",
            )
        )
    if case.worst_nodes:
        found.append(
            Listing(
                "Nodes that are cut off from most topics",
                ("subscriber", "topics", "cut off from", "links"),
                [tuple(row.values()) for row in case.worst_nodes],
            )
        )
    return found
