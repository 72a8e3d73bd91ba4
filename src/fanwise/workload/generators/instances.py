"""What the generators of content workloads share: brokers, a tree, and a proof of feasibility.

An instance is certified by a maximum flow: within the maximum delay, everybody fits on the brokers
at the largest load-balance factor. Brokers are drawn again a few times until that holds. Where the
papers' factor cannot be held, and none was asked for, the least one that can takes its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, IntArray
from fanwise.arrays.flows import group_alike, least_lbf, load_limits, max_flow
from fanwise.arrays.latencies import candidates_by_delay
from fanwise.errors import InfeasibleError, ParameterError
from fanwise.progress import SILENT, Progress
from fanwise.workload.content import ContentWorkload
from fanwise.workload.content.latency import path_latencies
from fanwise.workload.generators.networks import (
    PLACEMENTS,
    build_tree,
    choose_broker_positions,
    order_by_position,
    read_coordinates,
)

ATTEMPTS = 5
"""How often brokers are drawn before the load limit gives way."""

NETWORK_DIMS = 5
MOST_DIMS = 16


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What every content generator can be asked for.

    Attributes
    ----------
    brokers
        How many, inner ones of the tree included.
    placement
        Where they stand: ``"like"`` the subscribers, ``"uniform"`` in the space they span, or
        halfway towards the ``"publisher"``.
    out_degree
        Most children of a broker in a tree of several levels; None: one level.
    network_dims
        Dimensions of the network space; None: 5, or those of the coordinates.
    coordinates
        A file of measured network coordinates to take all positions from.
    alpha, max_delay, lbf, lbf_max
        What the instance is meant for. Factors left out are the paper's, or if brokers cannot
        hold them the least possible.
    seed
        Makes every random choice repeatable.
    """

    brokers: int = 100
    placement: str = "like"
    out_degree: int | None = None
    network_dims: int | None = None
    coordinates: str | Path | None = None
    alpha: int = 3
    max_delay: float = 0.3
    lbf: float | None = None
    lbf_max: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("brokers", 1), ("alpha", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ParameterError(name, f"a whole number >= {least}", getattr(self, name))
        if self.placement not in PLACEMENTS:
            raise ParameterError("placement", f"one of {', '.join(PLACEMENTS)}", self.placement)
        if self.network_dims is not None and not 1 <= self.network_dims <= MOST_DIMS:
            must = f"a whole number from 1 to {MOST_DIMS}"
            raise ParameterError("network_dims", must, self.network_dims)
        if not (math.isfinite(self.max_delay) and self.max_delay >= 0):
            raise ParameterError("max_delay", "a finite number >= 0", self.max_delay)
        for name in ("lbf", "lbf_max"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 1):
                raise ParameterError(name, "a finite number >= 1", value)
        if self.lbf is not None and self.lbf_max is not None and self.lbf > self.lbf_max:
            raise ParameterError("lbf_max", f"at least lbf = {self.lbf:g}", self.lbf_max)

    @property
    def dims(self) -> int:
        return self.network_dims or NETWORK_DIMS

    def factors(self, lbf: float, lbf_max: float) -> tuple[float, float]:
        """Return desired and maximum factor, with these where none was asked for."""
        highest = self.lbf_max if self.lbf_max is not None else max(lbf_max, self.lbf or 0.0)
        desired = self.lbf if self.lbf is not None else min(lbf, highest)
        return desired, highest

    def nodes(self) -> FloatArray | None:
        """Return measured positions, if a file of them was given."""
        if self.coordinates is None:
            return None
        nodes = read_coordinates(self.coordinates)
        if self.network_dims not in (None, nodes.shape[1]):
            must = f"left out, or {nodes.shape[1]} as in {self.coordinates}"
            raise ParameterError("network_dims", must, self.network_dims)
        return nodes

    def origin(self) -> dict[str, Any]:
        """Return what to tell of these choices in ``workload.json``."""
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("brokers", "network_dims", "alpha", "max_delay", "lbf", "lbf_max"):
            told.pop(name)
        if self.coordinates is not None:
            told["coordinates"] = Path(self.coordinates).name
        return {name: value for name, value in told.items() if value is not None}


@dataclass(frozen=True, eq=False)
class Audience:
    """Subscribers before there are brokers: rectangles, positions, and where events come from."""

    lo: FloatArray
    hi: FloatArray
    positions: FloatArray
    publisher: FloatArray


def check_subscribers(count: int) -> None:
    """Raise unless there can be so many subscribers."""
    if not 1 <= count < 2**31:
        raise ParameterError("subscribers", "a whole number from 1 to 2**31 - 1", count)


def make_instance(
    audience: Audience,
    setup: Setup,
    factors: tuple[float, float],
    origin: dict[str, Any],
    progress: Progress = SILENT,
) -> ContentWorkload:
    """Add brokers and a tree to an audience, and certify the instance.

    Parameters
    ----------
    factors
        The paper's desired and maximum load-balance factor.

    Raises
    ------
    InfeasibleError
        No drawing of brokers holds the maximum factor that was asked for.
    """
    _, highest = setup.factors(*factors)
    order = order_by_position(audience.positions)
    tries: list[tuple[float, int]] = []
    with progress.step("Placing brokers", total=ATTEMPTS) as step:
        for attempt in range(ATTEMPTS):
            workload = _draw(audience, setup, order, attempt)
            least = certify(_candidates(workload, setup), workload, highest)
            step.advance()
            if least <= highest:
                return _told(workload, setup, setup.factors(*factors), origin)
            tries.append((least, attempt))
    least, attempt = min(tries)
    if setup.lbf_max is not None or not math.isfinite(least):
        raise InfeasibleError(
            f"no load-balance factor of {highest:g} within a delay of {setup.max_delay:g}: the "
            f"least in {ATTEMPTS} tries is {least:.4g}; raise lbf_max or max_delay."
        )
    raised = math.ceil(1.05 * least * 100) / 100
    desired = setup.lbf if setup.lbf is not None else math.ceil(least * 100) / 100
    workload = _draw(audience, setup, order, attempt)
    return _told(workload, setup, (min(desired, raised), raised), origin)


def certify(candidates: Csr, workload: ContentWorkload, lbf_max: float) -> float:
    """Return ``lbf_max`` if everybody fits under it, else the least factor that holds, or inf."""
    assert workload.share is not None
    groups = group_alike(candidates, workload.num_brokers)
    limits = load_limits(lbf_max, workload.share, workload.num_subscribers)
    if max_flow(groups, limits).num_left == 0:
        return lbf_max
    least, _ = least_lbf(groups, workload.share)
    return math.inf if least is None else least


def equal_shares(parent: IntArray) -> FloatArray:
    """Return the same share for each leaf of a tree; NaN for inner brokers."""
    is_leaf = np.ones(len(parent), dtype=np.bool_)
    is_leaf[parent[parent >= 0]] = False
    return np.where(is_leaf, 1 / is_leaf.sum(), np.nan)


def _draw(audience: Audience, setup: Setup, order: IntArray, attempt: int) -> ContentWorkload:
    rng = np.random.default_rng([setup.seed, 1, attempt])
    brokers = choose_broker_positions(
        setup.placement, setup.brokers, audience.positions, order, audience.publisher, rng
    )
    parent = build_tree(brokers, audience.publisher, setup.out_degree)
    return ContentWorkload.from_arrays(
        audience.lo,
        audience.hi,
        audience.positions,
        brokers,
        publisher=audience.publisher,
        parent=parent,
        share=equal_shares(parent),
    )


def _candidates(workload: ContentWorkload, setup: Setup) -> Csr:
    assert workload.publisher is not None
    assert workload.parent is not None
    path = path_latencies(workload.publisher, workload.broker_positions, workload.parent)
    return candidates_by_delay(
        workload.positions, workload.broker_positions, path, workload.leaves, setup.max_delay
    )


def _told(
    workload: ContentWorkload,
    setup: Setup,
    factors: tuple[float, float],
    origin: dict[str, Any],
) -> ContentWorkload:
    meant_for = {
        "lbf": factors[0],
        "lbf_max": factors[1],
        "max_delay": setup.max_delay,
        "alpha": setup.alpha,
    }
    return replace(workload, origin={**origin, **setup.origin(), **meant_for})
