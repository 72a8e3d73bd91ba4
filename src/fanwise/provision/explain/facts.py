"""What is said about a provisioning and about one item of it, as plain numbers.

Money is dollars over the horizon, bytes are per period.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MoneyFacts:
    """What something costs, by what is paid for."""

    rent: float
    incoming: float
    outgoing: float
    total: float


@dataclass(frozen=True)
class PartFacts:
    """A topic on a machine.

    Attributes
    ----------
    pairs
        Subscribers that the machine serves with the topic.
    share
        Of what the machine may move.
    """

    machine: int
    topic: str
    pairs: int
    cost: MoneyFacts
    share: float


@dataclass(frozen=True)
class Emptying:
    """What became of the pairs of a machine when they were put on the others.

    A trial: topics one by one, where they are carried already first, then where most fit.

    Attributes
    ----------
    machine
        The machine to give up.
    pairs, left_over
        Its pairs, and those for which the others had no room.
    missing_bytes
        What these would move.
    new_copies
        Copies that other machines would take in.
    saves
        Its rent and copies, less the new copies; None if pairs are left over.
    """

    machine: int
    pairs: int
    left_over: int
    missing_bytes: float
    new_copies: int
    saves: float | None


@dataclass(frozen=True)
class MachineFacts:
    """One machine.

    Attributes
    ----------
    usable_bytes
        What it may move, less the reserve.
    max_topics, max_connections
        Its limits; None without.
    binds
        What it has no more of: ``bandwidth``, ``connections``, ``topics`` or ``nothing``.
    without
        What giving it up would take.
    topics_listed
        The topics on it that cost most there.
    """

    machine: int
    instance: str
    cost: MoneyFacts
    used_bytes: float
    usable_bytes: float
    fill: float
    topics: int
    max_topics: int | None
    pairs: int
    max_connections: int | None
    binds: str
    without: Emptying
    topics_listed: list[PartFacts]


@dataclass(frozen=True)
class TopicFacts:
    """One topic.

    Attributes
    ----------
    bytes_per_copy
        What one incoming copy or one pair moves.
    followers, pairs
        Who subscribes to it, and who is served with it.
    machines, least_machines
        On how many it is, and how few could hold its pairs.
    cost, further_copies
        What it costs, and what its copies beyond the first do.
    rank, carried
        Its place by cost, from 1, among the topics that are carried; None if it is not.
    fits
        Whether any machine that may be rented has room for a copy and a pair.
    parts
        Where it is, with most pairs first; no more than are listed.
    """

    topic: str
    rate: float
    bytes_per_copy: float
    followers: int
    pairs: int
    machines: int
    least_machines: int
    cost: MoneyFacts
    further_copies: float
    rank: int | None
    carried: int
    fits: bool
    parts: list[PartFacts]


@dataclass(frozen=True)
class PairFacts:
    """One topic that a subscriber is served with.

    Attributes
    ----------
    shared_by
        Pairs that the incoming copy on this machine serves.
    """

    topic: str
    machine: int
    rate: float
    shared_by: int
    cost: MoneyFacts


@dataclass(frozen=True)
class Cover:
    """The cheapest topics for a subscriber, all others being served as they are.

    Attributes
    ----------
    traffic
        What they cost: outgoing, and incoming where nobody else has the topic.
    at_least
        What any choice costs; less than ``traffic`` only where there were too many to try.
    has_room
        Whether they were found room on the machines there are.
    """

    topics: list[str]
    traffic: float
    at_least: float
    has_room: bool


@dataclass(frozen=True)
class SubscriberFacts:
    """One subscriber.

    Attributes
    ----------
    needs, gets, could_get
        Events per period: its threshold, what its pairs carry, what all its interests would.
    cost
        Its share of the cost; see :mod:`fanwise.provision.explain.money`.
    rank, served, mean_cost
        Its place by cost, from 1, among the subscribers that are served, and what they cost on
        average.
    own_traffic
        What the plan's traffic would cost less without it: its pairs, and copies for it alone.
    cheapest
        The cheapest choice, to compare with that.
    """

    subscriber: str
    needs: float
    gets: float
    could_get: float
    interests: int
    num_pairs: int
    pairs: list[PairFacts]
    cost: MoneyFacts
    rank: int | None
    served: int
    mean_cost: float
    own_traffic: float
    cheapest: Cover


@dataclass(frozen=True)
class NextMachine:
    """One more machine of the type with the cheapest bandwidth.

    Attributes
    ----------
    subscribers
        How many of mean traffic it has room for.
    could_save
        The most it could save for these pairs: copies of topics that are split.
    """

    instance: str
    rent: float
    usable_bytes: float
    subscribers: float
    could_save: float


@dataclass(frozen=True)
class SubscriberCost:
    """A subscriber among the dearest."""

    subscriber: str
    pairs: int
    cost: MoneyFacts


@dataclass(frozen=True)
class TopicCost:
    """A topic among the dearest."""

    topic: str
    pairs: int
    machines: int
    cost: MoneyFacts


@dataclass(frozen=True)
class MachineCost:
    """A machine among the emptiest."""

    machine: int
    instance: str
    topics: int
    pairs: int
    fill: float
    binds: str
    cost: MoneyFacts


@dataclass(frozen=True)
class PlanFacts:
    """The whole provisioning.

    Attributes
    ----------
    unused_rent
        The part of the rent that pays for bandwidth nobody uses, the reserve aside.
    further_copies
        What incoming copies beyond the first of each topic cost.
    least_rent_for_pairs, least_rent
        The least rent of machines with room for these pairs, each topic split as little as may
        be; and the least rent of any plan, proven. Neither says that there is such a plan.
    bound
        What any plan costs at least.
    binding
        How many machines have no more of what.
    growth
        By what share all rates could grow before a machine has too little bandwidth; None without
        machines that move anything.
    free_bytes, free_subscribers
        What the machines could move beside what they do, and how many subscribers of mean traffic
        that is.
    lightest
        What giving up the machine that moves least would take; None without machines.
    next_machine
        What one more machine would buy; None if nothing is moved.
    quartiles
        Of what subscribers that are served cost, from the least to the most; None if nobody is.
    dearest_tenth
        Which share of the cost the dearest tenth of them is.
    """

    cost: MoneyFacts
    unused_rent: float
    further_copies: float
    bound: float | None
    machines: int
    least_rent_for_pairs: float
    least_rent: float
    binding: dict[str, int]
    growth: float | None
    free_bytes: float
    free_subscribers: float
    lightest: Emptying | None
    next_machine: NextMachine | None
    served: int
    quartiles: list[float] | None
    dearest_tenth: float
    topics: list[TopicCost]
    carried: int
    subscribers: list[SubscriberCost]
    emptiest: list[MachineCost]
