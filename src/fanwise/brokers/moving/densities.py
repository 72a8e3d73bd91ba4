"""What each client publishes on each channel, from its history, forgotten exponentially.

A publication counts 1 when it happens and half after each half-life. The rate on a channel is what
its publications count now, over the time that a steady stream would count for: 1 / decay for a long
history, less for a short one, so that a newcomer's rate is right from its first minutes on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.brokers.routing.routers import ChannelFinder

SHORTEST = 0.01
"""Of a half-life: a history shorter than that is taken for one of that length."""


@dataclass(slots=True)
class _History:
    """Counts up to a time, and since when there are any."""

    counts: FloatArray
    at: float
    since: float


class Densities:
    """Rates of clients on channels.

    Parameters
    ----------
    channels
        Finds the channel of a point.
    num_channels
        How many there are.
    half_life
        In seconds.
    """

    def __init__(self, channels: ChannelFinder, num_channels: int, half_life: float) -> None:
        self._channels, self._num_channels = channels, num_channels
        self._decay = math.log(2) / half_life
        self._shortest = SHORTEST * half_life
        self._histories: dict[str, _History] = {}

    def watch(self, client: str, now: float) -> None:
        """Begin a client's history, unless there is one: that it is silent counts from here on."""
        if client not in self._histories:
            self._histories[client] = _History(np.zeros(self._num_channels), now, now)

    def count(self, client: str, point: Sequence[float], now: float) -> None:
        """Count a publication; outside all channels it counts for nothing."""
        self.watch(client, now)
        channel = self._channels.channel_of(point)
        if channel >= 0:
            self._up_to(client, now).counts[channel] += 1.0

    def take_over(
        self, client: str, channels: Sequence[int], rates: Sequence[float], now: float
    ) -> None:
        """Go on from rates that another broker told, as if they had been seen here for long."""
        counts = np.zeros(self._num_channels)
        counts[list(channels)] = np.asarray(rates) / self._decay
        self._histories[client] = _History(counts, now, -math.inf)

    def forget(self, client: str) -> None:
        """Forget a client."""
        self._histories.pop(client, None)

    def keep(self, clients: Iterable[str]) -> None:
        """Forget all other clients."""
        kept = set(clients)
        for client in [name for name in self._histories if name not in kept]:
            del self._histories[client]

    def rates(self, client: str, now: float) -> FloatArray:
        """Return events per second on each channel."""
        if client not in self._histories:
            return np.zeros(self._num_channels)
        history = self._up_to(client, now)
        seen = max(now - history.since, self._shortest)
        return history.counts * (self._decay / -math.expm1(-self._decay * seen))

    def _up_to(self, client: str, now: float) -> _History:
        history = self._histories[client]
        if now > history.at:
            history.counts *= math.exp(-self._decay * (now - history.at))
            history.at = now
        return history
