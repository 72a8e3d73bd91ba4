"""The complete overlay that budget ratios are shares of, made anew: MinMaxODA, in plain NumPy.

Again and again the link of largest contribution (per cost) among the absent ones that keep the
largest degree lowest, the smallest pair of equals, until every topic is connected. A table of all
contributions is kept true: when two components of a topic meet, pairs between them lose its weight.
Contributions only shrink and nodes only drop out of a phase, so the largest one of a row, once
counted, stays an upper bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fanwise.connect.verify_components import slots_of

if TYPE_CHECKING:
    from fanwise.workload.topic import TopicWorkload

MOST_NODES, MOST_SLOTS, MOST_WORK, MOST_CELLS = 1500, 100_000, 60_000_000, 5_000_000
"""What is made anew: nodes, interests, pairs of followers, nodes x topics; a few seconds."""
Floats = npt.NDArray[np.float64]
NONE = -1.0


def complete_overlay(workload: TopicWorkload, parameters: Any) -> tuple[int, int] | None:
    """Return how many links the complete overlay has, and its largest degree; None if too large."""
    is_weighted = parameters.get("topic_weight") == "rate"
    weight = np.array(workload.rates) if is_weighted else np.ones(workload.num_topics)
    followers = np.bincount(slots_of(workload)[1], minlength=workload.num_topics)
    work = int((followers * (followers - 1) // 2).sum())
    is_whole = bool((weight == np.floor(weight)).all()) and float(weight.sum()) < 2**52
    if not is_whole:  # contributions are added up anew whenever they change
        work *= max(1, workload.num_topics)
    if workload.num_subscribers > MOST_NODES or workload.num_pairs > MOST_SLOTS:
        return None
    if work > MOST_WORK or workload.num_subscribers * workload.num_topics > MOST_CELLS:
        return None
    lengths = None
    if parameters.get("link_cost") is not None and workload.positions is not None:
        lengths = _lengths(np.asarray(workload.positions, dtype=np.float64))
    growing = Growing(workload, weight, lengths, is_whole)
    num_links = growing.grow()
    return num_links, int(growing.degree.max(initial=0))


def _lengths(positions: Floats) -> Floats:
    total = np.zeros((len(positions), len(positions)))
    for axis in range(positions.shape[1]):
        step = positions[:, None, axis] - positions[None, :, axis]
        total += step * step
    return np.sqrt(total)


class Growing:
    """An overlay that grows link by link."""

    def __init__(
        self, workload: TopicWorkload, weight: Floats, lengths: Floats | None, is_whole: bool
    ) -> None:
        num_nodes, num_topics = workload.num_subscribers, workload.num_topics
        nodes, topics = slots_of(workload)
        self._weight, self._lengths, self._is_whole = weight, lengths, is_whole
        self._label = np.full((num_nodes, num_topics), -1, dtype=np.int32)
        self._label[nodes, topics] = nodes
        self._members = {
            (int(topic), int(node)): [int(node)] for node, topic in zip(nodes, topics, strict=True)
        }
        self._missing = int(np.maximum(np.bincount(topics, minlength=1) - 1, 0).sum())
        self._gain = np.zeros((num_nodes, num_nodes))
        if is_whole:
            wants = (self._label >= 0).astype(np.float64)
            self._gain = (wants * weight) @ wants.T  # every sum is whole, so in any order
            np.fill_diagonal(self._gain, 0.0)
        else:
            for node in range(num_nodes):
                self._gain[node] = self._count(node, np.arange(num_nodes))
        self._is_linked = np.eye(num_nodes, dtype=bool)
        self.degree = np.zeros(num_nodes, dtype=np.int64)

    def _count(self, node: int, others: npt.NDArray[np.int64]) -> Floats:
        """Add up the weight of topics that a link would join, topic by topic in order."""
        own, theirs = self._label[node], self._label[others]
        is_joined = (own >= 0) & (theirs >= 0) & (own != theirs)
        added = np.cumsum(np.where(is_joined, self._weight, 0.0), axis=1)
        return np.asarray(added[:, -1]) if added.shape[1] else np.zeros(len(others))

    def grow(self) -> int:
        """Grow until every topic is connected; return the number of links."""
        num_nodes, count = len(self.degree), 0
        for phase in range(1, num_nodes):
            best = np.array([self._row(node, phase).max(initial=NONE) for node in range(num_nodes)])
            while self._missing:
                u = int(np.argmax(best))
                if best[u] == NONE:
                    break
                row = self._row(u, phase)
                largest = row.max(initial=NONE)
                if largest < best[u]:
                    best[u] = largest
                    continue
                self._link(u, u + 1 + int(np.argmax(row)))
                count += 1
            if not self._missing:
                break
        return count

    def _row(self, u: int, phase: int) -> Floats:
        """Return what pairs of u with later nodes are chosen by; NONE where that cannot be."""
        after = slice(u + 1, None)
        if self.degree[u] >= phase:
            return np.full(len(self.degree) - u - 1, NONE)
        value = self._gain[u, after]
        if self._lengths is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                value = np.where(value > 0, value / self._lengths[u, after], 0.0)
        is_free = (self.degree[after] < phase) & ~self._is_linked[u, after]
        return np.where(is_free, value, NONE)

    def _link(self, u: int, v: int) -> None:
        self._is_linked[u, v] = self._is_linked[v, u] = True
        self.degree[[u, v]] += 1
        own, theirs = self._label[u], self._label[v]
        changed = []
        for topic in np.flatnonzero((own >= 0) & (theirs >= 0) & (own != theirs)).tolist():
            one = self._members[topic, int(self._label[u, topic])]
            other = self._members.pop((topic, int(self._label[v, topic])))
            changed.append((topic, list(one), list(other)))
            self._label[other, topic] = self._label[u, topic]
            one += other
            self._missing -= 1
        for topic, one, other in changed:
            if self._is_whole:
                self._gain[np.ix_(one, other)] -= self._weight[topic]
                self._gain[np.ix_(other, one)] -= self._weight[topic]
            else:
                others = np.array(other)
                for node in one:
                    self._gain[node, others] = self._gain[others, node] = self._count(node, others)
