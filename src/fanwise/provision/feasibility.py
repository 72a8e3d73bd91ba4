"""Whether everybody can be satisfied at all: which topics fit no machine, and who needs them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fanwise.errors import InfeasibleError
from fanwise.formatting import percent
from fanwise.provision.catalogue import Instance

if TYPE_CHECKING:
    from fanwise.arrays.csr import FloatArray
    from fanwise.provision.problem import Provisioning


def refuse_impossible(problem: Provisioning) -> None:
    """Raise if somebody cannot be satisfied because a topic it needs fits no allowed machine.

    Topics that fit none are left out where nobody needs them. The message names the topics, how
    many subscribers need them, and the smallest type of the catalogue on which everybody could be
    satisfied.
    """
    if problem.is_usable.all():
        return
    is_short = misses_out(problem, problem.is_usable)
    if not is_short.any():
        return
    workload = problem.workload
    indptr, topics = workload.interests
    is_needed = np.zeros(workload.num_topics, dtype=bool)
    is_needed[topics[np.repeat(is_short, np.diff(indptr))]] = True
    too_large = np.flatnonzero(is_needed & ~problem.is_usable)
    raise impossible(
        problem, too_large, int(np.count_nonzero(is_short)), _way_out(problem, too_large)
    )


def impossible(
    problem: Provisioning, too_large: npt.NDArray[np.intp], num_short: int, way_out: str
) -> InfeasibleError:
    """Return what to raise where so many subscribers need topics that fit no machine."""
    names = [repr(problem.workload.topic_names[topic].as_py()) for topic in too_large[:3].tolist()]
    named = ", ".join(names) + (", …" if len(too_large) > len(names) else "")
    topics = f"{plural(len(too_large), 'topic')} ({named}) {'is' if len(too_large) == 1 else 'are'}"
    reserve = f" with {percent(problem.reserve_share)} in reserve" if problem.reserve_share else ""
    return InfeasibleError(
        f"{topics} too large for one {problem.machine.instance}{reserve}, and "
        f"{plural(num_short, 'subscriber')} cannot reach the threshold without; {way_out}."
    )


def bandwidth_needed(problem: Provisioning, too_large: npt.NDArray[np.intp]) -> str:
    """Say which bandwidth a machine for all of these topics has."""
    need = 2 * float(problem.needs[too_large].max()) / (1 - problem.reserve_share)
    mbps = need * 8 / 1e6 / problem.workload.period_seconds
    return f"{math.ceil(mbps * 100) / 100:,} mbps"


def misses_out(problem: Provisioning, is_usable: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Whether each subscriber gets too little even from all of these topics."""
    from fanwise.arrays.csr import sum_rows
    from fanwise.provision.problem import SOLVER_TOLERANCE

    rates = np.where(is_usable, problem.workload.rates, 0.0)
    reachable: FloatArray = sum_rows(*problem.workload.interests, rates)
    return reachable < problem.demand * (1 - SOLVER_TOLERANCE)


def _way_out(problem: Provisioning, too_large: npt.NDArray[np.intp]) -> str:
    for machine in _larger(problem):
        if not misses_out(problem, problem.fits(machine)).any():
            return f"the smallest instance that works is {machine.instance}"
    return (
        "no instance of the catalogue works; one of "
        f"{bandwidth_needed(problem, too_large)} would, or a smaller tau"
    )


def _larger(problem: Provisioning) -> Iterable[Instance]:
    larger = (entry for entry in problem.types if entry.mbps > problem.machine.mbps)
    return sorted(larger, key=lambda entry: entry.mbps)


def plural(count: int, word: str) -> str:
    """Write a number of things."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
