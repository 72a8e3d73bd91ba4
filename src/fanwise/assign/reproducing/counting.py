"""How many candidate rectangles SLP's relaxation has to choose from (Fig. 17)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fanwise.assign.problem import Assignment
from fanwise.assign.slp_steps.candidates import filter_boxes, super_subscriptions
from fanwise.assign.slp_steps.coreset import MOST_BOXES, MOST_LEVELS

PER_BROKER = 10
"""Subscribers of the sample for each broker, as in the paper."""


def count_candidates(problem: Assignment, clusters: Sequence[int], seed: int) -> dict[int, int]:
    """Return the candidates below the publisher, by super-subscriptions per broker.

    They are those of the first relaxation: for the children of the publisher, over a random
    sample.
    """
    ground = problem.ground
    children = int(np.count_nonzero(ground.parent < 0))
    rng = np.random.default_rng(seed)
    some = np.flatnonzero(~problem.workload.wants_nothing)
    some = rng.choice(some, min(PER_BROKER * children, len(some)), replace=False)
    lo, hi = ground.lo[some], ground.hi[some]
    found = {}
    for multiple in clusters:
        count = min(multiple * children, len(some))
        boxes = super_subscriptions(lo, hi, problem.workload.positions[some], count, rng)
        found[multiple] = len(filter_boxes(lo, hi, *boxes, MOST_BOXES, MOST_LEVELS)[0])
    return found
