"""Who may serve whom, and how many at most: worked out from the workload alone, in plain NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fanwise.planning.proof import ProofError
from fanwise.workload.content import Cells, ContentWorkload
from fanwise.workload.topic import RELATIVE_TOLERANCE

CHUNK = 1 << 13
TOLERANCE = RELATIVE_TOLERANCE
MOST = 2.0**40
"""Limits on loads above this are as good as none."""
MOST_FACTOR, MOST_RECTANGLES = 1e15, 10_000
"""What a question may ask for at most."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Question:
    """What a plan was asked for.

    Attributes
    ----------
    lo, hi
        Sides of what each subscriber wants; lo > hi: nothing.
    indptr, brokers
        The leaf brokers that may serve each subscriber: in time, and with a share.
    limits
        Most subscribers of each broker.
    parent, alpha, cells
        The tree of brokers, most rectangles of a filter, and where events happen (None: volume).
    """

    lo: Floats
    hi: Floats
    indptr: Ints
    brokers: Ints
    limits: Ints
    parent: Ints
    alpha: int
    cells: Cells | None

    @property
    def num_subscribers(self) -> int:
        return len(self.lo)

    @property
    def num_brokers(self) -> int:
        return len(self.parent)

    @cached_property
    def wanting(self) -> Ints:
        """Subscribers who want something."""
        return np.flatnonzero((self.lo <= self.hi).all(axis=1))

    @cached_property
    def leaves(self) -> Ints:
        """Brokers that stand nowhere as a parent."""
        return np.setdiff1d(np.arange(self.num_brokers), self.parent)

    @cached_property
    def levels(self) -> list[Ints]:
        """Sets of brokers that every way from the publisher to a subscriber passes one of.

        For each, which broker of the set is above each leaf (or is it): first the brokers as deep
        as each other above the shallowest leaf, from the top, then the leaves themselves.
        """
        chains = {}
        for leaf in self.leaves.tolist():
            chain, at = [leaf], int(self.parent[leaf])
            while at >= 0:
                chain.append(at)
                at = int(self.parent[at])
            chains[leaf] = chain[::-1]
        shallowest = min((len(chain) for chain in chains.values()), default=1)
        found = []
        for depth in range(shallowest):
            above = np.full(self.num_brokers, -1, dtype=np.int64)
            for leaf, chain in chains.items():
                above[leaf] = leaf if depth == shallowest - 1 else chain[depth]
            found.append(above)
        return found

    def room(self, above: Ints, people: Ints) -> Ints:
        """Return how many the brokers that some may use serve at most, the largest first, none 0.

        Parameters
        ----------
        above
            The broker of a level that is above each leaf.
        """
        total = np.zeros(self.num_brokers, dtype=np.int64)
        np.add.at(total, above[self.leaves], self.limits[self.leaves])
        is_counted = np.zeros(self.num_subscribers, dtype=np.bool_)
        is_counted[people] = True
        total = total[np.unique(above[self.brokers[is_counted[self.row_of_pair]]])]
        return np.sort(total[total > 0])[::-1]

    @cached_property
    def row_of_pair(self) -> Ints:
        """Whose each pair of a subscriber and an allowed broker is."""
        return np.repeat(np.arange(self.num_subscribers), np.diff(self.indptr))

    def allowed(self, subscriber: int) -> Ints:
        """Return the leaf brokers that may serve a subscriber."""
        return self.brokers[self.indptr[subscriber] : self.indptr[subscriber + 1]]


def pose(workload: ContentWorkload, parameters: Mapping[str, Any]) -> Question:
    """Read a question off a workload and a plan's parameters.

    Raises
    ------
    ProofError
        Where a parameter is missing or of another kind.
    """
    wrong = find_wrong_parameter(parameters)
    if wrong is not None:
        raise ProofError(wrong)
    share = shares(workload)
    indptr, brokers = allowed_pairs(workload, parameters)
    row = np.repeat(np.arange(workload.num_subscribers), np.diff(indptr))
    usable = share[brokers] > 0
    counts = np.bincount(row[usable], minlength=workload.num_subscribers)
    return Question(
        lo=workload.lo,
        hi=workload.hi,
        indptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        brokers=brokers[usable],
        limits=load_limits(workload, parameters["lbf_max"]),
        parent=_parents(workload),
        alpha=parameters["alpha"],
        cells=workload.density,
    )


