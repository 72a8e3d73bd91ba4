"""The cheapest packing of chosen pairs: by a table for a dozen, with HiGHS for tens of topics.

One whole number per topic and machine says how many of the topic's pairs are there, one binary
whether any is, and one per type and machine whether that machine is rented. Pairs of a topic are
alike, so none of them has a variable of its own. Machines are ordered by rent: that many copies of
each solution less to look at. The best packing is the start, and the answer at once where its cost
is that of the volume and the fewest copies.

Where the first stage is ``exact``, too, both are decided at once: see
:mod:`fanwise.provision.exact`.

Guarantee
    Optimal for the pairs that the first stage chose, where the metric ``packing_is_optimal`` says
    so. Within a time limit, a gap or MAX_NODES nodes the best packing so far is kept, which is
    never dearer than that of ``best``.

Complexity
    Exponential in the number of topics and machines.

References
----------
    Q. Huangfu, J. A. J. Hall: Parallelizing the dual revised simplex method. Mathematical
    Programming Computation 10(1), 2018: HiGHS.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr, FloatArray, LongArray
from fanwise.arrays.tolerance import ROUNDING, most_within
from fanwise.errors import ParameterError
from fanwise.planning.highs import Model, Rows, Solver
from fanwise.planning.problem import Run, Stopped
from fanwise.planning.search import Search
from fanwise.planning.stopping import limits_of
from fanwise.provision.machines import best_packing
from fanwise.provision.machines.packing import (
    Groups,
    Packing,
    downsize,
    fewest_copies,
    group_pairs,
    least_price,
    loads,
    merge_parts,
    pairs_per_machine,
    price_of,
)
from fanwise.provision.problem import Provisioning
from fanwise.provision.tiny.table import PATIENT, pack_by_table

MAX_CELLS = 600
"""Topics times machines: above this the solver is hopeless."""
SCALE = 1e4
"""The cost of the packing to start from as HiGHS sees it: it tells costs apart to about 1e-6."""
MAX_NODES = 20_000
"""About a minute: proofs that take longer take for ever."""
CUT_SHORT: tuple[Stopped, ...] = ("limit", "interrupted")


def pack(problem: Provisioning, pairs: Csr, run: Run) -> Packing:
    """Pack to optimality, or to the time limit or gap."""
    groups = group_pairs(problem, pairs)
    found = pack_by_table(problem, groups, PATIENT)
    if found is not None:
        return found._replace(is_optimal=True, stopped="exhausted")
    start = best_packing.pack(problem, pairs, run)
    copies = fewest_copies(problem, groups)
    if price_of(problem, start) <= least_price(problem, groups) * (1 + ROUNDING):
        return start._replace(is_optimal=True, stopped="exhausted")
    num_vms = _most_machines(problem, groups, copies, start)
    if len(groups.topics) * num_vms > MAX_CELLS:
        raise ParameterError(
            "pack",
            f"'best' above {MAX_CELLS:,} topics times machines (here "
            f"{len(groups.topics):,} x {num_vms:,})",
            "exact",
        )
    with run.progress.step("packing with HiGHS") as step:
        search: Search[Packing] = Search(
            run, step, "min", limits_of(run, work=MAX_NODES), unit="packing"
        )
        search.offer(start, price_of(problem, start))
        search.end(_Model(problem, groups, copies, num_vms).solve(search))
    stopped = search.stopped
    return search.answer._replace(is_optimal=stopped == "exhausted", stopped=stopped)


def _most_machines(
    problem: Provisioning, groups: Groups, copies: FloatArray, start: Packing
) -> int:
    """Return how many machines a packing can have that costs no more than one that is known.

    On one type, more machines than the fewest copies together never help. Any machine costs rent
    and holds a pair. What the known packing spends on more than the fewest copies could be rent;
    rents and copies are added up apart, as rent may be nothing beside traffic, or the reverse.
    """
    most = float(groups.counts.sum())
    if len(problem.bins) == 1:
        most = min(most, float(copies.sum()))
    cheapest = min(kind.rent for kind in problem.bins)
    if cheapest > 0:
        rent = sum(problem.costs(each.usd_per_hour, 0.0, 0.0).total for each in start.machines)
        used = np.bincount(
            np.searchsorted(groups.topics, start.topic), minlength=len(groups.topics)
        )
        spare = problem.costs(0.0, float(((used - copies) * groups.needs).sum()), 0.0).total
        most = min(most, math.floor(most_within((rent + spare) / cheapest)))
    return max(int(most), len(start.machines), 1)


class _Model:
    """The program: columns are counts, then copies, by topic and machine, then rented machines."""

    def __init__(
        self, problem: Provisioning, groups: Groups, copies: FloatArray, num_vms: int
    ) -> None:
        self.problem, self.groups, self.num_vms = problem, groups, num_vms
        self.copies = copies
        self.num_groups, self.num_kinds = len(groups.topics), len(problem.bins)
        self.cells = self.num_groups * num_vms
        self.rows = Rows()

    def count(self, group: int, vm: int) -> int:
        return group * self.num_vms + vm

    def copy(self, group: int, vm: int) -> int:
        return self.cells + group * self.num_vms + vm

    def rented(self, vm: int, kind: int) -> int:
        return 2 * self.cells + vm * self.num_kinds + kind

    def _build(self) -> None:
        counts = self.groups.counts
        per_machine = pairs_per_machine(self.groups, self.problem.largest)
        groups, vms = range(self.num_groups), range(self.num_vms)
        for t in groups:
            total = float(counts[t])
            self.rows.add([self.count(t, v) for v in vms], [1.0] * self.num_vms, total, total)
            fewest = float(self.copies[t])
            self.rows.add([self.copy(t, v) for v in vms], [1.0] * self.num_vms, fewest)
            most = float(min(counts[t], per_machine[t]))
            for v in vms:
                self.rows.add([self.count(t, v), self.copy(t, v)], [-1.0, most], 0.0)
        for v in vms:
            self._add_machine(v)

    def _add_machine(self, vm: int) -> None:
        bins, groups = self.problem.bins, range(self.num_groups)
        kinds = [self.rented(vm, k) for k in range(self.num_kinds)]
        self.rows.add(kinds, [-1.0] * self.num_kinds, -1.0)
        if vm + 1 < self.num_vms:
            rents = [kind.rent if kind.rent > 0 else 1e-6 for kind in bins]
            scale = max(rents)
            following = [self.rented(vm + 1, k) for k in range(self.num_kinds)]
            values = [rent / scale for rent in rents]
            self.rows.add(kinds + following, values + [-value for value in values], 0.0)
        unit = max(kind.limit for kind in bins)
        counts = [self.count(t, vm) for t in groups]
        copies = [self.copy(t, vm) for t in groups]
        needs = (-self.groups.needs / unit).tolist()
        self.rows.add(counts + copies + kinds, needs + needs + [kind.limit / unit for kind in bins],
                  0.0)  # fmt: skip
        most = [float(min(kind.max_topics, self.num_groups)) for kind in bins]
        self.rows.add(copies + kinds, [-1.0] * self.num_groups + most, 0.0)
        total = float(self.groups.counts.sum())
        most = [min(kind.max_pairs, total) for kind in bins]
        if min(most) < total:
            self.rows.add(counts + kinds, [-1.0] * self.num_groups + most, 0.0)

    def _costs(self) -> FloatArray:
        price = self.problem.costs(0.0, 1.0, 0.0).total
        incoming = np.repeat(self.groups.needs * price, self.num_vms)
        rents = np.tile([kind.rent for kind in self.problem.bins], self.num_vms)
        return np.concatenate([np.zeros(self.cells), incoming, rents])

    def solve(self, search: Search[Packing]) -> Stopped:
        """Offer the cheapest packing that HiGHS finds; return why it stopped."""
        self._build()
        costs = self._costs()
        counts = np.repeat(self.groups.counts, self.num_vms).astype(float)
        model = Model(
            cost=costs * (SCALE / search.value),
            lower=np.zeros(len(costs)),
            upper=np.concatenate([counts, np.ones(len(costs) - self.cells)]),
            matrix=self.rows.matrix,
            row_lower=self.rows.lower,
            row_upper=self.rows.upper,
            is_whole=True,
        )
        gap = search.run.gap or 0.0
        solver = Solver(model, gap=gap, max_nodes=MAX_NODES, presolve=False)
        solver.start_from(self._columns(search.answer))
        answer = solver.solve(time_limit=search.run.time_left(), keeps_found=True)
        search.spend(answer.nodes)
        stopped = answer.stopped(gap)
        found = self._packing(answer.values)
        if found is None:  # over a limit by less than HiGHS's tolerance
            return stopped if stopped in CUT_SHORT else "work"
        price = price_of(self.problem, found)
        # Of packings that cost the same, the solver's is the one that it proved to be the cheapest.
        search.offer(found, price, cost=-1.0)
        return stopped

    def _columns(self, packing: Packing) -> npt.NDArray[np.float64]:
        """Return the program's columns for a packing, machines by falling rent."""
        columns = np.zeros(2 * self.cells + self.num_vms * self.num_kinds)
        kind_of = {kind.machine.instance: k for k, kind in enumerate(self.problem.bins)}
        kinds = [kind_of[machine.instance] for machine in packing.machines]
        order = sorted(range(len(kinds)), key=lambda vm: -self.problem.bins[kinds[vm]].rent)
        position = {vm: i for i, vm in enumerate(order)}
        for vm, kind in enumerate(kinds):
            columns[self.rented(position[vm], kind)] = 1.0
        group = np.searchsorted(self.groups.topics, packing.topic)
        for t, vm, count in zip(
            group.tolist(), packing.vm.tolist(), packing.num_pairs.tolist(), strict=True
        ):
            columns[self.count(t, position[vm])] = count
            columns[self.copy(t, position[vm])] = 1.0
        return columns

    def _packing(self, columns: npt.NDArray[np.float64]) -> Packing | None:
        """Return the packing that columns stand for; None if they are no solution."""
        if len(columns) != 2 * self.cells + self.num_vms * self.num_kinds:
            return None
        allocated: LongArray = np.rint(columns[: self.cells]).astype(np.int64)
        allocated = allocated.reshape(self.num_groups, self.num_vms)
        if (allocated < 0).any() or not np.array_equal(allocated.sum(axis=1), self.groups.counts):
            return None
        group, vm = np.nonzero(allocated)
        topic = self.groups.topics[group]
        machines = (self.problem.machine,) * self.num_vms
        packing = Packing(vm.astype(np.int32), topic, allocated[group, vm], machines)
        packing = merge_parts(packing, self.problem.workload.num_topics)
        used, topics, pairs = loads(self.problem, packing)
        fits = np.zeros(len(used), dtype=bool)
        for kind in self.problem.bins:
            fits |= (used <= kind.limit) & (topics <= kind.max_topics) & (pairs <= kind.max_pairs)
        return downsize(self.problem, packing) if fits.all() else None
