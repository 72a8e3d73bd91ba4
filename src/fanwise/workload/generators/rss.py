"""Few interests, each wanted from few locations: subscriptions to news feeds [1]_.

.. [1] Yu, Agarwal, Yang: Subscriber assignment for wide-area content-based publish/subscribe,
   Sec. VI, workload set #2, after Liu, Ramasubramanian and Sirer's study of RSS.

Popularity of the interests is Zipfian with exponent 0.5. An interest is a random unit square, and
its subscribers are spread evenly over ten locations of its own. The paper states neither the extent
of the event space nor the locations: a side of 4,000 gives bandwidths of the order of its Table II.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.errors import ParameterError
from fanwise.progress import SILENT, Progress
from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.instances import (
    Audience,
    Setup,
    check_subscribers,
    make_instance,
)

FACTORS = 2.3, 2.5
NETWORK_EXTENT = 100.0


def rss(
    subscribers: int = 100_000,
    *,
    interests: int = 50,
    exponent: float = 0.5,
    locations: int = 10,
    extent: float = 4000.0,
    progress: Progress = SILENT,
    **setup: Any,
) -> ContentWorkload:
    """Generate subscriptions to a few feeds from a few locations each.

    Parameters
    ----------
    interests
        Different rectangles, unit squares.
    exponent
        Of the Zipf law of their popularity.
    locations
        Places of each interest's subscribers.
    extent
        Side of the event space.
    setup
        Of brokers, network and limits: see :class:`~fanwise.workload.generators.instances.Setup`.
    """
    asked = Setup(**setup)
    check_subscribers(subscribers)
    for name, value in (("interests", interests), ("locations", locations)):
        if value < 1:
            raise ParameterError(name, "a whole number >= 1", value)
    if not extent >= 1:
        raise ParameterError("extent", "a number >= 1, the side of a subscription", extent)
    rng = np.random.default_rng([asked.seed, 0])
    corners = (extent - 1) * rng.random((interests, 2))
    interest = rng.permutation(draw_zipf(subscribers, interests, exponent, rng))
    points, publisher = draw_points(asked, interests * locations, rng)
    positions = points[interest * locations + rng.integers(0, locations, subscribers)]
    lo = corners[interest]
    origin = {
        "generator": "rss",
        "interests": interests,
        "exponent": exponent,
        "locations": locations,
        "extent": extent,
    }
    audience = Audience(lo, lo + 1, positions, publisher)
    return make_instance(audience, asked, FACTORS, origin, progress)


def draw_zipf(count: int, ranks: int, exponent: float, rng: np.random.Generator) -> LongArray:
    """Draw ranks from 0 by a Zipf law, in strata: ascending, and hardly different by seed."""
    if not (np.isfinite(exponent) and exponent >= 0):
        raise ParameterError("exponent", "a finite number >= 0", exponent)
    weights = np.arange(1, ranks + 1) ** -exponent
    cumulative = np.cumsum(weights) / weights.sum()
    u = (np.arange(count) + rng.random(count)) / count
    return np.minimum(np.searchsorted(cumulative, u, side="right"), ranks - 1).astype(np.int64)


def draw_points(
    setup: Setup, count: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw locations and the publisher's: uniform with the publisher in the middle, or measured.

    Measured ones are drawn without repetition while there are enough; the publisher is the node
    nearest to their mean.
    """
    nodes = setup.nodes()
    if nodes is None:
        points = NETWORK_EXTENT * rng.random((count, setup.dims))
        return points, np.full(setup.dims, NETWORK_EXTENT / 2)
    chosen = np.concatenate([rng.permutation(len(nodes)) for _ in range(-(-count // len(nodes)))])[
        :count
    ]
    middle = int(np.argmin(((nodes - nodes.mean(axis=0)) ** 2).sum(axis=1)))
    return nodes[chosen], nodes[middle]
