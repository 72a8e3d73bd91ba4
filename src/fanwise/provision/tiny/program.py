"""The cheapest plan of all by one integer program with HiGHS; tens of pairs.

Everything is a yes or no: whether a subscriber is sent a topic, whether a machine serves at least
so many pairs of a topic, whether a machine is rented and of which type. Pairs of a topic are alike
to machines, so which of them are where is left open; and machines are numbered by the first topic
that they hold, which leaves one of all the plans that differ in their numbers alone.

HiGHS keeps rows up to an absolute tolerance, and where numbers differ by many orders of magnitude
its presolve has called programs infeasible that are not, and plans optimal that are not. So it does
without presolve, and the rows of thresholds and capacities are loosened by more than the tolerance.
What it returns is checked by the sums that verification makes; a machine that is overfull, or a
subscriber that gets too little, is cut off by a row of ones that holds for every plan (not all of
this load together; at least one more topic), and the program is solved again. Where a subscriber
has few covers, such rows are there from the start.

Guarantee
    What is offered is a plan that keeps every limit. What is proven rests on HiGHS's word.

Complexity
    Pairs and, for each machine, pairs that it could serve, as columns; exponential time at worst.

References
----------
    M. Delorme, M. Iori, S. Martello: Bin packing and cutting stock problems: mathematical models
    and exact algorithms. European Journal of Operational Research 255(1), 2016.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr, FloatArray
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.planning.highs import Model, Rows, Solver
from fanwise.planning.problem import Bound, Run, Stopped
from fanwise.planning.search import Search
from fanwise.planning.stopping import limits_of
from fanwise.provision.catalogue import Instance
from fanwise.provision.machines.packing import Packing, total_price
from fanwise.provision.pairs.exact_pairs import cheapest_covers
from fanwise.provision.problem import Provisioning
from fanwise.provision.stages import PackedPairs
from fanwise.provision.tiny.covers import (
    MAX_FOLLOWED,
    Demand,
    full_limits,
    list_demands,
    maximal_shortfalls,
)

SCALE = 1e4
"""The cost of the plan to start from as HiGHS sees it: it tells costs apart to about 1e-6."""
LOOSE = 4e-6
"""Relative: by how much rows of events and bytes are loosened."""
MOST_ROWS = 32
"""Rows of ones for one subscriber that are written down from the start."""
MAX_ROUNDS = 200
"""Times that a plan is cut off."""


class Program:
    """The program for one problem, and up to so many machines.

    Attributes
    ----------
    demands, topics, most
        What subscribers need; the topics that they could be sent, ascending; and of each, how many
        pairs one machine serves at most.
    """

    def __init__(self, problem: Provisioning, start: Packing, cost: float) -> None:
        self.problem = problem
        self.limits = full_limits(problem)
        self.needs = problem.needs.tolist()
        self.demands = list_demands(problem)
        followers: dict[int, int] = {}
        for demand in self.demands:
            for topic in demand.topics:
                followers[topic] = followers.get(topic, 0) + 1
        self.topics = sorted(followers)
        self.most = {topic: self._most_pairs(topic, followers[topic]) for topic in self.topics}
        self.num_vms = self._most_machines(followers, start, cost)
        self.num_kinds = len(problem.bins)
        self.pair_of: dict[tuple[int, int], int] = {}
        for demand in self.demands:
            for topic in demand.topics:
                self.pair_of[demand.subscriber, topic] = len(self.pair_of)
        self.first_level = {}
        column = len(self.pair_of)
        for topic in self.topics:
            self.first_level[topic] = column
            column += self.most[topic] * self.num_vms
        self.first_rented = column
        self.num_columns = column + self.num_vms * self.num_kinds
        self.rows = Rows()

    def level(self, topic: int, vm: int, count: int) -> int:
        """Return the column that says whether a machine serves so many pairs of a topic or more."""
        return self.first_level[topic] + vm * self.most[topic] + count - 1

    def rented(self, vm: int) -> list[int]:
        """Return the columns that say whether a machine is rented, by type."""
        first = self.first_rented + vm * self.num_kinds
        return list(range(first, first + self.num_kinds))

    def _most_pairs(self, topic: int, followers: int) -> int:
        most = 1
        for kind, limit in zip(self.problem.bins, self.limits, strict=True):
            need = self.needs[topic]
            held = math.floor(limit / need) - 1 if need > 0 else followers
            most = max(most, min(held, kind.max_pairs))
        return min(most, followers)

    def _most_machines(self, followers: dict[int, int], start: Packing, cost: float) -> int:
        """Return how many machines a plan can have that costs no more than one that is known.

        Each holds a pair, and costs rent that is not spent on the least outgoing traffic. On one
        type, each topic on machines of its own is no dearer than more machines than that.
        """
        problem = self.problem
        most = len(start.machines)
        bounds = [sum(followers.values())]
        if len(problem.bins) == 1:
            bounds.append(sum(-(-followers[t] // self.most[t]) for t in self.topics))
        rent = min(kind.rent for kind in problem.bins)
        is_chosen, hard = cheapest_covers(problem)
        if rent > 0 and not len(hard):
            out_bytes = float(problem.needs[problem.workload.interests.indices[is_chosen]].sum())
            traffic = problem.costs(0.0, 0.0, out_bytes).total
            left = max(cost - traffic, 0.0) + 4 * RELATIVE_TOLERANCE * cost
            bounds.append(math.floor(min(left / rent, 1e9)))
        return max(most, min(bounds), 1)

    def build(self) -> None:
        """Write down every row."""
        for demand in self.demands:
            columns = [self.pair_of[demand.subscriber, topic] for topic in demand.topics]
            shares = [min(rate / demand.enough, 1.0) for rate in demand.rates]
            self.rows.add(columns, shares, 1.0 - LOOSE)
            if len(columns) <= MAX_FOLLOWED:
                for bits in maximal_shortfalls(demand)[:MOST_ROWS]:
                    self._ask_for_more(demand, bits)
        for topic in self.topics:
            self._serve(topic)
        for vm in range(self.num_vms):
            self._limit(vm)
            if vm:
                self._order(vm)

    def _serve(self, topic: int) -> None:
        """As many pairs are served as are chosen, and none without a machine."""
        vms, most = range(self.num_vms), self.most[topic]
        chosen = [
            self.pair_of[demand.subscriber, topic]
            for demand in self.demands
            if topic in demand.topics
        ]
        levels = [self.level(topic, vm, n) for vm in vms for n in range(1, most + 1)]
        self.rows.add(levels + chosen, [1.0] * len(levels) + [-1.0] * len(chosen), 0.0, 0.0)
        copies = [self.level(topic, vm, 1) for vm in vms]
        for pair in chosen:
            self.rows.add([*copies, pair], [1.0] * len(copies) + [-1.0], 0.0)
        for vm in vms:
            for n in range(1, most):
                pair_of_levels = [self.level(topic, vm, n), self.level(topic, vm, n + 1)]
                self.rows.add(pair_of_levels, [1.0, -1.0], 0.0)
            rented = self.rented(vm)
            self.rows.add([*rented, self.level(topic, vm, 1)], [1.0] * len(rented) + [-1.0], 0.0)

    def _limit(self, vm: int) -> None:
        """A machine is of one type, and moves and holds no more than that may."""
        bins, rented, unit = self.problem.bins, self.rented(vm), max(self.limits)
        self.rows.add(rented, [1.0] * len(rented), 0.0, 1.0)
        columns, values, copies = [], [], []
        for topic in self.topics:
            need = self.needs[topic] / unit
            for n in range(1, self.most[topic] + 1):
                columns.append(self.level(topic, vm, n))
                values.append(-2 * need if n == 1 else -need)
            copies.append(self.level(topic, vm, 1))
        limits = [limit / unit * (1 + LOOSE) for limit in self.limits]
        self.rows.add(columns + rented, values + limits, 0.0)
        for held, most in (
            (copies, [float(min(kind.max_topics, len(copies))) for kind in bins]),
            (columns, [float(min(kind.max_pairs, len(columns))) for kind in bins]),
        ):
            if min(most) < len(held):
                self.rows.add(held + rented, [-1.0] * len(held) + most, 0.0)

    def _order(self, vm: int) -> None:
        """The machine before holds a topic no later than any of this one."""
        before = []
        for topic in self.topics:
            before.append(self.level(topic, vm - 1, 1))
            columns = [*before, self.level(topic, vm, 1)]
            self.rows.add(columns, [1.0] * len(before) + [-1.0], 0.0)

    def costs(self) -> FloatArray:
        """Return the cost of each column."""
        problem = self.problem
        in_price, out_price = problem.costs(0, 1.0, 0).incoming, problem.costs(0, 0, 1.0).outgoing
        costs = np.zeros(self.num_columns)
        for (_, topic), pair in self.pair_of.items():
            costs[pair] = out_price * self.needs[topic]
        for vm in range(self.num_vms):
            for topic in self.topics:
                costs[self.level(topic, vm, 1)] = in_price * self.needs[topic]
            costs[self.rented(vm)] = [kind.rent for kind in problem.bins]
        return costs

    def columns_of(self, pairs: Csr, packing: Packing) -> FloatArray:
        """Return a plan as the program sees it."""
        columns = np.zeros(self.num_columns)
        for demand in self.demands:
            row = slice(pairs.indptr[demand.subscriber], pairs.indptr[demand.subscriber + 1])
            for topic in pairs.indices[row].tolist():
                columns[self.pair_of[demand.subscriber, topic]] = 1.0
        held: list[dict[int, int]] = [{} for _ in packing.machines]
        parts = (packing.vm.tolist(), packing.topic.tolist(), packing.num_pairs.tolist())
        for vm, topic, count in zip(*parts, strict=True):
            held[vm][topic] = count
        kind_of = {kind.machine.instance: k for k, kind in enumerate(self.problem.bins)}
        order = sorted(range(len(held)), key=lambda vm: min(held[vm]))
        for position, vm in enumerate(order):
            for topic, count in held[vm].items():
                for n in range(1, count + 1):
                    columns[self.level(topic, position, n)] = 1.0
            columns[self.rented(position)[kind_of[packing.machines[vm].instance]]] = 1.0
        return columns

    def read(self, columns: npt.NDArray[np.float64]) -> tuple[dict[int, int], list[dict[int, int]]]:
        """Return the topics of each demand as bits, by place, and the pairs of each machine."""
        is_set = columns > 0.5
        chosen = {
            i: sum(
                1 << bit
                for bit, topic in enumerate(demand.topics)
                if is_set[self.pair_of[demand.subscriber, topic]]
            )
            for i, demand in enumerate(self.demands)
        }
        held = []
        for vm in range(self.num_vms):
            counts = {
                topic: int(is_set[self.level(topic, vm, 1) :][: self.most[topic]].sum())
                for topic in self.topics
            }
            held.append({topic: count for topic, count in counts.items() if count})
        return chosen, held

    def holds(self, kind: int, held: dict[int, int]) -> bool:
        """Whether a type of machine holds pairs, by the sums that verification makes."""
        in_bytes = out_bytes = 0.0
        for topic in sorted(held):
            in_bytes += self.needs[topic]
            out_bytes += self.needs[topic] * held[topic]
        entry = self.problem.bins[kind]
        return (
            in_bytes + out_bytes <= self.limits[kind]
            and len(held) <= entry.max_topics
            and sum(held.values()) <= entry.max_pairs
        )

    def cut_off(self, chosen: dict[int, int], held: list[dict[int, int]], rented: list[int]) -> int:
        """Add rows that forbid what is no plan; return how many."""
        before = len(self.rows)
        for i, bits in chosen.items():
            if not self.demands[i].is_met(bits):
                self._ask_for_more(self.demands[i], bits)
        for load, kind in zip(held, rented, strict=True):
            if load and not self.holds(kind, load):
                self._forbid(load, kind)
        return len(self.rows) - before

    def _ask_for_more(self, demand: Demand, bits: int) -> None:
        """Ask for a topic beside as many as are still too little."""
        for bit in sorted(range(len(demand.topics)), key=demand.rates.__getitem__):
            more = bits | 1 << bit
            if not demand.is_met(more):
                bits = more
        columns = [
            self.pair_of[demand.subscriber, topic]
            for bit, topic in enumerate(demand.topics)
            if not bits >> bit & 1
        ]
        self.rows.add(columns, [1.0] * len(columns), 1.0)

    def _forbid(self, load: dict[int, int], kind: int) -> None:
        """Forbid a load, as little of it as is too much, on machines of types too small for it."""
        for topic in sorted(load, key=self.needs.__getitem__):
            while load.get(topic):
                less = {**load, topic: load[topic] - 1}
                less = {other: count for other, count in less.items() if count}
                if self.holds(kind, less):
                    break
                load = less
        able = [k for k in range(self.num_kinds) if self.holds(k, load)]
        for vm in range(self.num_vms):
            columns = [self.level(topic, vm, count) for topic, count in load.items()]
            rented = self.rented(vm)
            self.rows.add(
                columns + [rented[k] for k in able],
                [1.0] * len(columns) + [-1.0] * len(able),
                -math.inf,
                len(columns) - 1.0,
            )

    def plan(self, chosen: dict[int, int], held: list[dict[int, int]]) -> tuple[Csr, Packing]:
        """Return pairs, and each load on the cheapest type that holds it."""
        rows: list[list[int]] = [[] for _ in range(self.problem.workload.num_subscribers)]
        for i, bits in chosen.items():
            demand = self.demands[i]
            rows[demand.subscriber] = [t for p, t in enumerate(demand.topics) if bits >> p & 1]
        indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        pairs = Csr(indptr, np.array([topic for row in rows for topic in row], dtype=np.int32))
        machines: list[Instance] = []
        parts: list[tuple[int, int, int]] = []
        for load in held:
            if load:
                kinds = (k for k in range(self.num_kinds) if self.holds(k, load))
                kind = min(kinds, key=lambda k: self.problem.bins[k].rent)
                parts += [(len(machines), topic, load[topic]) for topic in sorted(load)]
                machines.append(self.problem.bins[kind].machine)
        vm, topic, count = np.array(parts, dtype=np.int64).reshape(-1, 3).T
        packing = Packing(vm.astype(np.int32), topic.astype(np.int32), count, tuple(machines))
        return pairs, packing

    def _model(self, unit: float) -> Model:
        """Return the program with costs in a unit of their own."""
        return Model(
            cost=self.costs() * unit,
            lower=np.zeros(self.num_columns),
            upper=np.ones(self.num_columns),
            matrix=self.rows.matrix,
            row_lower=self.rows.lower,
            row_upper=self.rows.upper,
            is_whole=True,
        )

    def solve(self, start: PackedPairs, run: Run, max_nodes: int) -> Search[PackedPairs]:
        """Return the search for a plan that is cheaper than the one to start from, once it ended.

        It knows the bound that HiGHS proved.
        """
        with run.timed("pack"), run.progress.step("solving with HiGHS") as step:
            limits = limits_of(run, work=max_nodes)
            search: Search[PackedPairs] = Search(run, step, "min", limits, unit="cost")
            search.offer(start, start.cost)
            if start.cost > 0:
                self.build()
                search.end(self._improve(search, max_nodes))
            else:
                search.prove(Bound(start.cost))
                search.end("exhausted")
        return search

    def _improve(self, search: Search[PackedPairs], max_nodes: int) -> Stopped:
        """Offer the cheapest plan that HiGHS finds, and prove its bound; return why it stopped."""
        gap, cost = search.run.gap or 0.0, search.value
        start = self.columns_of(search.answer.pairs, search.answer.packing)
        for _ in range(MAX_ROUNDS):
            left = max_nodes - int(search.work)
            solver = Solver(self._model(SCALE / cost), gap=gap, max_nodes=left, presolve=False)
            solver.start_from(start)
            answer = solver.solve(time_limit=search.run.time_left(), keeps_found=True)
            search.spend(answer.nodes)
            if answer.bound is not None:
                search.prove(Bound(answer.bound * cost / SCALE))
            stopped, columns = answer.stopped(gap), answer.values
            if len(columns) != self.num_columns:
                return stopped
            chosen, held = self.read(columns)
            rented = [int(np.argmax(columns[self.rented(vm)])) for vm in range(self.num_vms)]
            if not self.cut_off(chosen, held, rented):
                pairs, packing = self.plan(chosen, held)
                found = total_price(self.problem, packing)
                if found < cost * (1 - 1e-15):
                    search.offer(PackedPairs(pairs, packing, found), found)
                return stopped
            if stopped in ("limit", "interrupted"):
                return stopped
            if search.work >= max_nodes:
                break
        return "work"
