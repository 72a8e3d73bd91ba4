"""What nodes of generated overlays have besides interests: topics' rates, network positions."""

from __future__ import annotations

import math

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.errors import ParameterError
from fanwise.workload.generators.laws import double_pareto, draw_strata

MEAN_RATE = 20.0
"""Events of a topic per day, on average."""

PERIOD_SECONDS = 86_400.0
NUM_REGIONS = 12
MOST_DIMS = 16

_RATE_TAIL, _RATE_HEAD = 2.5, 1.0
_PULL = 0.5  # of popularity on a topic's rank among the rates
_NOISE = 1.5
_REGION_SPREAD = 0.03  # standard deviation around a region's centre; the space has sides of 1


def check_message_bytes(size: float) -> None:
    """Raise unless a message can have this size."""
    if not (math.isfinite(size) and size >= 0):
        raise ParameterError("message_bytes", "a finite number >= 0", size)


def draw_rates(followers: LongArray, rng: np.random.Generator) -> FloatArray:
    """Draw a whole rate for each topic: heavy-tailed, and rather more where more listen.

    The rates are the quantiles of a double Pareto law with the tail P(X > x) ~ x ** -2.5; they are
    dealt out in the order of half the logarithm of the followers plus normal noise.
    """
    scores = _PULL * np.log1p(followers) + _NOISE * rng.standard_normal(len(followers))
    rates = np.empty(len(followers), dtype=np.float64)
    rates[np.argsort(scores, kind="stable")] = double_pareto(
        draw_strata(len(followers), rng), _RATE_TAIL, _RATE_HEAD, MEAN_RATE
    )
    return np.maximum(1.0, np.round(rates))


def draw_regions(count: int, rng: np.random.Generator) -> IntArray:
    """Draw a region for each of ``count`` nodes; the r-th largest has a share ~ 1/r."""
    share = 1 / np.arange(1, NUM_REGIONS + 1)
    chosen = np.searchsorted(np.cumsum(share)[:-1], rng.random(count) * share.sum(), side="right")
    return np.asarray(chosen, dtype=np.int32)


def draw_positions(regions: IntArray, dims: int, rng: np.random.Generator) -> FloatArray | None:
    """Draw coordinates: normal around the centre of each node's region, or None for no dimension.

    Centres are uniform in the unit cube. Distances inside a region are far below those between
    regions, as delays in a wide-area network are.
    """
    if not 0 <= dims <= MOST_DIMS:
        raise ParameterError("net_dims", f"a whole number from 0 to {MOST_DIMS}", dims)
    if dims == 0:
        return None
    centres = rng.random((NUM_REGIONS, dims))
    return centres[regions] + _REGION_SPREAD * rng.standard_normal((len(regions), dims))
