"""What is said about a wiring and about one user of it, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChannelFacts:
    """One channel: where it lies, how much is published and for how many, what it costs.

    Attributes
    ----------
    brokers
        With subscribers of it.
    core
        What its messages cost between brokers.
    """

    channel: int
    box: list[list[float]]
    rate: float
    subscribers: int
    brokers: int
    core: float


@dataclass(frozen=True)
class LinkFacts:
    """One link between brokers."""

    broker: str
    other: str
    traffic: float
    price: float
    cost: float


@dataclass(frozen=True)
class BrokerFacts:
    """One broker.

    Attributes
    ----------
    access
        What the links to its users cost.
    channels
        That somebody there wants.
    """

    broker: str
    users: int
    load: float
    capacity: float | None
    access: float
    channels: int


@dataclass(frozen=True)
class PlanFacts:
    """The whole wiring.

    Attributes
    ----------
    cheapest_access
        What access would cost with everybody on the cheapest broker, whatever its capacity.
    reach
        Share of all pairs of a broker and a channel that have a subscriber.
    full
        Brokers without room for a user of mean traffic; None without capacities.
    reasons
        Users by what keeps them where they are, of those looked at.
    looked_at
        Users whose moves were priced.
    """

    cost: float
    access: float
    core: float
    core_steiner: float | None
    bound: float | None
    cheapest_access: float
    users: int
    num_brokers: int
    brokers_used: int
    num_channels: int
    reach: float
    mean_brokers: float
    num_links: int
    full: int | None
    overloaded: list[str]
    reasons: dict[str, int]
    looked_at: int
    channels: list[ChannelFacts]
    links: list[LinkFacts]
    brokers: list[BrokerFacts]


@dataclass(frozen=True)
class Choice:
    """One broker for a user.

    Attributes
    ----------
    price
        Cost of a unit of traffic on the link to it.
    access, core, cost
        How C1, C2 and their sum change if the user moves there.
    """

    broker: str
    is_own: bool
    price: float
    access: float
    core: float
    cost: float
    has_room: bool
    load: float
    capacity: float | None


@dataclass(frozen=True)
class SubscriberFacts:
    """One user.

    Attributes
    ----------
    alone
        Channels that reach its broker for it only.
    rank
        How many brokers have a cheaper link to it.
    choices
        Its broker first, then the cheapest ones in all.
    """

    subscriber: str
    broker: str
    reason: str
    says: str
    traffic_out: float
    traffic_in: float
    wants: int
    publishes: int
    alone: int
    access: float
    rank: int
    num_brokers: int
    choices: list[Choice]
