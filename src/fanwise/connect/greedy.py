"""GPA and GM: the link of largest contribution first.

GPA (Alg. 1 of Chen et al.) stops at m links, GM (Chockler et al., PODC 2007) when every topic is
connected. The paper's loop runs while |E| <= m and would add m + 1 links; here it is m. Ties go to
the smallest pair. mu is monotone and submodular, so GPA reaches at least 1 - 1/e of the best mu of
m links, and no polynomial algorithm guarantees more. GM needs at most O(log(nodes x topics)) times
the fewest links.

Where links cost something, contribution per cost decides (no ratio is known then), and a link that
the money left does not pay for is passed over. A degree limit beside the number of links takes
nodes out once they have their links.

O(sum of C(|V_t|, 2)) for all contributions, counted and kept true, plus the passes over them; see
:mod:`fanwise.connect.growing`.
"""

from __future__ import annotations

from fanwise.connect.growing.grow import Grown, greedy_grower, grow
from fanwise.connect.problem import Connection, edge_table
from fanwise.planning.problem import Outcome, Run
from fanwise.progress import SILENT, Progress


def solve_within_edges(problem: Connection, run: Run) -> Outcome:
    """GPA: the paper's Alg. 1."""
    problem.require_budget("gpa")
    return _outcome(grow_greedily(problem, progress=run.progress))


def solve_complete(problem: Connection, run: Run) -> Outcome:
    """GM: until every topic is connected."""
    return _outcome(grow_greedily(problem, progress=run.progress))


def grow_greedily(problem: Connection, *, progress: Progress = SILENT) -> Grown:
    """Take the best link again and again, within the problem's budgets, while it adds anything."""
    return grow(
        lambda: greedy_grower(problem.network, problem.max_link_cost),
        problem.edge_limit,
        progress=progress,
        title="links by contribution",
    )


def _outcome(grown: Grown) -> Outcome:
    return Outcome({"edges": edge_table(grown.edges)}, is_interrupted=grown.is_interrupted)
