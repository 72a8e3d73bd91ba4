"""Which topics and nodes are cut off, how far messages go, and what the first links buy."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import LongArray
from fanwise.connect.explain.facts import CutOffNode, CutOffTopic, PlanFacts
from fanwise.connect.structure import (
    Overlay,
    TopicComponents,
    overlay_of,
    support_curve,
    topic_components,
    topic_hops,
)
from fanwise.formatting import percent
from fanwise.planning.explanation import largest
from fanwise.planning.plan import Plan
from fanwise.workload.topic import TopicWorkload

MAX_TOPICS = 2000
"""Hops are measured in at most so many topics, drawn at random."""
SHARES = (0.1, 0.2, 0.5)
"""Of the links, those chosen first."""


def explain_plan(workload: TopicWorkload, plan: Plan) -> PlanFacts:
    """Say which topics and nodes are cut off, how far messages go and what the first links buy."""
    overlay = overlay_of(workload, plan)
    network, edges = overlay
    found = topic_components(overlay)
    degrees = network.degrees(edges)
    curve = support_curve(overlay)
    is_limited = plan.parameters.get("max_degree") is not None
    hops = topic_hops(overlay, some_topics(found))
    linked = hops.pairs > 0
    return PlanFacts(
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


def _worst_topics(
    workload: TopicWorkload, overlay: Overlay, found: TopicComponents
) -> list[CutOffTopic]:
    worst = largest(found.cut_off)
    hops = topic_hops(overlay, np.array(worst, dtype=np.int64))
    return [
        CutOffTopic(
            topic=str(workload.topic_names[topic]),
            nodes=int(found.nodes[topic]),
            components=int(found.components[topic]),
            cut_off=int(found.cut_off[topic]),
            links=int(hops.links[k]),
            mean_hops=float(hops.mean_hops[k]),
            diameter=int(hops.diameter[k]),
        )
        for k, topic in enumerate(worst)
    ]


def _worst_nodes(
    workload: TopicWorkload, overlay: Overlay, found: TopicComponents
) -> list[CutOffNode]:
    network, edges = overlay
    is_cut_off = found.labels != found.main[network.topic_of]
    count = np.bincount(network.nodes[is_cut_off], minlength=network.num_nodes)
    degrees = network.degrees(edges)
    return [
        CutOffNode(
            subscriber=str(workload.subscriber_names[node]),
            topics=int(network.indptr[node + 1] - network.indptr[node]),
            cut_off=int(count[node]),
            degree=int(degrees[node]),
        )
        for node in largest(count)
    ]
