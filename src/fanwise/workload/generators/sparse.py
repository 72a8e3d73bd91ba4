"""Few subscribers for each broker and channel, and an expensive core.

With many subscribers everywhere each broker has someone on almost every channel, whoever is
attached where, and the cost between brokers hardly changes. Here a user wants so few channels that
under an even attachment a broker would have one to ten subscribers of each: who is attached where
decides which brokers a channel must reach, and at fifty times the price of an access link that
decides the cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.errors import ParameterError
from fanwise.progress import SILENT, Progress
from fanwise.workload.content import ContentWorkload
from fanwise.workload.generators.generating_functions import (
    cell_means,
    draw_quadratics,
    split_axes,
)
from fanwise.workload.generators.priced import (
    Market,
    Prices,
    channel_boxes,
    channel_edges,
    check_dims,
    check_whole,
    make_priced,
)

DEFAULTS = {"core_ratio": 50.0, "subscribers_per_broker": 20}


def sparse(
    subscribers: int = 1000,
    *,
    channels: int = 100,
    audience: float = 2.0,
    publishers: float = 1.0,
    dims: int = 1,
    progress: Progress = SILENT,
    **prices: Any,
) -> ContentWorkload:
    """Generate users who want a few neighbouring channels each, and brokers far apart.

    Parameters
    ----------
    subscribers
        Users.
    channels
        Equal cells of the content space.
    audience
        Mean subscribers for each broker and channel if users are spread evenly; a user wants
        audience x brokers x channels / subscribers channels on average, at least one.
    publishers
        Share of the users who publish, by quadratic functions.
    dims
        Dimensions of the content space.
    prices
        Of brokers and links: see :class:`~fanwise.workload.generators.priced.Prices`; the core
        costs 50 times as much as access, and a broker is for 20 users, unless told otherwise.
    """
    asked = Prices(**{**DEFAULTS, **prices})
    check_whole(subscribers=subscribers, channels=channels)
    check_dims(dims)
    if not 0 < publishers <= 1:
        raise ParameterError("publishers", "a share > 0, at most 1", publishers)
    brokers = asked.count_brokers(subscribers)
    wanted = audience * brokers * channels / subscribers
    if not 1 <= wanted <= channels:
        least, most = subscribers / (brokers * channels), subscribers / brokers
        must = f"from {least:g} to {most:g}, which is 1 to {channels} channels for each user"
        raise ParameterError("audience", must, audience)
    rng = np.random.default_rng([asked.seed, 1])
    cells_of_axis = split_axes(channels, dims)
    with progress.step("Drawing generating functions"):
        rates = cell_means(draw_quadratics(subscribers, dims, rng), cells_of_axis)
    silent = rng.permutation(subscribers)[max(1, round(publishers * subscribers)) :]
    rates[silent] = 0.0
    edges = channel_edges(cells_of_axis)
    lo, hi = draw_ranges(subscribers, edges, spread_mean(wanted, cells_of_axis), rng)
    origin = {
        "generator": "sparse",
        "channels": channels,
        "audience": audience,
        "publishers": publishers,
    }
    market = Market(lo, hi, channel_boxes(edges), rates)
    return make_priced(market, asked, origin, rng, progress)


def spread_mean(wanted: float, cells_of_axis: LongArray) -> list[float]:
    """Split a mean number of cells into factors along the axes, none beyond what its axis has."""
    means = [1.0] * len(cells_of_axis)
    shortest_first = np.argsort(cells_of_axis, kind="stable").tolist()
    for num_done, axis in enumerate(shortest_first):
        even = wanted ** (1 / (len(means) - num_done))
        means[axis] = min(even, float(cells_of_axis[axis]))
        wanted /= means[axis]
    return means


def draw_ranges(
    count: int, edges: list[FloatArray], means: list[float], rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw boxes of whole channels; along an axis from 1 to about twice the mean less 1."""
    lo, hi = np.empty((count, len(edges))), np.empty((count, len(edges)))
    for axis, (edge, mean) in enumerate(zip(edges, means, strict=True)):
        cells = len(edge) - 1
        spread = min(mean - 1, cells - mean)
        length = np.floor(rng.uniform(mean - spread, mean + spread, count) + rng.random(count))
        length = np.clip(length, 1, cells).astype(np.int64)
        start = np.floor(rng.random(count) * (cells - length + 1)).astype(np.int64)
        lo[:, axis], hi[:, axis] = edge[start], edge[start + length]
    return lo, hi
