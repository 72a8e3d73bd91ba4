"""How many machines it takes where large topics leave room that nothing fills.

Volume is not all: topics of a third of a machine fill it by twos, whatever is left over. So large
topics are counted as more bytes than they have. If no load that fits a machine counts as more than
L, plans that count as much as X need X / L machines. Sizes come from a linear program over the
loads of one machine, rows found by need (the dual of Gilmore and Gomory's program over
configurations): they make most of the pairs that greedy takes. What they are worth is computed from
them alone, so any sizes prove a bound.

Loads are looked at in :data:`GRID` steps of a machine, sizes rounded down. A topic is on a machine
with a copy in and at least one out, at most one for each follower, or not at all. What room is left
counts by the byte, for topics that are not large. Both can only make a machine hold more.

Guarantee
    No plan rents fewer machines than it counts for, whatever the sizes are.

Complexity
    At most MAX_ROWS rows, each for a knapsack of O(large topics x copies x GRID); nothing depends
    on the pairs but the count of what greedy takes.

References
----------
    P. C. Gilmore, R. E. Gomory: A linear programming approach to the cutting-stock problem.
    Operations Research 9(6), 1961. Sizes that bound bins like this are dual feasible functions:
    F. Clautiaux, C. Alves, J. Valério de Carvalho: A survey of dual-feasible and superadditive
    functions. Annals of Operations Research 179, 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from fanwise.arrays.csr import FloatArray, IntArray, LongArray
from fanwise.arrays.tolerance import most_within
from fanwise.planning.highs import Matrix, Model, Solver
from fanwise.planning.problem import Run
from fanwise.provision.machines.packing import Groups, fewest_copies, group_pairs
from fanwise.provision.pairs import greedy_pairs
from fanwise.provision.problem import Provisioning
from fanwise.provision.proving.load_kernels import best_load

GRID = 5040
"""Steps of a machine: halves, thirds and so on up to tenths fall on one."""
LARGE = 1 / 24
"""Share of a machine from which a topic's copy is large."""
MAX_LARGE, MAX_ROWS = 400, 200
"""Large topics that count as more, the largest if there are others; loads in the program."""
LEAST_WORTH = 1e-6
"""What a byte of small topics counts at least, in machines that it fills."""
CLOSE = 1e-6
"""How far a load may count as more than a machine before it is left alone."""
ROUNDED_UP = 1 + 1e-12


class Sizes(NamedTuple):
    """What topics count as, and how much a machine holds of it.

    Attributes
    ----------
    listed
        Topics that count otherwise than their bytes, ascending.
    needs
        By topic: the bytes that one copy counts as.
    most
        What the load of one machine counts as at most.
    """

    listed: IntArray
    needs: FloatArray
    most: float

    @property
    def table(self) -> pa.Table:
        """What the certificate keeps of them."""
        return pa.table({"topic": self.listed, "bytes": self.needs[self.listed]})


class Large(NamedTuple):
    """Large topics: steps of a copy and copies on one machine at most, by topic.

    Topics of a ``kind`` have both in common, and count alike.
    """

    topics: IntArray
    steps: LongArray
    most_copies: LongArray
    kind: LongArray

    @property
    def num_kinds(self) -> int:
        return int(self.kind.max(initial=-1)) + 1


def count_sizes(
    problem: Provisioning, least_machines: int, is_over: Callable[[], bool]
) -> Sizes | None:
    """Return sizes that make greedy's pairs count as more machines than that; None if none do.

    Machines are of one type.
    """
    limit = most_within(problem.usable_bytes(problem.machine))
    large = find_large(problem, limit)
    if not len(large.topics) or is_over():
        return None
    groups = group_pairs(problem, greedy_pairs.choose_pairs(problem, Run()))
    copies, rest = _demands(problem, groups, large)
    found = _most_machines(large, copies, rest / limit, least_machines, is_over)
    if found is None:
        return None
    worth, byte_worth = found
    needs = problem.needs.copy()
    needs[large.topics] = (worth / byte_worth * limit)[large.kind]
    return Sizes(large.topics, needs, largest_load(large, needs[large.topics], limit))


def find_large(problem: Provisioning, limit: float) -> Large:
    """Return the topics that are large for machines of so many bytes."""
    followers = problem.workload.num_followers
    is_large = (problem.needs >= LARGE * limit) & problem.is_usable & (followers > 0)
    topics = np.flatnonzero(is_large).astype(np.int32)
    if len(topics) > MAX_LARGE:
        falling = np.argsort(-problem.needs[topics], kind="stable")
        topics = np.sort(topics[falling[:MAX_LARGE]])
    share = problem.needs[topics] / limit
    steps = np.floor(share * GRID).astype(np.int64)
    fit = np.minimum(np.floor(ROUNDED_UP / share), GRID // np.maximum(steps, 1)).astype(np.int64)
    most = np.minimum(fit, followers[topics] + 1)
    _, kind = np.unique(np.column_stack([steps, most]), axis=0, return_inverse=True)
    return Large(topics, steps, most, kind.reshape(-1))


def largest_load(large: Large, sizes: FloatArray, limit: float) -> float:
    """Return what one machine's load counts as at most, the rest of it counting by the byte."""
    value, _, _ = best_load(large.steps, large.most_copies, sizes, limit, GRID)
    return float(value * ROUNDED_UP)


def _demands(problem: Provisioning, groups: Groups, large: Large) -> tuple[FloatArray, float]:
    """Return the copies in and out of each kind, and the bytes of all other topics."""
    copies = groups.counts + fewest_copies(problem, groups)
    place = np.minimum(np.searchsorted(large.topics, groups.topics), len(large.topics) - 1)
    is_large = large.topics[place] == groups.topics
    kind = large.kind[place[is_large]]
    by_kind = np.bincount(kind, copies[is_large], minlength=large.num_kinds).astype(np.float64)
    return by_kind, float((copies * groups.needs)[~is_large].sum())


def _most_machines(
    large: Large,
    copies: FloatArray,
    rest: float,
    least_machines: int,
    is_over: Callable[[], bool],
) -> tuple[FloatArray, float] | None:
    """Return what a copy of each kind and a machine's worth of bytes count as, in machines.

    No load counts as more than one, about; together they count as much as possible. None as soon as
    that is no more than ``least_machines``.
    """
    num_kinds = large.num_kinds
    solver = Solver(
        Model(
            cost=np.append(copies, rest),
            lower=np.append(np.zeros(num_kinds), LEAST_WORTH),
            upper=np.append(np.full(num_kinds, 0.5), 1.0),
            matrix=Matrix(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)),
            row_lower=np.zeros(0),
            row_upper=np.zeros(0),
            is_maximised=True,
        )
    )
    worth, byte_worth = np.full(num_kinds, 0.5), 1.0
    for _ in range(MAX_ROWS):
        value, load, used = best_load(
            large.steps, large.most_copies, worth[large.kind], byte_worth, GRID
        )
        if value <= 1 + CLOSE or is_over():
            break
        by_kind = np.bincount(large.kind, load, minlength=num_kinds).astype(np.float64)
        taken = np.flatnonzero(by_kind)
        solver.add_row(
            np.append(taken, num_kinds), np.append(by_kind[taken], 1 - used / GRID), upper=1.0
        )
        answer = solver.solve()
        if answer.status != "optimal" or answer.objective <= least_machines * (1 + CLOSE):
            return None
        worth = np.maximum(answer.values[:-1], 0.0)
        byte_worth = max(float(answer.values[-1]), LEAST_WORTH)
    return worth, byte_worth
