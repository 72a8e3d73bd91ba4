"""Hypothesis strategies for odd workloads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from fanwise.workload.topic import TopicWorkload

odd_names = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=0, max_size=8
)


@dataclass(frozen=True)
class Instance:
    """A small workload as plain lists, for oracles, and as arrays, for fanwise."""

    rates: list[float]
    interests: list[list[int]]
    tau: float | list[float]
    cost: list[float] | None = None
    weight: list[float] | None = None

    def workload(self, **columns) -> TopicWorkload:
        pairs = [(v, t) for v, topics in enumerate(self.interests) for t in topics]
        subscriber = np.array([v for v, _ in pairs], dtype=np.int32)
        topic = np.array([t for _, t in pairs], dtype=np.int32)
        return TopicWorkload.from_arrays(
            self.rates,
            subscriber,
            topic,
            num_subscribers=len(self.interests),
            cost=self.cost,
            weight=self.weight,
            tau=self.tau if isinstance(self.tau, list) else None,
            **columns,
        )


whole_rates = st.integers(1, 60).map(float)
odd_rates = st.one_of(
    whole_rates,
    st.sampled_from([2**0.5, np.pi, 1e-6, 1e9, 1 / 3]),
    st.floats(1e-3, 1e6, allow_nan=False),
)


@st.composite
def instances(
    draw,
    *,
    rates=whole_rates,
    max_topics=7,
    max_subscribers=9,
    with_cost=False,
    with_weight=False,
    with_tau_column=True,
):
    """Small instances, with empty interests, one topic or none, and thresholds of 0."""
    num_topics = draw(st.integers(0, max_topics))
    num_subscribers = draw(st.integers(0, max_subscribers))
    topics = st.lists(st.integers(0, num_topics - 1), unique=True, max_size=num_topics)
    interests = [sorted(draw(topics)) if num_topics else [] for _ in range(num_subscribers)]
    one_tau = st.one_of(st.just(0), st.integers(1, 120)).map(float)
    column = st.lists(one_tau, min_size=num_subscribers, max_size=num_subscribers)
    tau = draw(st.one_of(one_tau, column) if with_tau_column else one_tau)
    cost = weight = None
    if with_cost and draw(st.booleans()):
        cost = draw(
            st.lists(st.integers(0, 30).map(float), min_size=num_topics, max_size=num_topics)
        )
    if with_weight and draw(st.booleans()):
        weight = draw(
            st.lists(
                st.integers(0, 5).map(float), min_size=num_subscribers, max_size=num_subscribers
            )
        )
    return Instance(
        rates=draw(st.lists(rates, min_size=num_topics, max_size=num_topics)),
        interests=interests,
        tau=tau,
        cost=cost,
        weight=weight,
    )
