"""What the certificate of an assignment proves, from the workload alone: plain NumPy.

Every table is a hint. Lines of a grid, lists of subscribers, sets of brokers and prices only choose
among arguments that hold whatever is chosen, so that no content can prove what is false. The
arguments are written down in ``docs/certificates.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fanwise.assign.verify_cells import brokers_needed, count_cells, measure_cells, spans_of
from fanwise.assign.verify_limits import Floats, Ints, Question, pose
from fanwise.assign.verify_optimum import least_of_all_assignments
from fanwise.assign.verify_prices import bound_by_prices
from fanwise.assign.verify_unions import measure_many, measure_union
from fanwise.planning.proof import Proof, ProofError
from fanwise.planning.verify import at_most

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.content import ContentWorkload

MOST_CELLS = 1 << 22
MOST_STEPS = 400_000_000
MOST_POINTS = 12
MOST_WAYS = 50_000
"""What a certificate may ask for at most: cells of the grid, cells visited, points that share
rectangles and ways in which they do."""
EVERYBODY = -1
WORD = 64


def may_rest_on_solver(workload: ContentWorkload, plan: Plan) -> bool:
    """Whether a bound of such a plan may be a solver's word: never, all follow from tables."""
    return False


def proven_bound(workload: ContentWorkload, plan: Plan) -> float:
    """Return what no plan within the limits carries less than, by the plan's certificate.

    Raises
    ------
    ProofError
        Where a table is malformed or asks for too much.
    """
    if plan.proof is None:
        raise ProofError("the plan carries no proof")
    question = pose(workload, plan.parameters)
    if len(question.wanting) == 0:
        return 0.0
    if plan.proof.kind == "leaves":
        return least_of_all_assignments(question, plan.proof)
    return _bound_by_levels(question, plan.proof)


