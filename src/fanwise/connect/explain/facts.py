"""What is said about an overlay and about one topic of it, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    """A component of a topic: how many nodes, how many of them could take one more link."""

    nodes: int
    with_spare: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class TopicFacts:
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
class CutOffTopic:
    """A topic that is in pieces."""

    topic: str
    nodes: int
    components: int
    cut_off: int
    links: int
    mean_hops: float
    diameter: int


@dataclass(frozen=True)
class CutOffNode:
    """A node outside the largest component of some of its topics."""

    subscriber: str
    topics: int
    cut_off: int
    degree: int


@dataclass(frozen=True)
class PlanFacts:
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
    worst_topics: list[CutOffTopic]
    worst_nodes: list[CutOffNode]
