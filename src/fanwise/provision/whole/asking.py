"""Programs of yes and no as HiGHS takes them, and why it stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fanwise.arrays.csr import FloatArray
from fanwise.planning.highs import run_highs
from fanwise.planning.problem import Stopped

SAME = 1e-9
"""Relative: costs closer than this are equal."""

Row = tuple[list[int], list[float], float, float]
"""Columns, their values, and what their sum is at least and at most."""


def ask_highs(
    rows: Sequence[Row], costs: FloatArray, start: FloatArray, limits: Mapping[str, float]
) -> Any:
    """Hand a program to HiGHS, with a solution to start from; return the solver when it is done.

    ``limits`` are options of HiGHS that end it early.
    """
    import highspy

    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(costs), len(rows)
    model.col_cost_ = costs
    model.col_lower_ = np.zeros(len(costs))
    model.col_upper_ = np.ones(len(costs))
    model.row_lower_ = np.array([row[2] for row in rows])
    model.row_upper_ = np.array([row[3] for row in rows])
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.cumsum([0, *(len(row[0]) for row in rows)]).astype(np.int32)
    model.a_matrix_.index_ = np.concatenate([row[0] for row in rows]).astype(np.int32)
    model.a_matrix_.value_ = np.concatenate([row[1] for row in rows])
    model.integrality_ = [highspy.HighsVarType.kInteger] * len(costs)
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("threads", 1)  # the same plan on any machine
    solver.setOptionValue("mip_abs_gap", 0.0)
    for name, value in limits.items():
        solver.setOptionValue(name, value)
    solver.passModel(model)
    hint = highspy.HighsSolution()
    hint.col_value = start
    solver.setSolution(hint)
    run_highs(solver)
    return solver


def why_stopped(solver: Any, gap: float) -> Stopped:
    """Say why HiGHS stopped."""
    import highspy

    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kOptimal:
        if solver.getInfo().mip_gap <= SAME:
            return "exhausted"
        return "gap" if gap > 0 and solver.getInfo().mip_gap <= gap * (1 + SAME) else "work"
    if status == highspy.HighsModelStatus.kInterrupt:
        return "interrupted"
    return "limit" if status == highspy.HighsModelStatus.kTimeLimit else "work"