def _bound_by_levels(question: Question, proof: Proof) -> float:
    """Add up what the brokers of each level carry, which must be what the certificate says."""
    stated = _read_levels(question, proof)
    grid = _read_grid(question, proof)
    evidence = Evidence(
        proof, grid, measure_cells(grid, question.cells), _read_points(question, proof)
    )
    total, last = 0.0, len(question.levels) - 1
    for level, above in enumerate(question.levels):
        parts = {EVERYBODY: question.wanting}
        if level == last:
            parts = _read_classes(question, proof) or parts
        best = sum(
            _carried(question, evidence, (level, number), above, people)
            for number, people in parts.items()
        )
        if level == last:
            needed = _needed(question, evidence, level, above, question.wanting)
            best = max(best, bound_by_prices(question, proof, grid, evidence.measures, needed))
        if not at_most(stated[level], best):
            raise ProofError(
                f"proof/levels.parquet says {stated[level]} of level {level}, found {best}"
            )
        total += best
    return total


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was read from a certificate.

    Attributes
    ----------
    grid, measures
        Lines of each axis, and what lies in the cells between them.
    points
        Subscribers whose middles are looked at, by level and part.
    """

    proof: Proof
    grid: list[Floats]
    measures: Floats
    points: dict[tuple[int, int], list[int]]


def _carried(
    question: Question, evidence: Evidence, part: tuple[int, int], above: Ints, people: Ints
) -> float:
    """Return what the brokers of a part of a level carry at least for its people."""
    if len(people) == 0:
        return 0.0
    lo, hi = question.lo[people], question.hi[people]
    beyond = np.maximum(_needed(question, evidence, part[0], above, people) - 1, 0)
    cells = measure_many(lo, hi, question.cells) + float(beyond @ evidence.measures)
    slots = max(question.alpha * len(question.room(above, people)), 1)
    return max(cells, _few_rectangles(question, people, evidence.points.get(part, []), slots))


def _needed(question: Question, evidence: Evidence, level: int, above: Ints, people: Ints) -> Ints:
    """Return how many brokers of a level each cell takes for some people."""
    lo, hi = question.lo[people], question.hi[people]
    needed = brokers_needed(count_cells(evidence.grid, lo, hi), question.room(above, people))
    apart = _disjoint(question, evidence.proof, evidence.grid, level, above, people)
    return np.maximum(needed, apart)


def _read_levels(question: Question, proof: Proof) -> list[float]:
    """Return what the brokers of each level are said to carry."""
    table = proof.table("levels", {"level": "id", "carries": "number"})
    carries = [float(value) for value in table.column("carries").to_pylist()]
    if table.column("level").to_pylist() != list(range(len(question.levels))):
        raise ProofError(f"proof/levels.parquet must have {len(question.levels)} levels, in order")
    if not all(map(math.isfinite, carries)):
        raise ProofError("proof/levels.parquet must have finite numbers")
    return carries


def _read_grid(question: Question, proof: Proof) -> list[Floats]:
    """Return the lines of each axis, ascending; two at least, so that there is a cell."""
    dims = question.lo.shape[1]
    if "grid" not in proof.tables:
        return [np.zeros(1)] * dims
    table = proof.table("grid", {"axis": "id", "line": "number"})
    axis, line = table.column("axis").to_numpy(), table.column("line").to_numpy()
    if not ((axis >= 0) & (axis < dims)).all() or not np.isfinite(line).all():
        raise ProofError("proof/grid.parquet must have lines of the axes of events")
    line = np.clip(line.astype(np.float64), *_hull(question)[:, axis])  # nothing is beyond
    grid = [np.unique(line[axis == k]) for k in range(dims)]
    if np.prod([float(len(lines)) for lines in grid]) > MOST_CELLS:
        raise ProofError(f"proof/grid.parquet must have at most {MOST_CELLS:,} cells")
    return [lines if len(lines) else np.zeros(1) for lines in grid]


def _hull(question: Question) -> Floats:
    """Return the sides of the box around all that is wanted, the lower ones first."""
    lo, hi = question.lo[question.wanting], question.hi[question.wanting]
    return np.stack([lo.min(axis=0), hi.max(axis=0)])


def _disjoint(
    question: Question,
    proof: Proof,
    grid: list[Floats],
    level: int,
    above: Ints,
    people: Ints,
) -> Ints:
    """Return how many brokers each cell needs because listed subscribers have none in common."""
    shape = [len(lines) - 1 for lines in grid]
    counts = np.zeros(shape, dtype=np.int64)
    if "apart" not in proof.tables:
        return counts.reshape(-1)
    table = proof.table("apart", {"level": "id", "subscriber": "id"})
    mine = table.column("level").to_numpy() == level
    listed = _known(question, table.column("subscriber").to_numpy(), "apart")[mine]
    listed = listed[np.isin(listed, people)]
    first, last = spans_of(grid, question.lo[listed], question.hi[listed])
    holds = (first < last).all(axis=1)
    if float((last - first)[holds].astype(float).prod(axis=1).sum()) > MOST_STEPS:
        raise ProofError(f"proof/apart.parquet must visit at most {MOST_STEPS:,} cells")
    words = (question.num_brokers + WORD - 1) // WORD
    taken = np.zeros([*shape, words], dtype=np.uint64)
    for row in np.flatnonzero(holds):
        brokers = np.unique(above[question.allowed(int(listed[row]))]).astype(np.uint64)
        mask = np.zeros(words, dtype=np.uint64)
        np.bitwise_or.at(mask, brokers // WORD, np.uint64(1) << brokers % WORD)
        part = tuple(slice(a, b) for a, b in zip(first[row], last[row], strict=True))
        is_free = np.asarray(~(taken[part] & mask).any(axis=-1))
        counts[part] += is_free
        taken[part] |= is_free[..., None] * mask
    return counts.reshape(-1)


def _read_classes(question: Question, proof: Proof) -> dict[int, Ints]:
    """Return who can be served by brokers of one class only, by class."""
    if "classes" not in proof.tables:
        return {}
    table = proof.table("classes", {"broker": "id", "class": "id"})
    broker, number = (table.column(name).to_numpy() for name in ("broker", "class"))
    if not ((broker >= 0) & (broker < question.num_brokers)).all():
        raise ProofError("proof/classes.parquet has unknown brokers")
    if len(np.unique(broker)) != len(broker) or (number < 0).any():
        raise ProofError("proof/classes.parquet must have a broker in one class only")
    class_of = np.full(question.num_brokers, -1, dtype=np.int64)
    class_of[broker] = number
    of_pair, row = class_of[question.brokers], question.row_of_pair
    least = np.full(question.num_subscribers, np.iinfo(np.int64).max)
    most = np.full(question.num_subscribers, -1, dtype=np.int64)
    np.minimum.at(least, row, of_pair)
    np.maximum.at(most, row, of_pair)
    # Whom nobody may serve is in every class: then there is no plan, and any bound is true.
    first, last = least[question.wanting], most[question.wanting]
    return {int(k): question.wanting[(first >= k) & (last <= k)] for k in np.unique(number)}


def _read_points(question: Question, proof: Proof) -> dict[tuple[int, int], list[int]]:
    """Return the subscribers whose middles are looked at, by level and part (-1: everybody)."""
    found: dict[tuple[int, int], list[int]] = {}
    if "points" not in proof.tables:
        return found
    table = proof.table("points", {"level": "id", "class": "id", "subscriber": "id"})
    columns = [table.column(name).to_numpy() for name in ("level", "class", "subscriber")]
    _known(question, columns[2], "points")
    for level, number, subscriber in zip(*(column.tolist() for column in columns), strict=True):
        found.setdefault((level, number), []).append(subscriber)
    if any(len(some) > MOST_POINTS for some in found.values()):
        raise ProofError(f"proof/points.parquet must have at most {MOST_POINTS} together")
    return found


def _known(question: Question, subscriber: Any, name: str) -> Any:
    wants = np.isin(subscriber, question.wanting)
    if not wants.all():
        raise ProofError(f"proof/{name}.parquet has somebody who is unknown or wants nothing")
    return subscriber


def _few_rectangles(question: Question, everybody: Ints, chosen: list[int], slots: int) -> float:
    """Return what so many rectangles measure at least that hold what everybody wants.

    One is the box around all. More hold the middles of the chosen: the least union of boxes around
    middles, over all ways in which these share boxes.
    """
    if slots == 1:
        lo, hi = question.lo[everybody].min(axis=0), question.hi[everybody].max(axis=0)
        return measure_union(lo[None], hi[None], question.cells)
    member = [j for j in dict.fromkeys(chosen) if j in set(everybody.tolist())]
    if slots < 1 or len(member) <= slots:
        return 0.0
    ways = _ways(len(member), slots)
    middle = (question.lo[member] + question.hi[member]) / 2
    grid = [np.unique(middle[:, axis]) for axis in range(middle.shape[1])]
    measures = measure_cells(grid, question.cells)
    best = np.inf
    for rows in np.array_split(ways, max(1, ways.size * len(measures) >> 22)):
        held = np.zeros((len(rows), len(measures)), dtype=bool)
        for box in range(slots):
            inside = np.ones((len(rows), 1), dtype=bool)
            for axis, lines in enumerate(grid):
                line = np.searchsorted(lines, middle[:, axis])
                mine = rows == box
                low = np.where(mine, line, len(lines)).min(axis=1)
                high = np.where(mine, line, -1).max(axis=1)
                cell = np.arange(len(lines) - 1)
                part = (cell >= low[:, None]) & (cell < high[:, None])
                inside = (inside[:, :, None] & part[:, None, :]).reshape(len(rows), -1)
            held |= inside
        best = min(best, float((held @ measures).min(initial=np.inf)))
    return best


def _ways(points: int, boxes: int) -> Ints:
    """Return every way to share boxes as a row: the box of each point, numbered as they come."""
    ways = [[0]]
    for _ in range(points - 1):
        ways = [[*way, box] for way in ways for box in range(min(max(way) + 2, boxes))]
        if len(ways) > MOST_WAYS:
            raise ProofError(f"proof/points.parquet must share in at most {MOST_WAYS:,} ways")
    return np.array(ways, dtype=np.int64)
