"""Proven lower bounds on the money that any plan costs."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.provision.kernels import count_forced_pairs, cover_subscribers, largest_excess
from fanwise.provision.problem import Provisioning, rank_topics
from fanwise.workload.topic import RELATIVE_TOLERANCE


def paper_bound(problem: Provisioning) -> float:
    """Return the bound of Setty et al. (Alg. 5, Theorem A.1).

    Subscriber v must be sent max(tau_v, its smallest rate) events. The bytes of all subscribers are
    paid for as outgoing traffic and fill machines to the brim; incoming traffic is left out. Where
    topics have messages of different sizes, the bytes of v are those of the cheapest fractional
    cover of tau_v, and at least those of its smallest topic: the same thing for equal sizes.
    Subscribers that need nothing are sent nothing.
    """
    everything = np.ones(problem.workload.num_topics, dtype=bool)
    out_bytes = float(least_outgoing(problem, everything).sum())
    num_vms = round_up(out_bytes / problem.capacity_bytes)
    return problem.costs(num_vms * problem.machine.usd_per_hour, 0.0, out_bytes).total


def proven_bound(problem: Provisioning) -> float:
    """Return a bound at least as high as the paper's, by counting what must come in.

    - Outgoing: as in the paper, from topics that fit a machine.
    - Incoming: a topic is forced if some subscriber cannot reach tau_v without it. A machine holds
      at most floor(capacity / need) - 1 pairs of a topic, so its forced pairs need some number of
      copies, at least one. And what one subscriber is sent beyond the forced topics among its
      interests comes in as topics that are not forced.
    - Machines: both together over the capacity, rounded up; at least as many as one topic has
      copies; at least one if anybody needs anything.

    Each of the three bounds its own share of the cost, so their sum bounds the total. O(pairs).
    """
    workload = problem.workload
    needs, is_usable = problem.needs, problem.is_usable
    least = least_outgoing(problem, is_usable)
    num_forced = count_forced_pairs(
        *workload.interests,
        np.where(is_usable, workload.rates, 0.0),
        problem.demand,
        RELATIVE_TOLERANCE,
    )
    copies = np.where(num_forced > 0, np.ceil(num_forced / _pairs_per_machine(problem)), 0.0)
    needs_of_forced = np.where(num_forced > 0, needs, 0.0)
    in_bytes = float(np.dot(copies, needs))
    in_bytes += largest_excess(*workload.interests, needs_of_forced, least)
    out_bytes = float(least.sum())
    num_vms = max(
        round_up((in_bytes + out_bytes) / problem.capacity_bytes),
        int(copies.max(initial=0.0)),
        int(np.any(problem.demand > 0)),
    )
    return problem.costs(num_vms * problem.machine.usd_per_hour, in_bytes, out_bytes).total


def least_outgoing(problem: Provisioning, is_allowed: npt.NDArray[np.bool_]) -> FloatArray:
    """Return the bytes that must go out to each subscriber at least, from the allowed topics."""
    rank, order = rank_topics(problem.sizes, is_allowed)
    least: FloatArray = cover_subscribers(
        *problem.workload.interests,
        rank,
        np.ascontiguousarray(problem.workload.rates[order]),
        np.ascontiguousarray(problem.sizes[order]),
        problem.demand,
    )
    return least


def round_up(count: float) -> int:
    """Round up to a whole number, except where rounding errors alone lie above one."""
    return math.ceil(count * (1 - RELATIVE_TOLERANCE))


def _pairs_per_machine(problem: Provisioning) -> FloatArray:
    """How many pairs of each topic one machine holds at most, beside the incoming copy."""
    limit = problem.capacity_bytes * (1 + RELATIVE_TOLERANCE)
    held = np.full(problem.workload.num_topics, np.inf)
    np.divide(limit, problem.needs, out=held, where=problem.needs > 0)
    at_most: FloatArray = np.maximum(np.floor(held) - 1, 1.0)
    return at_most
