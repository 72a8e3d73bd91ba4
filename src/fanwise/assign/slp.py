"""SLP: filters by linear programming on samples, subscribers by max-flow.

Three steps at each inner node of the tree, from the publisher down. Preliminary filters for its
children: a relaxation over a sample of subscribers and over candidate rectangles, rounded at
random (:mod:`~fanwise.assign.slp_steps.coreset`). Everybody to a child that holds them, by max-flow
(:mod:`~fanwise.assign.slp_steps.assigning`). Then, for the leaves, filters of at most alpha
rectangles around what they were given (:mod:`~fanwise.assign.slp_steps.adjusting`), and bottom-up
those of inner brokers around their children's.

What differs from the paper:

- It stops where its flow fails. Here filters are enlarged along the minimum cut, and where the way
  down leaves somebody over or overloads a leaf, all leaves are dealt with at once: the plan is
  feasible wherever the latency limits allow the maximum load-balance factor at all.
- The number of relaxations, and the time that they should take, are limited; filters are enlarged
  for whoever is left over after the last one (:mod:`~fanwise.assign.slp_steps.coreset`). Its
  sample, 10 subscribers for each broker, is cut where a single relaxation of it would take longer.
- Types of subscribers take the place of subscribers, and where they are few nothing is sampled.
- Candidate rectangles are shrunk to what each broker may serve; there is one more level of them,
  the overall interval, and the boxes of an agglomeration
  (:mod:`~fanwise.assign.slp_steps.candidates`).
- After rounding, rectangles that nobody needs are dropped
  (:mod:`~fanwise.assign.slp_steps.rounding`).
- Fitted filters are compared with greedy ones (:mod:`~fanwise.assign.slp_steps.adjusting`), and
  those of inner brokers are fitted anew, bottom-up.

``fractional`` is the value of the relaxation at the publisher, from below, in trees of one level.
It bounds the *sum* of the measures of rectangles, chosen from the *candidates*, of any assignment
of the *sample* within the desired load, so that it is a yardstick and no bound on the objective:
candidates come from clusters, and a union measures less than a sum, down to 1 / alpha of it.
``fractional_of`` says whether the sample was everybody. What is proven is proven by prices of
another relaxation (:mod:`~fanwise.assign.proving.market`).

Guarantee
    Within the load and latency limits wherever max-flow finds anybody within them. The paper's:
    before adjustment, and with every candidate, an expected bandwidth of at most ln(sample) times
    the optimum.

Complexity
    That of the relaxations, whose size does not depend on the number of subscribers, and max-flows
    over types. The number of relaxations is the limit on its work: the plan says so where filters
    had to be enlarged for somebody after the last one.

References
----------
    A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based
    publish/subscribe, Sec. IV and V. IEEE ICDE 2011.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fanwise.arrays.csr import Csr, IntArray
from fanwise.assign.arrays import Filters, depths
from fanwise.assign.choices import pairs_of
from fanwise.assign.filters import nest_filters
from fanwise.assign.problem import Assignment, make_tables
from fanwise.assign.proving.pricing import MOST_PRICED, QUICK_PAIRS, priced_bound
from fanwise.assign.slp_steps.adjusting import adjust_filters
from fanwise.assign.slp_steps.assigning import assign
from fanwise.assign.slp_steps.coreset import Knobs, relaxation_seconds
from fanwise.assign.slp_steps.covering import lay_out
from fanwise.assign.slp_steps.level import level_of_leaves
from fanwise.assign.slp_steps.multilevel import Descent, descend
from fanwise.planning.problem import Outcome, Run

SECONDS_PER_SUBSCRIBER = 3e-4
"""For max-flows and clusters, beside relaxations."""


def solve(problem: Assignment, run: Run) -> Outcome:
    """Assign by SLP; in trees of one level with the bound that the relaxation proves."""
    run.default_limits(rounds=Knobs(**run.settings).rounds)
    outcome, _ = assign_by_rounding(problem, run)
    with run.timed("bound"):
        is_priced = problem.num_pairs <= QUICK_PAIRS  # every bound has prices then
        bound = None if is_priced else priced_bound(problem, MOST_PRICED, run.time_left)
    return outcome if bound is None else replace(outcome, bound=bound.value, proof=bound.proof)


def assign_by_rounding(problem: Assignment, run: Run) -> tuple[Outcome, Descent]:
    """Return SLP's plan without a bound, and what the way down has found."""
    arrays, rng = problem.arrays, run.random()
    allowed = pairs_of(problem)
    knobs = Knobs(**run.settings)
    with run.timed("filters"):
        found = descend(problem, allowed, knobs, run, rng)
    brokers = found.broker_of_subscriber
    is_one_level = bool((arrays.parent < 0).all())
    leaf_filters = _leaf_filters(problem, found)
    with run.timed("repair"):
        # Each level only sees the shares of whole subtrees (Sec. V): a leaf may end up above its
        # limit, and rounding may leave somebody over, although all leaves together could serve
        # everybody.
        if _is_broken(problem, brokers):
            brokers, leaf_filters, repairs = _assign_all(problem, allowed, leaf_filters)
            found.repairs += repairs
    with run.timed("adjust"):
        filters = nest_filters(arrays, adjust_filters(arrays, brokers, leaf_filters, rng))
    outcome = Outcome(
        make_tables(brokers, filters),
        stopped="work" if found.grown else "exhausted",
        metrics={
            "fractional": found.fractional if is_one_level else None,
            "fractional_of": "everybody" if found.is_whole else "a sample",
            "relaxations": found.relaxations,
            "grown": found.grown,
            "repairs": found.repairs,
        },
    )
    return outcome, found


