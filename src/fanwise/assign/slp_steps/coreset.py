"""Preliminary filters for everybody from a relaxation over few: iterative reweighted sampling.

A sample is drawn by weight, filters are chosen for it, and whoever is left uncovered weighs double
in the next draw. It is good when its filters, longer by a fraction epsilon along each axis, hold
everybody. The size of such a sample is not known: it doubles when too many rounds have passed.

Where there are few types of subscribers, the relaxation takes all of them with their members, and
nothing is sampled.

What differs from the paper's Algorithm 1: it repeats as often as its lemmas ask, which at hundreds
of brokers takes days. Here relaxations are counted, and the time that they should take is limited:
after the last one filters are enlarged, where they grow least, to hold whoever is left (``grown``
counts them), and the size doubles earlier where few relaxations are left. Where no draw for the
load can be held, limits are raised to the least that can.

Guarantee
    Filters hold everybody who has a broker. The paper's, with as many rounds as its Lemma 2 asks: a
    certificate of size O(g ln g) where there is one of size g.

Complexity
    At most ``rounds`` relaxations; each takes time in the square of the pairs drawn, and a look at
    all types and rectangles of their brokers.

References
----------
    A. Yu, P. Agarwal, J. Yang: Subscriber assignment for wide-area content-based publish/subscribe,
    Sec. IV-A.2, Algorithm 1. IEEE ICDE 2011.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fanwise.arrays.csr import Csr, FloatArray, LongArray, take_rows, transpose
from fanwise.arrays.flows import Groups, group_alike, max_flow
from fanwise.assign.arrays import Filters
from fanwise.assign.slp_steps.candidates import (
    Candidates,
    candidates_by_broker,
    filter_boxes,
    super_subscriptions,
)
from fanwise.assign.slp_steps.covering import cover_rest, covering_brokers, expanded, lay_out
from fanwise.assign.slp_steps.level import Level
from fanwise.assign.slp_steps.relaxation import Relaxed, Sample, relax
from fanwise.assign.slp_steps.rounding import round_parts

START = 4
"""Size of a certificate that the search starts with, as in the paper."""

MOST_BOXES = 100_000
MOST_LEVELS = 8
WHOLE_SECONDS, SAMPLE_SECONDS = 3e-7, 1.5e-7
"""What a relaxation takes at most for each square of a pair: of everybody, and of a sample."""
FINE = 1000  # parts of a subscriber, for limits that are no whole numbers
MOST_RAISED = 100.0
DRAWS = 4
"""Times that subscribers are drawn for the load, where it cannot be held."""


@dataclass(frozen=True)
class Knobs:
    """What can be tuned.

    Attributes
    ----------
    epsilon
        Fraction by which filters of a sample may be lengthened to hold everybody.
    gamma
        In trees, the part of a subtree's leaves that must reach a subscriber in time.
    whole
        Up to so many types the relaxation takes everybody.
    balance
        Subscribers per broker drawn for the load limits; the paper's 10.
    seconds
        What relaxations of samples should take at most at each inner node, as expected from their
        size, so that the same seed gives the same plan. Fewer are drawn for the load where a single
        relaxation would take longer, and there are fewer relaxations where they would.
    clusters
        Super-subscriptions per broker; the paper's 5.
    rounds
        Relaxations at each inner node, at most.
    accuracy
        Relative accuracy of a relaxation.
    """

    epsilon: float = 0.1
    gamma: float = 0.5
    whole: int = 600
    balance: int = 10
    seconds: float = 90.0
    clusters: int = 5
    rounds: int = 3
    accuracy: float = 0.02

    @property
    def most_pairs(self) -> float:
        """Pairs of a subscriber and an allowed broker that a single relaxation has time for."""
        return math.sqrt(self.seconds / SAMPLE_SECONDS)


def relaxation_seconds(num_types: int, num_pairs: int, num_brokers: int, knobs: Knobs) -> float:
    """Return what all relaxations of a level should take, as measured on a machine of 2026."""
    if num_types <= knobs.whole:
        return WHOLE_SECONDS * num_pairs**2
    drawn = knobs.balance * num_brokers + _sample_size(2 * START)
    pairs = min(knobs.most_pairs, drawn * num_pairs / num_types)
    return min(knobs.rounds * SAMPLE_SECONDS * pairs**2, knobs.seconds)


def _sample_size(size: int) -> int:
    """Return how many to draw for a certificate of a size, as in the paper."""
    return math.ceil(10 * size * math.log(size))


@dataclass(frozen=True, eq=False)
class Preliminary:
    """Filters that hold everybody, of any number of rectangles.

    Attributes
    ----------
    fractional
        The relaxation's value, from below, for the sample and candidates it was given.
    is_whole
        Whether it was given everybody.
    rounds
        Relaxations solved.
    grown
        Subscribers whom filters had to be enlarged for afterwards.
    whole
        The relaxation of everybody, where it was given everybody.
    """

    filters: Filters
    fractional: float
    is_whole: bool
    rounds: int
    grown: int
    whole: RelaxedTypes | None = None


@dataclass(frozen=True, eq=False)
class RelaxedTypes:
    """A relaxation of some types, and its solution; None where loads cannot be held."""

    sample: Sample
    candidates: Candidates
    relaxed: Relaxed | None


def preliminary_filters(level: Level, knobs: Knobs, rng: np.random.Generator) -> Preliminary:
    """Return filters under which every type has a broker."""
    has_broker = np.diff(level.allowed.indptr) > 0
    wanting = np.flatnonzero((level.lo[:, 0] <= level.hi[:, 0]) & has_broker)
    if len(wanting) == 0:
        empty = np.empty((0, level.lo.shape[1]))
        nobody: LongArray = np.empty(0, dtype=np.int64)
        nothing = lay_out(nobody, empty, empty, level.num_brokers, level.alpha)
        return Preliminary(nothing, 0.0, True, 0, 0)
    if len(wanting) <= knobs.whole:
        whole = relax_types(level, wanting, level.weight[wanting], knobs, rng)
        filters, fractional = _round(level, whole, rng)
        return Preliminary(filters, fractional, True, 1, 0, whole)
    return _search(level, wanting, knobs, rng)


def _search(
    level: Level, wanting: LongArray, knobs: Knobs, rng: np.random.Generator
) -> Preliminary:
    """Return filters by the paper's Algorithm 1, with the number of relaxations limited."""
    people = level.weight[wanting]
    total = int(people.sum())
    size, solved, fractional, spent = START, 0, 0.0, 0.0
    none = np.empty((0, level.lo.shape[1]))
    nobody: LongArray = np.empty(0, dtype=np.int64)
    nothing = lay_out(nobody, none, none, level.num_brokers, level.alpha)
    best: tuple[int, Filters, LongArray] = total + 1, nothing, wanting
    while solved < knobs.rounds:
        # Algorithm 1, lines 4 to 6: a stage looks for a certificate of one size, with weights of
        # its own. Weights count members, as a type stands for all of them. The number of valid
        # rounds is the one of Lemma 2, with a logarithm to base 2; line 6 prints ln.
        doubling = np.ones(len(wanting))
        valid, most_valid = 0, 4 * size * math.log2(max(total / size, 2))
        epsilon = min(knobs.epsilon, 1 / (2 * size))  # Lemma 2
        while solved < knobs.rounds and valid < most_valid:
            drawn = _draw(people * doubling, _sample_size(size), rng)
            types, load = _feasible_sample(level, wanting, people, drawn, knobs, rng)
            spent += SAMPLE_SECONDS * float(np.diff(level.allowed.indptr)[types].sum()) ** 2
            if solved and spent > knobs.seconds:
                return _enlarge(level, best, fractional, solved)
            filters, value = _round(level, relax_types(level, types, load, knobs, rng), rng)
            solved += 1
            fractional = max(fractional, value)
            longer = expanded(filters, epsilon)
            # Lines 11 and 12: filters lengthened by epsilon that hold everybody are the answer.
            left = _uncovered(level, longer, wanting)
            if people[left].sum() < best[0]:
                best = int(people[left].sum()), longer, wanting[left]
            if len(left) == 0:
                return Preliminary(longer, fractional, False, solved, 0)
            uncovered = _uncovered(level, filters, wanting)
            weight = people * doubling
            # Line 14: only a valid round, one whose filters miss little weight, may change weights;
            # others are drawn again. What is missed is judged before filters are lengthened (line
            # 13).
            if weight[uncovered].sum() <= epsilon * weight.sum():
                doubling[uncovered] *= 2
                valid += 1
            elif knobs.rounds - solved <= knobs.rounds // 2:
                break  # a larger sample is needed, and few relaxations are left
        size *= 2
    return _enlarge(level, best, fractional, solved)


