"""The optimum of a handful of subscribers, by looking at every case: plain Python, no kernel.

Sides of rectangles need to be nowhere but on sides of what subscribers want, or of cells of events:
between two neighbouring ones nothing changes. They cut each axis into points and spans between
them, and the event space into pieces that a rectangle holds as a whole or not at all. A set of
pieces is a whole number, a bit for each.

What ``alpha`` rectangles must measure to hold some pieces is found by branching: a piece that no
rectangle holds yet goes to one of them, which grows around it, or to a new one. What is held and
what has to be held is a lower bound all along, so that branches that cannot win are left. Filters
of a whole tree are found in the same way, inner brokers having to hold what those below them hold.

Ways to share out subscribers are not listed one by one: the least of all is found over subsets,
broker by broker. First estimates stand for the covers; those that the least uses are then worked
out, until it uses no estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, reduce
from itertools import product
from typing import Any

import numpy as np

from fanwise.assign.verify_limits import Floats, Ints, Question
from fanwise.planning.proof import Proof, ProofError
from fanwise.planning.verify import ROUNDING

MOST_SUBSCRIBERS = 12
MOST_PIECES = 200_000
MOST_NODES = 400_000
"""What is looked at, at most: subscribers, pieces of space, rectangles that grow."""

Box = tuple[tuple[int, ...], tuple[int, ...]]
Held = tuple[tuple[Box, ...], ...]


def least_of_all_assignments(question: Question, proof: Proof) -> float:
    """Return the least bandwidth of any plan, having checked how many assignments there are."""
    if question.num_subscribers > MOST_SUBSCRIBERS:
        raise ProofError(f"there are too many cases above {MOST_SUBSCRIBERS} subscribers")
    table = proof.table("leaves", {"assignments": "id"})
    stated = table.column("assignments").to_pylist()
    found = count_assignments(question)
    if stated != [found]:
        raise ProofError(f"proof/leaves.parquet must list {found} assignments, has {stated[:2]}")
    return AllAssignments(question).least()


def count_assignments(question: Question) -> int:
    """Return how many assignments keep the limits."""
    starts, wholes, parts = _splits(question.num_subscribers)
    ways = np.array([1.0] + [0.0] * (len(starts) - 1))
    for mine in sets_to_serve(question).values():
        ways = np.add.reduceat(ways[wholes ^ parts] * mine[parts], starts)
    return int(ways[-1])


def sets_to_serve(question: Question) -> dict[int, Any]:
    """Return which sets each leaf may serve: all in time, and no more than its limit."""
    sets = np.arange(1 << question.num_subscribers)
    found = {}
    for leaf in question.leaves.tolist():
        others = sum(
            1 << j
            for j in range(question.num_subscribers)
            if leaf not in question.allowed(j).tolist()
        )
        found[leaf] = ((sets & others) == 0) & (np.bitwise_count(sets) <= question.limits[leaf])
    return found


class Space:
    """Pieces of the event space, and what they measure."""

    def __init__(self, question: Question) -> None:
        lo, hi = question.lo[question.wanting], question.hi[question.wanting]
        self.lines = []
        for axis in range(lo.shape[1]):
            own = np.unique(np.concatenate([lo[:, axis], hi[:, axis]]))
            if question.cells is not None:
                sides = np.concatenate([question.cells.lo[:, axis], question.cells.hi[:, axis]])
                own = np.union1d(own, sides[(sides > own[0]) & (sides < own[-1])])
            self.lines.append(own)
        self.shape = [2 * len(lines) - 1 for lines in self.lines]
        if np.prod([float(size) for size in self.shape]) > MOST_PIECES:
            raise ProofError(f"there are more than {MOST_PIECES:,} pieces of the event space")
        self._measures = self._measure_pieces(question.cells)
        self._known: dict[int, float] = {0: 0.0}
        self._masks: dict[Box, int] = {}
        self._sizes: dict[Box, float] = {}
        self.boxes = [
            tuple(
                tuple(int(np.searchsorted(lines, side[axis])) for axis, lines in
                      enumerate(self.lines))
                for side in (low, high)
            )
            for low, high in zip(lo, hi, strict=True)
        ]  # fmt: skip

    def _measure_pieces(self, cells: Any) -> Floats:
        total = np.zeros(self.shape)
        everything = [(None, None, 1.0)]
        if cells is not None:
            everything = list(
                zip(cells.lo, cells.hi, cells.rate / (cells.hi - cells.lo).prod(axis=1),
                    strict=True)
            )  # fmt: skip
        for low, high, rate in everything:
            mass: Any = np.full((), rate)
            for axis, lines in enumerate(self.lines):
                sides = lines if low is None else np.clip(lines, low[axis], high[axis])
                own = np.zeros(2 * len(lines) - 1)
                own[1::2] = np.diff(sides)
                mass = np.multiply.outer(mass, own)
            total += mass
        return total.reshape(-1)

    def measure(self, pieces: int) -> float:
        """Return the measure of a set of pieces."""
        if pieces not in self._known:
            size = len(self._measures)
            data = np.frombuffer(pieces.to_bytes(size // 8 + 1, "little"), dtype=np.uint8)
            held = np.unpackbits(data, count=size, bitorder="little")
            self._known[pieces] = float(held @ self._measures)
        return self._known[pieces]

    def pieces(self, box: Box) -> int:
        """Return the pieces that a rectangle holds."""
        if box not in self._masks:
            inside = np.zeros(self.shape, dtype=np.uint8)
            inside[tuple(slice(2 * a, 2 * b + 1) for a, b in zip(*box, strict=True))] = 1
            data = np.packbits(inside.reshape(-1), bitorder="little").tobytes()
            self._masks[box] = int.from_bytes(data, "little")
        return self._masks[box]

    def size(self, box: Box) -> float:
        """Return the measure of a rectangle."""
        if box not in self._sizes:
            self._sizes[box] = self.measure(self.pieces(box))
        return self._sizes[box]

    def corners(self, box: Box) -> list[Box]:
        """Return the corners of a rectangle, each a rectangle of its own."""
        return [(corner, corner) for corner in set(product(*zip(*box, strict=True)))]

    def piece(self, pieces: int) -> Box:
        """Return the first of some pieces, as the least rectangle around it."""
        at = np.unravel_index((pieces & -pieces).bit_length() - 1, self.shape)
        return tuple(int(at_axis) // 2 for at_axis in at), tuple(
            int(at_axis + 1) // 2 for at_axis in at
        )


def around(box: Box, other: Box) -> Box:
    """Return the least rectangle around two."""
    return tuple(map(min, box[0], other[0])), tuple(map(max, box[1], other[1]))


class AllAssignments:
    """Every assignment, and the least filters of each."""

    def __init__(self, question: Question, is_over: Callable[[], bool] = lambda: False) -> None:
        self.question, self.space = question, Space(question)
        self._is_over = is_over
        self.size = question.num_subscribers
        self.everybody = (1 << self.size) - 1
        self.tops = np.flatnonzero(question.parent < 0).tolist()
        self.children = {
            b: np.flatnonzero(question.parent == b).tolist() for b in range(question.num_brokers)
        }
        self.nodes = 0
        self._best = np.inf
        self._may_serve = sets_to_serve(question)
        self._boxes = dict(zip(question.wanting.tolist(), self.space.boxes, strict=True))
        self._needs = [self._need(some) for some in range(1 << self.size)]
        self._exact = np.zeros(1 << self.size, dtype=bool)
        self._covers = np.array([self._estimate(some) for some in range(1 << self.size)])

    def _wanted(self, some: int) -> set[Box]:
        """Return the rectangles that a set of subscribers wants."""
        return {box for j, box in self._boxes.items() if some >> j & 1}

    def _need(self, some: int) -> int:
        need = 0
        for box in self._wanted(some):
            need |= self.space.pieces(box)
        return need

    def _estimate(self, some: int) -> float:
        """Return what covers of a set measure at least; the least where that is plain."""
        mine = self._wanted(some)
        if len(mine) <= self.question.alpha:
            self._exact[some] = True
            return self.space.measure(self._needs[some])
        if self.question.alpha == 1:
            self._exact[some] = True
            return self.space.size(reduce(around, mine))
        return self.space.measure(self._needs[some])

    def _work_out(self, some: int) -> None:
        """Find the least cover of a set; whoever is more needs no less."""
        if self._exact[some]:
            return
        self._covers[some] = self._fill({0: some}, np.inf)
        self._exact[some] = True
        larger = (np.arange(1 << self.size) & some) == some
        self._covers[larger] = np.maximum(self._covers[larger], self._covers[some])

    def least(self) -> float:
        """Return the least bandwidth of any plan; infinite where there is none."""
        while True:
            value, sets = self._share_out()
            if not np.isfinite(value):
                return float("inf")
            estimates = {some for some in sets.values() if not self._exact[some]}
            if not estimates:
                break
            for some in sorted(estimates, key=int.bit_count):
                self._work_out(some)
        is_flat = all(parent < 0 for parent in self.question.parent.tolist())
        if is_flat or self.question.alpha == 1:
            return value
        return self._least_of_trees(value, sets)

    def _share_out(self) -> tuple[float, dict[int, int]]:
        """Return the least sum of covers over all assignments, and the set of each broker."""
        below: dict[int, tuple[Any, list[tuple[int, Any]]]] = {}

        def solve(children: list[int]) -> tuple[Any, list[tuple[int, Any]]]:
            starts, wholes, parts = _splits(self.size)
            total, steps = np.full(len(starts), np.inf), []
            total[0] = 0.0
            for child in children:
                if self.children[child]:
                    below[child] = solve(self.children[child])
                    cost = below[child][0] + self._covers
                    cost[0] = 0.0
                else:
                    cost = np.where(self._may_serve[child], self._covers, np.inf)
                sums = total[wholes ^ parts] + cost[parts]
                total = np.minimum.reduceat(sums, starts)
                steps.append((child, sums))
            return total, steps

        below[-1] = solve(self.tops)
        sets: dict[int, int] = {}

        def read(broker: int, some: int) -> None:
            starts, _, parts = _splits(self.size)
            ends = [*starts[1:], len(parts)]
            for child, sums in reversed(below[broker][1]):
                own = sums[starts[some] : ends[some]]
                sets[child] = int(parts[starts[some] + int(np.argmin(own))])
                some ^= sets[child]
                if self.children[child]:
                    read(child, sets[child])

        value = float(below[-1][0][self.everybody])
        if np.isfinite(value):
            read(-1, self.everybody)
        return value, sets

    def _least_of_trees(self, lower: float, sets: dict[int, int]) -> float:
        """Return the least bandwidth where covers of inner brokers depend on those below."""
        self._best = self._fill(self._in_order(sets), np.inf)
        if self._best <= lower * (1 + ROUNDING):
            return self._best
        for other in self._assignments(0, {}):
            if self._refined(other) < self._best * (1 - ROUNDING):
                self._best = min(self._best, self._fill(self._in_order(other), self._best))
        return self._best

    def _refined(self, sets: dict[int, int]) -> float:
        """Return the sum of covers of an assignment, worked out while it is below the best."""
        for some in sets.values():
            if sum(self._covers[one] for one in sets.values()) >= self._best * (1 - ROUNDING):
                break
            self._work_out(some)
        return float(sum(self._covers[one] for one in sets.values()))

    def _assignments(self, j: int, sets: dict[int, int]) -> Iterator[dict[int, int]]:
        """Yield the sets of all brokers, of assignments whose covers measure less than the best."""
        if sum(self._covers[some] for some in sets.values()) >= self._best * (1 - ROUNDING):
            return
        if j == self.size:
            yield sets
            return
        for leaf in self.question.allowed(j).tolist():
            if sets.get(leaf, 0).bit_count() < self.question.limits[leaf]:
                grown, at = dict(sets), leaf
                while at >= 0:
                    grown[at] = grown.get(at, 0) | 1 << j
                    at = int(self.question.parent[at])
                yield from self._assignments(j + 1, grown)

    def _in_order(self, sets: dict[int, int]) -> dict[int, int]:
        """Return the sets of brokers that somebody below wants something of, from the leaves up."""
        order: list[int] = []

        def walk(brokers: list[int]) -> None:
            for broker in brokers:
                walk(self.children[broker])
                order.append(broker)

        walk(self.tops)
        return {b: sets[b] for b in order if self._needs[sets.get(b, 0)]}

    def _fill(self, sets: dict[int, int], most: float) -> float:
        """Return the least measure of filters that hold what sets want, or ``most`` if no less.

        Brokers come in an order in which those above are later; a single one may have any name.
        """
        brokers, space = list(sets), self.space
        needs = {b: self._needs[some] for b, some in sets.items()}
        least = {b: float(self._covers[some]) for b, some in sets.items()}
        above = {b: int(self.question.parent[b]) if len(sets) > 1 else -1 for b in brokers}
        corners = {
            b: [(corner, space.pieces(corner)) for box in sorted(self._wanted(some))
                for corner in space.corners(box)]
            for b, some in sets.items()
        }  # fmt: skip
        best = most

        def descend(boxes: dict[int, tuple[Box, ...]], held: dict[int, int]) -> None:
            nonlocal best
            self.nodes += 1
            if self.nodes > MOST_NODES:
                raise ProofError(f"there are more than {MOST_NODES:,} cases to look at")
            if self._is_over():
                raise ProofError("there is no time to look at all cases")
            all_held, broker, missing = dict(needs), -1, 0
            for b in brokers:
                all_held[b] |= held[b]
                if missing == 0 and all_held[b] & ~held[b]:
                    broker, missing = b, all_held[b] & ~held[b]
                if above[b] in all_held:
                    all_held[above[b]] |= all_held[b]
            bound = sum(max(least[b], space.measure(all_held[b])) for b in brokers)
            if bound >= best * (1 - ROUNDING):
                return
            if missing == 0:
                best = sum(map(space.measure, all_held.values()))
                return
            own = boxes[broker]
            piece = self._dearest(own, corners[broker], missing)
            ways = []
            for k in range(min(len(own) + 1, self.question.alpha)):
                grown = around(own[k], piece) if k < len(own) else piece
                pieces = held[broker] | space.pieces(grown)
                ways.append((space.measure(pieces | needs[broker]), k, grown, pieces))
            for _, k, grown, pieces in sorted(ways):
                changed = (*own[:k], grown, *own[k + 1 :])
                descend({**boxes, broker: changed}, {**held, broker: pieces})

        descend(dict.fromkeys(brokers, ()), dict.fromkeys(brokers, 0))
        return best

    def _dearest(self, own: tuple[Box, ...], corners: list[tuple[Box, int]], missing: int) -> Box:
        """Return the missing corner that makes rectangles grow most, or the first missing piece."""
        space, dearest, most = self.space, None, -1.0
        for corner, bit in corners:
            if bit & missing:
                growths = [space.size(around(box, corner)) - space.size(box) for box in own]
                growth = min(growths, default=0.0)
                if growth > most:
                    dearest, most = corner, growth
        return space.piece(missing) if dearest is None else dearest


@cache
def _splits(size: int) -> tuple[Ints, Ints, Ints]:
    """Return all pairs of a set and a part of it, by sets, and where each set begins."""
    wholes, parts = [], []
    for whole in range(1 << size):
        part = whole
        while True:
            wholes.append(whole)
            parts.append(part)
            if part == 0:
                break
            part = (part - 1) & whole
    starts = np.searchsorted(wholes, np.arange(1 << size))
    return starts, np.array(wholes), np.array(parts)
