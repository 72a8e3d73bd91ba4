"""Growing an overlay by the greedy rule, whichever way suits the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.connect.arrays import NO_EDGES
from fanwise.connect.growing import lazy, table
from fanwise.connect.problem import Connection, edge_table
from fanwise.planning.problem import Outcome
from fanwise.progress import SILENT, Progress

BATCH, SHORT_BATCH = 4096, 512
"""Links between two looks at the clock, the terminal and Ctrl-C; fewer where a clock is running."""


def never_over() -> bool:
    """Say that there is time."""
    return False


class Grower(Protocol):
    """Something that chooses link after link."""

    def more(self, num_edges: int) -> IntArray:
        """Return up to ``num_edges`` further links; fewer only when nothing is left."""


class Grown(NamedTuple):
    """Links in the order chosen, and whether Ctrl-C came before the last of them."""

    edges: IntArray
    is_interrupted: bool = False

    def outcome(self) -> Outcome:
        """Return the links as what an algorithm returns."""
        return Outcome({"edges": edge_table(self.edges)}, is_interrupted=self.is_interrupted)


def grow_greedily(
    problem: Connection,
    *,
    progress: Progress = SILENT,
    is_over: Callable[[], bool] = never_over,
) -> Grown:
    """Take the best link (per cost) again and again, within the budgets, while it adds anything.

    Of links that are as good, the smallest pair: GPA and GM. Stops early when it is over.
    """

    def grower() -> Grower:
        if counts_in_table(problem):
            return table.TableGreedy(problem.network, is_over)
        return lazy.LazyGreedy(problem.network, problem.budget.max_cost)

    title = "links by contribution"
    return grow(grower, problem.edge_limit, progress=progress, title=title, is_over=is_over)


def grow_in_phases(
    problem: Connection,
    *,
    progress: Progress = SILENT,
    is_over: Callable[[], bool] = never_over,
) -> Grown:
    """Take the best link that keeps degrees lowest, again and again, within the budgets.

    Of links that are as good, the smallest pair: GPM and MinMaxODA. Stops early when it is over.
    """

    def grower() -> Grower:
        if counts_in_table(problem):
            return table.TablePhases(problem.network, is_over)
        return lazy.LazyPhases(problem.network, problem.budget.max_cost)

    title = "links degree by degree"
    return grow(grower, problem.edge_limit, progress=progress, title=title, is_over=is_over)


def counts_in_table(problem: Connection) -> bool:
    """Whether links are grown over the table of all pairs, not row by row."""
    # The table counts joins, not money: links with a cost are weighed row by row.
    return problem.max_link_cost is None and table.suits(problem.network)


def complete_greedily(
    problem: Connection,
    edges: IntArray = NO_EDGES,
    *,
    is_over: Callable[[], bool] = never_over,
) -> IntArray:
    """Return ``edges`` and the greedy links that still fit, in the order chosen.

    Stops early, with what it has, when it is over.
    """
    budget = problem.budget
    grown = grow(
        lambda: lazy.LazyGreedy(problem.network, budget.max_cost, edges),
        budget.max_edges - len(edges),
        is_over=is_over,
    )
    if grown.is_interrupted:
        raise KeyboardInterrupt
    return np.concatenate([edges, grown.edges])


def grow(
    make_grower: Callable[[], Grower],
    max_edges: int | None,
    *,
    progress: Progress = SILENT,
    title: str = "growing the overlay",
    is_over: Callable[[], bool] = never_over,
) -> Grown:
    """Take links until there are enough, none is left or it is over.

    Ctrl-C keeps the links so far: a greedy overlay is good at any length.
    """
    most = BATCH if is_over is never_over else SHORT_BATCH
    batches: list[IntArray] = [NO_EDGES]
    count = 0
    try:
        with progress.step(title, total=max_edges) as step:
            grower = make_grower()
            while (max_edges is None or count < max_edges) and not is_over():
                wanted = most if max_edges is None else min(most, max_edges - count)
                batch = grower.more(wanted)
                batches.append(batch)
                count += len(batch)
                step.advance(len(batch))
                step.note(f"{count:,} links")
                if len(batch) < wanted:
                    break
    except KeyboardInterrupt:
        if not count:
            raise
        return Grown(np.concatenate(batches), is_interrupted=True)
    return Grown(np.concatenate(batches))