def _enlarge(
    level: Level, best: tuple[int, Filters, LongArray], fractional: float, solved: int
) -> Preliminary:
    """Return the best filters so far, larger, so that they hold everybody."""
    grown, filters, rest = best
    cover_rest(level, filters, rest)
    return Preliminary(filters, fractional, False, solved, grown)


def _draw(weight: FloatArray, count: int, rng: np.random.Generator) -> LongArray:
    """Draw subscribers by weight; return the rows of their types, without repeats."""
    ends = weight.cumsum()
    # The minimum guards against a product that rounds up to the last end.
    rows = np.searchsorted(ends, rng.random(count) * ends[-1], side="right")
    return np.unique(np.minimum(rows, len(weight) - 1))


def _feasible_sample(
    level: Level,
    wanting: LongArray,
    people: LongArray,
    drawn: LongArray,
    knobs: Knobs,
    rng: np.random.Generator,
) -> tuple[LongArray, LongArray]:
    """Draw for the load until the desired limits can be held, or a few times; the last if never."""
    for _ in range(DRAWS):
        types, load = _with_balance(level, wanting, people, drawn, knobs, rng)
        limits = level.limits[0] * (load.sum() / level.num_subscribers)
        if _factor_needed(take_rows(level.allowed, types), load, limits) == 1.0:
            break
    return types, load


