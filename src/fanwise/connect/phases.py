"""GPM and MinMaxODA: the link of largest contribution among those that keep degrees lowest.

GPM (Alg. 3 of the paper) stops at a degree, MinMaxODA when every topic is connected. Read
literally: a phase is filled up with links between nodes below its degree, links that add nothing
included, until no two such nodes lack a link; a node that lags behind (with an odd number of nodes
there is always one) may get several links in one phase. Ties go to the smallest pair.

Guarantee
    Where each phase is a maximal matching, GPM reaches at least 1 - exp(-d / (3 (d + 1))) of the
    best mu under degree d, and 1 - exp(-1/6) in any case. With a limit of its own for each node,
    phases go on for those below theirs, and nothing is guaranteed.

Complexity
    That of :mod:`fanwise.connect.greedy`, with a descent over all contributions in every phase, and
    O(nodes squared / 64) for the links that add nothing.

References
----------
    C. Chen, Y. Tock, H.-A. Jacobsen: Overlay design for topic-based publish/subscribe under node
    degree constraints. IEEE ICDCS 2016 (Sec. VII). MinMaxODA: M. Onus,
    A. Richa: Minimum maximum degree publish-subscribe overlay network design. IEEE INFOCOM 2009.
"""

from __future__ import annotations

from fanwise.connect.growing.grow import grow_in_phases
from fanwise.connect.problem import Connection
from fanwise.planning.problem import Outcome, Run


def solve_within_degree(problem: Connection, run: Run) -> Outcome:
    """GPM: the paper's Alg. 3."""
    problem.require_budget("gpm")
    return grow_in_phases(problem, progress=run.progress).outcome()


def solve_complete(problem: Connection, run: Run) -> Outcome:
    """MinMaxODA: until every topic is connected."""
    return grow_in_phases(problem, progress=run.progress).outcome()
