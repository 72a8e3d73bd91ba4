"""Our packing: bin packing with setups, where splitting a topic costs one more incoming copy.

Only topics that no machine holds are cut beforehand, into as few parts as possible. Fleets of
machines are then tried from the smallest that has room for everything: items by falling size (or
falling traffic of one copy), each to the first or the tightest machine that holds it whole; what
fits nowhere whole is split over the machines with most room. Larger fleets split less, the largest
nothing. Where several types are allowed, each in turn makes up the fleet, and so do mixes in which
the cheapest combination covers what is left of the volume. Small instances are improved by emptying
machines and merging split topics.

Guarantee
    The paper's rungs are tried as well, so the result is never dearer than any of them, and with
    several types never dearer than with any one. With a time limit that holds up to QUICK_PAIRS
    pairs; above, the result is never dearer than ``cbp`` on the first type.

Complexity
    O(topics x log topics) per fleet, and at most MAX_FLEETS fleets for each type and order of the
    items, beside the mixes of :mod:`fanwise.provision.machines.fleets`.

References
----------
    The order by falling size is D. S. Johnson: Near-optimal bin packing algorithms. PhD thesis,
    MIT, 1973. Items that may be split at a price: N. Menakerman, R. Rom: Bin packing with item
    fragmentation. WADS 2001.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, LongArray
from fanwise.arrays.tolerance import ROUNDING
from fanwise.planning.problem import Run
from fanwise.planning.search import Search
from fanwise.planning.stopping import limits_of
from fanwise.progress import Step
from fanwise.provision.machines import first_fit, group
from fanwise.provision.machines.fleet_kernels import count_machines, fill_fleet, make_fleet
from fanwise.provision.machines.fleets import mixed_fleets
from fanwise.provision.machines.improve_packing import improve
from fanwise.provision.machines.machine_kernels import order_falling
from fanwise.provision.machines.packing import (
    EMPTY,
    Bin,
    Groups,
    Packing,
    downsize,
    fewest_copies,
    fill_base,
    group_pairs,
    least_price,
    merge_parts,
    pairs_per_machine,
    price_of,
    room_left,
)
from fanwise.provision.problem import Provisioning
from fanwise.provision.time_shares import QUICK_PAIRS

RUNGS = (
    (group.fill_by_cost, 1.0),
    (group.fill_most_free, 2.0),
    (group.fill_expensive_first, 2.0),
    (group.fill, 2.0),
    (first_fit.fill, 20.0),
)
"""The paper's packings, and how many times as long as the first each takes at worst."""
MAX_FLEETS = 6
"""Fleets of one type that are tried from the smallest on, beside the one that splits nothing."""
MAX_SCANS = 30_000_000
"""Items times machines up to which the tightest machine is looked for."""


class Items(NamedTuple):
    """Groups, or parts of those too large for a machine, in the order in which they are packed."""

    group: LongArray
    num_pairs: LongArray
    need: FloatArray

    @property
    def size(self) -> FloatArray:
        return (self.num_pairs + 1) * self.need

    def take(self, order: LongArray) -> Items:
        """Return the items in another order."""
        return Items(self.group[order], self.num_pairs[order], self.need[order])


def pack(problem: Provisioning, pairs: Csr, run: Run) -> Packing:
    """Put chosen pairs on machines, as cheaply as we can.

    Ends early at a packing that is proven to be the cheapest, and after the time limit. Where there
    is one, the paper's rungs come first; else ours, which often make them needless.
    """
    with run.progress.step("packing groups") as step:
        search = PackingSearch(problem, group_pairs(problem, pairs), run, step)
        if run.time_limit is not None:
            search.try_rungs()
        search.try_fleets()
        if run.time_limit is None:
            search.try_rungs()
    return search.result()


def pack_by_rungs(problem: Provisioning, pairs: Csr, run: Run) -> Packing:
    """Put chosen pairs on machines as the paper does, by the rung that is cheapest."""
    with run.progress.step("packing groups") as step:
        search = PackingSearch(problem, group_pairs(problem, pairs), run, step)
        search.try_rungs()
    return search.result()


