"""The optimum of the whole problem, proven: by a table for a dozen pairs, by HiGHS for tens.

Within a time limit, a gap, or MAX_NODES nodes the best plan so far is kept, with the bound that
HiGHS proved.

Guarantee
    The plan is the cheapest there is where ``packing_is_optimal`` says so: by HiGHS's word, or by a
    table of all plans.

Complexity
    Exponential in the number of pairs.

References
----------
    Q. Huangfu, J. A. J. Hall: Parallelizing the dual revised simplex method. Mathematical
    Programming Computation 10(1), 2018: HiGHS.
"""

from __future__ import annotations

from fanwise.arrays.tolerance import is_enough
from fanwise.errors import ParameterError
from fanwise.planning.problem import Bound, Run
from fanwise.provision.best import solve_by_stages
from fanwise.provision.problem import Provisioning
from fanwise.provision.stages import PackedPairs
from fanwise.provision.tiny.program import Program
from fanwise.provision.tiny.table import PATIENT, solve_by_table

MAX_PAIRS = 300
"""Interests up to which a program is made at all."""
MAX_COLUMNS = 2500
"""Its size: above this the solver is hopeless."""
MAX_NODES = 20_000
"""About a minute: proofs that take longer take for ever."""


def solve(problem: Provisioning, run: Run) -> PackedPairs:
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
        return PackedPairs(optimum.pairs, packing, optimum.cost, Bound(optimum.cost), "exhausted")
    start = solve_by_stages(problem, run)
    if start.stopped == "interrupted":
        return start._replace(packing=start.packing._replace(is_optimal=False))
    program = Program(problem, start.packing, start.cost)
    if program.num_columns > MAX_COLUMNS:
        raise _too_large(
            f"a program of {MAX_COLUMNS:,} columns (here {program.num_columns:,}, "
            f"with up to {program.num_vms:,} machines)"
        )
    search = program.solve(start, run, MAX_NODES)
    found = search.answer
    least = 0.0 if search.bound is None else search.bound.value
    is_optimal = search.stopped == "exhausted" and is_enough(least, found.cost)
    if is_optimal or least > found.cost:
        least = found.cost
    return found._replace(
        packing=found.packing._replace(is_optimal=is_optimal),
        bound=Bound(least if is_optimal else max(least, problem.bound())),
        stopped=search.stopped,
    )


def _too_large(constraint: str) -> ParameterError:
    return ParameterError("algorithm", f"'best+best' above {constraint}", "exact+exact")
