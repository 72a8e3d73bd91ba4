"""A problem with some of its brokers only: what users move among while the others stay empty."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray, read_only
from fanwise.wire.ground import Ground, order_pairs


def narrow(ground: Ground, brokers: IntArray) -> Ground:
    """Return the ground with ascending brokers of it, numbered anew.

    Costs stay as they are, with trees of their own for flows. The one tree of a topology passes
    through brokers without users, so it takes all of them.
    """
    if ground.is_tree:
        raise ValueError("the one tree takes all brokers")
    core = np.ascontiguousarray(ground.core[np.ix_(brokers, brokers)])
    access = np.ascontiguousarray(ground.access[:, brokers])
    pairs, capacity = order_pairs(core), ground.capacity[brokers]
    for array in (core, access, capacity, *pairs):
        read_only(array)
    return ground._replace(access=access, core=core, pairs=pairs, capacity=capacity)
