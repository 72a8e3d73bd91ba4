"""Small connection problems for Hypothesis: odd interests, weights, positions and budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.oracles import overlay_bounds_oracle as oracle

import fanwise as fw
from fanwise.workload.topic import TopicWorkload


@dataclass(frozen=True)
class Posed:
    """A small problem as plain lists, for oracles, and as fanwise's own."""

    interests: list[list[int]]
    rates: list[float]
    weighted: bool = False
    max_degree: int | list[int] | None = None
    max_edges: int | None = None
    positions: list[list[float]] | None = None
    max_cost: float | None = None

    def workload(self) -> TopicWorkload:
        pairs = [(v, t) for v, topics in enumerate(self.interests) for t in topics]
        subscriber = np.array([v for v, _ in pairs], dtype=np.int32)
        topic = np.array([t for _, t in pairs], dtype=np.int32)
        return TopicWorkload.from_arrays(
            self.rates,
            subscriber,
            topic,
            num_subscribers=len(self.interests),
            max_degree=self.max_degree if isinstance(self.max_degree, list) else None,
            positions=self.positions,
        )

    def problem(self) -> fw.Connection:
        return fw.Connection(
            self.workload(),
            max_degree="column" if isinstance(self.max_degree, list) else self.max_degree,
            max_edges=self.max_edges,
            topic_weight="rate" if self.weighted else "one",
            link_cost=None if self.positions is None else "distance",
            max_link_cost=self.max_cost,
        )

    @property
    def weight(self) -> list[float] | None:
        return self.rates if self.weighted else None

    def budgets(self) -> dict[str, Any]:
        return {
            "max_degree": self.max_degree,
            "max_edges": self.max_edges,
            "positions": self.positions,
            "max_cost": self.max_cost,
        }

    def optimum(self) -> float:
        return oracle.optimum(self.interests, weight=self.weight, **self.budgets())


@st.composite
def posed_problems(draw, *, max_nodes=5, max_topics=4, budgets=("edges", "degree", "cost")):
    """Draw a problem with at most as many nodes, under some of the budgets."""
    num_topics = draw(st.integers(0, max_topics))
    num_nodes = draw(st.integers(0, max_nodes))
    topics = st.lists(st.integers(0, num_topics - 1), unique=True, max_size=num_topics)
    interests = [sorted(draw(topics)) if num_topics else [] for _ in range(num_nodes)]
    rates = draw(
        st.lists(
            st.sampled_from([1.0, 2.0, 5.0, 0.25, 1 / 3, 1e6]),
            min_size=num_topics,
            max_size=num_topics,
        )
    )
    chosen = draw(st.sets(st.sampled_from(budgets)))
    max_degree = positions = max_cost = None
    if "degree" in chosen:
        one = st.integers(0, 3)
        each = st.lists(one, min_size=num_nodes, max_size=num_nodes)
        max_degree = draw(st.one_of(one, each))
    if "cost" in chosen:
        place = st.lists(st.integers(0, 4).map(float), min_size=2, max_size=2)
        positions = draw(st.lists(place, min_size=num_nodes, max_size=num_nodes)) or None
        max_cost = draw(st.one_of(st.none(), st.integers(0, 12).map(float))) if positions else None
    return Posed(
        interests,
        rates,
        weighted=draw(st.booleans()),
        max_degree=max_degree if num_nodes or not isinstance(max_degree, list) else None,
        max_edges=draw(st.integers(0, 7)) if "edges" in chosen else None,
        positions=positions,
        max_cost=max_cost,
    )


@st.composite
def crowded_problems(draw):
    """Draw six or seven nodes that all want one topic and some of two more, under tight degrees."""
    further = st.sets(st.integers(1, 2)).map(lambda topics: [0, *sorted(topics)])
    interests = draw(st.lists(further, min_size=6, max_size=7))
    return Posed(interests, [1.0, 2.0, 4.0], max_degree=draw(st.integers(2, 3)))
