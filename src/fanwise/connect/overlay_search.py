"""The best overlay and bound so far, of whichever algorithm looks for them."""

from __future__ import annotations

from dataclasses import replace

from fanwise.arrays.csr import IntArray
from fanwise.connect.arrays import NO_EDGES
from fanwise.connect.problem import Connection
from fanwise.planning.problem import Run
from fanwise.planning.search import Search
from fanwise.planning.stopping import FirstOf, Standing
from fanwise.progress import Step


class OverlaySearch(Search[IntArray]):
    """A search for links; it begins with none, which keeps every budget.

    Attributes
    ----------
    idle_moves
        Moves in a row that brought nothing, for limits on them.
    """

    def __init__(self, problem: Connection, run: Run, step: Step, limits: FirstOf) -> None:
        super().__init__(run, step, "max", limits)
        self.problem = problem
        self.idle_moves = 0
        self.offer_links(NO_EDGES)

    def offer_links(self, edges: IntArray) -> bool:
        """Take an overlay if it is worth more, or the same for less; say whether it is taken."""
        if not self.problem.admits(edges):
            return False
        network = self.problem.network
        cost = float(network.costs(edges).sum()) if network.has_costs else float(len(edges))
        return self.offer(edges, self.problem.value(edges), cost=cost)

    @property
    def saves_links(self) -> bool:
        """Whether every topic is connected: what is left to do is to save links."""
        return self.value >= self.problem.network.complete_value and len(self.answer) > 0

    @property
    def standing(self) -> Standing:
        """How far the search has come; a gap ends it only while there is something to connect."""
        standing = super().standing
        gap = None if self.saves_links else standing.gap
        return replace(standing, gap=gap, idle=float(self.idle_moves))