class PackingSearch(Search[Packing]):
    """The cheapest packing so far, and what is left to try."""

    def __init__(self, problem: Provisioning, groups: Groups, run: Run, step: Step) -> None:
        super().__init__(run, step, "min", limits_of(run), unit="packing")
        self.problem, self.groups = problem, groups
        self.least = least_price(problem, groups)
        in_bytes = float((fewest_copies(problem, groups) * groups.needs).sum())
        self.incoming = problem.costs(0.0, in_bytes, 0.0).total
        if not len(groups.topics):
            self.offer(EMPTY, 0.0)
            self.is_settled = True

    def result(self) -> Packing:
        """Return the cheapest packing."""
        return self.answer._replace(stopped=self.stopped)

    def try_rungs(self) -> None:
        """Look at what the paper's packings make of the groups.

        All of them, time or no time, if there are few pairs; else the first of them.
        """
        is_quick = len(self.groups.pairs) <= QUICK_PAIRS
        begun, seconds = self.run.elapsed(), 0.0
        for base, (fill, times) in product(self.problem.allowed_bins, RUNGS):
            if self.is_settled:
                return
            if is_quick or self.has_time_for(times * seconds):
                packing = fill_base(self.problem, self.groups, base, fill)
                self.consider(packing, may_improve=not self.run.is_over())
                seconds = seconds or self.run.elapsed() - begun
            else:
                self.run.leave_out("some packings")

    def try_fleets(self) -> None:
        """Look at our own packings as long as there is time."""
        attempts = self.attempts()
        while not self.is_over():
            attempt = next(attempts, None)
            if attempt is None:
                return
            self.consider(attempt)

    def consider(self, packing: Packing, *, may_improve: bool = True) -> None:
        """Consider a packing on the cheapest types that hold it, and improve it.

        It is improved as it is as well as on those types: either can be the better start.
        """
        problem, groups = self.problem, self.groups
        has_types = len(problem.allowed_bins) > 1
        found = [downsize(problem, packing) if has_types else packing]
        if may_improve:
            improved = improve(problem, groups, packing)
            if has_types:
                improved = downsize(problem, improve(problem, groups, downsize(problem, improved)))
            found.append(improved)
        for other in found:
            self.offer(other, price_of(problem, other))
        self.is_settled = self.value <= self.least * (1 + ROUNDING)

    def is_hopeless(self, fleet: Sequence[Bin]) -> bool:
        """Whether nothing on such a fleet can be cheaper than the best so far."""
        return sum(kind.rent for kind in fleet) + self.incoming >= self.value

    def attempts(self) -> Iterator[Packing]:
        """Yield packings of all kinds, the most promising first."""
        for base in self.problem.allowed_bins:
            yield from self.fill_one_type(base)
        if len(self.problem.bins) > 1:
            yield from self.fill_mixes()

    def fill_one_type(self, base: Bin) -> Iterator[Packing]:
        """Yield packings on fleets of one type, with the largest for topics that it cannot hold."""
        fits = 2 * self.groups.needs <= base.limit
        start = EMPTY
        if not fits.all():
            rest, largest = self.groups.some(~fits), self.problem.largest
            start = fill_base(self.problem, rest, largest, group.fill_most_free)
        groups = self.groups.some(fits)
        if not len(groups.topics):
            yield start
            return
        items = cut_groups(groups, base)
        fewest = _fewest(self.problem, items, base, start)
        for order in _orders(items, base):
            ordered = items.take(order)
            most = count_machines(ordered.num_pairs, ordered.need, base.capacity)
            is_small = len(order) * most <= MAX_SCANS
            for is_best_fit in (False, True) if is_small else (False,):
                for num_vms in (*range(fewest, min(fewest + MAX_FLEETS, most)), most):
                    fleet = (base,) * num_vms
                    found = _fill(
                        self.problem, groups, ordered, fleet, start, is_best_fit=is_best_fit
                    )
                    if found is None:
                        continue
                    yield found
                    if len(found.vm) == len(order) + len(start.vm):
                        break  # nothing was split: more machines only cost more

    def fill_mixes(self) -> Iterator[Packing]:
        """Yield packings on fleets of several types."""
        largest = self.problem.largest
        items = cut_groups(self.groups, largest)
        volume, num_pairs = float(items.size.sum()), int(items.num_pairs.sum())
        for order in _orders(items, largest):
            ordered = items.take(order)
            is_large = len(order) > 20_000
            for fleet in mixed_fleets(self.problem.bins, volume, num_pairs, is_large=is_large):
                if self.is_hopeless(fleet):
                    continue
                is_best_fit = len(order) * len(fleet) <= MAX_SCANS
                found = _fill(
                    self.problem, self.groups, ordered, fleet, EMPTY, is_best_fit=is_best_fit
                )
                if found is not None:
                    yield found


