"""The kernel of the table: the cheapest machines for every number of pairs of every topic."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.jit import kernel


@kernel
def fill_table(
    keys: LongArray,
    first_topic: LongArray,
    guards: int,
    load_indptr: LongArray,
    loads: LongArray,
    load_costs: FloatArray,
) -> tuple[FloatArray, LongArray]:
    """Return the least cost of machines for each state, and the state of one of them.

    State i has its numbers of pairs packed into ``keys[i]``, one field of bits a topic, each with a
    bit to spare on top: of two states the first holds no more than the second of anything if
    subtracting it from the second, with all ``guards`` set, borrows none of them. What is left
    after subtraction is a state again, at the difference of the two indices.

    Some machine holds the first topic that there is any pair of, so only loads with that topic as
    their first are looked at: those of topic t are ``loads[load_indptr[t]:load_indptr[t + 1]]``.
    Changes nothing.
    """
    costs = np.full(len(keys), np.inf)
    taken = np.full(len(keys), -1, dtype=np.int64)
    costs[0] = 0.0
    for state in range(1, len(keys)):
        topic = first_topic[state]
        guarded = keys[state] | guards
        best = np.inf
        for i in range(load_indptr[topic], load_indptr[topic + 1]):
            load = loads[i]
            if load > state:
                break
            if (guarded - keys[load]) & guards != guards:
                continue
            cost = load_costs[i] + costs[state - load]
            if cost < best:
                best = cost
                taken[state] = load
        costs[state] = best
    return costs, taken
