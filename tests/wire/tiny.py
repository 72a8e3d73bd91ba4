"""Tiny wiring problems as plain lists, for oracles, and as workloads, for fanwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from tests.oracles import wiring_search_oracle as oracle

from fanwise.workload.content import ContentWorkload


@dataclass(frozen=True)
class Tiny:
    """Rates and wants by [user][channel], costs as matrices; channel c is the cell from c to c+1.

    Users want neighbouring channels: from ``first[i]`` on, ``length[i]`` of them.
    """

    rates: list[list[float]]
    first: list[int]
    length: list[int]
    access: list[list[float]]
    core: list[list[float]]
    capacity: list[float]

    @property
    def wants(self):
        channels = range(len(self.rates[0]) if self.rates else 0)
        spans = zip(self.first, self.length, strict=True)
        return [[lo <= c < lo + length for c in channels] for lo, length in spans]

    @property
    def question(self):
        return self.rates, self.wants, self.access, self.core, self.capacity

    def workload(self) -> ContentWorkload:
        users, brokers = len(self.rates), len(self.capacity)
        channels = len(self.rates[0]) if users else 1
        cells = np.arange(channels, dtype=np.float64)[:, None]
        lo = np.array(self.first, dtype=np.float64)[:, None]
        rows, columns = np.nonzero(np.array(self.rates).reshape(users, channels))
        return ContentWorkload.from_arrays(
            lo,
            lo + np.array(self.length, dtype=np.float64)[:, None],
            np.zeros((users, 0)),
            np.zeros((brokers, 0)),
            channels=(cells, cells + 1),
            rates=(rows, columns, [self.rates[i][c] for i, c in zip(rows, columns, strict=True)]),
            access_costs=np.array(self.access).reshape(users, brokers),
            broker_costs=self.core,
            capacity=self.capacity,
        )


rates = st.sampled_from([0.0, 0.0, 1.0, 0.25, 3.0])
prices = st.sampled_from([0.0, 1.0, 0.5, 2.0, 7.0, 1 / 3])


@st.composite
def tinies(draw, max_users=5, max_brokers=3, max_channels=3):
    """Draw problems: free links, brokers at one place, unmet triangles, tight or no room."""
    users = draw(st.integers(1, max_users))
    brokers = draw(st.integers(1, max_brokers))
    channels = draw(st.integers(1, max_channels))
    first = [draw(st.integers(0, channels - 1)) for _ in range(users)]
    length = [draw(st.integers(0, channels - lo)) for lo in first]
    table = [[draw(rates) for _ in range(channels)] for _ in range(users)]
    access = [[draw(prices) for _ in range(brokers)] for _ in range(users)]
    core = [[0.0] * brokers for _ in range(brokers)]
    for i in range(brokers):
        for j in range(i):
            core[i][j] = core[j][i] = draw(prices)
    tiny = Tiny(table, first, length, access, core, [0.0] * brokers)
    total = sum(oracle.demands(table, tiny.wants))
    factor = draw(st.sampled_from([1.0, 1.3, 2.0, 10.0, 0.7, 0.0]))
    shares = [draw(st.sampled_from([1.0, 1.0, 0.5, 2.0])) for _ in range(brokers)]
    capacity = [factor * total * share / sum(shares) for share in shares]
    return Tiny(table, first, length, access, core, capacity)
