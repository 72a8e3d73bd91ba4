"""Fig. 1: two topics on two machines that are partly full, pair by pair and topic by topic.

The figure draws machines with 30 and 50 KB a minute left, and counts no incoming copies in that.
With copies that is too little for any of its allocations: here machines have 60 and 80 left, so
that as many pairs of each topic fit as in the figure. What is there before is a topic on each. Its
case (c), grouping alone, splits a topic on machines as small as the figure's, and not on these.
"""

from __future__ import annotations

import numpy as np

from fanwise.papers.provision.runs import FIRST_RUNG, LAST_RUNG
from fanwise.provision.catalogue import Instance
from fanwise.provision.problem import Provisioning
from fanwise.workload.topic import TopicWorkload

CAPACITY = 200.0
RATES = (70.0, 60.0, 20.0, 10.0)
"""KB a minute: what is on the first machine before and on the second, then t1 and t2."""
INTERESTS = ((0,), (1,), (2, 3), (2, 3), (3,))
TAU = 30.0
SECONDS = 60.0


def example_problem() -> Provisioning:
    """State it: traffic in bytes of KB, rent that no copy is worth a machine for."""
    subscriber = np.repeat(np.arange(len(INTERESTS)), [len(one) for one in INTERESTS])
    workload = TopicWorkload.from_arrays(
        np.array(RATES), subscriber, np.concatenate(INTERESTS), message_bytes=1.0,
        period_seconds=SECONDS,
    )  # fmt: skip
    mbps = CAPACITY * 8e-6 / SECONDS
    machine = Instance("small", 1.0, mbps)
    return Provisioning(workload, TAU, instance=machine.instance, catalogue=[machine])


def example_traffic() -> dict[str, float]:
    """Return what the pairs of t1 and t2 move, in KB a minute, by algorithm."""
    problem = example_problem()
    before = 2 * sum(RATES[:2])
    found = {}
    for algorithm in (FIRST_RUNG, LAST_RUNG):
        metrics = problem.solve(algorithm).metrics
        found[algorithm] = metrics["in_bytes"] + metrics["out_bytes"] - before
    return found