def cut_groups(groups: Groups, kind: Bin) -> Items:
    """Cut the groups that no machine of a type holds into as few parts as possible."""
    per_machine = pairs_per_machine(groups, kind)
    num_full = np.ceil(groups.counts / per_machine).astype(np.int64) - 1
    full = np.repeat(np.arange(len(groups.topics)), num_full)
    rest = groups.counts - num_full * np.where(num_full > 0, per_machine, 0).astype(np.int64)
    index = np.concatenate([np.arange(len(groups.topics)), full])
    count = np.concatenate([rest, per_machine[full].astype(np.int64)])
    return Items(index, count, groups.needs[index])


def _orders(items: Items, kind: Bin) -> Iterator[LongArray]:
    """Yield orders to pack items in: by size, by the scarcest of what they take, by need."""
    sizes = items.size
    yield order_falling(sizes)
    if kind.max_pairs < items.num_pairs.sum():
        share = np.maximum(sizes / kind.limit, items.num_pairs / kind.max_pairs)
        yield order_falling(share)
    yield order_falling(items.need)


def _fewest(problem: Provisioning, items: Items, base: Bin, start: Packing) -> int:
    """Return how many machines of a type it takes at least, beside those that are there."""
    room, topics, pairs = room_left(problem, start)
    least = max(
        (float(items.size.sum()) - float(np.maximum(room, 0).sum())) / base.limit,
        (len(items.group) - float(topics.sum())) / base.max_topics,
        (float(items.num_pairs.sum()) - float(pairs.sum())) / base.max_pairs,
    )
    return max(math.ceil(least * (1 - ROUNDING)), 0 if start.machines else 1)


def _fill(
    problem: Provisioning,
    groups: Groups,
    items: Items,
    fleet: Sequence[Bin],
    start: Packing,
    *,
    is_best_fit: bool,
) -> Packing | None:
    """Fill a fleet, and before it what is left of the machines at the start; None if it is full."""
    room, topics, pairs = room_left(problem, start)
    rooms = make_fleet(
        np.concatenate([room, [kind.limit for kind in fleet]]),
        np.concatenate([topics, np.array([kind.max_topics for kind in fleet], dtype=np.int64)]),
        np.concatenate([pairs, np.array([kind.max_pairs for kind in fleet], dtype=np.int64)]),
    )
    parts = fill_fleet(items.num_pairs, items.need, rooms, is_best_fit=is_best_fit)
    if parts is None:
        return None
    machines = (*start.machines, *(kind.machine for kind in fleet))
    topic = groups.topics[items.group[parts.group]]
    found = Packing(parts.vm, topic, parts.num_pairs, machines)
    if start.machines:
        found = Packing(
            np.concatenate([start.vm, found.vm]),
            np.concatenate([start.topic, found.topic]),
            np.concatenate([start.num_pairs, found.num_pairs]),
            machines,
        )
    elif (
        len(parts.vm) == len(groups.topics) and np.bincount(parts.vm, minlength=len(machines)).all()
    ):
        return found  # whole groups, and no machine without any
    return merge_parts(found, problem.workload.num_topics)
