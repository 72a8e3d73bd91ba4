"""The one door to HiGHS: linear and integer programs built, limited, solved and read.

A :class:`Model` is plain arrays. A :class:`Solver` holds one in HiGHS, learns rows and columns, may
start from a solution that is known, and gives an :class:`Answer`. One thread and a fixed seed make
the same answer on any machine; Ctrl-C is heard while HiGHS runs. Nothing here is trusted by
proofs: what an answer proves is computed by its user.

Needs highspy, a core dependency; it is imported on first use, and nowhere else.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray, LongArray
from fanwise.arrays.tolerance import RELATIVE_TOLERANCE, fits
from fanwise.planning.problem import Stopped

_GRACE = 2.0  # seconds for a run to stop that nobody waits for

Status = Literal[
    "optimal", "infeasible", "unbounded", "time", "work", "interrupted", "unknown", "failed"
]
"""How a run ended. ``work``: a limit on nodes or iterations. ``unknown``: there are values, maybe
not optimal. ``failed``: HiGHS gave up, or cannot tell infeasible from unbounded."""


class Matrix(NamedTuple):
    """A sparse matrix by row, or by column: entries of line i are ``starts[i]:starts[i + 1]``."""

    starts: npt.NDArray[Any]
    ids: npt.NDArray[Any]
    value: FloatArray


def by_row(rows: LongArray, columns: LongArray, values: FloatArray, num_rows: int) -> Matrix:
    """Return a matrix by row of entries in any order; each place must stand there once."""
    order = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[order], np.arange(num_rows + 1))
    return Matrix(starts, columns[order], values[order])


class Rows:
    """Rows written down one by one."""

    def __init__(self) -> None:
        self._index: list[int] = []
        self._value: list[float] = []
        self._starts = [0]
        self._lower: list[float] = []
        self._upper: list[float] = []

    def __len__(self) -> int:
        return len(self._lower)

    def add(
        self,
        columns: Sequence[int],
        values: Sequence[float],
        lower: float = -np.inf,
        upper: float = np.inf,
    ) -> None:
        """Add a row: the sum of values times columns lies between lower and upper."""
        self._index += columns
        self._value += values
        self._starts.append(len(self._index))
        self._lower.append(lower)
        self._upper.append(upper)

    @property
    def matrix(self) -> Matrix:
        starts, index = np.array(self._starts), np.array(self._index, dtype=np.int64)
        return Matrix(starts, index, np.array(self._value, dtype=np.float64))

    @property
    def lower(self) -> FloatArray:
        return np.array(self._lower, dtype=np.float64)

    @property
    def upper(self) -> FloatArray:
        return np.array(self._upper, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Model:
    """A program: the sum of cost times columns is least, or largest, within limits.

    Attributes
    ----------
    cost, lower, upper
        Of each column.
    matrix
        Its entries, by row unless ``is_by_column``.
    row_lower, row_upper
        What each row's sum is at least and at most; may be infinite.
    is_whole
        Which columns take whole numbers only; one value for all of them, or one each.
    offset
        Is added to the objective.
    """

    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    matrix: Matrix
    row_lower: FloatArray
    row_upper: FloatArray
    is_by_column: bool = False
    is_whole: bool | npt.NDArray[np.bool_] = False
    is_maximised: bool = False
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Answer:
    """What HiGHS found.

    Attributes
    ----------
    objective
        Of the values, where there are any.
    values
        Of the columns; empty where none were found. They keep the rows only if ``is_feasible``, and
        even then up to a tolerance of 1e-6.
    duals
        Of the rows, for programs without whole columns: by how much the objective rises with the
        row's limit. So with a least objective a row that is held down by its upper limit has a dual
        of at most 0, one that is held up by its lower limit of at least 0; the reverse with a
        largest objective.
    bound
        What no solution is better than, as far as HiGHS is right; None where it proved nothing.
    gap
        The relative distance of objective and bound; 0 without whole columns.
    infeasibility
        By how much the values break a row or a limit of a column, at most.
    nodes
        How many were looked at for whole columns.
    """

    status: Status
    objective: float = 0.0
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    duals: FloatArray = field(default_factory=lambda: np.empty(0))
    bound: float | None = None
    gap: float = np.inf
    infeasibility: float = 0.0
    is_feasible: bool = False
    nodes: int = 0

    def stopped(self, gap: float) -> Stopped:
        """Say why the run of a program with whole columns ended, given the gap it was asked for."""
        if self.status == "optimal":
            # Without a bound, presolve lost its way among numbers of too many magnitudes.
            if self.gap <= RELATIVE_TOLERANCE:
                return "exhausted"
            return "gap" if gap > 0 and fits(self.gap, gap) else "work"
        if self.status == "interrupted":
            return "interrupted"
        return "limit" if self.status == "time" else "work"


class Solver:
    """A model in HiGHS.

    Parameters
    ----------
    gap, absolute_gap
        Distances of objective and bound at which a program with whole columns is solved.
    max_nodes, max_iterations
        Limits on work; None for none.
    interior_point
        Solve by the interior-point method up to this relative accuracy, and leave the solution in
        the interior: faster for large programs whose duals are wanted, not a vertex.
    presolve
        Whether HiGHS may simplify the program first. Where coefficients differ by many orders of
        magnitude it has called optimal there what is not.
    seed, threads
        Of HiGHS; with one thread the answer is the same on any machine.
    """

    def __init__(
        self,
        model: Model,
        *,
        gap: float = 0.0,
        absolute_gap: float = 0.0,
        max_nodes: int | None = None,
        max_iterations: int | None = None,
        interior_point: float | None = None,
        presolve: bool = True,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        import highspy

        self._highs = highspy.Highs()
        self._highs.silent()
        options: dict[str, Any] = {
            "threads": threads,
            "random_seed": seed,
            "mip_rel_gap": gap,
            "mip_abs_gap": absolute_gap,
            "presolve": "choose" if presolve else "off",
        }
        if max_nodes is not None:
            options["mip_max_nodes"] = max_nodes
        if max_iterations is not None:
            options["simplex_iteration_limit"] = max_iterations
            options["ipm_iteration_limit"] = max_iterations
        if interior_point is not None:
            options["solver"] = "ipx"
            options["run_crossover"] = "off"
            options["ipm_optimality_tolerance"] = interior_point
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        self._highs.passModel(_state(model))
        self._is_mixed = bool(np.any(model.is_whole))
        self._is_heard = False

    def add_row(
        self, columns: LongArray, values: FloatArray, lower: float = -np.inf, upper: float = np.inf
    ) -> None:
        """Add a row: the sum of values times columns lies between lower and upper."""
        self._highs.addRow(lower, upper, len(columns), columns.astype(np.int32), values)

    def add_columns(
        self, cost: FloatArray, lower: FloatArray, upper: FloatArray, matrix: Matrix
    ) -> None:
        """Add columns with their entries in the rows that are there."""
        starts, ids, value = matrix
        self._highs.addCols(
            len(cost),
            cost,
            lower,
            upper,
            len(ids),
            starts[:-1].astype(np.int32),
            ids.astype(np.int32),
            value,
        )

    def start_from(self, values: FloatArray) -> None:
        """Hand over a solution that is known; one that is none does no harm."""
        import highspy

        known = highspy.HighsSolution()
        known.col_value = values
        self._highs.setSolution(known)

    def solve(self, *, time_limit: float | None = None, keeps_found: bool = False) -> Answer:
        """Solve, for so many seconds from now at most.

        After Ctrl-C the status is ``interrupted`` if what was found is to be kept; otherwise
        KeyboardInterrupt is raised.
        """
        seconds = np.inf if time_limit is None else max(time_limit, 0.0)
        # HiGHS counts all the time that it has run for this model.
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + seconds)
        is_interrupted = self._run()
        if is_interrupted and not keeps_found:
            raise KeyboardInterrupt
        return self._read(is_interrupted)

    def _run(self) -> bool:
        """Run HiGHS; return whether Ctrl-C ended it.

        In a thread of its own, so that the main thread hears signals; a run that is not in the main
        thread need not hear any.
        """
        highs = self._highs
        if threading.current_thread() is not threading.main_thread():
            highs.run()
            return False
        if not self._is_heard:
            highs.HandleUserInterrupt = self._is_heard = True
        is_done = threading.Event()
        errors: list[BaseException] = []

        def run() -> None:
            try:
                highs.run()
            except BaseException as error:
                errors.append(error)
            finally:
                is_done.set()

        threading.Thread(target=run, name="highs", daemon=True).start()
        is_interrupted = False
        try:
            is_done.wait()
        except KeyboardInterrupt:
            is_interrupted = True
            highs.cancelSolve()
            is_done.wait()
        except BaseException:  # SIGTERM: nothing is kept
            highs.cancelSolve()
            is_done.wait(_GRACE)
            raise
        if errors:
            raise errors[0]
        return is_interrupted

    def _read(self, is_interrupted: bool) -> Answer:
        """Return what HiGHS found."""
        import highspy

        kind = highspy.HighsModelStatus
        statuses: dict[Any, Status] = {
            kind.kOptimal: "optimal",
            kind.kModelEmpty: "optimal",
            kind.kInfeasible: "infeasible",
            kind.kUnbounded: "unbounded",
            kind.kTimeLimit: "time",
            kind.kIterationLimit: "work",
            kind.kSolutionLimit: "work",
            kind.kInterrupt: "interrupted",
            kind.kUnknown: "unknown",
        }
        status = statuses.get(self._highs.getModelStatus(), "failed")
        info, solution = self._highs.getInfo(), self._highs.getSolution()
        objective = float(info.objective_function_value)
        if self._is_mixed:
            duals, gap, proven = np.empty(0), float(info.mip_gap), float(info.mip_dual_bound)
        else:
            duals, gap = np.asarray(solution.row_dual, dtype=np.float64), 0.0
            proven = objective if status == "optimal" else np.inf
        feasible = highspy.SolutionStatus.kSolutionStatusFeasible
        return Answer(
            status="interrupted" if is_interrupted else status,
            objective=objective,
            values=np.asarray(solution.col_value, dtype=np.float64),
            duals=duals,
            bound=proven if np.isfinite(proven) else None,
            gap=gap,
            infeasibility=float(info.max_primal_infeasibility),
            is_feasible=info.primal_solution_status == feasible,
            nodes=max(int(info.mip_node_count), 0),
        )


def _state(model: Model) -> Any:
    """Return a model as HiGHS takes it."""
    import highspy

    stated = highspy.HighsLp()
    stated.num_col_, stated.num_row_ = len(model.cost), len(model.row_lower)
    stated.col_cost_ = model.cost
    stated.col_lower_, stated.col_upper_ = model.lower, model.upper
    stated.row_lower_, stated.row_upper_ = model.row_lower, model.row_upper
    stated.offset_ = model.offset
    layout = highspy.MatrixFormat
    stated.a_matrix_.format_ = layout.kColwise if model.is_by_column else layout.kRowwise
    stated.a_matrix_.start_ = model.matrix.starts.astype(np.int32)
    stated.a_matrix_.index_ = model.matrix.ids.astype(np.int32)
    stated.a_matrix_.value_ = model.matrix.value
    if model.is_maximised:
        stated.sense_ = highspy.ObjSense.kMaximize
    is_whole = np.broadcast_to(model.is_whole, len(model.cost))
    if is_whole.any():
        kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
        stated.integrality_ = [kinds[whole] for whole in is_whole.tolist()]
    return stated
