"""Kernels of the follow graph: users arrive one after the other and link to earlier ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.jit import kernel

ATTEMPTS = 4
"""How often a link that is there already is drawn anew before it is given up."""


@kernel
def pick(chance: float, count: int) -> int:
    """Turn a number in [0, 1], one by rounding alone, into one of 0 to count - 1.

    Changes nothing.
    """
    return min(int(chance * count), count - 1)


@kernel
def grow_links(
    users: LongArray,
    counts: LongArray,
    chances: FloatArray,
    clustering: float,
    newcomer_share: float,
    reciprocity: float,
    starts: LongArray,
    sources: IntArray,
    targets: IntArray,
    last_linker: IntArray,
    fans: IntArray,
    num_fans: LongArray,
) -> None:
    """Let consecutive users link, each to as many earlier users as ``counts`` says.

    The links of user u are ``targets[starts[u] : starts[u + 1]]``. With probability ``clustering``
    a link goes to a neighbour of one already linked to: somebody that one has linked to, or one of
    the last ``fans`` that have linked to it; else to a user chosen evenly (``newcomer_share``) or
    in proportion to its followers, for which a source counts as ``reciprocity`` followers. Fills
    ``starts``, ``sources``, ``targets``, ``fans``, ``num_fans`` and the scratch ``last_linker``.
    ``chances`` holds uniform numbers, ``2 * ATTEMPTS`` for each link. Changes ``starts``,
    ``sources``, ``targets``, ``last_linker``, ``fans`` and ``num_fans``.
    """
    row = 0
    most_fans = fans.shape[1]
    for i in range(len(users)):
        user = users[i]
        before = starts[user]
        num_links = before
        for _ in range(counts[i]):
            for attempt in range(ATTEMPTS):
                kind, draw = chances[row, 2 * attempt], chances[row, 2 * attempt + 1]
                if num_links > before and kind < clustering:
                    known = targets[before + pick(kind / clustering, num_links - before)]
                    width = starts[known + 1] - starts[known]
                    neighbour = pick(draw, width + min(most_fans, num_fans[known]))
                    if neighbour < width:
                        target = targets[starts[known] + neighbour]
                    else:
                        target = fans[known, neighbour - width]
                elif before == 0 or kind > 1 - (1 - clustering) * newcomer_share:
                    target = pick(draw, user)
                else:
                    weight = draw * (1 + reciprocity)
                    if weight < 1:
                        target = targets[pick(weight, before)]
                    else:
                        target = sources[pick((weight - 1) / reciprocity, before)]
                if target != user and last_linker[target] != user:
                    last_linker[target] = user
                    sources[num_links] = user
                    targets[num_links] = target
                    fans[target, num_fans[target] % most_fans] = user
                    num_fans[target] += 1
                    num_links += 1
                    break
            row += 1
        starts[user + 1] = num_links


@kernel
def inherit_regions(
    starts: LongArray, targets: IntArray, stays: npt.NDArray[np.bool_], regions: IntArray
) -> None:
    """Move each user that ``stays`` to the region of the first one it linked to, in place.

    Changes ``regions``.
    """
    for user in range(len(regions)):
        if stays[user] and starts[user + 1] > starts[user]:
            regions[user] = regions[targets[starts[user]]]
