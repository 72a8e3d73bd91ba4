"""Growing an overlay by the greedy rule, whichever way suits the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from fanwise.arrays.csr import IntArray
from fanwise.connect.growing import dense, sparse
from fanwise.connect.network import NO_EDGES, Network
from fanwise.progress import SILENT, Progress

BATCH = 4096
"""Links between two looks at the clock, the terminal and Ctrl-C."""


class Grower(Protocol):
    """Something that chooses link after link."""

    def more(self, num_edges: int) -> IntArray:
        """Return up to ``num_edges`` further links; fewer only when nothing is left."""


class Grown(NamedTuple):
    """Links in the order chosen, and whether Ctrl-C came before the last of them."""

    edges: IntArray
    is_interrupted: bool = False


def greedy_grower(network: Network, max_cost: float | None = None) -> Grower:
    """Largest contribution (per cost) first, then the smallest pair: GPA and GM."""
    if max_cost is None and dense.suits(network):
        return dense.DenseGreedy(network)
    return sparse.SparseGreedy(network, max_cost)


def phase_grower(network: Network, max_cost: float | None = None) -> Grower:
    """The same among the pairs that keep the largest degree lowest: GPM and MinMaxODA."""
    if max_cost is None and dense.suits(network):
        return dense.DensePhases(network)
    return sparse.SparsePhases(network, max_cost)


def grow(
    make_grower: Callable[[], Grower],
    max_edges: int | None,
    *,
    progress: Progress = SILENT,
    title: str = "growing the overlay",
    is_over: Callable[[], bool] = lambda: False,
) -> Grown:
    """Take links until there are enough, none is left or it is over.

    Ctrl-C keeps the links so far: a greedy overlay is good at any length.
    """
    batches: list[IntArray] = [NO_EDGES]
    count = 0
    try:
        with progress.step(title, total=max_edges) as step:
            grower = make_grower()
            while (max_edges is None or count < max_edges) and not is_over():
                wanted = BATCH if max_edges is None else min(BATCH, max_edges - count)
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