def _with_balance(
    level: Level,
    wanting: LongArray,
    people: LongArray,
    drawn: LongArray,
    knobs: Knobs,
    rng: np.random.Generator,
) -> tuple[LongArray, LongArray]:
    """Add subscribers drawn evenly, who stand for the load; return types and their load."""
    # Lines 20 and 21: S_b is drawn evenly and carries the load limits (C3), because weights distort
    # how many there are of whom; those drawn by weight must be covered, but load nobody.
    load = np.zeros(len(wanting), dtype=np.int64)
    choices = float(people @ np.diff(level.allowed.indptr)[wanting]) / float(people.sum())
    most = max(int(knobs.most_pairs / choices) - len(drawn), level.num_brokers)
    count = min(knobs.balance * level.num_brokers, int(people.sum()), most)
    someone = rng.choice(int(people.sum()), size=count, replace=False)
    np.add.at(load, np.searchsorted(people.cumsum(), someone, side="right"), 1)
    rows = np.union1d(drawn, np.flatnonzero(load))
    return wanting[rows], load[rows]


def _uncovered(level: Level, filters: Filters, wanting: LongArray) -> LongArray:
    """Return the rows, among those who want something, of types without a covering broker."""
    counts = np.diff(covering_brokers(level, filters).indptr)[wanting]
    return np.flatnonzero(counts == 0)


def relax_types(
    level: Level, types: LongArray, load: LongArray, knobs: Knobs, rng: np.random.Generator
) -> RelaxedTypes:
    """Solve the relaxation of some types, each with a load, at the desired factor if it can be."""
    sample = _sample(level, types, load)
    candidates = _candidates(level, sample, level.positions[types], knobs, rng)
    relaxed = relax(sample, candidates, knobs.accuracy)
    if relaxed is None:  # loads within rounding of the limits: only rectangles matter then
        free = replace(sample, limits=sample.limits * 1.05 + 1)
        relaxed = relax(free, candidates, knobs.accuracy)
    return RelaxedTypes(sample, candidates, relaxed)


def _round(level: Level, found: RelaxedTypes, rng: np.random.Generator) -> tuple[Filters, float]:
    """Return filters that cover a relaxation's types, and its value from below."""
    candidates = found.candidates
    if found.relaxed is None:
        chosen, fractional = np.arange(len(candidates.lo)), 0.0
    else:
        chosen = round_parts(found.sample, candidates, found.relaxed, rng)
        fractional = found.relaxed.bound
    broker = candidates.broker[chosen]
    lo, hi = candidates.lo[chosen], candidates.hi[chosen]
    return lay_out(broker, lo, hi, level.num_brokers, level.alpha), fractional


def _sample(level: Level, types: LongArray, load: LongArray) -> Sample:
    """Return the relaxation's subscribers, with limits that they can hold.

    Those are the desired ones in proportion; where the sample cannot hold them, as may happen by
    chance, the least that it can, by max-flow.
    """
    allowed = take_rows(level.allowed, types)
    limits = level.limits[0] * (load.sum() / level.num_subscribers)
    limits = limits * _factor_needed(allowed, load, limits)
    return Sample(
        np.ascontiguousarray(level.lo[types]),
        np.ascontiguousarray(level.hi[types]),
        allowed,
        load.astype(np.float64),
        limits,
        level.alpha,
    )


def _factor_needed(allowed: Csr, load: LongArray, limits: FloatArray) -> float:
    """Return the least factor, in steps, by which limits must rise for everybody to fit."""
    alike = group_alike(allowed, len(limits))
    sizes = np.zeros(len(alike.sizes), dtype=np.int64)
    np.add.at(sizes, alike.group_of_subscriber, load)
    # A flow counts in whole units, and a sample's limits are fractions of a subscriber.
    groups = Groups(alike.candidates, sizes * FINE, alike.group_of_subscriber, len(limits))
    factor, flow = 1.0, None
    while factor < MOST_RAISED:
        flow = max_flow(groups, np.floor(limits * factor * FINE), start=flow)
        if flow.num_left == 0:
            break
        factor *= 1.05
    return factor


def _candidates(
    level: Level, sample: Sample, positions: FloatArray, knobs: Knobs, rng: np.random.Generator
) -> Candidates:
    """Return the candidates of every broker, from super-subscriptions where there are too many."""
    lo, hi = sample.lo, sample.hi
    # Sec. IV-A.3: super-subscriptions, k = 5|B|, only where there are more different subscriptions.
    count = knobs.clusters * level.num_brokers
    different = np.unique(np.hstack([lo, hi]), axis=0)
    dims = lo.shape[1]
    if len(different) <= count:
        super_lo, super_hi = different[:, :dims], different[:, dims:]
    else:
        super_lo, super_hi = super_subscriptions(lo, hi, positions, count, rng)
    boxes = filter_boxes(lo, hi, super_lo, super_hi, MOST_BOXES, MOST_LEVELS)
    served = transpose(sample.allowed, level.num_brokers)
    return candidates_by_broker(*boxes, lo, hi, served, level.density)
