"""What an assignment costs, who is late, which brokers are overloaded, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.flows import max_flow
from fanwise.arrays.jit import kernel
from fanwise.assign.arrays import Filters
from fanwise.assign.choices import count_usable
from fanwise.assign.problem import Assignment
from fanwise.planning.problem import Measurement

NOT_ASKED = "nobody: slp and Assignment.fractional work it out"
MOST_NAMED = 10
"""Names that an explanation lists."""


def measure(problem: Assignment, broker_of_subscriber: IntArray, filters: Filters) -> Measurement:
    """Measure an assignment; see :meth:`Problem.measure`.

    ``lbf`` is the largest load for a share, ``late`` counts subscribers on brokers that are not
    allowed for them, ``rms_delay`` is the root of the mean squared delay (how much longer the way
    is than the quickest, as a share of that), ``load_stdev`` the deviation of the leaves' loads.
    ``fractional`` is a yardstick, explained in :mod:`fanwise.assign.fractional`; ``fractional_of``
    says of whom it is, or why there is none.
    """
    arrays = problem.arrays
    loads = np.bincount(broker_of_subscriber, minlength=arrays.num_brokers)
    is_late = find_late(*arrays.candidates, broker_of_subscriber)
    over = np.flatnonzero(loads > problem.limits(problem.lbf_max))
    known = vars(problem).get("fractional")  # it takes long: only where somebody has asked for it
    metrics: dict[str, Any] = {
        "lbf": load_factor(problem, loads),
        "late": int(np.count_nonzero(is_late)),
        "fractional": None if known is None else known.value,
        "fractional_of": NOT_ASKED if known is None else known.of,
        "rms_delay": rms_delay(problem, broker_of_subscriber),
        "load_stdev": float(loads[arrays.leaves].std()) if len(arrays.leaves) else 0.0,
        "overloaded": len(over),
    }
    if len(over) or is_late.any():
        metrics["trouble"] = explain_trouble(problem)
    bandwidth = float(arrays.measures(filters).sum())
    return Measurement(bandwidth, not len(over) and not is_late.any(), metrics)


@kernel
def find_late(
    indptr: LongArray, brokers: IntArray, broker_of_subscriber: IntArray
) -> npt.NDArray[np.bool_]:
    """Whether each subscriber is on a broker that does not reach it in time. Changes nothing."""
    is_late = np.ones(len(broker_of_subscriber), dtype=np.bool_)
    for j in range(len(broker_of_subscriber)):
        for pair in range(indptr[j], indptr[j + 1]):
            if brokers[pair] == broker_of_subscriber[j]:
                is_late[j] = False
                break
    return is_late


def load_factor(problem: Assignment, loads: Any) -> float | None:
    """Return the load-balance factor; None where somebody is on a broker without a share."""
    share = problem.arrays.share
    if (loads[share == 0] > 0).any():
        return None
    total = problem.workload.num_subscribers
    used = loads > 0
    return float((loads[used] / (share[used] * total)).max(initial=0.0))


def delays(problem: Assignment, broker_of_subscriber: IntArray) -> FloatArray:
    """Return how much later each subscriber is than it could be; NaN where it could be at once."""
    workload = problem.workload
    hop = workload.positions - workload.broker_positions[broker_of_subscriber]
    latency = problem.path[broker_of_subscriber] + np.sqrt((hop**2).sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        delay: FloatArray = latency / problem.shortest - 1
    return np.where(problem.shortest > 0, delay, np.where(latency > 0, np.nan, 0.0))


def rms_delay(problem: Assignment, broker_of_subscriber: IntArray) -> float:
    """Return the root mean square of delays, of those that have one."""
    delay = delays(problem, broker_of_subscriber)
    delay = delay[~np.isnan(delay)]
    return float(np.sqrt((delay**2).mean())) if len(delay) else 0.0


def explain_trouble(problem: Assignment) -> dict[str, Any]:
    """Say what no assignment can help, and what another one could.

    Entries
    -------
    unreachable, unreachable_names
        Subscribers that no broker with a share reaches in time, and the first of them.
    least_lbf
        Least load-balance factor under which everybody in reach can be served; None if somebody is
        out of reach.
    bottleneck_brokers, bottleneck_subscribers, left_over
        Brokers that are too small at the allowed factor, how many depend on them alone, and how
        many too many those are.
    says
        The same in one sentence.
    """
    workload = problem.workload
    stranded = np.flatnonzero(count_usable(problem) == 0)
    factor, _ = problem.least
    facts: dict[str, Any] = {
        "unreachable": len(stranded),
        "unreachable_names": _names(workload.subscriber_names, stranded),
        "least_lbf": factor,
    }
    narrow = max_flow(problem.groups, problem.limits(problem.lbf_max)).bottleneck
    facts["bottleneck_brokers"] = _names(workload.broker_names, narrow.brokers)
    facts["bottleneck_subscribers"] = len(np.setdiff1d(narrow.subscribers, stranded))
    facts["left_over"] = narrow.num_left - len(stranded)
    return {**facts, "says": _say(problem, facts)}


def _names(names: Any, ids: Any) -> list[str]:
    found: list[str] = names.take(ids[:MOST_NAMED]).to_pylist()
    return found


def _say(problem: Assignment, facts: dict[str, Any]) -> str:
    if facts["unreachable"]:
        return (
            f"latency is too tight: {facts['unreachable']:,} subscribers have no broker in time, "
            f"{', '.join(facts['unreachable_names'][:3])} among them"
        )
    if facts["left_over"]:
        return (
            f"load is too tight: {facts['bottleneck_subscribers']:,} subscribers have only "
            f"{', '.join(facts['bottleneck_brokers'][:3])} … in time, {facts['left_over']:,} too "
            f"many for lbf {problem.lbf_max:g}; the least that works is {facts['least_lbf']:.4g}"
        )
    return (
        f"an assignment exists (from lbf {facts['least_lbf']:.4g}), this algorithm did not find "
        "one; try balance or another"
    )
