"""Pairs chosen together: a subscriber prefers topics that are carried for others anyway.

What is paid for is incoming and outgoing traffic, each at its price and with the rent of the
bandwidth it takes up. Most subscribers settle at once (see :mod:`fanwise.provision.pairs.core`).
For the others, the price of each incoming copy is shared among those who want the topic, by
:mod:`fanwise.provision.pairs.dual_ascent`. They take the cheapest covers at these prices;
then each in turn chooses anew, given what all others chose, topics are closed that those who take
them can do without, and so are single copies of topics that no machine holds whole, until nothing
changes. Every change lowers the total.

Guarantee
    Never more traffic, at these prices, than ``gsp``, ``rsp`` (for the same seed) or ``exact``:
    their choices are looked at as well. With a time limit, never more than ``gsp``; and up to
    QUICK_PAIRS than ``rsp``.

Complexity
    A few passes over all pairs; then at most MAX_SWEEPS sweeps over the subscribers that did not
    settle at once, each of two covers for every topic they choose from, and MAX_ROUNDS rounds after
    each.

References
----------
    The problem is facility location with covers in place of single servers; dual ascent for it:
    D. Erlenkotter: A dual-based procedure for uncapacitated facility location. Operations Research
    26(6), 1978.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import Csr, LongArray
from fanwise.planning.problem import Run
from fanwise.planning.search import Search
from fanwise.planning.stopping import limits_of
from fanwise.provision.pairs import greedy_pairs, random_pairs
from fanwise.provision.pairs.charges import Charges, charge_ways, whole_demand
from fanwise.provision.pairs.core import Core, find_core, list_contests, list_open
from fanwise.provision.pairs.core_kernels import gather_chosen
from fanwise.provision.pairs.dual_ascent import MAX_SWEEPS, Sharing
from fanwise.provision.pairs.dual_ascent_kernels import close_topics, reconsider_rows, shed_copies
from fanwise.provision.pairs.exact_pairs import cheapest_covers
from fanwise.provision.problem import SOLVER_TOLERANCE, Provisioning
from fanwise.provision.time_shares import AFTER_PAIRS, is_quick, keep_time, until_over

MAX_ROUNDS = 50
CORE_SHARE = 0.5
"""The share of the time after which subscribers that are not settled take what ``gsp`` chooses."""


def choose_pairs(problem: Provisioning, run: Run) -> Csr:
    """Return the topics chosen for each subscriber, by id."""
    ways = charge_ways(problem, SOLVER_TOLERANCE)
    with run.progress.step("choosing pairs") as step:
        begun = run.elapsed()
        greedy = greedy_pairs.choose_pairs(problem, run)
        seconds = run.elapsed() - begun
        run = keep_time(run, AFTER_PAIRS * seconds)
        search: Search[Csr] = Search(run, step, "min", limits_of(run), unit="traffic")

        def consider(pairs: Csr, rank: int) -> None:
            # Whichever way the rent is charged, no packing costs less: the dearest way says most.
            count = _count(problem, pairs)
            search.offer(pairs, max(charges.price(count) for charges in ways), cost=rank)

        consider(greedy, len(ways))
        if is_quick(problem) or search.has_time_for(seconds):
            consider(random_pairs.choose_pairs(problem, run), len(ways) + 1)
        ours = chain(choose_ways(problem, run), choose_alone(problem, run))
        for rank in (*range(len(ways)), len(ways) + 2):
            if search.is_over():
                break
            consider(next(ours), rank)
    return search.answer


def choose_ways(problem: Provisioning, run: Run) -> Iterator[Csr]:
    """Yield pairs chosen together, for each way to charge the rent."""
    for charges in charge_ways(problem, SOLVER_TOLERANCE):
        yield choose_together(problem, charges, run)


def choose_alone(problem: Provisioning, run: Run) -> Iterator[Csr]:
    """Yield the cheapest cover of each subscriber, whatever others choose."""
    is_chosen, _ = cheapest_covers(problem, until_over(problem, run))
    yield Csr(*gather_chosen(*problem.workload.interests, is_chosen))


def choose_together(problem: Provisioning, charges: Charges, run: Run) -> Csr:
    """Return pairs chosen with an eye on each other."""
    workload = problem.workload
    rates = np.where(problem.is_usable, workload.rates, 0.0)
    enough, is_open = whole_demand(problem, SOLVER_TOLERANCE), list_open(problem, charges)
    is_over = until_over(problem, run.part(CORE_SHARE))
    core = find_core(problem, charges, enough, rates, is_open, is_over)
    sharing = Sharing(core)
    is_taken = _settle_down(problem, charges, sharing, run)
    for _ in range(MAX_SWEEPS):
        if run.is_over() or not sharing.sweep(run.is_over):
            break
        again = _settle_down(problem, charges, sharing, run)
        if _price(problem, charges, core, again) < _price(problem, charges, core, is_taken):
            is_taken = again
    is_chosen = core.is_chosen.copy()
    greedy_pairs.choose_rest(problem, core.num_seen, is_chosen)
    is_chosen[core.undecided.pair[is_taken]] = True
    return Csr(*gather_chosen(*workload.interests, is_chosen))


def _settle_down(
    problem: Provisioning, charges: Charges, sharing: Sharing, run: Run
) -> npt.NDArray[np.bool_]:
    """Let everybody choose anew, and topics be closed, until nothing changes."""
    undecided = sharing.core.undecided
    is_taken = sharing.is_taken.copy()
    num_pairs = _count_core(problem, sharing.core, is_taken)
    arguments = (undecided, charges, num_pairs, is_taken, sharing.small_workspace)
    split = list_contests(undecided.topic, list_open(problem, charges).astype(np.float64))
    for _ in range(MAX_ROUNDS):
        if run.is_over() or not (
            reconsider_rows(*arguments)
            or close_topics(*arguments)
            or shed_copies(*arguments, *split)
        ):
            break
    return is_taken


def _count(problem: Provisioning, pairs: Csr) -> LongArray:
    return np.bincount(pairs.indices, minlength=problem.workload.num_topics).astype(np.int64)


def _count_core(problem: Provisioning, core: Core, is_taken: npt.NDArray[np.bool_]) -> LongArray:
    num_topics = problem.workload.num_topics
    settled = problem.workload.interests.indices[core.is_chosen]
    num_pairs = np.bincount(settled, minlength=num_topics)
    return (num_pairs + np.bincount(core.undecided.topic[is_taken], minlength=num_topics)).astype(
        np.int64
    )


def _price(
    problem: Provisioning, charges: Charges, core: Core, is_taken: npt.NDArray[np.bool_]
) -> float:
    return charges.price(_count_core(problem, core, is_taken))
