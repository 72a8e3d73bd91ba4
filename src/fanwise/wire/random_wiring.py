"""The paper's yardstick: every user on a random broker, whatever it costs and carries."""

from __future__ import annotations

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.planning.problem import Outcome, Run
from fanwise.wire.problem import Wiring, make_tables


def solve(problem: Wiring, run: Run) -> Outcome:
    """Attach everybody at random; capacities are not looked at."""
    return Outcome(make_tables(problem.ground, attach(problem, run.random())))


def attach(problem: Wiring, random: np.random.Generator) -> IntArray:
    """Return a random broker for each user."""
    ground = problem.ground
    return random.integers(0, max(ground.num_brokers, 1), ground.num_users, dtype=np.int32)
