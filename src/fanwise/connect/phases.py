"""GPM and MinMaxODA: the link of largest contribution among those that keep degrees lowest.

GPM (Alg. 3 of Chen et al.) stops at a degree, MinMaxODA (Onus and Richa, INFOCOM 2009) when every
topic is connected. Read literally: a phase is filled up with links between nodes below its degree,
links that add nothing included, until no two such nodes lack a link; a node that lags behind (with
an odd number of nodes there is always one) may get several links in one phase. Ties go to the
smallest pair.

Where each phase is a maximal matching, GPM reaches at least 1 - exp(-d / (3 (d + 1))) of the best
mu under degree d, and 1 - exp(-1/6) in any case. With a limit of its own for each node, phases go
on for those below theirs, and nothing is guaranteed.
"""

from __future__ import annotations

from fanwise.connect.growing.grow import Grown, grow, phase_grower
from fanwise.connect.problem import Connection, edge_table
from fanwise.planning.problem import Outcome, Run
from fanwise.progress import SILENT, Progress


def solve_within_degree(problem: Connection, run: Run) -> Outcome:
    """GPM: the paper's Alg. 3."""
    problem.require_budget("gpm")
    return _outcome(grow_in_phases(problem, progress=run.progress))


def solve_complete(problem: Connection, run: Run) -> Outcome:
    """MinMaxODA: until every topic is connected."""
    return _outcome(grow_in_phases(problem, progress=run.progress))


def grow_in_phases(problem: Connection, *, progress: Progress = SILENT) -> Grown:
    """Take the best link that keeps degrees lowest, again and again, within the budgets."""
    return grow(
        lambda: phase_grower(problem.network, problem.max_link_cost),
        problem.edge_limit,
        progress=progress,
        title="links degree by degree",
    )


def _outcome(grown: Grown) -> Outcome:
    return Outcome({"edges": edge_table(grown.edges)}, is_interrupted=grown.is_interrupted)
