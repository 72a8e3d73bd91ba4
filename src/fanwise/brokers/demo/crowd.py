"""Clients whose interests drift, as a workload that changes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.workload.content import PublishRates
from fanwise.workload.content.traffic import measure_traffic
from fanwise.workload.generators.sparse import sparse

CORE_RATIO = 20.0
"""Mean price of a link between brokers over that of one to a client."""
AUDIENCE = 1.5
"""Mean subscribers of a channel at each broker, if clients were spread evenly."""
PUBLISHERS = 0.2
"""Share of clients that publish."""


class Publication(NamedTuple):
    """Who publishes next, and where."""

    client: int
    point: tuple[float, ...]


class Crowd:
    """Clients in the unit square of events.

    Parameters
    ----------
    rate
        Publications per second, of all clients.
    """

    def __init__(self, brokers: int, clients: int, rate: float, seed: int) -> None:
        side = max(2, round((2 * clients / 15) ** 0.5))
        wanted = clients / (brokers * side * side)
        market = sparse(
            clients,
            brokers=brokers,
            channels=side * side,
            dims=2,
            audience=max(AUDIENCE, wanted),
            publishers=PUBLISHERS,
            core_ratio=CORE_RATIO,
            seed=seed,
        )
        assert market.rates is not None
        assert market.capacity is not None
        indptr, indices, rates = market.rates
        # Everybody publishes around a place of its own: few channels each, as people do.
        factor = rate / rates.sum()
        scaled = PublishRates(indptr, indices, rates * factor)
        self.workload = replace(market, rates=scaled, capacity=market.capacity * factor)
        self._random = np.random.default_rng([seed, 7])
        self._step = 1.0 / side
        self._heading = self._random.choice([-1.0, 0.0, 1.0], (clients, 2))
        self._heading[(self._heading == 0).all(axis=1)] = 1.0
        owner = np.repeat(np.arange(clients), np.diff(indptr))
        self._owner, self._chances = owner, np.cumsum(rates) / rates.sum()

    @property
    def demands(self) -> FloatArray:
        """Load of each client on its broker, in events per second."""
        return measure_traffic(self.workload).demand

    def draw_publication(self) -> Publication:
        """Draw who publishes next, and where; by the rates of clients on channels."""
        assert self.workload.rates is not None
        assert self.workload.channels is not None
        entry = int(np.searchsorted(self._chances, self._random.random(), side="right"))
        entry = min(entry, len(self._owner) - 1)
        channel = self.workload.rates.indices[entry]
        lo, hi = self.workload.channels.lo[channel], self.workload.channels.hi[channel]
        # Not on faces: between channels it would be a matter of convention who wants it.
        point = lo + (hi - lo) * (0.05 + 0.9 * self._random.random(len(lo)))
        return Publication(int(self._owner[entry]), tuple(point.tolist()))

    def draw_pause(self, rate: float) -> float:
        """Draw the seconds to the next event of so many per second."""
        return float(self._random.exponential(1.0 / rate))

    def draw_client(self) -> int:
        """Draw any client."""
        return int(self._random.integers(len(self.workload.lo)))

    def drift(self, client: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Let a client want the rectangle one channel further on; return it.

        It goes on in the same direction, and turns round at the borders.
        """
        lo, hi = self.workload.lo.copy(), self.workload.hi.copy()
        heading = self._heading[client]
        step = heading * self._step
        beyond = (lo[client] + step < -1e-9) | (hi[client] + step > 1 + 1e-9)
        heading[beyond] *= -1
        step = heading * self._step
        step[(lo[client] + step < -1e-9) | (hi[client] + step > 1 + 1e-9)] = 0.0
        lo[client] += step
        hi[client] += step
        self.workload = replace(self.workload, lo=lo, hi=hi)
        return self.rectangle(client)

    def rectangle(self, client: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return what a client wants."""
        return (
            tuple(self.workload.lo[client].tolist()),
            tuple(self.workload.hi[client].tolist()),
        )
