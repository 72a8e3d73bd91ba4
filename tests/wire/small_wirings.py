"""Small wiring problems as plain lists, for oracles, and as workloads, for fanwise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

import fanwise as fw


@dataclass(frozen=True)
class Wires:
    """Who publishes and wants what, and what links cost, as lists of lists.

    Any set of channels can be wanted: there is an event attribute for each channel, on which the
    channel keeps to [1, 2] and those who do not want it to [0, 1].
    """

    rates: list[list[float]]
    wants: list[list[int]]
    access: list[list[float]]
    core: list[list[float]]
    capacity: list[float] | None = None
    at: list[list[float]] | None = None
    places: list[list[float]] | None = None

    @property
    def num_channels(self) -> int:
        return len(self.rates[0]) if self.rates else 0

    def workload(self, **columns) -> fw.ContentWorkload:
        n, channels, brokers = len(self.rates), self.num_channels, len(self.core)
        dims = max(channels, 1)
        hi = np.ones((n, dims))
        hi[:, :channels] += 2.0 * np.array(self.wants).reshape(n, channels)
        lowest = np.eye(channels, dims)
        pairs = [(p, c) for p in range(n) for c in range(channels) if self.rates[p][c] > 0]
        given = {
            "channels": (lowest, np.where(lowest > 0, 2.0, 3.0)),
            "rates": (
                np.array([p for p, _ in pairs], dtype=np.int32),
                np.array([c for _, c in pairs], dtype=np.int32),
                [self.rates[p][c] for p, c in pairs],
            ),
            "access_costs": np.array(self.access, dtype=float).reshape(n, brokers),
            "broker_costs": np.array(self.core, dtype=float).reshape(brokers, brokers),
            "capacity": self.capacity,
            **columns,
        }
        at = np.zeros((n, 2)) if self.at is None else np.array(self.at).reshape(n, 2)
        places = np.zeros((brokers, 2)) if self.places is None else self.places
        return fw.ContentWorkload.from_arrays(np.zeros((n, dims)), hi, at, places, **given)


amounts = st.integers(0, 6).map(float)


@st.composite
def wirings(draw, *, max_users=5, max_brokers=4, max_channels=3, with_capacity=True):
    """Whole numbers, so that sums are exact and ties real; free links, links worth going around."""
    n = draw(st.integers(1, max_users))
    brokers = draw(st.integers(1, max_brokers))
    channels = draw(st.integers(1, max_channels))
    table = lambda rows, columns, value: [  # noqa: E731
        [draw(value) for _ in range(columns)] for _ in range(rows)
    ]
    core = [[0.0] * brokers for _ in range(brokers)]
    for a in range(brokers):
        for b in range(a):
            core[a][b] = core[b][a] = float(draw(st.integers(0, 9)))
    made = Wires(
        rates=table(n, channels, st.one_of(st.just(0.0), st.integers(1, 5).map(float))),
        wants=table(n, channels, st.integers(0, 1)),
        access=table(n, brokers, amounts),
        core=core,
    )
    if with_capacity and draw(st.booleans()):
        limits = st.sampled_from([0.0, 4.0, 10.0, 20.0, 40.0])
        made = replace(made, capacity=[draw(limits) for _ in range(brokers)])
    return made


def some_wires(seed, *, users=9, brokers=7, channels=5, density=0.35):
    """Return a wiring problem large enough for trees of several links; whole numbers, ties."""
    rng = np.random.default_rng(seed)
    core = rng.integers(1, 12, (brokers, brokers))
    core = np.triu(core, 1) + np.triu(core, 1).T
    sends = rng.integers(1, 6, (users, channels)) * (rng.random((users, channels)) < density)
    return Wires(
        rates=sends.astype(float).tolist(),
        wants=(rng.random((users, channels)) < density).astype(int).tolist(),
        access=rng.integers(0, 4, (users, brokers)).astype(float).tolist(),
        core=core.astype(float).tolist(),
        capacity=[float(rng.integers(20, 60))] * brokers if seed % 2 else None,
    )


PLACES = [[1.0, 1.0], [8.0, 3.0], [4.0, 6.0]]


def wires_of(instance):
    """Make a wiring problem of a topic instance that depends on rates, not on ids.

    Topics are channels; whoever wants some publishes on all, less on what it does not want. Who
    needs nothing wants nothing and publishes nothing.
    """
    rates, wants, at = [], [], []
    for v, topics in enumerate(instance.interests):
        tau = instance.tau[v] if isinstance(instance.tau, list) else instance.tau
        mine = topics if tau else []
        total = float(sum(instance.rates[t] for t in mine))
        wants.append([int(t in mine) for t in range(len(instance.rates))])
        rates.append([
            rate / (1 + len(mine)) / (1 if t in mine else 4) if mine else 0.0
            for t, rate in enumerate(instance.rates)
        ])  # fmt: skip
        at.append([total % 10, float(len(mine))])
    return Wires(
        rates=rates,
        wants=wants,
        access=[[math.dist(one, place) for place in PLACES] for one in at],
        core=[[math.dist(one, place) for place in PLACES] for one in PLACES],
        capacity=[1e15] * len(PLACES),
        at=at,
        places=PLACES,
    )


def wiring_of(instance, topic_names=None, subscriber_names=None):
    """Return the workload of :func:`wires_of`, with costs by distance."""
    return wires_of(instance).workload(
        access_costs=None, broker_costs=None, subscriber_names=subscriber_names
    )