def expected_seconds(problem: Assignment, num_types: int, num_pairs: int) -> float:
    """Return what SLP with its default knobs should take, given types and their pairs with brokers.

    No level of the tree takes longer than the leaves would take at once.
    """
    arrays = problem.arrays
    relaxations = relaxation_seconds(num_types, num_pairs, len(arrays.leaves), Knobs())
    others = SECONDS_PER_SUBSCRIBER * arrays.num_subscribers
    return int(depths(arrays.parent).max(initial=1)) * (relaxations + others)


def _leaf_filters(problem: Assignment, found: Descent) -> Filters:
    """Lay out the preliminary filters of all leaves."""
    none = np.empty((0, problem.arrays.event_dims))
    parts = [(np.empty(0, dtype=np.int64), none, none), *found.leaf_boxes]
    broker, lo, hi = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(broker, kind="stable")
    return lay_out(broker[order], lo[order], hi[order], problem.arrays.num_brokers, problem.alpha)


def _is_broken(problem: Assignment, brokers: IntArray) -> bool:
    """Whether somebody has no leaf, or a leaf has more than the maximum factor allows."""
    if (brokers < 0).any():
        return True
    loads = np.bincount(brokers, minlength=problem.arrays.num_brokers)
    return bool((loads > problem.limits(problem.lbf_max)).any())


def _assign_all(
    problem: Assignment, allowed: Csr, filters: Filters
) -> tuple[IntArray, Filters, int]:
    """Assign everybody to leaves at once; whoever the limits leave over gets the emptiest one."""
    level = level_of_leaves(problem, allowed)
    done = assign(level, filters)
    brokers = done.broker_of_subscriber
    share = np.where(problem.arrays.share > 0, problem.arrays.share, 1.0)
    loads = np.bincount(brokers[brokers >= 0], minlength=len(share))
    for subscriber in np.flatnonzero(brokers < 0):
        own = allowed.indices[allowed.indptr[subscriber] : allowed.indptr[subscriber + 1]]
        brokers[subscriber] = own[np.argmin(loads[own] / share[own])]
        loads[brokers[subscriber]] += 1
    return brokers, done.filters, done.repairs
