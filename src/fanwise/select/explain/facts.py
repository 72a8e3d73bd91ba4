"""What is said about a selection and about one topic of it, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TopicFacts:
    """One topic: what it costs, what it gives, and where it stands.

    Attributes
    ----------
    benefit, ratio, rank
        Benefit as if the topic were not served, per cost (None for a free topic), and the place of
        that ratio among what is ``offloaded`` then, this topic included, from 1.
    subscribers, value
        What serving it adds (offloaded) or dropping it loses (served): subscribers satisfied, and
        the objective.
    share_of_capacity
        Its cost over the capacity; None without capacity.
    left, fits
        Capacity the plan leaves unused, and whether the topic is served or fits into that.
    pinned, excluded
        Whether the question itself says that it must, or must not, be served.
    """

    topic: str
    served: bool
    rate: float
    followers: int
    unsatisfied_followers: int
    cost: float
    share_of_capacity: float | None
    benefit: float
    ratio: float | None
    rank: int
    offloaded: int
    subscribers: int
    value: float
    left: float
    fits: bool
    pinned: bool = False
    excluded: bool = False


@dataclass(frozen=True)
class Purchase:
    """What some capacity buys."""

    capacity: float
    topics: int
    subscribers: int
    value: float


@dataclass(frozen=True)
class Shortage:
    """Unsatisfied subscribers with some number of subscriptions."""

    subscriptions: str
    subscribers: int
    unsatisfied: int
    mean_missing: float | None


@dataclass(frozen=True)
class RankedTopic:
    """A topic in a ranking: its cost, and what it adds or loses."""

    topic: str
    cost: float
    followers: int
    subscribers: int
    benefit: float
    ratio: float | None


@dataclass(frozen=True)
class PlanFacts:
    """The whole selection.

    Attributes
    ----------
    leftover
        What greedy would still fit into the capacity that is left.
    next_percent, last_percent
        What 1% more capacity would add to that, and what 1% less would lose.
    missing_quartiles
        Smallest, quartiles and largest of the missing share of tau_v; None if all are satisfied.
    candidates
        Offloaded topics by benefit per cost.
    weakest
        Served topics by what dropping them loses per cost, the least first.
    """

    capacity: float
    used: float
    leftover: Purchase
    next_percent: Purchase
    last_percent: Purchase
    subscribers: int
    unsatisfied: int
    missing_quartiles: tuple[float, ...] | None
    shortages: tuple[Shortage, ...]
    candidates: tuple[RankedTopic, ...]
    weakest: tuple[RankedTopic, ...]
