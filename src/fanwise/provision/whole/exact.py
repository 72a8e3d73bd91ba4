"""The optimum of the whole problem, proven: by a table for a dozen pairs, by HiGHS for tens.

Within a time limit (a minute if none is given) or gap the best plan so far is kept, with the bound
that HiGHS proved.
"""

from __future__ import annotations

from fanwise.errors import ParameterError
from fanwise.planning.problem import Run
from fanwise.provision.problem import Provisioning
from fanwise.provision.stages import Staged
from fanwise.provision.whole import search
from fanwise.provision.whole.program import Program
from fanwise.provision.whole.table import PATIENT, solve_by_table

MAX_PAIRS = 300
"""Interests up to which a program is made at all."""
MAX_COLUMNS = 2500
"""Its size: above this the solver is hopeless."""
MAX_SECONDS = 60.0
"""Where no time limit is given: proofs that take longer take for ever."""


def solve(problem: Provisioning, run: Run) -> Staged:
    """Solve to optimality, or to the time limit or gap.

    Raises
    ------
    ParameterError
        Where the problem is too large.
    """
    num_pairs = problem.workload.num_pairs
    if num_pairs > MAX_PAIRS:
        raise _too_large(f"{MAX_PAIRS:,} interests (here {num_pairs:,})")
    with run.timed("select"):
        optimum = solve_by_table(problem, PATIENT)
    run.seconds.setdefault("pack", 0.0)
    if optimum is not None:
        packing = optimum.packing._replace(is_optimal=True)
        return Staged(optimum.pairs, packing, optimum.cost, optimum.cost, "exhausted")
    start = search.solve_by_stages(problem, run)
    if start.is_interrupted:
        return start._replace(packing=start.packing._replace(is_optimal=False))
    program = Program(problem, start.packing, start.cost)
    if program.num_columns > MAX_COLUMNS:
        raise _too_large(
            f"a program of {MAX_COLUMNS:,} columns (here {program.num_columns:,}, "
            f"with up to {program.num_vms:,} machines)"
        )
    run.default_limits(time_limit=MAX_SECONDS)
    with run.timed("pack"), run.progress.step("solving with HiGHS"):
        answer = program.solve(
            start.pairs, start.packing, run, max_seconds=MAX_SECONDS, max_nodes=None
        )
    packing = answer.packing._replace(is_optimal=answer.is_optimal)
    return Staged(
        answer.pairs,
        packing,
        answer.cost,
        answer.bound if answer.is_optimal else max(answer.bound, problem.bound()),
        answer.stopped,
        is_interrupted=answer.stopped == "interrupted",
    )


def _too_large(constraint: str) -> ParameterError:
    return ParameterError("algorithm", f"'best+best' above {constraint}", "exact+exact")
