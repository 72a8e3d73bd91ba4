"""Our best plan: everything that is cheap to make, and improvements as long as there is time.

What the paper can do is tried whatever the time limit: its two first stages with every one of its
packings. So are pairs chosen with an eye on each other, in as many ways as there are things that
machines may run out of (see :mod:`fanwise.provision.pairs.charges`), and the cheapest cover of each
subscriber. Where there is a time limit the paper comes first; else ours does, as most of the
paper's pairs are then known to be dearer, however they are packed. With several types the first
stages are run for each type alone, too.

The smallest instances go to the table of :mod:`fanwise.provision.whole.table`, so that the plan is
the optimum; somewhat larger ones are improved by the program of
:mod:`fanwise.provision.whole.program`, within a number of nodes.
"""

from __future__ import annotations

from collections.abc import Callable

from fanwise.arrays.csr import Csr
from fanwise.planning.problem import Run
from fanwise.provision.machines import best_packing, group
from fanwise.provision.machines.packing import Packing, total_price
from fanwise.provision.pairs import best_pairs, greedy_pairs, random_pairs
from fanwise.provision.problem import Provisioning
from fanwise.provision.stages import Staged, are_equal, least_cost, variants
from fanwise.provision.whole.program import Program
from fanwise.provision.whole.table import solve_by_table

MAX_PAIRS = 60
"""Interests up to which a program is tried."""
MAX_COLUMNS = 400
MAX_NODES = 300
"""A limit that does not depend on how fast the machine is: the same plan every time."""
MAX_SECONDS = 30.0

Pack = Callable[[Provisioning, Csr, Run], Packing]


def solve(problem: Provisioning, run: Run) -> Staged:
    """Return the cheapest plan that we can find."""
    with run.timed("select"):
        optimum = solve_by_table(problem)
    run.seconds.setdefault("pack", 0.0)
    if optimum is not None:
        return Staged(optimum.pairs, optimum.packing, optimum.cost, stopped="exhausted")
    staged = solve_by_stages(problem, run)
    if staged.stopped != "exhausted" or problem.workload.num_pairs > MAX_PAIRS:
        return staged
    program = Program(problem, staged.packing, staged.cost)
    if program.num_columns > MAX_COLUMNS:
        return staged
    run.default_limits(nodes=MAX_NODES, time_limit=MAX_SECONDS)
    with run.timed("pack"), run.progress.step("solving with HiGHS"):
        answer = program.solve(
            staged.pairs, staged.packing, run, max_seconds=MAX_SECONDS, max_nodes=MAX_NODES
        )
    return Staged(
        answer.pairs,
        answer.packing,
        answer.cost,
        stopped=answer.stopped,
        is_interrupted=answer.stopped == "interrupted",
    )


def solve_by_stages(problem: Provisioning, run: Run) -> Staged:
    """Return the cheapest of all plans that choose pairs first and pack them then."""
    search = _Search(problem, run)
    try:
        search.start()
        if run.time_limit is not None:
            search.try_the_papers()
        search.try_ours()
        if run.time_limit is None:
            search.try_the_papers()
        search.pack_the_papers()
    except KeyboardInterrupt:
        if search.best is None:
            raise
        return search.best._replace(stopped="interrupted", is_interrupted=True)
    return search.result()


class _Search:
    """The cheapest plan so far, and the pairs that it was chosen from."""

    def __init__(self, problem: Provisioning, run: Run) -> None:
        self.problem, self.run = problem, run
        self.best: Staged | None = None
        self.papers: list[tuple[Csr, float]] = []
        self.seen: list[Csr] = []
        self.is_first = True  # where traffic is free, others that cost as much have less of it
        self.is_cut_short = False

    def result(self) -> Staged:
        """Return the cheapest plan."""
        if self.best is None:
            raise RuntimeError("no pairs were packed")
        is_cut_short = self.is_cut_short or self.run.is_over()
        return self.best._replace(stopped="limit" if is_cut_short else "exhausted")

    def is_hopeless(self, least: float) -> bool:
        """Whether pairs that cost this at least cannot be cheaper than the best plan so far."""
        if self.best is None:
            return False
        return least > self.best.cost if self.is_first else least >= self.best.cost

    def keep(self, pairs: Csr, packing: Packing) -> None:
        """Keep a plan if it is cheaper than the best so far."""
        cost = total_price(self.problem, packing)
        if self.best is None:
            self.best = Staged(pairs, packing, cost)
        elif cost < self.best.cost or (self.is_first and cost == self.best.cost):
            self.best = Staged(pairs, packing, cost)
            self.is_first = False

    def start(self) -> None:
        """Look at what the paper recommends."""
        with self.run.timed("select"):
            pairs = greedy_pairs.choose_pairs(self.problem, self.run)
        with self.run.timed("pack"):
            self.keep(pairs, group.pack_by_cost(self.problem, pairs, self.run))

    def try_the_papers(self) -> None:
        """Look at every combination of the paper's, time or no time."""
        for choose in (greedy_pairs.choose_pairs, random_pairs.choose_pairs):
            for variant in variants(self.problem):
                with self.run.timed("select"):
                    pairs = choose(variant, self.run)
                least = self.try_pairs(pairs, best_packing.pack_by_rungs)
                if not self.is_hopeless(least):
                    self.papers.append((pairs, least))

    def try_ours(self) -> None:
        """Look at pairs chosen our way, then at the paper's, and pack them our way."""
        for choose in (best_pairs.choose_ways, best_pairs.choose_alone):
            for variant in variants(self.problem):
                ways = choose(variant, self.run)
                while not self.is_over():
                    with self.run.timed("select"), self.run.progress.step("choosing pairs"):
                        pairs = next(ways, None)
                    if pairs is None:
                        break
                    self.try_pairs(pairs, best_packing.pack)

    def pack_the_papers(self) -> None:
        """Pack the paper's pairs our way."""
        self.seen.clear()
        for pairs, least in self.papers:
            if not (self.is_hopeless(least) or self.is_over()):
                self.try_pairs(pairs, best_packing.pack)

    def try_pairs(self, pairs: Csr, pack: Pack) -> float:
        """Pack pairs unless that is hopeless, or they were packed before; return their least cost.

        That is what they cost at least, however they are packed.
        """
        with self.run.timed("pack"):
            least = least_cost(self.problem, pairs)
            if not (self.is_hopeless(least) or any(are_equal(pairs, other) for other in self.seen)):
                self.seen.append(pairs)
                self.keep(pairs, pack(self.problem, pairs, self.run))
        return least

    def is_over(self) -> bool:
        """Whether the time is over; that something is left to try is noted."""
        if self.run.is_over():
            self.is_cut_short = True
        return self.is_cut_short
