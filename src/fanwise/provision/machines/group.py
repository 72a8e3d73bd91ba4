"""Pairs grouped by topic: rungs (b) to (e) of the ladder of Setty et al. (Alg. 4 and 7).

Each rung adds one idea to the one before:

- ``group`` (b): the pairs of a topic are placed together, topics in ascending id. A group that
  fits the machine opened last as a whole goes there, any other to new machines.
- ``expensive-first`` (c): the topics that cost most first, then by id.
- ``most-free`` (d): a group that does not fit the machine opened last goes to open machines as long
  as they have room for a part of it, those with most room first, of equals the first; new machines
  take the rest.
- ``cbp`` (e): a group goes to new machines alone where that costs less than using open ones
  first, by the prices of a machine and of the incoming copies. The decision counts
  ceil(pairs / (floor(capacity / traffic) - 1)) new machines, so that each has room for its copy.

That open machines are used again from (d) on only is what the paper's numbers imply: (d) is where
it saves machines, up to a tenth, at a little more bandwidth, while (b) saves bandwidth for more
machines. Were they filled from (b) on, nothing would be left for (c) to (e).

What costs most is a knob, ``order``: by ``rate``, the traffic of one copy, as the paper's text says
(highest event rate; in bytes, which is the same where messages are equally large); or by
``volume``, the traffic of all pairs of a topic, as its pseudo-code prints.

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
from fanwise.provision.description import ORDERS
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

RATE, VOLUME = ORDERS


def fill(
    problem: Provisioning,
    groups: Groups,
    kind: Bin,
    *,
    order: str | None = None,
    may_reuse: bool = False,
    is_by_cost: bool = False,
) -> Filling:
    """Put groups of pairs on machines of one type: by id, or in one of the orders of ``ORDERS``."""
    topics, counts, needs = groups.topics, groups.counts, groups.needs
    if order is not None:
        falling = order_falling(counts * needs if order == VOLUME else needs)
        topics, counts, needs = topics[falling], counts[falling], needs[falling]
    parts, num_vms = pack_groups(
        counts,
        needs,
        kind.capacity,
        may_reuse=may_reuse,
        is_by_cost=is_by_cost,
        rent=kind.rent,
        price=problem.costs(0.0, 1.0, 0.0).total,
    )
    return Filling(parts.vm, topics[parts.group], parts.num_pairs, num_vms)


fill_expensive_first: Fill = partial(fill, order=RATE)
fill_most_free: Fill = partial(fill, order=RATE, may_reuse=True)
fill_by_cost: Fill = partial(fill, order=RATE, may_reuse=True, is_by_cost=True)


def pack(problem: Provisioning, pairs: Csr, run: Run) -> Packing:
    """Rung (b): pairs of a topic together."""
    return _pack(problem, pairs, run, fill)


def pack_expensive_first(problem: Provisioning, pairs: Csr, run: Run) -> Packing:
    """Rung (c): the topics that cost most first as well."""
    return _pack(problem, pairs, run, partial(fill, order=_order(run)))


def pack_most_free(problem: Provisioning, pairs: Csr, run: Run) -> Packing:
    """Rung (d): on open machines with most room as well."""
    return _pack(problem, pairs, run, partial(fill, order=_order(run), may_reuse=True))


def pack_by_cost(problem: Provisioning, pairs: Csr, run: Run) -> Packing:
    """Rung (e), CBP: new machines where they are cheaper as well."""
    by_cost = partial(fill, order=_order(run), may_reuse=True, is_by_cost=True)
    return _pack(problem, pairs, run, by_cost)


def _order(run: Run) -> str:
    return str(run.settings.get("order", RATE))


def _pack(problem: Provisioning, pairs: Csr, run: Run, fill: Fill) -> Packing:
    with run.progress.step("packing groups"):
        return pack_on_types(problem, group_pairs(problem, pairs), fill)
