"""The best wiring we know how to make.

The paper's algorithms come first: packing, random, clustering, steiner-mixing and migration to its
end. Instances with few attachments go to branch and bound. Then there are starts by packing with
prices on brokers, and by compact sets of brokers filled with users of like interests. Of the
cheapest, users move to wherever that lowers C1 + C2 most, as in migration, then swap with users of
full brokers, and whole brokers exchange their users. Then a few users at a time are detached and
attached again at the least added cost, with a heat that falls (see
:mod:`fanwise.wire.improving.stages`). Other small instances go to branch and bound for what is left
of the gap.

Guarantee
    No load above the capacities is larger than under any of the paper's algorithms with the same
    seed, and where it is the same the cost is no higher. Without a time limit that holds up to
    ``MOST_PAIRS`` pairs of a user and a broker; up to ``FEW_PAIRS`` also for the other starts of
    migration and for a tree per publisher; above ``MOST_PAIRS`` for packing and random alone, as
    the others would take minutes. With a time limit it holds, whatever the limit, for packing,
    random, and all that takes at most ``QUICK_STEPS`` steps, half a second or so, which is
    everything up to about 300 users, 15 brokers and 100 channels. What takes longer is run where it
    is expected to fit into the time that is left; a plan says what was left out or cut off.

Complexity
    It stops after work in proportion to the number of users, up to a limit, so that the same seed
    gives the same plan on any machine; or at the gap or the time limit that was asked for. A time
    limit takes the place of the work, unless an effort is asked for too: annealing begins again,
    longer each time, until time is up. It includes the bound and its certificate.

References
----------
    Ruin and recreate: G. Schrimpf et al., Record breaking optimization results using the ruin and
    recreate principle, Journal of Computational Physics 159, 2000.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.planning.problem import Bound, Outcome, Run
from fanwise.wire import exact, migration, steiner_mixing
from fanwise.wire.arrays import WiringArrays, keep_brokers
from fanwise.wire.bounds import proving_seconds
from fanwise.wire.branching.branch_and_bound import BranchAndBound
from fanwise.wire.improving.annealing import most_changes
from fanwise.wire.improving.compact_starts import (
    compact_broker_sets,
    fill_in_order,
    order_by_interest,
)
from fanwise.wire.improving.priced_packing import pack_by_prices, pack_largest_first
from fanwise.wire.improving.search import Offered, WiringSearch
from fanwise.wire.improving.stages import DESCENT_SHARE, anneal, descend, polish
from fanwise.wire.improving.work_counts import round_work
from fanwise.wire.measuring import measuring_seconds
from fanwise.wire.problem import Wiring, make_tables
from fanwise.wire.proving.certificates import prove_by_prices, prove_by_search
from fanwise.wire.state import State, make_state

MOST_PAIRS, FEW_PAIRS = 5_000_000, 10_000
"""Pairs of a user and a broker up to which the paper's algorithms are all run, some of which take
minutes there; and up to which they are run with all their settings."""
QUICK_STEPS, STEPS_PER_SECOND = 1.5e7, 1.5e7
"""Steps that are made whatever the time limit, and how many a slow machine makes in a second."""
PAPER_SHARE = 0.3
"""Of the time that is left: most for one algorithm of the paper that takes longer than that."""
MARGIN = 0.3
"""Seconds that are kept beside those for bound and measuring, where a limit is exceeded."""
EXPECTED_ROUNDS = 10
"""Of migration."""
WORK_PER_USER, LEAST_WORK, MOST_WORK = 2_000_000.0, 2e7, 4e9
"""How far a search goes: see :mod:`fanwise.wire.improving.work_counts`."""
NUM_DESCENTS = 2
"""Starts that are descended from, beside packing."""
MOST_CENTRES = 4
"""Compact sets of brokers that are tried of each size; of a large problem one."""
HOPELESS = 1.3
"""Over the best cost: where compact sets cost more, those with still fewer brokers are left out."""
LONGER = 2.0
"""How much more each annealing does than the one before, where there is a time limit."""
FEW_ATTACHMENTS = 100_000
"""Attachments up to which branch and bound looks at all of them, whatever the time limit."""
EXACT_NODES = 300_000
"""Branches of a small instance that are looked at: seconds."""
RESERVED_SHARE = 0.25
"""Of a time limit: most that is kept for the bound, and for measuring the plan."""


def solve(problem: Wiring, run: Run) -> Outcome:
    """Improve the best start until the work is done, the gap closed, or time is up."""
    arrays = problem.arrays
    work = min(WORK_PER_USER * arrays.num_users + LEAST_WORK, MOST_WORK)
    work = max(run.settings.get("effort", 1.0) * work, 1.0)
    after = proving_seconds(arrays) + measuring_seconds(arrays)
    reserve = min(after, RESERVED_SHARE * (run.time_limit or 0.0))
    is_large = problem.num_pairs > MOST_PAIRS
    run.default_limits(changes=most_changes(arrays.num_users))
    with run.progress.step("best wiring") as step:
        search = WiringSearch(problem, run, step, work=work, reserve=reserve, is_large=is_large)
        with search.until_interrupted():
            _search(search)
    return search.outcome(make_tables(arrays, search.answer))


def _search(search: WiringSearch) -> None:
    run, arrays = search.run, search.arrays
    with run.timed("papers"):
        starts = _follow_the_paper(search)
    if arrays.num_brokers <= 1 or _num_attachments(arrays) <= FEW_ATTACHMENTS:
        with run.timed("closing"):
            _close(search)
    if search.is_over():
        return
    order = order_by_interest(arrays)
    with run.timed("starts"):
        _start_elsewhere(search, order, starts)
    if search.is_over():
        return
    with run.timed("moves"):
        cheapest = sorted(starts[1:], key=lambda start: (start.excess, start.cost))
        for start in [starts[0], *cheapest[:NUM_DESCENTS]]:
            descend(search, make_state(arrays, start.broker_of_user))
        polish(search)
    if exact.is_small(arrays) and not search.is_over():
        with run.timed("closing"):
            _close(search)
    if search.is_feasible and not search.is_over():
        with run.timed("changes"):
            anneal(search, order)
            polish(search)
            descend(search, search.best_state(), DESCENT_SHARE if search.is_large else 1.0)
            longer = 1.0
            while search.is_timed and not search.is_over():
                # Each time slower, so that the last one has about half of the time.
                longer *= LONGER
                anneal(search, order, longer)
                polish(search)


def _follow_the_paper(search: WiringSearch) -> list[Offered]:
    """Run the paper's algorithms as far as time allows; return the simpler ones' attachments."""
    problem, run, arrays = search.problem, search.run, search.arrays
    names = ["packing", "random"]
    # Both clustering and mixing look at each broker for each channel that a user touches.
    if not search.is_large and _has_time(
        run, len(arrays.channels) * arrays.num_brokers, "clustering", "steiner-mixing"
    ):
        names += ["clustering", "steiner-mixing"]
    starts = [search.offer_attachment(migration.start_from(problem, name, run)) for name in names]
    has_few = problem.num_pairs <= FEW_PAIRS
    if has_few and _has_time(
        run, steiner_mixing.steps_per_publisher(arrays), "steiner-mixing per publisher"
    ):
        search.offer_attachment(steiner_mixing.attach(problem, run.random(), per_publisher=True))
    for start in starts if has_few else starts[: 0 if search.is_large else 1]:
        _migrate(search, make_state(arrays, start.broker_of_user))
    return starts


def _has_time(run: Run, steps: float, *names: str) -> bool:
    """Whether so many steps take next to no time, or are expected to fit into what is left.

    Where they do not, the run notes the names of what is left out.
    """
    fits = steps <= STEPS_PER_SECOND * PAPER_SHARE * run.time_left()
    if not (fits or steps <= QUICK_STEPS):
        for name in names:
            run.leave_out(name)
        return False
    return True


def _migrate(search: WiringSearch, state: State) -> None:
    """Migrate from a state; to the end if that takes next to no time."""
    run = search.run
    steps = EXPECTED_ROUNDS * round_work(search.arrays, state)
    limited = Run(seed=run.seed, progress=run.progress)
    if steps > QUICK_STEPS:
        limited = _time_for_one(search)
    migrated = migration.migrate(search.arrays, state, limited)
    search.count("moves", migrated.num_moves)
    search.offer_state(state)
    if migrated.stopped == "limit":
        run.leave_out("migration")
    if migrated.stopped == "interrupted":
        raise KeyboardInterrupt


def _time_for_one(search: WiringSearch) -> Run:
    """Return the part of the time for one algorithm of the paper.

    That is a share of what is left, or what a limit may be exceeded by, if that is more.
    """
    run, arrays = search.run, search.arrays
    if run.time_limit is None:
        return run.part(PAPER_SHARE)
    after = proving_seconds(arrays) + measuring_seconds(arrays) + MARGIN
    late = run.with_grace(after)
    seconds = max(PAPER_SHARE * run.time_left(), late.time_left() - run.time_left())
    return replace(late, time_limit=min(run.elapsed() + seconds, late.time_limit or 0.0))


def _start_elsewhere(search: WiringSearch, order: LongArray, starts: list[Offered]) -> None:
    """Add attachments that the paper does not have to those to start from.

    By prices on brokers, and by compact sets of brokers, from all of them to as few as have room.
    """
    arrays = search.arrays
    starts.append(search.offer_attachment(pack_by_prices(arrays, search.is_over)))
    starts.append(search.offer_attachment(pack_largest_first(arrays)))
    for sets in compact_broker_sets(arrays, 1 if search.is_large else MOST_CENTRES):
        found = []
        for brokers, room in sets:
            if search.is_over():
                return
            found.append(search.offer_attachment(fill_in_order(arrays, order, brokers, room)))
            if (
                not arrays.is_tree
                and len(brokers) < arrays.num_brokers
                and (arrays.allowed[:, brokers].any(axis=1).all())
            ):
                among = _pack_among(arrays, np.sort(brokers), search.is_over)
                found.append(search.offer_attachment(among))
        starts += found
        cheapest = min((start.excess, start.cost) for start in found)[1]
        if len(sets[0][0]) < arrays.num_brokers and cheapest > HOPELESS * search.value:
            break


def _pack_among(arrays: WiringArrays, brokers: IntArray, is_over: Callable[[], bool]) -> IntArray:
    """Pack with prices among some brokers only."""
    return brokers[pack_by_prices(keep_brokers(arrays, brokers), is_over)]


def _num_attachments(arrays: WiringArrays) -> float:
    return float(arrays.num_brokers) ** min(arrays.num_users, 100)


def _close(search: WiringSearch) -> None:
    """Find the optimum by branch and bound, unless that takes too many branches.

    The search is settled where the optimum is proven, or that nothing keeps the capacities.
    """
    arrays = search.arrays
    by_prices = prove_by_prices(search.problem.bound_parts)
    if arrays.num_brokers <= 1:  # nobody has a choice, and prices say so up to rounding
        search.is_settled = True
        search.prove(Bound(search.best_state().cost, by_prices.proof))
        return
    if not exact.is_small(arrays):
        return
    has_few = _num_attachments(arrays) <= FEW_ATTACHMENTS
    search.run.default_limits(nodes=EXACT_NODES)
    value = search.best_state().cost if search.is_feasible else np.inf
    branching = BranchAndBound(arrays, search.answer, value)
    while not branching.is_done and branching.num_branched < EXACT_NODES:
        if search.is_over() and not has_few:
            break
        branching.go_on()
    if np.isfinite(branching.value):
        search.offer_attachment(branching.broker_of_user)
    if branching.is_done:
        search.is_settled = True
        if search.is_feasible:
            value = search.best_state().cost  # summed anew, as plans are measured
            search.prove(prove_by_search(branching, value, by_prices, may_be_told=True))
