"""Who goes without: unsatisfied subscribers by how many topics they follow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fanwise.arrays.csr import FloatArray
from fanwise.select.explain.facts import Shortage
from fanwise.select.problem import Selection


def bin_edges(largest: int) -> npt.NDArray[np.int64]:
    """Bins of subscriptions: 1, 2, 3, 4, then doubling."""
    edges = [1, 2, 3, 4, 5]
    while edges[-1] <= largest:
        edges.append(2 * (edges[-1] - 1) + 1)
    return np.array(edges, dtype=np.int64)


def bin_label(edges: npt.NDArray[np.int64], index: int) -> str:
    """Write a bin of :func:`bin_edges`."""
    if index + 1 == len(edges) or edges[index + 1] == edges[index] + 1:
        return f"{edges[index]}"
    return f"{edges[index]}–{edges[index + 1] - 1}"  # noqa: RUF001


def list_shortages(problem: Selection, missing: FloatArray) -> tuple[Shortage, ...]:
    """Count the unsatisfied, and what they miss on average, for each bin of subscriptions."""
    needs = problem.demand > 0
    if not needs.any():
        return ()
    followings = np.diff(problem.workload.interests.indptr)[needs]
    edges = bin_edges(int(followings.max()))
    bins = np.searchsorted(edges, followings, side="right") - 1
    short = missing[needs] > 0
    share = missing[needs] / problem.demand[needs]
    count = np.bincount(bins, minlength=len(edges))
    unsatisfied = np.bincount(bins[short], minlength=len(edges))
    total = np.bincount(bins[short], weights=share[short], minlength=len(edges))
    return tuple(
        Shortage(
            bin_label(edges, i),
            int(count[i]),
            int(unsatisfied[i]),
            float(total[i] / unsatisfied[i]) if unsatisfied[i] else None,
        )
        for i in np.flatnonzero(count).tolist()
    )
