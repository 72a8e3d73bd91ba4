"""GPA and GM: the link of largest contribution first.

GPA (Alg. 1 of the paper) stops at m links, GM when every topic is connected. The paper's loop runs
while |E| <= m and would add m + 1 links; here it is m. Ties go to the smallest pair.

Where links cost something, contribution per cost decides, and a link that the money left does not
pay for is passed over. A degree limit beside the number of links takes nodes out once they have
their links.

Guarantee
    mu is monotone and submodular, so GPA reaches at least 1 - 1/e of the best mu of m links, and no
    polynomial algorithm guarantees more. GM needs at most O(log(nodes x topics)) times the fewest
    links. No ratio is known where links cost something.

Complexity
    O(sum of C(|V_t|, 2)) to count all contributions and to keep them true, plus the passes over
    them; see :mod:`fanwise.connect.growing`.

References
----------
    C. Chen, Y. Tock, H.-A. Jacobsen: Overlay design for topic-based publish/subscribe under node
    degree constraints. IEEE ICDCS 2016 (Sec. V). GM: G. Chockler,
    R. Melamed, Y. Tock, R. Vitenberg: Constructing scalable overlays for pub-sub with many topics.
    ACM PODC 2007.
"""

from __future__ import annotations

from fanwise.connect.growing.grow import grow_greedily
from fanwise.connect.problem import Connection
from fanwise.planning.problem import Outcome, Run


def solve_within_edges(problem: Connection, run: Run) -> Outcome:
    """GPA: the paper's Alg. 1."""
    problem.require_budget("gpa")
    return grow_greedily(problem, progress=run.progress).outcome()


def solve_complete(problem: Connection, run: Run) -> Outcome:
    """GM: until every topic is connected."""
    return grow_greedily(problem, progress=run.progress).outcome()
