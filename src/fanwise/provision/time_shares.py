"""How a time limit is shared between pairs, machines, the bound, and what comes after it.

What the paper's algorithms find, and a bound, is cheap up to :data:`QUICK_PAIRS`, and is had
whatever the limit. Above that, the paper's main algorithm always runs; steps that take a pass over
all pairs are begun only if they should fit, and end early when the time is over. How long they
should take follows from how long others took. Without a limit, time plays no part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fanwise.planning.problem import Run
from fanwise.provision.pairs.passes import Deadlines, IsOver, never_over

if TYPE_CHECKING:
    from fanwise.provision.problem import Provisioning

QUICK_PAIRS = 2_000_000
"""Pairs of the workload up to which all of the paper's algorithms together take about a second."""
AFTER_PAIRS, AFTER_TABLES = 16.0, 6.0
"""What is left to do, in times what was done: after ``gsp`` and a packing the tables, a bound and
what comes after it; after the tables what comes after the bound."""
MOST_KEPT = 0.75
"""The share of the time that is left which is kept for that, at most."""

SETTLING_SHARE, SHARING_SHARE = 0.6, 0.75
"""Shares of the time for a bound after which subscribers are settled, and copies shared."""


def is_quick(problem: Provisioning) -> bool:
    """Whether passes over all pairs take so little that no limit is looked at."""
    return problem.workload.num_pairs <= QUICK_PAIRS


def until_over(problem: Provisioning, run: Run) -> IsOver:
    """Return what tells a pass over all pairs to end."""
    return never_over if is_quick(problem) else run.is_over


def share_bound_time(problem: Provisioning, run: Run) -> tuple[Run, Deadlines]:
    """Return the part of a run for sharing copies, and when the passes before and after it end."""
    settling, sharing = run.part(SETTLING_SHARE), run.part(SHARING_SHARE)
    return sharing, Deadlines(until_over(problem, settling), until_over(problem, run))


def keep_time(run: Run, seconds: float) -> Run:
    """Return the part of a run that leaves so many seconds of it, at most :data:`MOST_KEPT`."""
    left = run.time_left()
    if run.time_limit is None or left == 0:
        return run
    return run.part(1 - min(MOST_KEPT, seconds / left))