def find_wrong_parameter(given: Mapping[str, Any]) -> str | None:
    """Say which parameter of a plan is no such thing, or None."""
    alpha, latency = given.get("alpha"), given.get("latency")
    is_whole = isinstance(alpha, int) and not isinstance(alpha, bool)
    if not is_whole or not 1 <= alpha <= MOST_RECTANGLES:  # type: ignore[operator]
        return f"parameters.alpha must be a whole number from 1 to {MOST_RECTANGLES}, got {alpha!r}"
    for name in ("max_delay", "lbf", "lbf_max"):
        value = given.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= MOST_FACTOR:  # type: ignore[operator]
            return f"parameters.{name} must be a number from 0 to {MOST_FACTOR:g}, got {value!r}"
    if given["lbf"] > given["lbf_max"]:
        return f"parameters.lbf must be at most lbf_max, got {given['lbf']!r}"
    if not isinstance(latency, str) or latency not in ("path", "last-hop"):
        return f"parameters.latency must be 'path' or 'last-hop', got {latency!r}"
    return None


def _parents(workload: ContentWorkload) -> Ints:
    if workload.parent is None or workload.share is None or workload.publisher is None:
        raise ProofError("the workload has no tree of brokers to assign anybody to")
    return workload.parent.astype(np.int64)


def shares(workload: ContentWorkload) -> Floats:
    """Return the share of each broker, 0 for inner ones."""
    _parents(workload)
    return np.nan_to_num(np.asarray(workload.share, dtype=np.float64), nan=0.0)


def load_limits(workload: ContentWorkload, lbf: float) -> Ints:
    """Return floor(lbf x share x subscribers) for each broker."""
    most = min(float(lbf), MOST) * shares(workload) * workload.num_subscribers * (1 + TOLERANCE)
    return np.floor(np.minimum(most, MOST)).astype(np.int64)


def paths(workload: ContentWorkload, latency: str) -> Floats:
    """Latency from the publisher to each broker, following parents; 0 if the last hop counts."""
    parent = _parents(workload)
    result = np.zeros(workload.num_brokers)
    if latency == "last-hop":
        return result
    for broker in range(workload.num_brokers):
        at = broker
        while at >= 0:
            above = int(parent[at])
            end = workload.publisher if above < 0 else workload.broker_positions[above]
            result[broker] += float(np.linalg.norm(workload.broker_positions[at] - end))
            at = above
    return result


def latencies(workload: ContentWorkload, path: Floats, leaves: Ints, rows: slice) -> Floats:
    """Latency of some subscribers through each leaf."""
    here = workload.positions[rows]
    hops = [np.linalg.norm(here - workload.broker_positions[leaf], axis=1) for leaf in leaves]
    return np.column_stack([*hops, np.empty((len(here), 0))]) + path[leaves]


def allowed_pairs(workload: ContentWorkload, parameters: Mapping[str, Any]) -> tuple[Ints, Ints]:
    """Return the leaf brokers that each subscriber may be given to, as rows.

    By the workload's list; else within each subscriber's own limit of latency; else within
    (1 + max_delay) times the least latency that any leaf gives it.
    """
    if workload.candidates is not None:
        indptr, brokers = workload.candidates
        return indptr.astype(np.int64), brokers.astype(np.int64)
    leaves = np.setdiff1d(np.arange(workload.num_brokers), _parents(workload))
    path = paths(workload, parameters["latency"])
    counts, found = [np.zeros(1, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for start in range(0, workload.num_subscribers, CHUNK):
        rows = slice(start, start + CHUNK)
        latency = latencies(workload, path, leaves, rows)
        if workload.max_latency is not None:
            limit = workload.max_latency[rows]
        else:
            limit = (1 + parameters["max_delay"]) * latency.min(axis=1, initial=np.inf)
        in_time = latency <= limit[:, None] * (1 + TOLERANCE)
        counts.append(in_time.sum(axis=1))
        found.append(leaves[np.nonzero(in_time)[1]])
    return np.cumsum(np.concatenate(counts)), np.concatenate(found)
