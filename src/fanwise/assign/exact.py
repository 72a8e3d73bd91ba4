"""The optimum for a handful of subscribers, by trying every assignment in a good order.

All assignments within the latency and load limits are listed. The filter of a broker has to hold
what everybody below it wants, so that the least cover of that by alpha rectangles, summed over
brokers, is a lower bound for each; :mod:`fanwise.assign.covers.least_covers` finds those.
Assignments are looked at from the lowest bound up, until one costs no more than the next bound.

Least covers by two rectangles and more take long: there the union of what is wanted stands in for
them, until an assignment comes up that has to be known better.

In trees of one level the bound is what the assignment costs: the first one is the optimum. Below
inner brokers a broker's least cover may not be the best for the brokers above it. There every
combination of covers is tried that may still cost less than the best plan so far: a cover, of the
children's rectangles, for each inner broker, and no more excess over the least covers, all in all,
than the difference.

Guarantee
    All of that is complete, so that the plan is optimal and ``bound`` is its objective, up to
    rounding. A time limit or gap that ends the search leaves the next lower bound, and so does the
    limit on the steps of the search for covers.

Complexity
    O(product of the numbers of candidates + 2^subscribers x grid rectangles) in trees of one level
    and up to two rectangles; below inner brokers the number of near-optimal covers adds to that.
    More rectangles multiply it by those of the grid.

References
----------
    The question is that of A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area
    content-based publish/subscribe. IEEE ICDE 2011. The search is our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.tolerance import ROUNDING
from fanwise.assign.arrays import AssignmentArrays, Filters
from fanwise.assign.baselines import balanced
from fanwise.assign.covers.branch_and_bound import Budget, TooMuchWorkError
from fanwise.assign.covers.least_covers import (
    Cover,
    Grid,
    count_rectangles,
    distinct,
    least_cover,
    list_covers,
    make_grid,
    merged_cover,
    sides_of,
    union_mass,
)
from fanwise.assign.filters import fit_filters
from fanwise.assign.problem import Assignment, make_tables
from fanwise.errors import ParameterError
from fanwise.planning.problem import Bound, Outcome, Run
from fanwise.planning.search import Search
from fanwise.planning.stopping import limits_of
from fanwise.progress import Step

MOST_SUBSCRIBERS = 10
MOST_ASSIGNMENTS = 100_000
MOST_COVERS = 100_000_000
"""Rectangles of the grid, times sets of subscribers, if filters may have two of them."""
MOST_STEPS = 1_000_000_000
"""Steps of the search for covers: rectangles, pieces and cells looked at; some ten seconds."""
MOST_CELLS = 20_000
"""Cells of the grid, if filters may have three rectangles or more."""

SEARCH_SHARE = 0.6
"""Of the time that is left, for the search; what remains is for the certificate."""
FIRST = 100
"""Assignments whose filters are fitted greedily for a first plan."""


def solve(problem: Assignment, run: Run) -> Outcome:
    """Find the optimum, or the best plan within the time limit.

    Where no assignment keeps the limits, the most even one is returned, which breaks them.
    """
    refuse_large(problem)
    brokers = list_assignments(problem)
    if len(brokers) == 0 and problem.arrays.num_subscribers:
        even = balanced(problem)
        return Outcome(make_tables(even, fit_filters(problem.arrays, even)), stopped="exhausted")
    with run.progress.step("trying every assignment") as step:
        search = ExactSearch(problem.arrays, brokers, run, step)
        with search.until_interrupted():
            search.search_all()
    found = search.answer
    cost = float(problem.arrays.measures(found.filters).sum())
    proven = search.bound.value if search.bound is not None else 0.0
    search.metrics |= {"proven": search.is_settled, "assignments": len(brokers)}
    return search.outcome(
        make_tables(brokers[found.row].astype(np.int32), found.filters),
        Bound(cost if search.is_settled else min(proven, cost)),
    )


def refuse_large(problem: Assignment) -> None:
    """Raise where trying everything would take too long, saying what is too much."""
    too_much = describe_size(problem)
    if too_much is not None:
        raise ParameterError("algorithm", f"'best' above {too_much}", "exact")


def describe_size(problem: Assignment) -> str | None:
    """Say which size is too large for trying everything, and how large it is; None if none is."""
    arrays = problem.arrays
    count = arrays.num_subscribers
    if count > MOST_SUBSCRIBERS:
        return f"{MOST_SUBSCRIBERS} subscribers (here {count:,})"
    ways = np.prod(np.maximum(np.diff(arrays.indptr), 1).astype(float))
    if ways > MOST_ASSIGNMENTS:
        return f"{MOST_ASSIGNMENTS:,} assignments (here {ways:,.0f})"
    lo, hi = wanted(arrays)
    if arrays.alpha == 1 or len(np.unique(np.hstack([lo, hi]), axis=0)) <= arrays.alpha:
        return None
    sides = sides_of(lo, hi, arrays.density)
    if arrays.alpha > 2:
        cells = np.prod([float(len(some)) for some in sides])
        return f"{MOST_CELLS:,} cells (here {cells:,.0f})" if cells > MOST_CELLS else None
    work = count_rectangles(sides) << len(lo)
    if work > MOST_COVERS:
        return f"{MOST_COVERS:,} covers of sets of subscribers (here {work:,})"
    return None


def wanted(arrays: AssignmentArrays) -> tuple[FloatArray, FloatArray]:
    """Return the boxes of those who want something."""
    wants = arrays.lo[:, 0] <= arrays.hi[:, 0]
    return arrays.lo[wants], arrays.hi[wants]


def list_assignments(problem: Assignment) -> IntArray:
    """Return the broker of each subscriber in all assignments that keep the limits, as rows."""
    arrays = problem.arrays
    limits = problem.limits(problem.lbf_max)
    found = np.zeros((1, 0), dtype=np.int32)
    loads = np.zeros((1, arrays.num_brokers), dtype=np.int32)
    for j in range(arrays.num_subscribers):
        choices = arrays.brokers[arrays.indptr[j] : arrays.indptr[j + 1]]
        row = np.repeat(np.arange(len(found)), len(choices))
        last = np.tile(choices, len(found))
        found, loads = np.column_stack([found[row], last]).astype(np.int32), loads[row]
        loads[np.arange(len(row)), last] += 1
        keep = loads[np.arange(len(row)), last] <= limits[last]
        found, loads = found[keep], loads[keep]
    return found


@dataclass(frozen=True, eq=False)
class Option:
    """A broker's filter, and what it and those below it cost."""

    cover: Cover
    cost: float
    below: tuple[tuple[int, Cover], ...] = ()


