"""Users who publish by random quadratic functions and want random intervals [1]_.

.. [1] Zhao, Wu: On the construction of the minimum cost content-based publish/subscribe overlays,
   Sec. VI.

The content space is the unit interval (or cube), cut into equal channels. A user's rate on a
channel is the mean over it of a quadratic function whose negative part is cut; its subscription
lies between two uniform numbers along each axis. The paper states neither the number of channels
nor the law of link costs: both are parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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


def quadratic(
    subscribers: int = 10_000,
    *,
    channels: int = 100,
    dims: int = 1,
    progress: Progress = SILENT,
    **prices: Any,
) -> ContentWorkload:
    """Generate the paper's networks, with one broker for every hundred users.

    Parameters
    ----------
    subscribers
        Users; each subscribes, and most publish as well.
    channels
        Equal cells of the content space; along several axes as even as their number allows.
    dims
        Dimensions of the content space; the paper's has one.
    prices
        Of brokers and links: see :class:`~fanwise.workload.generators.priced.Prices`.
    """
    asked = Prices(**prices)
    check_whole(subscribers=subscribers, channels=channels)
    check_dims(dims)
    rng = np.random.default_rng([asked.seed, 0])
    cells_of_axis = split_axes(channels, dims)
    with progress.step("Drawing generating functions"):
        rates = cell_means(draw_quadratics(subscribers, dims, rng), cells_of_axis)
    ends = np.sort(rng.random((2, subscribers, dims)), axis=0)
    boxes = channel_boxes(channel_edges(cells_of_axis))
    origin = {"generator": "quadratic", "channels": channels}
    return make_priced(Market(ends[0], ends[1], boxes, rates), asked, origin, rng, progress)
