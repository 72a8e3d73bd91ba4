"""The paper's yardstick: every user on a random broker, whatever it costs and carries.

Guarantee
    None, neither on the cost nor on capacities. The same seed gives the same draws.

Complexity
    O(users).

References
----------
    Y. Zhao, J. Wu: On the construction of the minimum cost content-based publish/subscribe
    overlays. IEEE SECON 2011, Section VI.B.
"""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.planning.problem import Outcome, Run
from fanwise.wire.problem import Wiring, make_tables


def solve(problem: Wiring, run: Run) -> Outcome:
    """Attach everybody at random; capacities are not looked at."""
    return Outcome(make_tables(problem.arrays, attach(problem, run.random())))


def attach(problem: Wiring, random: np.random.Generator) -> IntArray:
    """Return a random broker for each user, of those that it may take."""
    arrays = problem.arrays
    if not len(arrays.allowed):
        return random.integers(0, max(arrays.num_brokers, 1), arrays.num_users, dtype=np.int32)
    chosen = random.integers(0, arrays.allowed.sum(axis=1))
    ranks = np.cumsum(arrays.allowed, axis=1) - 1
    brokers: IntArray = np.argmax((ranks == chosen[:, None]) & arrays.allowed, axis=1)
    return brokers.astype(np.int32)
