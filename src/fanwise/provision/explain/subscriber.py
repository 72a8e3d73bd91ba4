"""What a subscriber costs, and what the cheapest choice of topics for it would cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.planning.explanation import MOST_LISTED, find_name
from fanwise.provision.explain.facts import Cover, PairFacts, SubscriberFacts
from fanwise.provision.explain.money import Money, byte_prices, split_by_part, split_by_subscriber
from fanwise.provision.explain.placement import Placement
from fanwise.provision.explain.room import SpareCapacity
from fanwise.provision.pairs.charges import whole_demand
from fanwise.provision.pairs.cover_kernels import cheapest_cover, make_workspace
from fanwise.provision.problem import SOLVER_TOLERANCE

STATES = 200_000
"""Partial choices kept while the cheapest one is searched for."""


def explain_subscriber(placement: Placement, name: str) -> SubscriberFacts:
    """Say what a subscriber is served with, its share of the cost, and the cheapest choice for it.

    Raises
    ------
    InputError
        If no subscriber has that name; close ones are suggested.
    """
    problem, workload = placement.problem, placement.problem.workload
    subscriber = find_name(workload.subscriber_names, name, "subscriber")
    by_part = split_by_part(placement)
    by_subscriber = split_by_subscriber(placement, by_part)
    total = by_subscriber.total
    own = find_pairs(placement, subscriber)
    is_served = count_pairs(placement) > 0
    served = int(np.count_nonzero(is_served))
    indptr, topics = workload.interests
    interests = topics[indptr[subscriber] : indptr[subscriber + 1]]
    dearer = int(np.count_nonzero(total[is_served] > total[subscriber]))
    return SubscriberFacts(
        subscriber=name,
        needs=float(problem.demand[subscriber]),
        gets=float(workload.rates[own.topic].sum()),
        could_get=float(workload.rates[interests].sum()),
        interests=len(interests),
        num_pairs=len(own.part),
        pairs=pair_facts(placement, by_part, own)[:MOST_LISTED],
        cost=by_subscriber.at(subscriber),
        rank=1 + dearer if len(own.part) else None,
        served=served,
        mean_cost=float(total.sum()) / served if served else 0.0,
        own_traffic=traffic_without_others(placement, own),
        cheapest=find_cheapest(placement, subscriber, own),
    )


class OwnPairs(NamedTuple):
    """The pairs of one subscriber: the part that each is in, and its topic."""

    part: LongArray
    topic: LongArray


def find_pairs(placement: Placement, subscriber: int) -> OwnPairs:
    """Return the pairs of a subscriber; one pass over the allocation."""
    none: LongArray = np.zeros(0, dtype=np.int64)
    found = [part[who == subscriber] for who, part in placement.each_pair()]
    parts = np.concatenate([none, *found])
    return OwnPairs(parts, placement.parts.topic[parts])


def count_pairs(placement: Placement) -> LongArray:
    """Return how many pairs each subscriber has; one pass over the allocation."""
    counts: LongArray = np.zeros(placement.problem.workload.num_subscribers, dtype=np.int64)
    for subscriber, _ in placement.each_pair():
        np.add.at(counts, subscriber, 1)
    return counts


def pair_facts(placement: Placement, by_part: Money, own: OwnPairs) -> list[PairFacts]:
    """Describe the pairs of a subscriber, the dearest first."""
    workload, num_pairs = placement.problem.workload, placement.parts.num_pairs
    each = Money(*(values[own.part] / num_pairs[own.part] for values in by_part))
    return [
        PairFacts(
            topic=str(workload.topic_names[int(own.topic[i])]),
            machine=int(placement.parts.vm[own.part[i]]),
            rate=float(workload.rates[own.topic[i]]),
            shared_by=int(num_pairs[own.part[i]]),
            cost=each.at(i),
        )
        for i in np.argsort(-each.total, kind="stable").tolist()
    ]


def traffic_without_others(placement: Placement, own: OwnPairs) -> float:
    """Return what the traffic would cost less without a subscriber, everybody else as they are."""
    in_price, out_price = byte_prices(placement)
    is_alone = placement.parts.num_pairs[own.part] == 1
    return float((placement.needs[own.part] * (out_price + in_price * is_alone)).sum())


def find_cheapest(placement: Placement, subscriber: int, own: OwnPairs) -> Cover:
    """Return the cheapest topics for a subscriber, everybody else served as they are.

    An incoming copy costs nothing where somebody else is served with the topic. Rent is left out:
    machines stay, and whether these topics fit on them is tried.
    """
    problem, workload = placement.problem, placement.problem.workload
    indptr, indices = workload.interests
    topics = indices[indptr[subscriber] : indptr[subscriber + 1]]
    topics = topics[problem.is_usable[topics]]
    in_price, out_price = byte_prices(placement)
    others = placement.pairs_of_topic[topics] - np.isin(topics, own.topic)
    prices: FloatArray = problem.needs[topics] * (out_price + in_price * (others == 0))
    enough = float(whole_demand(problem, SOLVER_TOLERANCE)[subscriber])
    workspace = make_workspace(len(topics), STATES)
    price, least = cheapest_cover(workload.rates[topics], prices, enough, workspace)
    chosen = topics[workspace.is_taken[: len(topics)]]
    return Cover(
        topics=[str(workload.topic_names[topic]) for topic in chosen.tolist()],
        traffic=float(price),
        at_least=float(least),
        has_room=has_room(placement, own, chosen.astype(np.int64)),
    )


def has_room(placement: Placement, own: OwnPairs, topics: LongArray) -> bool:
    """Whether a subscriber was found room with these topics in place of its own.

    A new copy is allowed only where it is paid for: where nobody else is served with the topic.
    """
    room = SpareCapacity(placement)
    for part, topic in zip(own.part.tolist(), own.topic.tolist(), strict=True):
        is_last = bool(placement.parts.num_pairs[part] == 1)
        room.take_out(topic, int(placement.parts.vm[part]), is_last=is_last)
    order = topics[np.argsort(-placement.problem.needs[topics], kind="stable")]
    others = placement.pairs_of_topic[order] - np.isin(order, own.topic)
    return all(
        room.put_in(topic, 1) == (0, int(count == 0))
        for topic, count in zip(order.tolist(), others.tolist(), strict=True)
    )
