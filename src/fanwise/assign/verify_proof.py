"""What the certificate of an assignment proves, from the workload alone: plain NumPy.

Every table is a hint. Lines of a grid, lists of subscribers and prices only choose among arguments
that hold whatever is chosen, so that no content can prove what is false. The arguments are written
down in ``docs/certificates.md``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fanwise.assign.verify_cells import brokers_needed, count_cells, measure_cells, spans_of
from fanwise.assign.verify_limits import Floats, Ints, Question, pose
from fanwise.assign.verify_optimum import least_of_all_assignments
from fanwise.assign.verify_prices import bound_by_prices
from fanwise.assign.verify_unions import measure_many
from fanwise.planning.proof import Proof, ProofError
from fanwise.planning.verify import at_most

if TYPE_CHECKING:
    from fanwise.planning.plan import Plan
    from fanwise.workload.content import ContentWorkload

MOST_CELLS = 1 << 22
MOST_STEPS = 400_000_000
"""What a certificate may ask for at most: cells of the grid, and cells visited."""
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
    measures = measure_cells(grid, question.cells)
    lo, hi = question.lo[question.wanting], question.hi[question.wanting]
    union, total = measure_many(lo, hi, question.cells), 0.0
    for level, above in enumerate(question.levels):
        needed = _needed(question, proof, grid, level, above)
        best = union + float(np.maximum(needed - 1, 0) @ measures)
        if level == len(question.levels) - 1:
            best = max(best, bound_by_prices(question, proof, grid, measures, needed))
        if not at_most(stated[level], best):
            raise ProofError(
                f"proof/levels.parquet says {stated[level]} of level {level}, found {best}"
            )
        total += best
    return total


def _needed(question: Question, proof: Proof, grid: list[Floats], level: int, above: Ints) -> Ints:
    """Return how many brokers of a level each cell takes."""
    lo, hi = question.lo[question.wanting], question.hi[question.wanting]
    room = question.room(above, question.wanting)
    needed = brokers_needed(count_cells(grid, lo, hi), room)
    return np.maximum(needed, _disjoint(question, proof, grid, level, above))


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
    question: Question, proof: Proof, grid: list[Floats], level: int, above: Ints
) -> Ints:
    """Return how many brokers each cell needs because listed subscribers have none in common."""
    shape = [len(lines) - 1 for lines in grid]
    counts = np.zeros(shape, dtype=np.int64)
    if "apart" not in proof.tables:
        return counts.reshape(-1)
    table = proof.table("apart", {"level": "id", "subscriber": "id"})
    mine = table.column("level").to_numpy() == level
    listed = _known(question, table.column("subscriber").to_numpy(), "apart")[mine]
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


def _known(question: Question, subscriber: Any, name: str) -> Any:
    wants = np.isin(subscriber, question.wanting)
    if not wants.all():
        raise ProofError(f"proof/{name}.parquet has somebody who is unknown or wants nothing")
    return subscriber
