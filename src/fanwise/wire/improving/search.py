"""The search for a better wiring: the best attachment so far, and how far each stage may go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanwise.arrays.csr import IntArray, LongArray
from fanwise.planning.problem import Run, Stopped
from fanwise.planning.search import Search
from fanwise.planning.stopping import limits_of
from fanwise.progress import Step
from fanwise.wire.improving.repairing import excess_of
from fanwise.wire.problem import Wiring
from fanwise.wire.proving.access_prices import cheapest_prices
from fanwise.wire.state import State, make_state


class Offered(NamedTuple):
    """An attachment with its load above the capacities and its cost; less is better."""

    excess: float
    cost: float
    broker_of_user: IntArray


class WiringSearch(Search[IntArray]):
    """The best attachment so far, as the broker of each user.

    Attributes
    ----------
    problem, arrays
        What is asked, and its array form.
    order
        Users with most traffic first: the order in which they move, as in migration.
    is_timed
        Whether time alone ends the search, and not the work.
    is_large
        Whether there are too many users to look at all of them again and again.
    total_work
        All the work there is; see :mod:`fanwise.wire.improving.work_counts` for the unit.
    """

    def __init__(
        self,
        problem: Wiring,
        run: Run,
        step: Step,
        *,
        work: float,
        reserve: float,
        is_large: bool,
    ) -> None:
        has_effort = run.settings.get("effort", 1.0) != 1.0
        self.is_timed = run.time_limit is not None and not has_effort
        limits = limits_of(run, work=None if self.is_timed else work, reserve=reserve)
        super().__init__(
            run, step, "min", limits, unit="cost", find_bound=lambda: problem.prove_within(run)
        )
        self.problem, self.arrays = problem, problem.arrays
        self.order: LongArray = np.argsort(-self.arrays.demand, kind="stable")
        self.total_work, self.is_large = work, is_large
        self.metrics.update(moves=0, swaps=0, exchanges=0, changes=0)

    def offer_state(self, state: State) -> Offered:
        """Take the attachment of a state if it is better; return what it is worth."""
        found = Offered(excess_of(self.arrays, state.load), state.cost, state.broker_of_user.copy())
        self.offer(found.broker_of_user, found.cost, broken=found.excess)
        return found

    def offer_attachment(self, broker_of_user: IntArray) -> Offered:
        """Take an attachment if it is better; return what it is worth."""
        return self.offer_state(make_state(self.arrays, broker_of_user))

    def best_state(self) -> State:
        """Return the state of the best attachment."""
        return make_state(self.arrays, self.answer)

    def users_to_move(self, state: State) -> LongArray:
        """Return users in the order in which they move.

        Of too many to look at all of them: those whose broker costs them most beyond the cheapest.
        """
        if not self.is_large:
            return self.order
        arrays = self.arrays
        own = arrays.access[np.arange(arrays.num_users), state.broker_of_user]
        # What C1 alone could save: quick to know for everybody, unlike a price of all moves.
        loss = arrays.demand * (own - cheapest_prices(arrays.access, np.zeros(len(state.load))))
        return np.argsort(-loss, kind="stable")[: int(np.count_nonzero(loss > 0))]

    def work_up_to(self, share: float) -> float:
        """Return the work at which a share of all of it is done from here."""
        return self.work + share * self.total_work

    @property
    def stopped(self) -> Stopped:
        """Why the search ended, once it has.

        One that came to the end of its stages has done the work that it was meant to do, and could
        go on; one that found nothing within the capacities could not.
        """
        found = super().stopped
        is_cut = found == "exhausted" and not self.is_settled and self.is_feasible
        return "work" if is_cut else found
