"""What brokers tell each other of their clients, and of the rearrangement they propose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fanwise.brokers.messages import Point

SILENT = 1e-9
"""Share of a client's rate below which a channel is left out."""


@dataclass(frozen=True, slots=True)
class ClientSummary:
    """What a client wants and publishes.

    Attributes
    ----------
    lo, hi
        The bounding box of its subscriptions; empty tuples: it wants nothing.
    channels, rates
        On which it publishes, ascending, and how much.
    position
        In the network space; empty: not known.
    """

    name: str
    lo: Point
    hi: Point
    channels: tuple[int, ...]
    rates: tuple[float, ...]
    position: Point = ()


@dataclass(frozen=True, slots=True)
class Rearrangement:
    """Moves of many clients that pay together.

    Attributes
    ----------
    broker, number
        Who proposes it, and which of its own it is.
    targets
        Client and broker.
    """

    broker: str
    number: int
    targets: tuple[tuple[str, str], ...]

    @property
    def key(self) -> tuple[str, int]:
        return self.broker, self.number


@dataclass(frozen=True, slots=True)
class BrokerSummary:
    """What a broker tells.

    Attributes
    ----------
    capacity
        Infinite where there is no limit.
    clients
        At home here.
    rearrangement
        What it proposes to all.
    """

    broker: str
    capacity: float
    clients: tuple[ClientSummary, ...] = ()
    rearrangement: Rearrangement | None = None
    version: int = field(default=0, compare=False)

    def body(self) -> dict[str, Any]:
        """Return what a message carries."""
        proposed = self.rearrangement
        return {
            "capacity": self.capacity,
            "clients": tuple(
                (one.name, one.lo, one.hi, one.channels, one.rates, one.position)
                for one in self.clients
            ),
            "rearrangement": None if proposed is None else (proposed.number, proposed.targets),
        }

    @classmethod
    def from_body(cls, broker: str, version: int, body: dict[str, Any]) -> BrokerSummary:
        """Return what a message says; ValueError if that makes no sense."""
        try:
            clients = tuple(
                ClientSummary(
                    str(name), _numbers(lo), _numbers(hi), _ids(channels), _numbers(rates),
                    _numbers(position),
                )
                for name, lo, hi, channels, rates, position in body["clients"]
            )  # fmt: skip
            proposed = body.get("rearrangement")
            rearrangement = None
            if proposed is not None:
                targets = tuple((str(client), str(to)) for client, to in proposed[1])
                rearrangement = Rearrangement(broker, int(proposed[0]), targets)
            return cls(broker, float(body["capacity"]), clients, rearrangement, version)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(f"a summary of {broker} that is none: {error!r}") from None


def _numbers(values: Any) -> Point:
    return tuple(float(value) for value in values)


def _ids(values: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def sparse_rates(rates: Any) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the channels with rates that count, and these."""
    kept = np.flatnonzero(rates > SILENT * rates.sum())
    return tuple(kept.tolist()), tuple(rates[kept].tolist())