class Answer(NamedTuple):
    """An assignment, by its row in the list of all, and its filters."""

    row: int
    filters: Filters


class ExactSearch(Search[Answer]):
    """Assignments from the lowest bound up; settled once the optimum is proven."""

    def __init__(self, arrays: AssignmentArrays, brokers: IntArray, run: Run, step: Step) -> None:
        part = run.part(SEARCH_SHARE)
        super().__init__(part, step, "min", limits_of(part), unit="bandwidth")
        self._arrays, self._brokers = arrays, brokers
        self._budget = Budget(MOST_STEPS, part.time_left)
        self._least: dict[int, Cover] = {}
        self._union: dict[int, float] = {}
        self._wants = np.flatnonzero(arrays.lo[:, 0] <= arrays.hi[:, 0])
        self._is_slow = arrays.alpha > 1
        if self._is_slow:
            run.default_limits(steps=MOST_STEPS)
        lo, hi = wanted(arrays)
        if len(lo):
            sides = sides_of(lo, hi, arrays.density)
            self._grid: Grid = make_grid(sides, arrays.density, arrays.alpha)
            self._boxes: tuple[LongArray, LongArray] = self._grid.lines_of(lo, hi)
        self._sets = self._sets_below()
        self.metrics["examined"] = 0

    def search_all(self) -> None:
        """Search until the optimum is proven or a limit is reached."""
        different, inverse = np.unique(self._sets, return_inverse=True)
        known = np.array([self._lower_of(int(some)) for some in different])
        lower = known[inverse.reshape(self._sets.shape)].sum(axis=1)
        waiting = list(zip(lower.tolist(), range(len(lower)), strict=True))
        heapify(waiting)
        for _, row in sorted(waiting)[:FIRST]:
            self._keep(row, self._fit(row))
        try:
            self._examine_all(waiting)
        except TooMuchWorkError:
            self.end("work" if self._budget.steps < 0 else "limit")

    def _examine_all(self, waiting: list[tuple[float, int]]) -> None:
        while waiting:
            lower, row = heappop(waiting)
            if self._lower(row) > lower * (1 + ROUNDING):  # something has become known since
                heappush(waiting, (self._lower(row), row))
                continue
            self.prove(Bound(lower))
            if lower >= self.value * (1 - ROUNDING):
                break
            if self.is_over():
                return
            # One least cover at a time becomes known, shared by all assignments with that set; then
            # the assignment queues again, because its bound may no longer be the lowest.
            unknown = next((some for some in self._sets[row].tolist() if self._is_open(some)), 0)
            if unknown:
                self._least_of(unknown)
                heappush(waiting, (self._lower(row), row))
            else:
                self._examine(row)
        self.is_settled = True

    def _sets_below(self) -> LongArray:
        """Return, for each assignment and broker, who is below that wants something, as bits."""
        arrays = self._arrays
        sets = np.zeros((len(self._brokers), arrays.num_brokers), dtype=np.int64)
        rows = np.arange(len(self._brokers))
        for bit, j in enumerate(self._wants):
            # Bit k stands for the k-th of those who want something.
            sets[rows, self._brokers[:, j]] |= 1 << bit
        for broker in arrays.bottom_up:
            if arrays.parent[broker] >= 0:
                sets[:, arrays.parent[broker]] |= sets[:, broker]
        return sets

    def _lower(self, row: int) -> float:
        """Return what is known to be the least cost of an assignment."""
        return sum(self._lower_of(some) for some in self._sets[row].tolist())

    def _lower_of(self, some: int) -> float:
        """Return a lower bound on the cost of holding what some subscribers want."""
        if not some:
            return 0.0
        if some in self._least or not self._is_slow:
            return self._least_of(some).mass
        if some not in self._union:
            self._union[some] = union_mass(self._grid, *self._boxes_of(some)) * (1 - ROUNDING)
        return self._union[some]

    def _is_open(self, some: int) -> bool:
        """Whether the least cover of what some subscribers want is not known yet."""
        return bool(some) and some not in self._least

    def _boxes_of(self, some: int) -> tuple[LongArray, LongArray]:
        member = [bit for bit in range(len(self._wants)) if some >> bit & 1]
        return distinct(self._boxes[0][member], self._boxes[1][member])

    def _least_of(self, some: int) -> Cover:
        if some not in self._least:
            boxes = self._boxes_of(some)
            self._least[some] = least_cover(self._grid, *boxes, self._arrays.alpha, self._budget)
        return self._least[some]

    def _keep(self, row: int, found: Option) -> None:
        """Take the filters of all brokers if they cost less than those so far."""
        if found.cost >= self.value:
            return
        filters = self._arrays.no_filters()
        for broker, cover in found.below:
            count = len(cover.lo)
            filters.lo[broker, :count] = self._grid.coordinates(cover.lo)
            filters.hi[broker, :count] = self._grid.coordinates(cover.hi)
            filters.counts[broker] = count
        self.offer(Answer(row, filters), found.cost)

    def _fit(self, row: int) -> Option:
        """Return covers from the leaves up, the least as far as that takes no time."""
        arrays = self._arrays
        held: dict[int, list[Cover]] = {}
        below, cost = [], 0.0
        for broker in arrays.bottom_up.tolist():
            own = int(self._sets[row, broker])
            if not own:
                continue
            boxes = gather(held[broker]) if held.get(broker) else self._boxes_of(own)
            cover = merged_cover(self._grid, *boxes, arrays.alpha)
            held.setdefault(int(arrays.parent[broker]), []).append(cover)
            below.append((broker, cover))
            cost += cover.mass
        return Option(Cover(*self._nothing(), 0.0), cost, tuple(below))

    def _nothing(self) -> tuple[LongArray, LongArray]:
        empty = np.empty((0, self._arrays.event_dims), dtype=np.int64)
        return empty, empty

    def _examine(self, row: int) -> None:
        """Look for the cheapest filters of an assignment, if they beat the best plan."""
        self.count("examined")
        cost, below = 0.0, []
        lower = self._lower(row)
        for top in np.flatnonzero(self._arrays.parent < 0).tolist():
            if not self._sets[row, top]:
                continue
            spare = self.value - lower  # shrinks as trees turn out to cost more than their bound
            cheapest = min(
                self._options(row, top, spare), key=lambda option: option.cost, default=None
            )
            if cheapest is None:
                return
            lower += cheapest.cost - self._lower_below(row, top)
            cost += cheapest.cost
            below.extend([*cheapest.below, (top, cheapest.cover)])
        self._keep(row, Option(Cover(*self._nothing(), 0.0), cost, tuple(below)))

    def _lower_below(self, row: int, broker: int) -> float:
        """Return the sum of least covers of a broker and those below it."""
        own = int(self._sets[row, broker])
        total = self._least_of(own).mass if own else 0.0
        for child in np.flatnonzero(self._arrays.parent == broker).tolist():
            total += self._lower_below(row, child)
        return total

    def _options(self, row: int, broker: int, spare: float) -> list[Option]:
        """Return filters of a broker and those below, that exceed the bounds by no more."""
        self._budget.spend(1)
        children = [
            child
            for child in np.flatnonzero(self._arrays.parent == broker).tolist()
            if self._sets[row, child]
        ]
        own = int(self._sets[row, broker])
        most = self._least_of(own).mass
        slack = spare + ROUNDING * (1 + abs(most))
        if not children and self._arrays.parent[broker] < 0:
            return [Option(self._least_of(own), most)]
        if not children:
            boxes = self._boxes_of(own)
            covers = list_covers(self._grid, *boxes, self._arrays.alpha, most + slack, self._budget)
            return [Option(cover, cover.mass) for cover in covers]
        lower = sum(self._lower_below(row, child) for child in children)
        found: dict[bytes, Option] = {}
        for parts in self._combinations(row, children, slack):
            cost = sum(part.cost for part in parts)
            below = tuple(
                entry
                for child, part in zip(children, parts, strict=True)
                for entry in (*part.below, (child, part.cover))
            )
            # One child alone: its cover is the least that holds it.
            covers = [parts[0].cover]
            if len(parts) > 1:
                boxes = gather([part.cover for part in parts])
                most_above = most + slack - (cost - lower)
                covers = self._covers_above(broker, boxes, most_above)
            for cover in covers:
                key = np.hstack([cover.lo, cover.hi]).tobytes()
                if key not in found or found[key].cost > cost + cover.mass:
                    found[key] = Option(cover, cost + cover.mass, below)
        return list(found.values())

    def _covers_above(
        self, broker: int, boxes: tuple[LongArray, LongArray], most: float
    ) -> list[Cover]:
        """Return covers of children's rectangles; just the least where nobody is above."""
        if self._arrays.parent[broker] >= 0:
            return list_covers(self._grid, *boxes, self._arrays.alpha, most, self._budget)
        least = least_cover(self._grid, *boxes, self._arrays.alpha, self._budget)
        return [least] if least.mass <= most else []

    def _combinations(
        self, row: int, children: list[int], spare: float
    ) -> Iterator[tuple[Option, ...]]:
        """Yield an option for each child, all together within the excess that is to spare."""
        if not children:
            yield ()
            return
        lower = self._lower_below(row, children[0])
        for option in self._options(row, children[0], spare):
            for rest in self._combinations(row, children[1:], spare - (option.cost - lower)):
                yield (option, *rest)


def gather(covers: list[Cover]) -> tuple[LongArray, LongArray]:
    """Return the rectangles of several covers together."""
    return distinct(
        np.concatenate([cover.lo for cover in covers]),
        np.concatenate([cover.hi for cover in covers]),
    )
