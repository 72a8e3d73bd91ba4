"""Our best plan: everything that is cheap to make, and improvements as long as there is time.

What the paper can do is tried: its two first stages with every one of its packings. So are pairs
chosen with an eye on each other, in as many ways as there are things that machines may run out of
(see :mod:`fanwise.provision.pairs.charges`), and the cheapest cover of each subscriber. With
several types the first stages are run for each type alone, too. Ours comes first, as most of the
paper's pairs are then known to be dearer, however they are packed; but with a time limit the paper
does, where that is quick.

The smallest instances go to the table of :mod:`fanwise.provision.tiny.table`, so that the plan is
the optimum; somewhat larger ones are improved by the program of
:mod:`fanwise.provision.tiny.program`, within a number of nodes.

Guarantee
    Never dearer than any combination of the paper's two stages, for the same seed. With a time
    limit that holds up to QUICK_PAIRS pairs times types; above, never dearer than ``gsp+cbp``.

Complexity
    A few passes over all pairs for each type, and what :mod:`fanwise.provision.pairs.best_pairs`
    and :mod:`fanwise.provision.machines.best_packing` take. At most MAX_NODES nodes of HiGHS, and
    that for at most MAX_PAIRS pairs.

References
----------
    V. Setty, R. Vitenberg, G. Kreitz, G. Urdaneta, M. van Steen: Cost-effective resource allocation
    for deploying pub/sub on cloud. Research report 436, University of Oslo, 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fanwise.arrays.csr import Csr
from fanwise.planning.problem import Bound, Run
from fanwise.planning.search import Search
from fanwise.planning.stopping import limits_of
from fanwise.progress import Step
from fanwise.provision.machines import best_packing, group
from fanwise.provision.machines.packing import Packing, total_price
from fanwise.provision.pairs import best_pairs, greedy_pairs, random_pairs
from fanwise.provision.problem import Provisioning
from fanwise.provision.stages import PackedPairs, are_equal, least_cost, variants
from fanwise.provision.time_shares import AFTER_PAIRS, QUICK_PAIRS, keep_time
from fanwise.provision.tiny.program import Program
from fanwise.provision.tiny.table import solve_by_table

MAX_PAIRS = 60
"""Interests up to which a program is tried."""
MAX_COLUMNS = 400
MAX_NODES = 300
"""Nodes of HiGHS in all: a limit that does not depend on how fast the machine is."""
LONG_CHOICE = 4.0
"""How many times as long as the start our way to choose pairs takes to be worth it, about."""

Choose = Callable[[Provisioning, Run], Iterator[Csr]]
Pack = Callable[[Provisioning, Csr, Run], Packing]


def solve(problem: Provisioning, run: Run) -> PackedPairs:
    """Return the cheapest plan that we can find."""
    with run.timed("select"):
        optimum = solve_by_table(problem)
    run.seconds.setdefault("pack", 0.0)
    if optimum is not None:
        return PackedPairs(optimum.pairs, optimum.packing, optimum.cost, stopped="exhausted")
    packed = solve_by_stages(problem, run)
    if packed.stopped != "exhausted" or problem.workload.num_pairs > MAX_PAIRS:
        return packed
    program = Program(problem, packed.packing, packed.cost)
    if program.num_columns > MAX_COLUMNS:
        return packed
    search = program.solve(packed, run, MAX_NODES)
    return search.answer._replace(bound=packed.bound, stopped=search.stopped)


def solve_by_stages(problem: Provisioning, run: Run) -> PackedPairs:
    """Return the cheapest of all plans that choose pairs first and pack them then."""
    with run.progress.step("looking for the cheapest plan") as step:
        begun = run.elapsed()
        start = make_start(problem, run)
        seconds = run.elapsed() - begun
        search = PlanSearch(problem, keep_time(run, AFTER_PAIRS * seconds), step, start, seconds)
        with search.until_interrupted():
            search.try_everything()
    return search.answer._replace(bound=search.bound, stopped=search.stopped)


def make_start(problem: Provisioning, run: Run) -> PackedPairs:
    """Return the plan that the paper recommends."""
    with run.timed("select"):
        pairs = greedy_pairs.choose_pairs(problem, run)
    with run.timed("pack"):
        packing = group.pack_by_cost(problem, pairs, run)
    return PackedPairs(pairs, packing, total_price(problem, packing))


class PlanSearch(Search[PackedPairs]):
    """The cheapest plan so far, and the pairs that it was chosen from."""

    def __init__(
        self, problem: Provisioning, run: Run, step: Step, start: PackedPairs, seconds: float
    ) -> None:
        """Begin with a plan, which took so many seconds to make."""
        super().__init__(
            run, step, "min", limits_of(run), unit="cost", find_bound=self._find_bound_for_gap
        )
        self.problem, self.seconds = problem, seconds
        self.papers: list[tuple[Csr, float]] = []
        self.seen: list[Csr] = []
        num_pairs = problem.workload.num_pairs * len(problem.types_allowed)
        self.is_quick = num_pairs <= QUICK_PAIRS
        # Where traffic is free, others that cost as much have less of it: they are preferred.
        self.offer(start, start.cost, cost=1.0)
        self.is_start_best = True

    def _find_bound_for_gap(self) -> Bound:
        """Return a bound that is enough for the best plan so far, if there is one."""
        proven = self.problem.prove_within(self.value, self.run.part(0.5))
        return Bound(proven.value, proven.proof)

    def try_everything(self) -> None:
        """Look at the paper's plans and at ours, in the order that suits the time."""
        if self.is_quick and self.run.time_limit is not None:
            self.try_the_papers()
            self.try_ours()
        else:
            self.try_ours()
            self.try_the_papers()
        self.pack_the_papers()

    def is_hopeless(self, least: float) -> bool:
        """Whether pairs that cost this at least cannot be cheaper than the best plan so far."""
        return least > self.value if self.is_start_best else least >= self.value

    def try_the_papers(self) -> None:
        """Look at every combination of the paper's, time or no time where that is quick."""
        for choose in (greedy_pairs.choose_pairs, random_pairs.choose_pairs):
            for variant in variants(self.problem):
                is_cut_short = not (self.is_quick or self.has_time_for(self.seconds))
                if is_cut_short:
                    self.run.leave_out("all but gsp+cbp")
                if is_cut_short or (self.run.gap is not None and self.stopped == "gap"):
                    return
                with self.run.timed("select"):
                    pairs = choose(variant, self.run)
                least = self.try_pairs(pairs, best_packing.pack_by_rungs)
                if not self.is_hopeless(least):
                    self.papers.append((pairs, least))

    def try_ours(self) -> None:
        """Look at pairs chosen our way, and pack them our way."""
        if not (self.is_quick or self.has_time_for(LONG_CHOICE * self.seconds)):
            return
        for choose in (best_pairs.choose_ways, best_pairs.choose_alone):
            for variant in variants(self.problem):
                for pairs in self.choose_in_time(choose, variant):
                    self.try_pairs(pairs, best_packing.pack)

    def choose_in_time(self, choose: Choose, variant: Provisioning) -> Iterator[Csr]:
        """Yield pairs as long as there is time."""
        ways = choose(variant, self.run)
        while not self.is_over():
            with self.run.timed("select"), self.run.progress.step("choosing pairs"):
                pairs = next(ways, None)
            if pairs is None:
                return
            yield pairs

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
                packing = pack(self.problem, pairs, self.run)
                cost = total_price(self.problem, packing)
                if self.offer(PackedPairs(pairs, packing, cost), cost):
                    self.is_start_best = False
        return least
