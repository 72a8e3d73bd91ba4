"""Why a topic is where it is: who is served with it, what its copies cost, why it is split."""

from __future__ import annotations

import numpy as np

from fanwise.planning.explanation import MOST_LISTED, find_topic
from fanwise.provision.explain.facts import TopicFacts
from fanwise.provision.explain.machine import part_facts
from fanwise.provision.explain.money import byte_prices, split_by_part
from fanwise.provision.explain.placement import Placement


def explain_topic(placement: Placement, name: str) -> TopicFacts:
    """Say where a topic is carried, what that costs, and how few machines could hold it.

    Raises
    ------
    InputError
        If no topic has that name; close ones are suggested.
    """
    problem, workload = placement.problem, placement.problem.workload
    topic = find_topic(workload, name)
    by_part = split_by_part(placement)
    by_topic = by_part.added_up(placement.parts.topic, workload.num_topics)
    is_carried = placement.copies_of_topic > 0
    copies, num_pairs = int(placement.copies_of_topic[topic]), int(placement.pairs_of_topic[topic])
    in_price, _ = byte_prices(placement)
    parts = placement.parts_of_topic(topic)
    by_size = parts[np.argsort(-placement.parts.num_pairs[parts], kind="stable")]
    dearer = by_topic.total[is_carried] > by_topic.total[topic]
    return TopicFacts(
        topic=name,
        rate=float(workload.rates[topic]),
        bytes_per_copy=float(problem.needs[topic]),
        followers=int(workload.num_followers[topic]),
        pairs=num_pairs,
        machines=copies,
        least_machines=int(placement.least_copies[topic]),
        cost=by_topic.at(topic),
        further_copies=in_price * float(problem.needs[topic]) * max(copies - 1, 0),
        rank=1 + int(np.count_nonzero(dearer)) if copies else None,
        carried=int(np.count_nonzero(is_carried)),
        fits=bool(problem.is_usable[topic]),
        parts=[part_facts(placement, by_part, part) for part in by_size[:MOST_LISTED].tolist()],
    )
