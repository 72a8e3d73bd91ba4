"""Pairs grouped by topic: rungs (b) to (e) of the ladder of Setty et al. (Alg. 4 and 7).

Each rung adds one idea to the one before:

- ``group`` (b): the pairs of a topic are placed together, topics in ascending id. A group that
  fits the machine opened last as a whole goes there; otherwise open machines take what they have
  room for, the first ones first, and new machines the rest.
- ``expensive-first`` (c): topics in falling traffic of one copy, then id. The paper's text says
  highest event rate, its pseudo-code highest total volume; this is the text's, in bytes, which is
  the same where messages are equally large.
- ``most-free`` (d): of open machines, those with most room first, of equals the first.
- ``cbp`` (e): a group goes to new machines alone where that costs less than using open ones
  first, by the prices of a machine and of the incoming copies. The decision counts
  ceil(pairs / (floor(capacity / traffic) - 1)) new machines, so that each has room for its copy.

Mended on the way: the printed pseudo-code has no branch for a group that fits, forgets incoming
copies, never uses its first machine again, and does not stop at topics that fit no machine, which
the first stage leaves out.

Guarantee
    Every machine keeps its limits. None of the four is always cheaper than another.

Complexity
    O(topics x log topics + parts x log machines), where the decisions of ``cbp`` may look at all
    machines for each group that opens new ones.

References
----------
    V. Setty, R. Vitenberg, G. Kreitz, G. Urdaneta, M. van Steen: Cost-effective resource allocation
    for deploying pub/sub on cloud. Research report 436, University of Oslo, 2014.
"""

from __future__ import annotations

from functools import partial

from fanwise.arrays.csr import Csr
from fanwise.planning.problem import Run
from fanwise.provision.machines.machine_kernels import order_falling
from fanwise.provision.machines.pack_kernels import pack_groups
from fanwise.provision.machines.packing import (
    Bin,
    Fill,
    Filling,
    Groups,
    Packing,
    group_pairs,
    pack_on_types,
)
from fanwise.provision.problem import Provisioning


def fill(
    problem: Provisioning,
    groups: Groups,
    kind: Bin,
    *,
    is_expensive_first: bool = False,
    is_most_free_first: bool = False,
    is_by_cost: bool = False,
) -> Filling:
    """Put groups of pairs on machines of one type."""
    topics, counts, needs = groups.topics, groups.counts, groups.needs
    if is_expensive_first:
        order = order_falling(needs)
        topics, counts, needs = topics[order], counts[order], needs[order]
    parts, num_vms = pack_groups(
        counts,
        needs,
        kind.capacity,
        is_most_free_first=is_most_free_first,
        is_by_cost=is_by_cost,
        rent=kind.rent,
        price=problem.costs(0.0, 1.0, 0.0).total,
    )
    return Filling(parts.vm, topics[parts.group], parts.num_pairs, num_vms)


fill_expensive_first: Fill = partial(fill, is_expensive_first=True)
fill_most_free: Fill = partial(fill, is_expensive_first=True, is_most_free_first=True)
fill_by_cost: Fill = partial(
    fill, is_expensive_first=True, is_most_free_first=True, is_by_cost=True
)


def pack(problem: Provisioning, pairs: Csr, run: Run) -> Packing:
    """Rung (b): pairs of a topic together."""
    return _pack(problem, pairs, run, fill)


def pack_expensive_first(problem: Provisioning, pairs: Csr, run: Run) -> Packing:
    """Rung (c): the topics with most traffic first as well."""
    return _pack(problem, pairs, run, fill_expensive_first)


def pack_most_free(problem: Provisioning, pairs: Csr, run: Run) -> Packing:
    """Rung (d): on the machines with most room as well."""
    return _pack(problem, pairs, run, fill_most_free)


def pack_by_cost(problem: Provisioning, pairs: Csr, run: Run) -> Packing:
    """Rung (e), CBP: new machines where they are cheaper as well."""
    return _pack(problem, pairs, run, fill_by_cost)


def _pack(problem: Provisioning, pairs: Csr, run: Run, fill: Fill) -> Packing:
    with run.progress.step("packing groups"):
        return pack_on_types(problem, group_pairs(problem, pairs), fill)
