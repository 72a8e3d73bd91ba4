"""Subscriptions around the centres of a grid, wanted from anywhere [1]_.

.. [1] Yu, Agarwal, Yang: Subscriber assignment for wide-area content-based publish/subscribe,
   Sec. VI, workload set #3.

The cells' popularity is Zipfian with exponent 0.5, in random order; the width along each axis comes
from a set, by the same law. Interests and positions are independent. The paper states no extent,
widths or positions: an extent of 25,000 and widths up to 6,000 give bandwidths of the order of
its Table II.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fanwise.errors import ParameterError
from fanwise.progress import SILENT, Progress
from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.instances import (
    Audience,
    Setup,
    check_subscribers,
    make_instance,
)
from fanwise.workload.generators.rss import draw_points, draw_zipf

FACTORS = 1.3, 1.5
WIDTHS = (500.0, 1000.0, 2500.0, 6000.0)


def grid(
    subscribers: int = 100_000,
    *,
    cells_per_side: int = 10,
    exponent: float = 0.5,
    widths: Sequence[float] = WIDTHS,
    width_exponent: float = 0.5,
    locations: int = 1000,
    extent: float = 25_000.0,
    event_dims: int = 2,
    progress: Progress = SILENT,
    **setup: Any,
) -> ContentWorkload:
    """Generate subscriptions centred on the cells of a grid.

    Parameters
    ----------
    cells_per_side
        Cells of the grid along each axis: 10 make the paper's 100.
    exponent
        Of the Zipf law of the cells.
    widths
        What a subscription may measure along an axis, the most popular first.
    width_exponent
        Of the Zipf law of the widths.
    locations
        Different positions in the network.
    extent
        Side of the event space.
    event_dims
        Its dimensions.
    setup
        Of brokers, network and limits: see :class:`~fanwise.workload.generators.instances.Setup`.
    """
    asked = Setup(**setup)
    check_subscribers(subscribers)
    for name, value in (
        ("cells_per_side", cells_per_side),
        ("locations", locations),
        ("event_dims", event_dims),
    ):
        if value < 1:
            raise ParameterError(name, "a whole number >= 1", value)
    if not (np.isfinite(extent) and extent > 0):
        raise ParameterError("extent", "a finite number > 0", extent)
    if not widths or not all(np.isfinite(width) and width >= 0 for width in widths):
        raise ParameterError("widths", "finite numbers >= 0, at least one", list(widths))
    rng = np.random.default_rng([asked.seed, 0])
    cell_of_rank = rng.permutation(cells_per_side**event_dims)
    cell = cell_of_rank[rng.permutation(draw_zipf(subscribers, len(cell_of_rank), exponent, rng))]
    steps = np.stack(np.unravel_index(cell, (cells_per_side,) * event_dims), axis=1)
    centres = (steps + 0.5) * (extent / cells_per_side)
    ranks = [
        rng.permutation(draw_zipf(subscribers, len(widths), width_exponent, rng))
        for _ in range(event_dims)
    ]
    half = np.asarray(widths, dtype=np.float64)[np.stack(ranks, axis=1)] / 2
    points, publisher = draw_points(asked, locations, rng)
    positions = points[rng.integers(0, locations, subscribers)]
    origin = {
        "generator": "grid",
        "cells_per_side": cells_per_side,
        "exponent": exponent,
        "widths": list(widths),
        "width_exponent": width_exponent,
        "locations": locations,
        "extent": extent,
    }
    audience = Audience(centres - half, centres + half, positions, publisher)
    return make_instance(audience, asked, FACTORS, origin, progress)
