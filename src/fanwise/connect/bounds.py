r"""Proven upper bounds on mu under budgets: prices on topics, nodes, links and cost.

Let S be any overlay and E* a best one within the budgets: at most d_v links at node v, m in all,
cost C. mu is monotone, so mu(E*) <= mu(S + E*): what S is worth, and for each topic t with weight
w_t the components that E* joins on top of it. There are at most r_t of those, where r_t is

- the components of t under S, less one (components without links to spare do not count), and
- half the degrees that the nodes of t may have, and m: each join takes a link inside the topic;

and at most as many as links of E* that have two components of t at their ends. Mix both with any
price l_t between 0 and 1:

    mu(E*) <= mu(S) + sum_t (1 - l_t) w_t r_t + sum_{e in E*} g(e),

with g(e) the sum of l_t w_t over topics whose components e would join. Now take any prices
p_v, q, s >= 0 for a link at node v, for a link, and for a unit of cost c. As E* keeps the budgets,

    sum_{e in E*} g(e) <= sum_v p_v d_v + q m + s C
                          + sum_{all pairs uv} max(0, g(uv) - p_u - p_v - q - s c(uv)).

Every choice of S and prices gives a proven bound. Prices l = 1, p = 0, s = 0 and q the m-th largest
gain give the bound of greedy states: mu(S) and the m largest gains. With p_v half the d_v-th
largest gain at v it is never above mu(S) and half the sum, over nodes, of their d_v largest gains.
The best prices solve a linear programme, which HiGHS does for small instances (it often closes the
gap); elsewhere subgradient steps (Polyak's, towards the value of a known overlay) find good ones. A
pass over all pairs that share a topic evaluates them: half the sum of squared followers. Passes
stop at a limit on that work; above it what remains is r_t alone and the bound from the sizes of
interests.

One partition of a topic, that of S, is not enough where many topics are wanted by the same few
nodes: prices on spanning trees of topics are better, and take prices from here to begin with. See
:mod:`fanwise.connect.pricing.tree_prices`; ``best`` looks for them.

What the paper's algorithms chose on their way gives prices too, without a pass: see
:mod:`fanwise.connect.pricing.greedy_prices`. The best prices are kept: they are the bound's
certificate.

Guarantee
    No overlay within the budgets is worth more. Bounds are raised by more than rounding may take.

Complexity
    O(sum of |V_t| squared) for each pass; ``QUICK_WORK`` and ``THOROUGH_WORK`` limit their number.

References
----------
    Our own, from what the paper's proofs use. Steps: B. Polyak: Minimization of unsmooth
    functionals. USSR Computational Mathematics and Mathematical Physics 9(3), 1969; P. Camerini,
    L. Fratta, F. Maffioli: On improving relaxation methods by modified gradient techniques.
    Mathematical Programming Study 3, 1975.
"""

from __future__ import annotations

import math

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE
from fanwise.connect.arrays import NO_EDGES
from fanwise.connect.certificate import Prices, make_proof, round_prices
from fanwise.connect.pricing.linear_programme import MAX_ENTRIES, best_prices
from fanwise.connect.pricing.pass_kernels import count_free, price_pairs, rank_pairs
from fanwise.connect.pricing.tree_prices import TreePrices
from fanwise.connect.problem import Connection
from fanwise.planning.plan import certified_gap
from fanwise.planning.problem import Bound

CLOSED = 5e-10
"""How near a bound must come to a value to be called the same: half the tolerance of checks."""
QUICK_WORK, THOROUGH_WORK = 80_000_000, 600_000_000
"""Pairs of followers looked at over all passes: for any plan, and for each turn in ``best``."""
MOST_PASSES = 40
"""Passes of a turn, however little work they are."""
LP_WORK = 200_000_000
"""What the linear programme counts as, which takes up to a second or so."""
BOUND_MARGIN = 1.5e-10
"""What bounds are raised by for rounding: more than whoever checks them does."""
FIRST_PASSES = 6
"""What ranking all pairs, and trying the first prices for each kind of budget, costs in passes."""
TURN = 1.5
"""How far a step turns away from where the last one came from; see ``_move``."""
TRIAL = 8
"""Passes that each S gets before the best of them goes on."""
HOPE, HOPELESS = 24, 1.25
"""Passes after which prices that are still that far above the bound are given up."""
PATIENCE = 8
"""Passes without progress before steps become shorter."""


