"""The best wiring we know how to make.

The paper's algorithms come first, whatever the limits: packing, random, clustering, steiner-mixing
and migration to its end. Instances with few cases go to branch and bound. Then there are starts by
packing with prices on brokers, and by compact sets of brokers filled with users of like interests
(see :mod:`fanwise.wire.improving`). Of the cheapest, users move to wherever that lowers C1 + C2
most, as in migration, then swap with users of full brokers, and whole brokers change places. Then a
few users at a time are detached and attached again at the least added cost, with a heat that falls.
Other small instances go to branch and bound for what is left of the gap.

It stops after work in proportion to the number of users, up to a limit, so that the same seed gives
the same plan; at the time limit, if that comes first, or at the target gap.

Guarantees: no load above the capacities is larger than under any of the paper's algorithms with the
same seed, and where it is the same the cost is no higher. The time limit and the gap do not matter
for that: what the paper can do is done first. It holds up to ``MOST_PAIRS`` pairs of a user and a
broker; up to ``FEW_PAIRS`` also for the other starts of migration and for a tree per publisher.
Above ``MOST_PAIRS`` it holds for packing and random alone: the others would take minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Bound, Outcome, Run, Stopped
from fanwise.progress import Step
from fanwise.wire import exact, migration, steiner_mixing
from fanwise.wire.access_prices import cheapest_prices
from fanwise.wire.branching import VALUE, begin_search, search_on
from fanwise.wire.certifying import prove_by_prices, prove_by_search
from fanwise.wire.ground import Ground
from fanwise.wire.improving.annealing import Annealing
from fanwise.wire.improving.descending import redirect_within, swap_within
from fanwise.wire.improving.narrowing import narrow
from fanwise.wire.improving.packings import fill_row, pack_by_prices, pack_largest_first
from fanwise.wire.improving.repairing import excess_of, repair
from fanwise.wire.improving.rows import compact_sets, users_in_a_row
from fanwise.wire.improving.sites import find_exchange, sum_access
from fanwise.wire.problem import Wiring, make_tables
from fanwise.wire.state import State, make_state

MOST_PAIRS, FEW_PAIRS = 5_000_000, 10_000
"""Pairs of a user and a broker up to which the paper's algorithms are all run, some of which take
tens of seconds there; and up to which they are run with all their settings."""
WORK_PER_USER, LEAST_WORK, MOST_WORK = 1_000_000.0, 1e7, 2e9
"""How far a search goes: see :mod:`fanwise.wire.improving.working`."""
DESCENT_SHARE, EXCHANGE_SHARE = 0.2, 0.1
"""Of the work: most for one descent, and for exchanges of whole brokers."""
CALL_WORK = 2e7
"""Work between two looks at the clock: below a second."""
NUM_DESCENTS = 2
"""Starts that are descended from, beside packing."""
MOST_CENTRES = 4
"""Compact sets of brokers that are tried of each size; of a large problem one."""
HOPELESS = 1.3
"""Over the best cost: where compact sets cost more, those with still fewer brokers are left out."""
FEW_CASES = 100_000
"""Attachments up to which branch and bound looks at all of them, whatever the time limit."""
EXACT_NODES = 300_000
"""Branches of a small instance that are looked at: seconds."""

Improve = Callable[[Ground, State, LongArray, int, FloatArray, float], tuple[int, int]]


class Search:
    """The best attachment so far, and when to stop."""

    def __init__(self, problem: Wiring, run: Run, step: Step) -> None:
        self.problem, self.run, self._step = problem, run, step
        self.ground = problem.ground
        self.order: LongArray = np.argsort(-self.ground.demand, kind="stable")
        self.is_large = problem.num_pairs > MOST_PAIRS
        work = min(WORK_PER_USER * self.ground.num_users + LEAST_WORK, MOST_WORK)
        self.work_limit = run.settings.get("effort", 1.0) * work
        self.work = np.zeros(1)
        self.best: IntArray = np.zeros(0, dtype=np.int32)
        self.key = self.latest = (np.inf, np.inf)
        self.proved: Bound | None = None
        self.metrics: dict[str, int] = {"moves": 0, "swaps": 0, "exchanges": 0, "changes": 0}
        self.is_interrupted = self.is_closed = False
        run.default_limits(work=self.work_limit)

    def offer(self, state: State) -> tuple[float, float]:
        """Take an attachment if it is better; return its load above capacities, and its cost."""
        key = self.latest = excess_of(self.ground, state.load), state.cost
        if not self.has_any or key < self.key:
            self.best, self.key = state.broker_of_user.copy(), key
            self._step.note(f"cost {key[1]:,.6g}")
        return key

    def order_of(self, state: State) -> LongArray:
        """Return users in the order in which they move: most traffic first, as in migration.

        Of too many to look at all of them: those whose broker costs them most beyond the cheapest.
        """
        if not self.is_large:
            return self.order
        ground = self.ground
        own = ground.access[np.arange(ground.num_users), state.broker_of_user]
        loss = ground.demand * (own - cheapest_prices(ground.access, np.zeros(len(state.load))))
        return np.argsort(-loss, kind="stable")[: int(np.count_nonzero(loss > 0))]

    def state(self) -> State:
        """Return the state of the best attachment."""
        return make_state(self.ground, self.best)

    @property
    def has_any(self) -> bool:
        """Whether there is an attachment yet."""
        return self.key[1] < np.inf

    @property
    def is_feasible(self) -> bool:
        return self.key[0] == 0

    def is_over(self) -> bool:
        """Whether time is up, or the gap is small enough."""
        return self.run.is_over() or self.is_near_enough()

    def is_near_enough(self) -> bool:
        """Whether the gap that was asked for is reached."""
        if self.run.gap is None or not self.has_any:
            return False
        if self.proved is None:
            with self.run.timed("bound"):
                self.proved = self.problem.proved
        gap = certified_gap(self.key[1], self.proved.value, is_feasible=self.is_feasible)
        return gap is not None and gap <= self.run.gap

    def why_stopped(self) -> Stopped:
        """Say why the search ended, once it has."""
        if self.is_interrupted:
            return "interrupted"
        if self.is_closed:
            return "exhausted"
        if self.is_near_enough():
            return "gap"
        if self.run.is_over():
            return "limit"
        return "work" if self.is_feasible else "exhausted"

    def work_up_to(self, share: float) -> float:
        """Return the work at which a share of all of it is done from here."""
        return float(self.work[0] + share * self.work_limit)


def solve(problem: Wiring, run: Run) -> Outcome:
    """Improve the best start until the work is done, the gap closed, or time is up."""
    with run.progress.step("best wiring") as step:
        search = Search(problem, run, step)
        try:
            _search(search)
        except KeyboardInterrupt:
            if not search.has_any:
                raise
            search.is_interrupted = True
    stopped = search.why_stopped()
    return Outcome(
        make_tables(problem.ground, search.best),
        bound=None if search.proved is None else search.proved.value,
        metrics=search.metrics,
        is_interrupted=search.is_interrupted,
        proof=None if search.proved is None else search.proved.proof,
        stopped=stopped,
    )


def _search(search: Search) -> None:
    run, ground = search.run, search.ground
    with run.timed("papers"):
        attachments, keys = _follow_the_paper(search)
    if ground.num_brokers <= 1 or _num_cases(ground) <= FEW_CASES:
        with run.timed("closing"):
            _close(search)
    if search.is_closed or search.is_over():
        return
    row = users_in_a_row(ground)
    with run.timed("starts"):
        for attachment in _starts(search, row):
            attachments.append(attachment)
            keys.append(search.offer(make_state(ground, attachment)))
            if search.is_over():
                return
    with run.timed("moves"):
        by_cost = sorted(range(1, len(keys)), key=keys.__getitem__)
        for place in [0, *by_cost[:NUM_DESCENTS]]:
            _descend(search, make_state(ground, attachments[place]))
        _polish(search)
    if _is_small(ground) and not search.is_over():
        with run.timed("closing"):
            _close(search)
    if search.is_feasible and not search.is_closed and not search.is_over():
        with run.timed("changes"):
            _anneal(search, row)
            _polish(search)
            _descend(search, search.state(), DESCENT_SHARE if search.is_large else 1.0)


def _follow_the_paper(search: Search) -> tuple[list[IntArray], list[tuple[float, float]]]:
    """Run the paper's algorithms, whatever the limits; return the simpler ones' attachments."""
    problem, run, ground = search.problem, search.run, search.ground
    names = ["packing", "random"]
    if not search.is_large:
        names += ["clustering", "steiner-mixing"]
    attachments, keys = [], []
    for name in names:
        attachments.append(migration.start_from(problem, name, run))
        keys.append(search.offer(make_state(ground, attachments[-1])))
    has_few = problem.num_pairs <= FEW_PAIRS
    if has_few:
        drawn = steiner_mixing.attach(problem, run.random(), per_publisher=True)
        search.offer(make_state(ground, drawn))
    unlimited = Run(seed=run.seed, progress=run.progress)
    to_migrate = attachments if has_few else attachments[: 0 if search.is_large else 1]
    for attachment in to_migrate:
        state = make_state(ground, attachment)
        num_moves, _, stopped = migration.migrate(ground, state, unlimited)
        search.metrics["moves"] += num_moves
        search.offer(state)
        if stopped == "interrupted":
            raise KeyboardInterrupt
    return attachments, keys


def _starts(search: Search, row: LongArray) -> Iterator[IntArray]:
    """Yield more attachments to start from."""
    ground = search.ground
    yield pack_by_prices(ground)
    yield pack_largest_first(ground)
    for sets in compact_sets(ground, 1 if search.is_large else MOST_CENTRES):
        keys = []
        for brokers, room in sets:
            yield fill_row(ground, row, brokers, room)
            keys.append(search.latest)
            if not ground.is_tree and len(brokers) < ground.num_brokers:
                yield _pack_among(ground, np.sort(brokers))
                keys.append(search.latest)
        if len(sets[0][0]) < ground.num_brokers and min(keys)[1] > HOPELESS * search.key[1]:
            break


def _pack_among(ground: Ground, brokers: IntArray) -> IntArray:
    """Pack with prices among some brokers only."""
    return brokers[pack_by_prices(narrow(ground, brokers))]


def _descend(search: Search, state: State, share: float = DESCENT_SHARE) -> None:
    """Move single users until none wants to, or the share of work is done."""
    limit = search.work_up_to(share)
    try:
        repair(search.ground, state, search.order)
        search.metrics["moves"] += _rounds(search, state, redirect_within, limit)
    finally:
        search.offer(state)


def _rounds(
    search: Search, state: State, improve: Callable[..., tuple[int, int]], limit: float
) -> int:
    """Go over all users round after round until nothing improves; return how often it did."""
    total, first, found = 0, 0, 0
    order = search.order_of(state)
    while not search.is_over() and search.work[0] < limit:
        until = min(limit, search.work[0] + CALL_WORK)
        first, some = improve(search.ground, state, order, first, search.work, until)
        found += some
        if first == len(order):
            total += found
            if not found:
                break
            first = found = 0
    return total + found


def _polish(search: Search) -> None:
    """Exchange whole brokers, swap users and move them, as long as each helps."""
    limit = search.work_up_to(DESCENT_SHARE)
    while search.is_feasible and not search.is_over() and search.work[0] < limit:
        before = search.key
        _exchange_brokers(search)
        state = search.state()
        try:
            search.metrics["swaps"] += _rounds(search, state, swap_within, limit)
            search.metrics["moves"] += _rounds(search, state, redirect_within, limit)
        finally:
            search.offer(state)
        if search.key == before:
            break


def _exchange_brokers(search: Search) -> None:
    limit = search.work_up_to(EXCHANGE_SHARE)
    state, pair, misses = search.state(), 0, 0
    pairs = search.ground.num_brokers**2
    access = sum_access(search.ground, state)
    while misses < pairs and search.work[0] < limit and not search.is_over():
        until = min(limit, search.work[0] + CALL_WORK)
        after, one, two = find_exchange(search.ground, state, access, pair, search.work, until)
        misses += after - pair
        pair = after % pairs
        if one >= 0:
            brokers = state.broker_of_user.copy()
            brokers[state.broker_of_user == one] = two
            brokers[state.broker_of_user == two] = one
            state = make_state(search.ground, brokers)
            access = sum_access(search.ground, state)
            search.offer(state)
            search.metrics["exchanges"] += 1
            misses = 0


def _anneal(search: Search, row: LongArray) -> None:
    """Detach and attach a few users at a time, among the brokers in use where that is possible."""
    ground = search.ground
    brokers = np.arange(ground.num_brokers, dtype=np.int32)
    if not ground.is_tree:
        brokers = np.unique(search.best)
        ground = narrow(ground, brokers)
    start = np.searchsorted(brokers, search.best).astype(np.int32)
    annealing = Annealing(ground, start, row, search.run.random())
    left = search.work_limit * (1 - DESCENT_SHARE) - search.work[0]
    work = max(left, DESCENT_SHARE * search.work_limit)
    began, seconds = search.run.elapsed(), np.inf
    if search.run.time_limit is not None:
        seconds = max(search.run.time_limit - began, 1e-9)
    fraction = 0.0
    try:
        while fraction < 1.0 and not search.is_over():
            annealing.run_batch(fraction, CALL_WORK)
            fraction = max(annealing.share_done(work), (search.run.elapsed() - began) / seconds)
    finally:
        search.metrics["changes"] += annealing.num_tried
        search.offer(make_state(search.ground, brokers[annealing.best]))


def _num_cases(ground: Ground) -> float:
    return float(ground.num_brokers) ** min(ground.num_users, 100)


def _is_small(ground: Ground) -> bool:
    return ground.num_users <= exact.MAX_USERS and ground.num_brokers <= exact.MAX_BROKERS


def _close(search: Search) -> None:
    """Find the optimum by branch and bound, unless that takes too many branches.

    It is closed where the optimum is proven, or that nothing keeps the capacities.
    """
    ground = search.ground
    by_prices = prove_by_prices(search.problem.bound_parts)
    if ground.num_brokers <= 1:  # nobody has a choice, and prices say so up to rounding
        search.is_closed = True
        search.proved = Bound(search.state().cost, by_prices.proof)
        return
    if not _is_small(ground):
        return
    has_few_cases = _num_cases(ground) <= FEW_CASES
    search.run.default_limits(nodes=EXACT_NODES)
    order = exact.attaching_order(ground)
    question = exact.pose(ground, order)
    value = search.state().cost if search.is_feasible else np.inf
    tree = begin_search(question, search.best[order], value)
    is_done, left = False, EXACT_NODES
    while not is_done and left > 0 and (has_few_cases or not search.run.is_over()):
        is_done = search_on(question, tree, 0.0, exact.NODES_PER_CALL)
        left -= exact.NODES_PER_CALL
    if np.isfinite(tree.values[VALUE]):
        brokers = np.empty_like(search.best)
        brokers[order] = tree.best
        search.offer(make_state(ground, brokers))
    if is_done:
        search.is_closed = True
        if search.is_feasible:
            search.proved = prove_by_search(
                question, order, search.state().cost, by_prices, may_be_told=True
            )
