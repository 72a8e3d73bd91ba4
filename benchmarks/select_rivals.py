"""select beside what people would use instead, at sizes that those can do.

apricot-select (a library for submodular selection) maximises the fractional metric with its lazy
greedy and sample costs; HiGHS gets the whole problem as a mixed-integer program. Both run in the
same process on the same instance as fanwise's greedy and best.
"""

from __future__ import annotations

import importlib.util
import time

import numba
import numpy as np
from scipy import sparse

from benchmarks.measuring import row
from fanwise.select.greedy import greedy, served_by
from fanwise.select.problem import Selection
from fanwise.workload.generators.spotify import spotify

APRICOT_SCALES = (0.0005, 0.001, 0.002)
MILP_SCALES = (0.0005, 0.002, 0.005)
MILP_SECONDS = 60.0
TAU = 276


def run() -> list[dict]:
    rows = []
    if importlib.util.find_spec("apricot") is None:
        rows.append(row("apricot-select", "not installed: pip install apricot-select"))
    else:
        beside_apricot(0.0001)  # compiles both
        rows += [beside_apricot(scale) for scale in APRICOT_SCALES]
    for metric in ("binary", "fractional"):
        rows += [beside_milp(scale, metric) for scale in MILP_SCALES]
    return rows


def beside_apricot(scale: float) -> dict:
    from apricot import FeatureBasedSelection

    problem = state(scale, "fractional")
    workload, demand = problem.workload, problem.demand
    indptr, subscribers = workload.followers
    rates = np.repeat(workload.rates, np.diff(indptr))
    shares = sparse.csr_matrix(
        (rates / demand[subscribers], subscribers.astype(np.int32), indptr.astype(np.int32)),
        shape=(workload.num_topics, workload.num_subscribers),
    )
    full_at_one = numba.njit(lambda share: np.minimum(share, 1.0))
    budget = workload.num_topics - 1.0  # apricot takes no budget above the number of topics
    selector = FeatureBasedSelection(budget, concave_func=full_at_one, optimizer="lazy")
    start = time.perf_counter()
    selector.fit(shares, sample_cost=problem.cost * budget / problem.limit)
    theirs = time.perf_counter() - start
    served = np.zeros(workload.num_topics, dtype=bool)
    served[selector.ranking] = True
    start = time.perf_counter()
    ours = served_by(problem, greedy(problem))
    seconds = time.perf_counter() - start
    best = problem.solve("best", time_limit=10)
    value = problem.value(served)
    assert problem.fits(float(problem.cost[served].sum()))
    return row(
        f"apricot-select, fractional, {workload.num_pairs:,} pairs",
        f"apricot {value:,.1f} in {theirs:.2f} s; greedy {problem.value(ours):,.1f} in "
        f"{seconds:.3f} s ({theirs / seconds:,.0f}x faster); best {best.objective:,.1f}",
        "same or better value",
        met=problem.value(ours) >= value * (1 - 1e-9),
        speedup=theirs / seconds,
    )


def beside_milp(scale: float, metric: str) -> dict:
    from fanwise.select.milp import solve_milp

    problem = state(scale, metric)
    start = time.perf_counter()
    answer = solve_milp(problem, time_limit=MILP_SECONDS)
    theirs = time.perf_counter() - start
    value = 0.0 if answer.served is None else problem.value(answer.served)
    plan = problem.solve("best", time_limit=MILP_SECONDS)
    seconds = plan.seconds["solve"]
    bound = min(plan.bound, answer.bound or np.inf)
    return row(
        f"HiGHS, {metric}, {problem.workload.num_pairs:,} pairs",
        f"HiGHS {value:,.1f} in {theirs:.1f} s; best {plan.objective:,.1f} (gap "
        f"{100 * (bound - plan.objective) / max(bound, 1e-9):.3f}%) in {seconds:.1f} s",
        f"same or better value within {MILP_SECONDS:g} s",
        met=plan.objective >= value * (1 - 1e-4),
        milp=value,
        best=plan.objective,
        milp_seconds=theirs,
        best_seconds=seconds,
    )


def state(scale: float, metric: str) -> Selection:
    problem = Selection(
        spotify(scale=scale, seed=1),
        tau=TAU,
        capacity="10%",
        metric=metric,  # type: ignore[arg-type]
    )
    _ = problem.cost, problem.weight, problem.workload.followers
    return problem
