"""What is said about an assignment and about one subscriber of it, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BrokerFacts:
    """One broker.

    Attributes
    ----------
    serves
        Subscribers on it, or below it.
    limit, only_choice_of
        Of a leaf: most subscribers, and how many have no other broker in time.
    unwanted
        The part of its bandwidth that nobody below it wants.
    """

    broker: str
    serves: int
    limit: int | None
    only_choice_of: int | None
    rectangles: int
    bandwidth: float
    unwanted: float


@dataclass(frozen=True)
class PlanFacts:
    """The whole assignment.

    Attributes
    ----------
    trouble
        What no assignment could help and what another one could; None where limits are kept.
    late_names, overloaded_names
        The first of them.
    leaves
        Brokers that may serve subscribers: those that have a share.
    full, full_at_desired
        Leaves with all that the allowed factor allows, and with all that the desired one does.
    least_lbf
        Least factor under which everybody can be served in time; None: somebody cannot.
    one_choice
        Subscribers with one broker in time.
    quickest
        Subscribers on the quickest way there is.
    reasons
        How many subscribers stay where they are, by what keeps them.
    unwanted
        The part of the bandwidth that nobody below wants, over all brokers.
    brokers
        Those that carry most; no more than are listed, of ``num_brokers`` in use.
    """

    feasible: bool
    trouble: dict[str, Any] | None
    late: int
    late_names: list[str]
    overloaded: int
    overloaded_names: list[str]
    subscribers: int
    leaves: int
    full: int
    full_at_desired: int
    lbf: float | None
    lbf_desired: float
    lbf_max: float
    least_lbf: float | None
    one_choice: int
    mean_choices: float
    quickest: int
    mean_delay: float
    most_delay: float
    reasons: dict[str, int]
    bandwidth: float
    bandwidth_inner: float
    unwanted: float
    brokers: list[BrokerFacts]
    num_brokers: int


@dataclass(frozen=True)
class Choice:
    """A broker as a choice for one subscriber; ``growth``: of all filters, if it were there."""

    broker: str
    is_own: bool
    in_time: bool
    latency: float
    serves: int
    limit: int
    is_full: bool
    holds: bool
    growth: float


@dataclass(frozen=True)
class SubscriberFacts:
    """One subscriber: its broker, what keeps it there, and the other brokers.

    Attributes
    ----------
    limit
        Most latency; None where allowed brokers are listed instead.
    shortest
        Latency of the quickest way.
    """

    subscriber: str
    broker: str
    wants: list[list[float]] | None
    reason: str
    says: str
    limit: float | None
    shortest: float
    num_in_time: int
    choices: list[Choice]