def upper_bound(problem: Connection, edges: IntArray) -> Bound:
    """Return a proven upper bound on mu under the problem's budgets, with its certificate.

    Parameters
    ----------
    edges
        An overlay that keeps the budgets; beginnings of it serve as S, and its value is what the
        prices aim at. The bound holds whatever it is.
    """
    search = BoundSearch(problem, edges)
    search.run_passes(QUICK_WORK)
    return search.certify(edges)


def snap(bound: Bound, value: float) -> Bound:
    """Return the value of an overlay as its bound where they are the same but for rounding."""
    return bound._replace(value=value) if bound.value <= value * (1 + CLOSED) else bound


def cost_limit(problem: Connection) -> float:
    """Return what all links may cost, with all but a little of the tolerance that checks grant."""
    limit = problem.max_link_cost
    return math.inf if limit is None else limit * (1 + 0.999 * RELATIVE_TOLERANCE)


def _whole(problem: Connection, bound: float) -> float:
    """Round a bound down where every overlay is worth a whole number."""
    weight = problem.network.weight
    raised = bound * (1 + BOUND_MARGIN)
    is_whole = bool((weight == np.floor(weight)).all()) and raised < 2**50
    return float(math.floor(raised)) if is_whole else raised


class BoundSearch:
    """Bounds that fall with every good pass.

    Attributes
    ----------
    bound
        The best so far, proven at any time.
    prices
        What it follows from; None while sizes alone prove it.
    work
        Pairs of followers looked at so far.
    """

    def __init__(self, problem: Connection, edges: IntArray) -> None:
        self.problem, self.network = problem, problem.network
        self.budget = problem.budget._replace(max_cost=cost_limit(problem))
        self.target = problem.value(edges)
        self._edges = edges
        self._states: list[State] | None = None
        self._num_passes = 0
        self.work = 0
        self.limits = np.minimum(self.network.degree_limit, max(0, self.network.num_nodes - 1))
        self.bound = math.inf
        self.prices: Prices | None = None
        self.lower(self._bound_by_sizes(), None)

    @property
    def pass_work(self) -> int:
        """What one pass costs: half the sum of squared followers."""
        return max(1, self.network.counting_work // 2)

    @property
    def step_work(self) -> int:
        """What the next step costs at most: the first prices of an S take several passes."""
        is_priced = self._states is not None and all(state.is_priced for state in self._states)
        return self.pass_work * (1 if is_priced else FIRST_PASSES)

    def is_closed(self, gap: float = RELATIVE_TOLERANCE) -> bool:
        """Whether the bound has come down to the value it aims at."""
        return (certified_gap(self.target, self.bound, is_feasible=True) or 0.0) <= gap

    def run_passes(self, work: int) -> None:
        """Pass over the pairs as often as the work allows, at most ``MOST_PASSES`` times."""
        for _ in range(min(MOST_PASSES, work // self.pass_work)):
            if self.is_closed() or not self.step():
                return

    @property
    def is_hopeless(self) -> bool:
        """Whether all prices are far from mattering after many passes."""
        if self._states is None or self._num_passes < HOPE:
            return False
        return min(state.best for state in self._states) > HOPELESS * self.bound

    def step(self) -> bool:
        """Make one pass; return False where there is nothing to be gained by another."""
        if self._is_unlimited() or self.is_hopeless:
            return False
        self._num_passes += 1
        if self._states is None and 2 * self.pass_work <= MAX_ENTRIES:
            self._states = [State(self, NO_EDGES)]
            self.lower(*self._states[0].improve_by_lp())
            return False
        if self._states is None:
            self._states = self._make_states()
        state = self._next_state(self._states)
        self.lower(*state.improve(self.target))
        return not all(state.is_stuck for state in self._states)

    def _next_state(self, states: list[State]) -> State:
        """Return the state to work on: each for a few passes, then the one with most promise."""
        for state in states:
            if state.num_passes < TRIAL and not state.is_stuck:
                return state
        going = [state for state in states if not state.is_stuck]
        return min(going or states, key=lambda state: state.best)

    def _is_unlimited(self) -> bool:
        return (
            self.problem.edge_limit is None
            and self.problem.max_link_cost is None
            and bool((self.limits >= self.problem.network.num_nodes - 1).all())
        )

    def _make_states(self) -> list[State]:
        beginnings = (self._edges[: len(self._edges) * share // 2] for share in range(3))
        distinct = {len(edges): edges for edges in beginnings}
        return [State(self, edges) for edges in distinct.values()]

    def trees(self, edges: IntArray) -> TreePrices | None:
        """Return prices on trees that links give, from the best ones without; None where none."""
        first = self._states[0].best_prices if self._states else None
        if first is None or not len(edges):
            return None
        return TreePrices(self.network, self.budget, self.limits, edges, first)

    def lower(self, bound: float, prices: Prices | None) -> None:
        """Take a bound that prices prove, or sizes alone, if it is better."""
        whole = _whole(self.problem, bound)
        if whole < self.bound:
            self.prices = prices
        self.bound = max(self.target, min(self.bound, whole))
        if self.bound <= self.target * (1 + CLOSED):
            self.bound = self.target

    def certify(self, edges: IntArray) -> Bound:
        """Return the bound with its certificate; ``edges`` is the plan that it goes with."""
        return Bound(self.bound, make_proof(self.bound, self.prices, edges))

    def price_by_lp(self, max_edges: int | None = None) -> Prices:
        """Return the best prices, if they are quick to find, for another number of links too."""
        num_topics, num_nodes = len(self.network.weight), len(self.limits)
        if 2 * self.pass_work > MAX_ENTRIES or (self._is_unlimited() and max_edges is None):
            return Prices(np.zeros(num_topics), np.zeros(num_nodes), 0.0, 0.0)
        if max_edges is None:
            bound, prices = State(self, NO_EDGES).improve_by_lp()
            self.lower(bound, prices)
            return prices
        budget = self.budget._replace(max_edges=max_edges)
        label = np.arange(len(self.network.nodes), dtype=np.int32)
        joins = np.minimum(self.joins(label), max_edges).astype(np.float64)
        found = best_prices(self.network, budget, self.limits.astype(np.float64), joins)
        return Prices(found[:num_topics], found[num_topics:-2], float(found[-2]), float(found[-1]))

    def joins(self, label: IntArray) -> FloatArray:
        """r_t: at most how many components of each topic can be joined on top of S."""
        free, degrees = count_free(self.network, label, self.limits)
        return np.minimum(np.minimum(np.maximum(free - 1, 0), degrees // 2), self.budget.max_edges)

    def _bound_by_sizes(self) -> float:
        """Bound by r_t, and by the weight of interests: a link joins no more than its ends have."""
        network, limits = self.network, self.limits
        label = np.arange(len(network.nodes), dtype=np.int32)
        bound = float(np.dot(self.joins(label), network.weight))
        sizes = np.bincount(
            np.repeat(np.arange(len(limits)), np.diff(network.indptr)),
            weights=network.weight[network.topics],
            minlength=len(limits),
        )
        bound = min(bound, float(np.dot(sizes, limits)) / 2)
        # A link joins no more than its smaller end wants. By falling size, the k-th node is the
        # smaller end in k - 1 pairs: so the largest m pairs are found without listing any.
        largest = np.sort(sizes[limits > 0])[::-1]
        pairs = np.arange(len(largest), dtype=np.float64)  # with a larger one, for each
        before = np.minimum(np.cumsum(pairs) - pairs, self.budget.max_edges)
        taken = np.minimum(pairs, self.budget.max_edges - before)
        return min(bound, float(np.dot(largest, taken)))


class State:
    """An overlay S with its prices: topics first, then nodes, links and cost, in one vector."""

    def __init__(self, search: BoundSearch, edges: IntArray) -> None:
        self._search = search
        self._edges = edges
        self._label = search.network.components(edges).label
        self._value = search.problem.value(edges)
        self._joins = search.joins(self._label).astype(np.float64)
        self._limits = search.limits.astype(np.float64)
        max_edges, max_cost = search.budget
        self._budgets = np.concatenate(
            [self._limits, [float(max_edges), max_cost if max_cost < math.inf else 0.0]]
        )
        self._ceiling = np.concatenate(
            [np.ones(len(self._joins)), np.full(len(self._budgets), np.inf)]
        )
        self._prices = self._unit = self._direction = np.empty(0)
        self._pace, self._idle = 1.0, 0
        self.is_priced = False
        self.num_passes = 0
        self.best = math.inf
        self.best_prices: Prices | None = None

    @property
    def is_stuck(self) -> bool:
        """Whether steps have become too short to matter."""
        return self._pace < 1e-3

    def improve(self, target: float) -> tuple[float, Prices]:
        """Evaluate the prices and move them; return the bound that they prove, and them."""
        self.num_passes += 1
        if not self.is_priced:
            self._set_first_prices()
        prices = self._as_prices(self._prices)
        bound, slope = self._evaluate(self._prices)
        self._idle = 0 if bound < self.best * (1 - 1e-5) else self._idle + 1
        if bound < self.best:
            self.best, self.best_prices = bound, prices
        if self._idle >= PATIENCE:
            self._idle, self._pace = 0, self._pace / 2
        self._move(slope, bound - target)
        return bound, prices

    def improve_by_lp(self) -> tuple[float, Prices]:
        """Evaluate the best prices there are; nothing is left to improve then."""
        search = self._search
        prices = best_prices(search.network, search.budget, self._limits, self._joins)
        search.work += LP_WORK
        self.best, self._pace = self._evaluate(prices)[0], 0.0
        self.best_prices = self._as_prices(prices)
        return self.best, self.best_prices

    def _as_prices(self, prices: FloatArray) -> Prices:
        prices, num_topics = round_prices(prices), len(self._joins)
        topic, node = prices[:num_topics].copy(), prices[num_topics:-2].copy()
        return Prices(topic, node, float(prices[-2]), float(prices[-1]), self._edges)

    def _set_first_prices(self) -> None:
        """Start from the prices of the greedy-state bounds, for the budget that binds most."""
        search, problem = self._search, self._search.problem
        max_edges, max_cost = search.budget
        search.work += 2 * search.pass_work
        gains, link, cost = rank_pairs(
            search.network, self._label, search.limits, float(max_edges), max_cost
        )
        ones, free = np.ones(len(self._joins)), np.zeros(len(gains))
        choices = [np.concatenate([ones, gains / 2, [0.0, 0.0]])]
        if problem.edge_limit is not None:
            choices.append(np.concatenate([ones, free, [link, 0.0]]))
        if max_cost < math.inf:
            choices.append(np.concatenate([ones, free, [0.0, cost]]))
        if len(choices) > 1:
            self._prices = min(choices, key=lambda prices: self._evaluate(prices)[0])
        else:
            self._prices = choices[0]
        self._unit = self._units(gains, link, cost)
        self._direction = np.zeros(len(self._prices))
        self.is_priced = True

    def _units(self, gains: FloatArray, link: float, cost: float) -> FloatArray:
        """Return how far each price moves per slope: what it is about over how much it prices.

        Prices of budgets that there are not stay at 0.
        """
        search, weight = self._search, self._search.network.weight
        mean = float(gains.mean()) if len(gains) else 0.0
        is_free = search.limits >= len(search.limits) - 1
        topic = 1.0 / np.maximum(weight * np.maximum(self._joins, 1.0), 1e-300)
        node = np.where(is_free, 0.0, np.maximum(gains, mean) / np.maximum(self._limits, 1.0))
        has_edges = search.problem.edge_limit is not None
        has_cost = search.budget.max_cost < math.inf
        return np.concatenate(
            [
                topic,
                node,
                [max(link, mean) / max(self._budgets[-2], 1.0) if has_edges else 0.0],
                [cost / max(self._budgets[-1], 1e-300) if has_cost else 0.0],
            ]
        )

    def _evaluate(self, prices: FloatArray) -> tuple[float, FloatArray]:
        """Return the bound that prices prove as they are kept, and how it changes with each."""
        prices = round_prices(prices)
        self._search.work += self._search.pass_work
        network, num_topics = self._search.network, len(self._joins)
        topic, rest = prices[:num_topics], prices[num_topics:]
        node = np.ascontiguousarray(rest[:-2])
        loads, topic_load = np.zeros(len(node)), np.zeros(num_topics)
        surplus, count, cost = price_pairs(
            network, self._label, topic * network.weight, node, float(rest[-2]), float(rest[-1]),
            loads, topic_load,
        )  # fmt: skip
        bound = self._value + surplus + float(np.dot(rest, self._budgets))
        bound += float(np.dot((1 - topic) * network.weight, self._joins))
        used = np.concatenate([loads, [count, cost]])
        slope = np.concatenate([network.weight * (topic_load - self._joins), self._budgets - used])
        return bound, slope

    def _move(self, slope: FloatArray, distance: float) -> None:
        """Step against the slope, turned away from where the last step came from.

        A slope that points back is mixed with the last direction (Camerini, Fratta, Maffioli 1975):
        many pairs have the same gain, and plain slopes jump between them.
        """
        is_low = (self._prices <= 0) & (slope > 0)
        is_high = (self._prices >= self._ceiling) & (slope < 0)
        slope = np.where(is_low | is_high, 0.0, slope)
        last = self._direction
        length = float(np.dot(self._unit, last * last))
        back = -float(np.dot(self._unit, last * slope))
        direction = slope + (TURN * back / length) * last if back > 0 and length > 0 else slope
        norm = float(np.dot(self._unit, direction * direction))
        if norm <= 0:
            self._pace = 0.0
            return
        step = self._pace * max(distance, 0.0) / norm
        self._prices = np.clip(self._prices - step * self._unit * direction, 0.0, self._ceiling)
        self._direction = direction
