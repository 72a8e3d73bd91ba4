"""What an overlay looks like: components, degrees, hops inside topics, what its links are worth.

The sub-overlay of a topic has the nodes that want it and the links between them; a message of the
topic travels over those alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr, FloatArray, IntArray, LongArray, build_csr
from fanwise.arrays.tolerance import ROUNDING, most_within
from fanwise.connect import structure_kernels
from fanwise.connect.arrays import Network
from fanwise.connect.problem import Connection, edges_of
from fanwise.errors import PlanError
from fanwise.planning.plan import Plan
from fanwise.workload.topic import TopicWorkload

EXACT_UP_TO = 256
"""Topics with more nodes are walked from a sample of them."""
NUM_SOURCES = 64
"""How many nodes of a larger topic are walked from."""


class Overlay(NamedTuple):
    """A network and links over it, in the order chosen."""

    network: Network
    edges: IntArray

    @property
    def neighbours(self) -> Csr:
        """Neighbours of each node."""
        u, v = self.edges[:, 0], self.edges[:, 1]
        ends = np.concatenate([u, v]), np.concatenate([v, u])
        return build_csr(*ends, self.network.num_nodes)


def overlay_of(workload: TopicWorkload, plan: Plan) -> Overlay:
    """Return the overlay that a plan describes, under the weights and limits it was made for.

    Raises
    ------
    PlanError
        If the plan is of another family or workload, or has a node the workload does not know.
    """
    if plan.problem != "connect":
        raise PlanError(f"is a {plan.problem} plan; only connect plans have an overlay.")
    if plan.workload != workload.hash:
        raise PlanError(
            f"the plan was made for workload {plan.workload[:12]}…, not this one "
            f"({workload.hash[:12]}…); give the workload it was made for."
        )
    edges = edges_of(plan.tables["edges"])
    if len(edges) and not 0 <= edges.min() <= edges.max() < workload.num_subscribers:
        raise PlanError("edges.parquet: has an id the workload does not know.")
    return Overlay(Connection.state_from(workload, plan.parameters).network, edges)


class TopicComponents(NamedTuple):
    """By topic: who wants it, in how many pieces, and how many are in the largest.

    ``labels`` has an entry per slot, topic by topic as the network numbers them, equal inside a
    component; ``main`` is the label of a topic's largest component, of several that with the
    smallest node.
    """

    nodes: LongArray
    components: LongArray
    largest: LongArray
    labels: IntArray
    main: IntArray

    @property
    def cut_off(self) -> LongArray:
        """Nodes outside the largest component."""
        return self.nodes - self.largest


def topic_components(overlay: Overlay) -> TopicComponents:
    """Measure the components of every topic. O(pairs + interests of linked nodes)."""
    network, edges = overlay
    found = network.components(edges)
    main, largest = structure_kernels.find_main_labels(
        found.label, found.size, network.topic_indptr
    )
    return TopicComponents(network.followers, found.num_components, largest, found.label, main)


class TopicHops(NamedTuple):
    """By topic: links inside it, mean hops between nodes that reach each other, longest of them.

    ``mean_hops`` is 0 where nobody reaches anybody. Where ``is_exact`` is false, the mean is over
    walks from a sample of nodes, and the diameter a lower bound.
    """

    topic: LongArray
    links: LongArray
    mean_hops: FloatArray
    diameter: LongArray
    is_exact: npt.NDArray[np.bool_]
    pairs: LongArray


def topic_hops(
    overlay: Overlay,
    topics: LongArray | None = None,
    *,
    seed: int = 0,
    exact_up_to: int = EXACT_UP_TO,
    num_sources: int = NUM_SOURCES,
) -> TopicHops:
    """Measure hops inside topics by breadth-first walks.

    O(nodes x links of the topic) for topics of up to ``exact_up_to`` nodes. Larger ones are walked
    from ``num_sources`` nodes, drawn for each topic by ``seed`` and its id, so that one topic
    measured alone gives what it gives among all; one more walk starts from the farthest node found.

    Parameters
    ----------
    topics
        Which; None for all.
    """
    network = overlay.network
    wanted = np.arange(network.num_topics) if topics is None else np.asarray(topics, dtype=np.int64)
    size = np.diff(network.topic_indptr)[wanted]
    is_exact = size <= max(exact_up_to, num_sources)
    rows = [
        np.arange(nodes, dtype=np.int32)
        if exact
        else np.sort(np.random.default_rng([seed, topic]).choice(nodes, num_sources, replace=False))
        for topic, nodes, exact in zip(
            wanted.tolist(), size.tolist(), is_exact.tolist(), strict=True
        )
    ]
    source_indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    sources = np.concatenate([*rows, np.empty(0, dtype=np.int32)]).astype(np.int32)
    links, total, pairs, longest = structure_kernels.measure_hops(
        *overlay.neighbours,
        network.topic_indptr,
        network.nodes,
        wanted,
        source_indptr,
        sources,
    )
    mean = total / np.maximum(pairs, 1)
    return TopicHops(wanted, links, mean, longest, is_exact, pairs)


class SupportCurve(NamedTuple):
    """Support after each link of one run, from none to all of them."""

    edges: LongArray
    support: FloatArray

    @property
    def share(self) -> FloatArray:
        """Share of the links taken so far."""
        return self.edges / max(1, int(self.edges[-1]))

    def after(self, share: float) -> float:
        """Return the support after the first ``share`` of the links, rounded down."""
        return float(self.support[int(most_within(share * self.edges[-1]))])

    def edges_for(self, support: float) -> int | None:
        """Return how many links reach a support; None if all of them do not."""
        reached = np.flatnonzero(self.support >= support * (1 - ROUNDING))
        return int(self.edges[reached[0]]) if len(reached) else None


def support_curve(overlay: Overlay) -> SupportCurve:
    """Return the 80-20 curve of one run: what its first links support, in the order chosen.

    With fewer links ``gpa`` and ``gm`` choose the same first ones, so that their curve is also
    support against budget.
    """
    network, edges = overlay
    whole = network.complete_value
    reached = np.concatenate([[0.0], np.cumsum(network.gains(edges))])
    support = reached / whole if whole else np.ones(len(edges) + 1)
    return SupportCurve(np.arange(len(edges) + 1), np.minimum(support, 1.0))


def degree_counts(overlay: Overlay) -> LongArray:
    """Return how many nodes have 0, 1, 2, … links."""
    return np.bincount(overlay.network.degrees(overlay.edges), minlength=1)


def spanning_forests(overlay: Overlay) -> tuple[IntArray, IntArray, IntArray]:
    """Return trees that span each component of each topic: topic, nearer end, farther end.

    Forwarding a topic along its tree alone reaches everybody it can reach, once. Breadth-first from
    the best-linked member, so that few hops are needed.
    """
    network = overlay.network
    return structure_kernels.span_topics(*overlay.neighbours, network.topic_indptr, network.nodes)
