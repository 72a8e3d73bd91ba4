"""What the generators for wiring share: positions, the prices of links, channels and capacities."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.tolerance import ROUNDING
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.progress import SILENT, Progress
from fanwise.workload.content import ContentWorkload
from fanwise.workload.content.traffic import measure_traffic

COST_LAWS = ("euclidean", "uniform")
MOST_DIMS = 6
MOST_COSTS = 10**8
"""Entries of a table of access costs: beyond it links must be priced by distance."""


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What every generator for wiring can be asked for.

    Attributes
    ----------
    brokers
        How many; None: one for every ``subscribers_per_broker``.
    cost_law
        ``"euclidean"``: users and brokers are uniform in the unit square and links cost their
        length. ``"uniform"``: access links cost from 0 to 1 and links between brokers from 1/3 to
        2/3, which never break the triangle inequality, all independent, in tables.
    core_ratio
        Mean cost of a link between brokers over that of an access link.
    capacity_factor
        Capacity of all brokers together over the demand of all users; brokers have equal parts.
    seed
        Makes every random choice repeatable.
    """

    brokers: int | None = None
    subscribers_per_broker: int = 100
    cost_law: str = "euclidean"
    core_ratio: float = 1.0
    capacity_factor: float = 2.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.brokers is not None and self.brokers < 1:
            raise ParameterError("brokers", "a whole number >= 1", self.brokers)
        for name, least in (("subscribers_per_broker", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ParameterError(name, f"a whole number >= {least}", getattr(self, name))
        if self.cost_law not in COST_LAWS:
            raise ParameterError("cost_law", f"one of {', '.join(COST_LAWS)}", self.cost_law)
        if not (math.isfinite(self.core_ratio) and self.core_ratio >= 0):
            raise ParameterError("core_ratio", "a finite number >= 0", self.core_ratio)
        if not (math.isfinite(self.capacity_factor) and self.capacity_factor >= 1):
            raise ParameterError("capacity_factor", "a finite number >= 1", self.capacity_factor)

    def count_brokers(self, subscribers: int) -> int:
        """Return how many brokers there are, at least one."""
        if self.brokers is not None:
            return self.brokers
        return max(1, subscribers // self.subscribers_per_broker)

    def origin(self) -> dict[str, Any]:
        """Return what to tell of these choices in ``workload.json``."""
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        del told["brokers"], told["subscribers_per_broker"]
        return told


@dataclass(frozen=True, eq=False)
class Market:
    """Subscriptions, channels, and what each subscriber (row) publishes on each (column)."""

    lo: FloatArray
    hi: FloatArray
    channels: tuple[FloatArray, FloatArray]
    rates: FloatArray


def check_whole(**values: int) -> None:
    """Refuse numbers below 1."""
    for name, value in values.items():
        if value < 1:
            raise ParameterError(name, "a whole number >= 1", value)


def check_dims(dims: int) -> None:
    """Refuse content spaces whose cells nobody could count."""
    if not 1 <= dims <= MOST_DIMS:
        raise ParameterError("dims", f"a whole number from 1 to {MOST_DIMS}", dims)


def channel_edges(cells_of_axis: LongArray) -> list[FloatArray]:
    """Return where channels begin and end along each axis of the unit cube."""
    return [np.linspace(0.0, 1.0, int(cells) + 1) for cells in cells_of_axis]


def channel_boxes(edges: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return the cells between edges, the last axis running fastest."""
    lo = np.meshgrid(*(edge[:-1] for edge in edges), indexing="ij")
    hi = np.meshgrid(*(edge[1:] for edge in edges), indexing="ij")
    return (
        np.column_stack([side.reshape(-1) for side in lo]),
        np.column_stack([side.reshape(-1) for side in hi]),
    )


def make_priced(
    market: Market,
    prices: Prices,
    origin: dict[str, Any],
    rng: np.random.Generator,
    progress: Progress = SILENT,
) -> ContentWorkload:
    """Add brokers, prices and capacities that are certified to hold everybody.

    Raises
    ------
    InfeasibleError
        Where users do not fit even when the largest go first, each to the emptiest broker.
    """
    m, n = len(market.lo), prices.count_brokers(len(market.lo))
    with progress.step("Pricing links"):
        positions, broker_positions, access, between = draw_prices(m, n, prices, rng)
    subscriber, channel = (ids.astype(np.int32) for ids in np.nonzero(market.rates))
    columns: dict[str, Any] = {
        "channels": market.channels,
        "rates": (subscriber, channel, market.rates[subscriber, channel]),
        "access_costs": access,
        "broker_costs": between,
        "origin": {**origin, **prices.origin()},
    }
    with progress.step("Measuring demand"):
        bare = ContentWorkload.from_arrays(
            market.lo, market.hi, positions[:, :0], broker_positions[:, :0],
            channels=columns["channels"], rates=columns["rates"],
        )  # fmt: skip
        demand = measure_traffic(bare).demand
    capacity = np.full(n, prices.capacity_factor * float(demand.sum()) / n)
    if not fits_evenly(demand, capacity):
        raise InfeasibleError(
            f"capacity_factor {prices.capacity_factor:g} leaves no room for the largest users on "
            f"{n} equal brokers; raise it, or take fewer brokers."
        )
    return ContentWorkload.from_arrays(
        market.lo, market.hi, positions, broker_positions, capacity=capacity, **columns
    )


def draw_prices(
    subscribers: int, brokers: int, prices: Prices, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray | None, FloatArray | None]:
    """Return positions of users and brokers, and tables of costs where distances tell none."""
    if prices.cost_law == "uniform":
        if subscribers * brokers > MOST_COSTS:
            must = f"euclidean where a table would have more than {MOST_COSTS:,} costs"
            raise ParameterError("cost_law", must, prices.cost_law)
        access = rng.random((subscribers, brokers))
        between = np.triu(rng.uniform(1 / 3, 2 / 3, (brokers, brokers)), 1)
        table = prices.core_ratio * (between + between.T)
        return np.empty((subscribers, 0)), np.empty((brokers, 0)), access, table
    positions, broker_positions = rng.random((subscribers, 2)), rng.random((brokers, 2))
    if prices.core_ratio == 1:
        return positions, broker_positions, None, None
    offsets = broker_positions[:, None] - broker_positions[None]
    return positions, broker_positions, None, prices.core_ratio * np.sqrt((offsets**2).sum(axis=2))


def fits_evenly(demand: FloatArray, capacity: FloatArray) -> bool:
    """Whether everybody finds room when the largest demands go first, to the emptiest broker.

    True proves that an attachment within capacity exists; False does not disprove it.
    """
    filled = [-float(room) for room in capacity]
    heapq.heapify(filled)
    for needed in np.sort(demand)[::-1].tolist():
        if needed > -filled[0] * (1 + ROUNDING):
            return False
        heapq.heapreplace(filled, filled[0] + needed)
    return True
